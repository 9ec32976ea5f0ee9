#!/usr/bin/env python3
"""images_test: k8s/images/Dockerfile builds on a Debian 12 created here, and the images run as in the manifests: as
their own user, without capabilities or new privileges, on a read-only root file system.

Usage    images_test.py BIN_DIR [--compile] [--cached] [--only TARGET,...]
         --compile: compile the programs in the image (half an hour); default: use those of BIN_DIR, stripped
         --cached: use the layers that node_test keeps (images.storage); default: build everything
Source   the Debian archives configured in apt; no image registry
Needs    root, buildah, mmdebstrap, and crun or at least chroot (scripts/setup --long)
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/e2e/images"))
sys.dont_write_bytecode = True
from images import TARGETS, Buildah, ImageError, context_of, missing_tools, storage  # noqa: E402

SKIPPED = 77
# crun refuses hybrid hierarchies with version 1, which containers often have. It creates no cgroup here, so hide that
# part
CRUN = ("unshare", "--mount", "sh", "-c", 'umount /sys/fs/cgroup/unified 2>/dev/null; exec crun "$@"', "crun")
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"), flush=True)
    failures += 0 if truth else 1


def bundle_config(words, user):
    """Returns the container options of the manifests."""
    uid, _, gid = (user or "0:0").partition(":")
    return {"ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True}, "hostname": "test",
            "process": {"user": {"uid": int(uid), "gid": int(gid)}, "args": words, "cwd": "/", "env": ["PATH=/usr/bin"], "noNewPrivileges": True,
                        "capabilities": {kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")}},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")]}}


def run_in(rootfs, folder, words, user):
    """Runs a program in the image with crun, or with chroot if this machine permits no containers. Returns (how, exit
    code, output)."""
    bundle = pathlib.Path(tempfile.mkdtemp(dir=folder))
    (bundle / "config.json").write_text(json.dumps({**bundle_config(words, user), "root": {"path": str(rootfs), "readonly": True}}), encoding="utf-8")
    if shutil.which("crun"):
        ran = subprocess.run([*CRUN, "--root", f"{folder}/crun", "--cgroup-manager=disabled", "run", "--bundle", bundle, bundle.name],
                             capture_output=True, text=True, check=False)
        if ran.returncode == 0 or "wattle" in ran.stdout + ran.stderr:
            return "crun", ran.returncode, ran.stdout + ran.stderr
        print(f"     crun: {ran.stderr.strip()[:300]}")
    by = ["--userspec", user] if user else []
    ran = subprocess.run(["/usr/sbin/chroot", *by, rootfs, *words], capture_output=True, text=True, check=False)
    return "chroot", ran.returncode, ran.stdout + ran.stderr


def check_image(buildah, target, folder):
    programs, user = TARGETS[target]
    config = buildah.config(target)
    check(f"{target}: runs as {user or 'root, whose capabilities the manifest drops'}", config.get("User", "") == user, str(config.get("User")))
    check(f"{target}: starts {programs[0]} directly, without a shell", config.get("Entrypoint") == [f"/usr/bin/{programs[0]}"], str(config.get("Entrypoint")))
    container = buildah("from", "--pull-never", f"wattle-{target}")
    rootfs = pathlib.Path(buildah("mount", container))
    for program in programs:
        how, code, said = run_in(rootfs, folder, [f"/usr/bin/{program}", "--version"], user)
        check(f"{target}: {program} --version answers by {how}", code == 0 and re.fullmatch(r"\d+\.\d+\.\d+\s*", said) is not None, f"{code}: {said[-500:]}")
    if "wattle" in programs:
        how, code, said = run_in(rootfs, folder, ["/usr/bin/wattle", "keys", "new", "/controller.key"], user)
        check(f"{target}: its root is read-only ({how})", code != 0 and "wattle:" in said, f"{code}: {said[-300:]}")
    if target == "controller":
        shipped = {path.name: path.read_bytes() for path in (ROOT / "models/pretrained").glob("*.safetensors")}
        there = {path.name: path.read_bytes() for path in (rootfs / "usr/share/wattle/models").glob("*")}
        check(f"{target}: its initial networks are those of models/pretrained", bool(shipped) and there == shipped, str(sorted(there)))
    size_mib = sum(path.lstat().st_size for path in rootfs.rglob("*") if path.is_file() and not path.is_symlink()) / 2**20
    check(f"{target}: no compiler, sources or tests are in it ({size_mib:.0f} MiB)",
          not any((rootfs / name).exists() for name in ("usr/bin/g++", "usr/bin/cmake", "src", "programs")))
    buildah("rm", container)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--only", default=",".join(TARGETS))
    options = parser.parse_args()
    missing = missing_tools()
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wattle-images-") as folder:
        try:
            context = context_of(options.binaries, folder, options.compile)
            with Buildah(storage() if options.cached else folder) as buildah:
                base = buildah.base()
                for target in options.only.split(","):
                    buildah.build(target, base, context, "compiled" if options.compile else "prebuilt")
                    check_image(buildah, target, folder)
        except ImageError as error:
            check("the images are built", False, str(error))
    print("images: every claim holds" if failures == 0 else f"images: {failures} claims failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
