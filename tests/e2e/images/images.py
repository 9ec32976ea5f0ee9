"""images: builds k8s/images/Dockerfile with buildah on a Debian 12 root file system created here.

Source   the Debian archives configured in apt; no image registry
Needs    root, buildah, mmdebstrap, strip (scripts/setup --long)
Errors   ImageError with the end of the tool's output
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/e2e/machine"))
import image as debian  # noqa: E402
from image import ImageError  # noqa: E402, F401

BASE = "localhost/debian:12-slim"
# target -> (its programs, its user)
TARGETS = {"shim": (("wattle-shim", "wattle"), "64460:64460"), "agent": (("wattle-agent",), ""),
           "controller": (("wattle-controller", "wattle"), "64460:64460")}


def storage():
    """Returns a folder of cached layers, so that only changes are built again."""
    folder = debian.cache_root().parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def missing_tools():
    """Returns why no image can be built here, or an empty string."""
    missing = [tool for tool in ("buildah", "mmdebstrap", "strip") if shutil.which(tool) is None]
    if os.geteuid() != 0:
        return "not root"
    return f"{', '.join(missing)} missing (scripts/setup --long installs them)" if missing else ""


class Buildah:
    """Buildah with its storage in the folder, which caches existing layers. As a context manager it leaves nothing
    mounted."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        # overlayfs on overlayfs does not work, as inside a container
        stacked = debian.run("stat", "--file-system", "--format=%T", str(folder)).strip() == "overlayfs"
        self.options = ["--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs" if stacked else "overlay"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        mounts = [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
        for path in reversed([path for path in mounts if path.startswith(f"{self.folder}/")]):
            debian.run("umount", path)

    def stop(self):
        """Unmounts containers: a multi-stage build leaves those of earlier stages mounted, and an interrupted one
        leaves all."""
        self("rm", "--all")

    def __call__(self, *arguments):
        return debian.run("buildah", *self.options, *map(str, arguments)).strip()

    def has(self, image):
        return image in self("images", "--format", "{{.Name}}:{{.Tag}}").splitlines()

    def base(self):
        """Creates a Debian image with this machine's apt configuration."""
        if self.has(BASE):
            return BASE
        tree = self.folder / "base.tar"
        proxies = [line for line in debian.run("apt-config", "dump").splitlines() if re.match(r"Acquire::\S*Proxy \"", line)]
        settings = self.folder / "99network"
        settings.write_text("".join(f"{line}\n" for line in proxies), encoding="utf-8")
        debian.run("mmdebstrap", "--variant=apt", *[f"--aptopt={line}" for line in proxies],
                   f"--customize-hook=copy-in {settings} /etc/apt/apt.conf.d", "bookworm", str(tree), "-", input=debian.sources())
        container = self("from", "scratch")
        self("add", container, tree, "/")
        self("commit", container, BASE)
        self("rm", container)
        tree.unlink()
        return BASE

    def build(self, target, base, context, programs):
        self("build", "--isolation", "chroot", "--layers", "--pull-never", "--build-arg", f"BASE={base}", "--build-arg", f"PROGRAMS={programs}",
             "--file", ROOT / "k8s/images/Dockerfile", "--target", target, "--tag", f"wattle-{target}", context)

    def prune(self):
        """Removes layers of earlier builds that have no name."""
        self.stop()
        self("rmi", "--prune")

    def config(self, target):
        return json.loads(self("inspect", "--type", "image", f"wattle-{target}"))["OCIv1"]["config"]

    def commit(self, name, base, files=(), **config):
        """Creates an image of a few files on top of `base` (or scratch): (path here, path there); `config` has options
        of `buildah config`. The same files give the same image."""
        container = self("from", "--pull-never", base)
        for here, there in files:
            self("copy", "--chmod", "0755", container, here, there)
        self("config", *[f"--{key}={value}" for key, value in config.items()], container)
        self("commit", "--rm", "--timestamp", "0", container, name)

    def layout(self, names, folder):
        """Exports the images (local name -> exported name) as one OCI layout with shared layers, uncompressed, for a
        machine that is slower than its disk."""
        shutil.rmtree(folder, ignore_errors=True)
        blobs = folder / "blobs/sha256"
        blobs.mkdir(parents=True)
        manifests = []
        for here, there in names.items():
            one = folder / "one"
            self("push", "--disable-compression", here, f"dir:{one}")
            text = (one / "manifest.json").read_bytes()
            digest = hashlib.sha256(text).hexdigest()
            for path in one.iterdir():
                if re.fullmatch("[0-9a-f]{64}", path.name):
                    path.rename(blobs / path.name)
            (blobs / digest).write_bytes(text)
            shutil.rmtree(one)
            manifests.append({"mediaType": json.loads(text)["mediaType"], "digest": f"sha256:{digest}", "size": len(text),
                              "annotations": {"org.opencontainers.image.ref.name": there}})
        (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": manifests}), encoding="utf-8")
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', encoding="utf-8")


def context_of(binaries, folder, compile_it):
    """Returns the build context: the working tree, or the programs and the networks that come with them."""
    context = pathlib.Path(folder) / "context"
    if compile_it:
        context.mkdir()
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in files.splitlines():
            if (ROOT / name).is_file():
                (context / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, context / name)
        return context
    there = context / "build/release/bin"
    there.mkdir(parents=True)
    for name in ("wattle", "wattle-agent", "wattle-controller", "wattle-shim"):
        subprocess.run(["strip", "-o", there / name, binaries / name], check=True)
    shutil.copytree(ROOT / "models/pretrained", context / "models/pretrained")
    return context
