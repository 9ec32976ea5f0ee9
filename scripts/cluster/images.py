"""images: OCI archives of the built programs, of kube-scheduler and of the workloads, and a containerd store with them.

Source   the libraries of this machine's Debian packages, as scripts/release-images chooses them. No registry is used
Gives    a store that each node copies by hard links, so that three nodes take the images in a second. Only changed
         layers are written again
Errors   ImageError and Missing name what is missing and the fix
"""
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import left_out
import packages
from closure import Root
from packages import Missing, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRIPLET = "x86_64-linux-gnu"
USER = "64460:64460"
KEYS = "image-keys"  # the file of a store that lists its images
KEPT = 2  # number of older stores, for other builds and for clusters that are copying from them
TOOLS = "wattle.demo/tools:1"
APPS = "wattle.demo/apps:1"
SCHEDULER = "registry.k8s.io/kube-scheduler"
APPLETS = ("sh", "cat", "sleep", "seq", "expr", "date", "wget", "nc", "ls", "ps", "true", "nslookup", "dd", "kill", "mkdir")
TEXTS = {"etc/passwd": "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", "etc/group": "root:x:0:\nnogroup:x:65534:\n",
         "etc/nsswitch.conf": "hosts: files dns\n"}


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def key_of(parts):
    """Identifies file contents by path, size and time, like make."""
    found = []
    for name, part in sorted(parts.items()):
        if isinstance(part, pathlib.Path):
            stat = part.stat()
            found.append((name, str(part.resolve()), stat.st_size, stat.st_mtime_ns))
        else:
            found.append((name, part))
    return hashlib.sha256(repr(found).encode()).hexdigest()[:20]


def libraries(programs, tree):
    """Returns {path in the image: file} of all shared libraries that the programs load."""
    found = {}
    env = os.environ | {"LD_LIBRARY_PATH": ":".join(f"{tree}/usr/lib/{TRIPLET}{folder}" for folder in ("", "/ceph", "/pulseaudio"))}
    for program in programs:
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, env=env).stdout
        missing = re.findall(r"(\S+) => not found", listed)
        if missing:
            raise Missing(f"{program}: library {missing[0]} is missing")
        for name, path in re.findall(r"(\S+) => (/\S+)", listed):
            found[f"usr/lib/{TRIPLET}/{name}"] = pathlib.Path(path)
    return found | {"usr/lib64/ld-linux-x86-64.so.2": pathlib.Path("/lib64/ld-linux-x86-64.so.2")}


# The page that the web service compresses: 160 KiB of different lines
PAGE = "".join(f"<p>{hashlib.sha256(str(line).encode()).hexdigest()} row {line}</p>\n" for line in range(2000))
BASE = {"bin": "@usr/bin", "sbin": "@usr/sbin", "lib": "@usr/lib", "lib64": "@usr/lib64"} | TEXTS


class Layers:
    """Writes uncompressed layers, one file each, named by their content."""

    def __init__(self, cache):
        self.folder = cache / "layers"
        self.folder.mkdir(exist_ok=True)
        self.used = set()

    def layer(self, parts):
        """Writes a layer. `parts`: path in the image -> file, text, or "@" and the target of a link."""
        path = self.folder / f"{key_of(parts)}.tar"
        self.used.add(path)
        if not path.exists():
            fresh = path.with_suffix(".new")
            with tarfile.open(fresh, "w") as tar:
                for name in ("tmp", "run", "proc", "sys", "dev", "var/lib", "var/log"):
                    info = tarfile.TarInfo(name)
                    info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                    tar.addfile(info)
                for name, part in sorted(parts.items()):
                    self.add(tar, name, part)
            fresh.rename(path)
        return path

    @staticmethod
    def add(tar, name, part):
        info = tarfile.TarInfo(name)
        if isinstance(part, pathlib.Path):
            real = part.resolve()
            info.size, info.mode = real.stat().st_size, 0o755
            with open(real, "rb") as file:
                tar.addfile(info, file)
        elif part.startswith("@"):
            info.type, info.linkname = tarfile.SYMTYPE, part[1:]
            tar.addfile(info)
        else:
            content = part.encode()
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))

    def prune(self):
        for path in set(self.folder.iterdir()) - self.used:
            path.unlink()


class Image:
    """An image: its name, its layers and its configuration."""

    def __init__(self, name, layers, config):
        self.name, self.layers = name, layers
        self.config = {"Env": ["PATH=/usr/bin:/usr/sbin:/bin", "LANG=C.UTF-8"], "WorkingDir": "/"} | config
        self.key = hashlib.sha256(json.dumps([name, [path.name for path in layers], config]).encode()).hexdigest()

    def write(self, to):
        """Writes an OCI archive for `ctr images import`."""
        blobs, layers = {}, []
        for path in self.layers:
            with open(path, "rb") as file:
                found = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
            layers.append({"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": found, "size": path.stat().st_size})
            blobs[found] = path

        def blob(value):
            content = json.dumps(value).encode()
            blobs[digest(content)] = content
            return {"digest": digest(content), "size": len(content)}
        config = blob({"architecture": "amd64", "os": "linux", "config": self.config,
                       "rootfs": {"type": "layers", "diff_ids": [each["digest"] for each in layers]}})
        manifest = blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                         "config": {"mediaType": "application/vnd.oci.image.config.v1+json"} | config, "layers": layers})
        index = {"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", **manifest,
                                                    "annotations": {"io.containerd.image.name": self.name}}]}
        with tarfile.open(to, "w") as tar:
            Layers.add(tar, "oci-layout", '{"imageLayoutVersion":"1.0.0"}')
            Layers.add(tar, "index.json", json.dumps(index))
            for name, content in blobs.items():
                Layers.add(tar, f"blobs/sha256/{name[7:]}", content if isinstance(content, pathlib.Path) else content.decode())


def stripped(program, cache):
    """Returns the program without symbols; strips it again only after a new build."""
    if not program.exists():
        raise Missing(f"{program} is missing: build it (scripts/build release {program.name})")
    to = cache / "stripped" / f"{program.name}-{key_of({'': program})}"
    if not to.exists():
        to.parent.mkdir(exist_ok=True)
        for older in to.parent.glob(f"{program.name}-????????????????????"):
            older.unlink()
        run("strip", "-o", to.with_suffix(".new"), program)
        to.with_suffix(".new").rename(to)
    return to


def stub(root, kept, out, cache):
    """Returns the library that replaces those that libtorch links and Wattle never calls."""
    to = cache / "stripped" / f"{key_of({str(path): path for path in kept})}.so"
    if not to.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            made = pathlib.Path(folder) / left_out.NAME
            left_out.make(root, kept, out, TRIPLET, made)
            made.rename(to)
    return to


def wattle_images(layers, binaries, cache, version, names_of_images=None):
    spec = importlib.util.spec_from_loader("release_images", importlib.machinery.SourceFileLoader("release_images", str(ROOT / "scripts/release-images")))
    release = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(release)
    root = Root("/", TRIPLET)
    for image in names_of_images or release.IMAGES:
        names, user = release.IMAGES[image]
        programs = {name: stripped(binaries / name, cache) for name in names}
        started = {name: root.folder / name for name in release.STARTED.get(image, ())}
        loaded, out = root.closure([*programs.values(), *started.values()], left_out.LEFT_OUT)
        parts = BASE | {f"usr/lib/{TRIPLET}/{soname}": path for soname, path in loaded.items()}
        parts["usr/lib64/ld-linux-x86-64.so.2"] = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
        if out:
            parts[f"usr/lib/{TRIPLET}/{left_out.NAME}"] = stub(root, [*loaded.values(), *programs.values()], out, cache)
            parts |= {f"usr/lib/{TRIPLET}/{name}": f"@{left_out.NAME}" for name in out}
        parts |= started
        own = {f"usr/bin/{name}": path for name, path in programs.items()}
        if image in release.WITH_NETWORKS:
            own |= {f"usr/share/wattle/models/{path.name}": path for path in (ROOT / "models/pretrained").glob("*.safetensors")}
        yield Image(f"docker.io/library/wattle-{image}:{version}", [layers.layer(parts), layers.layer(own)],
                    {"Entrypoint": [f"/usr/bin/{names[0]}"]} | ({"User": user} if user else {}))


def workload_image(layers, binaries, tree, cache):
    """Returns an image with nginx, redis, stress-ng, wattle-load and busybox; `pause` is its `sleep`."""
    programs = {name: tree / f"usr/{folder}/{name}" for name, folder in
                (("nginx", "sbin"), ("redis-server", "bin"), ("redis-benchmark", "bin"), ("redis-cli", "bin"))}
    programs |= {"stress-ng": pathlib.Path(shutil.which("stress-ng")), "wattle-load": stripped(binaries / "wattle-load", cache)}
    parts = BASE | libraries(programs.values(), tree) | {f"usr/bin/{name}": path.resolve() for name, path in programs.items()}
    parts |= {"usr/bin/busybox": tree / "bin/busybox", "etc/nginx.conf": pathlib.Path(__file__).with_name("nginx.conf")}
    parts |= {f"usr/bin/{name}": "@busybox" for name in APPLETS} | {"usr/share/web/index.html": PAGE}
    return Image(TOOLS, [layers.layer(parts)], {"Entrypoint": ["/usr/bin/sleep", "2147483647"]})


def apps_image(layers, apps):
    """Returns an image with ffmpeg, fio and iperf3, and busybox for loops."""
    programs = {name: apps / f"usr/bin/{name}" for name in ("ffmpeg", "fio", "iperf3")}
    parts = BASE | libraries(programs.values(), apps) | {f"usr/bin/{name}": path for name, path in programs.items()}
    parts |= {"usr/bin/busybox": apps / "bin/busybox"} | {f"usr/bin/{name}": "@busybox" for name in APPLETS}
    return Image(APPS, [layers.layer(parts)], {})


def all_images(binaries, tree, kube, kube_version, version, cache):
    layers = Layers(cache)
    bare = bool(os.environ.get("DEMO_BARE"))
    images = [*wattle_images(layers, binaries, cache, version, None if bare else ("agent", "controller", "shim")),
              workload_image(layers, binaries, tree, cache), *([apps_image(layers, packages.apps(cache))] if bare else []),
              Image(f"{SCHEDULER}:v{kube_version}", [layers.layer(BASE | {"usr/local/bin/kube-scheduler": kube / "kube-scheduler"})],
                    {"Env": ["PATH=/usr/local/bin"], "Entrypoint": ["kube-scheduler"]})]
    layers.prune()
    return images


def clone(store, to):
    """Copies a containerd root by hard links. containerd never changes a blob or an unpacked layer in place; it does
    change its databases, which are copied."""
    run("cp", "-al", store, to)
    for path in pathlib.Path(to).glob("*/*.db"):
        fresh = path.with_suffix(".copy")
        shutil.copy2(path, fresh)
        fresh.rename(path)


# Arguments: store, folder with the archives, tree. containerd and its mounts end with this shell. Garbage is collected
# at the end: an image that replaces another of its name would lose layers that both have while it is unpacked.
IMPORT = r"""
set -e
store=$1 archives=$2
export PATH=$3/usr/bin:$3/usr/sbin:$PATH
at=$archives/run
mkdir -p "$at"
printf 'version = 2\nroot = "%s"\nstate = "%s/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\n  address = "%s/socket"\n' "$store" "$at" "$at" > "$at/config.toml"
printf '[plugins."io.containerd.gc.v1.scheduler"]\n  startup_delay = "1h"\n  mutation_threshold = 1000000\n' >> "$at/config.toml"
containerd --config "$at/config.toml" > "$at/log" 2>&1 &
for _ in $(seq 300); do ctr --address "$at/socket" version > /dev/null 2>&1 && break; sleep 0.1; done
shopt -s nullglob  # no archive: an older store has all images
for archive in "$archives"/*.tar; do ctr --address "$at/socket" --namespace k8s.io images import "$archive" || { cat "$at/log"; exit 1; }; done
ctr --address "$at/socket" --namespace k8s.io leases create --id collect > /dev/null
ctr --address "$at/socket" --namespace k8s.io leases delete --sync collect > /dev/null
kill -TERM %1; wait %1 || true
"""


def store(images, tree, cache):
    """Returns the containerd root with these images."""
    key = hashlib.sha256(" ".join([KEYS, *sorted(image.key for image in images)]).encode()).hexdigest()[:16]
    made = cache / f"store-{key}"
    if made.is_dir():
        os.utime(made)  # the oldest stores are removed first
        return made
    older = sorted((path for path in cache.glob("store-????????????????") if path.is_dir()), key=lambda path: path.stat().st_mtime)
    fresh = cache / f"{made.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    known = set()
    if older:
        clone(older[-1], fresh)
        listed = fresh / KEYS
        known = set(listed.read_text(encoding="utf-8").split()) if listed.exists() else known
        listed.unlink(missing_ok=True)  # removes the link to the older store's file, which must not change
    fresh.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        for number, image in enumerate(image for image in images if image.key not in known):
            image.write(pathlib.Path(folder) / f"{number}.tar")
        run("unshare", "--net", "bash", "-c", IMPORT, "import", fresh, folder, tree)
    (fresh / KEYS).write_text("\n".join(image.key for image in images) + "\n", encoding="utf-8")
    fresh.rename(made)
    for path in older[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)
    return made
