#!/usr/bin/env python3
"""release_images_test: scripts/release-images creates the same bytes twice, small images without a shell that skopeo
reads. Their programs run as the manifests' user, for amd64 on this processor and for arm64 on an emulated one:
versions, help, errors of a configuration, an agent's samples of a captured machine, a controller that becomes ready.
The networks' tests pass with the libraries that the images have for libtorch.

Usage    release_images_test.py BUILD-FOLDER [ARM64-BUILD-FOLDER]     the second: only if it exists
Needs    root; scripts/setup --release
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import contextlib
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "packages")]
sys.dont_write_bytecode = True
from debs import output  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, fetch, free_ports  # noqa: E402
from patience import LATE_S, SOON_S, pace  # noqa: E402

VERSION = re.search(r"^project\(wattle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M).group(1)
# Compressed, of one architecture
LARGEST = {"agent": 60_000_000, "shim": 60_000_000, "controller": 300_000_000, "sim": 300_000_000, "load": 60_000_000, "actuator": 60_000_000}
PROGRAMS = {"agent": ("wattle-agent",), "controller": ("wattle-controller", "wattle"), "shim": ("wattle-shim", "wattle"),
            "sim": ("wattle-sim",), "load": ("wattle-load",), "actuator": ("wattle-actuator",)}
USER = {"agent": "0:0", "controller": "64460:64460", "shim": "64460:64460", "sim": "64460:64460", "load": "64460:64460", "actuator": "0:0"}
CAPTURED = ROOT / "tests/fixtures/agent/two-socket-server"
EMULATOR = "/usr/bin/qemu-aarch64-static"
READY_S = LATE_S  # emulated, possibly beside compilers
claims = Claims()


def made(to, builds):
    to.mkdir(parents=True)
    env = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    said = output(ROOT / "scripts/release-images", VERSION, to, *(f"{name}={folder}" for name, folder in builds.items()), env=env)
    print("".join(f"     {line}\n" for line in said.splitlines()), end="")
    return {name: to / f"wattle-{name}-{VERSION}.oci.tar" for name in PROGRAMS}


class Layout:
    """Reads an image archive by its specification."""

    def __init__(self, path):
        self.tar = tarfile.open(path)
        self.index_digest = json.loads(self.tar.extractfile("index.json").read())["manifests"][0]["digest"]
        self.manifests = {m["platform"]["architecture"]: json.loads(self.blob(m["digest"])) for m in json.loads(self.blob(self.index_digest))["manifests"]}

    def blob(self, digest):
        content = self.tar.extractfile("blobs/" + digest.replace(":", "/")).read()
        if "sha256:" + hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"{digest} is not the digest of its blob")
        return content

    def config(self, architecture):
        return json.loads(self.blob(self.manifests[architecture]["config"]["digest"]))

    def size(self, architecture):
        return sum(layer["size"] for layer in self.manifests[architecture]["layers"])

    def unpack(self, architecture, to):
        for layer, digest in zip(self.manifests[architecture]["layers"], self.config(architecture)["rootfs"]["diff_ids"]):
            text = gzip.decompress(self.blob(layer["digest"]))
            if "sha256:" + hashlib.sha256(text).hexdigest() != digest:
                raise ValueError(f"{digest} is not the digest of its layer")
            with tarfile.open(fileobj=io.BytesIO(text)) as tar:
                tar.extractall(to)
        return to


class There:
    """An unpacked image in which programs run as their user."""

    def __init__(self, rootfs, architecture, user):
        self.rootfs, self.user = rootfs, user
        self.before = []
        if architecture == "arm64":
            shutil.copy(EMULATOR, rootfs / "emulator")
            self.before = ["/emulator"]

    def words(self, *words):
        # libtorch reads processors from /proc and /sys, as in a container
        return ["unshare", "--mount", "sh", "-euc", 'mount --rbind /proc "$0/proc"; mount --rbind /sys "$0/sys"; exec /usr/sbin/chroot "$@"', self.rootfs,
                "--userspec", self.user, self.rootfs, *self.before, *words]

    def run(self, *words):
        ran = subprocess.run(list(map(str, self.words(*words))), capture_output=True, text=True, check=False, env={"PATH": "/usr/bin"})
        return ran.returncode, ran.stdout + ran.stderr


def check_archive(name, path, folder):
    layout = Layout(path)
    for architecture in layout.manifests:
        size = layout.size(architecture)
        claims.check(f"{name} {architecture}: {size / 1e6:.1f} MB compressed, at most {LARGEST[name] / 1e6:.0f}", size <= LARGEST[name])
        config = layout.config(architecture)
        claims.check(f"{name} {architecture}: runs {PROGRAMS[name][0]} as {USER[name]}", config["architecture"] == architecture
                     and config["config"]["Entrypoint"] == [f"/usr/bin/{PROGRAMS[name][0]}"] and config["config"].get("User", "0:0") == USER[name], str(config["config"]))
    output("skopeo", "--insecure-policy", "copy", "--quiet", "--all", "--preserve-digests", f"oci-archive:{path}", f"dir:{folder}")
    there = "sha256:" + hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    claims.check(f"{name}: skopeo reads it for all architectures, with the same digest", there == layout.index_digest, there)
    shutil.rmtree(folder)
    return layout


def check_programs(name, architecture, there):
    shells = [str(path) for path in there.rootfs.rglob("*") if not path.is_dir() and path.name in ("sh", "bash", "dash", "busybox", "apt-get", "dpkg", "perl", "python3")]
    claims.check(f"{name} {architecture}: no shell, no package manager, no interpreter", not shells, str(shells))
    own = {path for path in there.rootfs.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6022}
    claims.check(f"{name} {architecture}: no file is writable by group or others, or setuid", not own, str(own))
    packages = [path.name for path in (there.rootfs / "var/lib/dpkg/status.d").iterdir()]
    claims.check(f"{name} {architecture}: {len(packages)} packages are reported to scanners, each with its copyright",
                 "libc6" in packages and all((there.rootfs / "usr/share/doc" / package / "copyright").is_file() for package in packages))
    for program in PROGRAMS[name]:
        code, said = there.run(f"/usr/bin/{program}", "--version")
        claims.check(f"{name} {architecture}: {program} --version", code == 0 and said.split() in ([VERSION], [program, VERSION]), said[-500:])
        code, said = there.run(f"/usr/bin/{program}", "--help")
        claims.check(f"{name} {architecture}: {program} --help", code == 0 and "usage: " in said.lower(), said[-500:])


def check_agent(architecture, there):
    (there.rootfs / "etc/wattle/agent.yaml").write_text("tick: 1s\nhttp: {prot: 9460}\n", encoding="utf-8")
    code, said = there.run("/usr/bin/wattle-agent", "run", "--config", "/etc/wattle/agent.yaml", "--check-config")
    claims.check(f"agent {architecture}: an unknown configuration key is refused by name", code != 0 and "prot" in said, said[-500:])
    shutil.copytree(CAPTURED, there.rootfs / "captured", symlinks=True)
    code, said = there.run("/usr/bin/wattle-agent", "sample", "--count", "2", "--interval", "100ms", "--root", "/captured")
    samples = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    claims.check(f"agent {architecture}: {len(samples)} samples of a captured machine", code == 0 and len(samples) == 2 and all("node" in sample for sample in samples), said[-800:])


def check_sim(architecture, there):
    code, said = there.run("/usr/bin/wattle-sim", "eval", "--model", "/usr/share/wattle/models/weighted.safetensors", "--seeds", "1", "--nodes", "3",
                           "--placements", "20", "--policies", "planner", "-o", "json")
    claims.check(f"sim {architecture}: `wattle-sim eval` evaluates its own network", code == 0, said[-800:])


def check_load(architecture, there):
    if architecture == "amd64":  # stress-ng takes long to start on an emulated processor
        code, said = there.run("/usr/bin/wattle-load", "resource", "--cpu", "0.1", "--for", "5s", "--directory", "/tmp", "-o", "json")
        reached = json.loads(said)["cpu"]["reached_cores"] if code == 0 else 0
        claims.check(f"load {architecture}: `wattle-load resource` uses the image's stress-ng", reached > 0, said[-800:])


def check_actuator(architecture, there):
    (there.rootfs / "etc/wattle/actuator.yaml").write_text("no_such_key: 1\n", encoding="utf-8")
    code, said = there.run("/usr/bin/wattle-actuator", "run", "--config", "/etc/wattle/actuator.yaml", "--check-config")
    claims.check(f"actuator {architecture}: an unknown configuration key is named", code != 0 and "no_such_key" in said, said[-500:])


def check_controller(architecture, there):
    telemetry, feed, ask, http = free_ports(4)
    state = there.rootfs / "state"
    state.mkdir()
    uid, gid = map(int, there.user.split(":"))
    os.chown(state, uid, gid)
    (there.rootfs / "etc/wattle/controller.yaml").write_text(
        "mode: shadow\ndata_dir: /state\nstore: {path: /state/store.db}\nkey: /state/controller.key\nallow_list: /state/allow\n"
        f"telemetry: {{endpoint: \"tcp://127.0.0.1:{telemetry}\"}}\nfeed: {{endpoint: \"tcp://127.0.0.1:{feed}\"}}\n"
        f"ask: {{endpoint: \"tcp://127.0.0.1:{ask}\"}}\nhttp: {{port: {http}}}\n", encoding="utf-8")
    code, said = there.run("/usr/bin/wattle", "keys", "new", "/state/controller.key")
    claims.check(f"controller {architecture}: `wattle keys new` creates a key", code == 0, said[-500:])
    code, said = there.run("/usr/bin/wattle", "keys", "allow", "--allow-list", "/state/allow", "/state/controller.key.pub", "reader", "test")
    claims.check(f"controller {architecture}: `wattle keys allow` adds a key", code == 0, said[-500:])
    code, said = there.run("/usr/bin/wattle-controller", "--config", "/etc/wattle/controller.yaml", "--check-config")
    claims.check(f"controller {architecture}: its configuration is valid", code == 0, said[-500:])
    with open(there.rootfs / "log", "wb") as log:
        process = subprocess.Popen(list(map(str, there.words("/usr/bin/wattle-controller", "--config", "/etc/wattle/controller.yaml"))), stdout=log, stderr=log,
                                   env={"PATH": "/usr/bin"})
    try:
        begun, status = time.monotonic(), 0
        while process.poll() is None and status != 200 and time.monotonic() - begun < READY_S:
            with contextlib.suppress(OSError):
                status = fetch(f"http://127.0.0.1:{http}/readyz")[0]
            pace(0.2)
        log = (there.rootfs / "log").read_text(encoding="utf-8", errors="replace")
        claims.check(f"controller {architecture}: /readyz answers 200, after {time.monotonic() - begun:.0f} s", status == 200, log[-1500:])
        claims.check(f"controller {architecture}: a network learns with libtorch", "learning is off" not in log and "libwattle-left-out" not in log, log[-1500:])
    finally:
        process.terminate()
        code = process.wait(SOON_S)
    claims.check(f"controller {architecture}: it exits on SIGTERM", code == 0 and (state / "store.db").exists(), f"{code}: {log[-800:]}")


def check_left_out(build, rootfs):
    """Runs the networks' tests on this machine's libraries, without those that the images omit."""
    tests = build / "bin/unit_models_torch"
    if not tests.exists():
        print("     not run: unit_models_torch was not built")
        return
    with tempfile.TemporaryDirectory() as folder:
        for path in (rootfs / "usr/lib/x86_64-linux-gnu").iterdir():
            if path.name.startswith("libwattle-left-out") or (path.is_symlink() and os.readlink(path).startswith("libwattle-left-out")):
                shutil.copy(path, folder, follow_symlinks=False)
        ran = subprocess.run([tests], capture_output=True, text=True, check=False, env=os.environ | {"LD_LIBRARY_PATH": folder})
        claims.check(f"the networks' tests pass without {len(list(pathlib.Path(folder).iterdir())) - 1} libraries", ran.returncode == 0, ran.stdout[-800:] + ran.stderr[-800:])


def main():
    missing = [tool for tool in ("skopeo", "llvm-strip", "clang", "mold") if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        print(f"skipped: {', '.join(missing)} missing (scripts/setup --release)" if missing else "skipped: not root")
        return SKIPPED
    builds = {"amd64": pathlib.Path(sys.argv[1]).resolve()}
    arm64 = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build/release-arm64").resolve()
    if (arm64 / "bin/wattle-controller").exists() and os.path.exists(EMULATOR):
        builds["arm64"] = arm64
    else:
        print("     not looked at: arm64, which was not built (scripts/setup --release; scripts/build release-arm64)")
    with tempfile.TemporaryDirectory(prefix="wattle-release-images-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        first, second = made(folder / "first", builds), made(folder / "second/deeper", builds)
        claims.check("a second build has the same bytes", all(first[name].read_bytes() == second[name].read_bytes() for name in first))
        for name, path in first.items():
            layout = check_archive(name, path, folder / "copied")
            for architecture in builds:
                there = There(layout.unpack(architecture, folder / f"{name}-{architecture}"), architecture, USER[name])
                check_programs(name, architecture, there)
                if name == "controller" and architecture == "amd64":
                    check_left_out(builds["amd64"], there.rootfs)
                if check := {"agent": check_agent, "controller": check_controller, "sim": check_sim, "load": check_load, "actuator": check_actuator}.get(name):
                    check(architecture, there)
    print("images: every claim holds" if not claims.failed else "images: claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
