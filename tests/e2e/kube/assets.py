#!/usr/bin/env python3
"""assets: builds the programs of a control plane (etcd, kube-apiserver, kube-scheduler, kubectl, KWOK) and of a node
from their Go modules.

Usage    assets.py [--version V] [--only PROGRAM,...]     prints their folder; V: default WATTLE_KUBE_VERSION or 1.35.4
         assets.py --only helm                            prints the path of helm, which renders the chart
         assets.py --only metrics-server                  prints the path of metrics-server
         assets.py --only wattle-kube-scheduler           prints the path of the scheduler with our plugin (scheduler/);
                                                          with [--arch A] FOLDER: writes it there (scripts/scheduler)
Source   KUBEBUILDER_ASSETS, if set, is used unchanged; otherwise WATTLE_KUBE_CACHE (default ~/.cache/wattle/kube), one
         folder per version. Existing programs are not built again
Errors   exit code 77 with the reason, without Go or if modules are not available; a test then skips
"""
import argparse
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
SCHEDULER = pathlib.Path(__file__).resolve().parents[3] / "scheduler"
VERSION = os.environ.get("WATTLE_KUBE_VERSION", "1.35.4")
ETCD = "v3.6.5"
KWOK = "v0.7.0"
HELM = "v3.19.5"
METRICS_SERVER = "v0.8.0"
KEDA = "v2.18.1"
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kubectl", "kwok")
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-scheduler", "kwok")  # all that control_plane.py starts
REAL_NODE = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet", "kube-proxy")  # what node_test.py runs
OF_KUBERNETES = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
    "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
}

MODULES = {
    "etcd": ("go.etcd.io/etcd/server/v3", ETCD, "go.etcd.io/etcd/server/v3"),
    "kwok": ("sigs.k8s.io/kwok", KWOK, "sigs.k8s.io/kwok/cmd/kwok"),
}


class Missing(Exception):
    """A requirement is not available on this machine."""


def run_go(*arguments: str, cwd: pathlib.Path, architecture: str = "") -> subprocess.CompletedProcess:
    env = os.environ | {"GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "GOWORK": "off"} | ({"GOARCH": architecture} if architecture else {})
    return subprocess.run(["go", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def go(*arguments: str, cwd: pathlib.Path) -> str:
    ran = run_go(*arguments, cwd=cwd)
    if ran.returncode != 0:
        raise Missing(f"go {' '.join(arguments[:3])}: {ran.stderr.strip()[-2000:]}")
    return ran.stdout


def staging_of(version: str, cwd: pathlib.Path) -> list[str]:
    """Returns the modules inside Kubernetes' own repository, which it requires without a version."""
    found = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{version}", cwd=cwd))
    text = pathlib.Path(found["GoMod"]).read_text(encoding="utf-8")
    return sorted(set(re.findall(r"^\s*(k8s\.io/\S+) v0\.0\.0$", text, re.MULTILINE)))


def build_kubernetes(version: str, programs: list[str], fresh: pathlib.Path, out: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        cwd = pathlib.Path(name)
        go("mod", "init", "wattle.test/control-plane", cwd=cwd)
        require_kubernetes(version, cwd)
        for program in programs:
            go("build", "-trimpath", "-ldflags", f"-s -w {stamp(version)}", "-o", str(fresh / program), OF_KUBERNETES[program], cwd=cwd)
            (fresh / program).rename(out / program)


def require_kubernetes(version: str, cwd: pathlib.Path) -> None:
    """Sets the version of the Kubernetes packages that the module at `cwd` uses."""
    staged = "v0." + version.split(".", 1)[1]
    edits = [f"-replace={module}={module}@{staged}" for module in staging_of(version, cwd)]
    go("mod", "edit", f"-require=k8s.io/kubernetes@v{version}", *edits, cwd=cwd)


def stamp(version: str) -> str:
    return f"-X k8s.io/component-base/version.gitVersion=v{version}"


class SchedulerModule:
    """A copy of scheduler/ that uses the Kubernetes packages of `version`."""

    def __init__(self, version: str):
        if shutil.which("go") is None:
            raise Missing("Go is not installed (1.25 or later, from go.dev/dl)")
        self.version = version
        self.tags = ["-tags", "kube134"] if version.startswith("1.34.") else []

    def __enter__(self) -> "SchedulerModule":
        self.folder = tempfile.TemporaryDirectory()
        self.cwd = pathlib.Path(self.folder.name) / "scheduler"
        shutil.copytree(SCHEDULER, self.cwd)
        shutil.copytree(SCHEDULER.parent / "tests/fixtures/plugin", self.cwd.parent / "tests/fixtures/plugin")  # the folder of its tests
        require_kubernetes(self.version, self.cwd)
        go("list", "-deps", "-test", *self.tags, "./...", cwd=self.cwd)  # without modules the test skips; later errors fail it
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()

    def build(self, target: pathlib.Path, architecture: str = "") -> None:
        self.run("build", "-trimpath", *self.tags, "-ldflags", f"-s -w {stamp(self.version)}", "-o", str(target), ".", architecture=architecture)

    def test(self) -> str:
        return self.run("test", "-trimpath", *self.tags, "-count=1", "./...")

    def run(self, *arguments: str, architecture: str = "") -> str:
        ran = run_go(*arguments, cwd=self.cwd, architecture=architecture)
        if ran.returncode != 0:
            raise SystemExit(f"scheduler/: go {arguments[0]} for Kubernetes {self.version}:\n{(ran.stdout + ran.stderr)[-4000:]}")
        return ran.stdout


def scheduler(version: str = VERSION) -> pathlib.Path:
    """Returns kube-scheduler with our plugin; builds it if the cache has none of these sources."""
    sources = sorted(path for path in SCHEDULER.rglob("*") if path.suffix in (".go", ".mod") and not path.name.endswith("_test.go"))
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    folder = cache_folder() / version
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"wattle-kube-scheduler-{key}"
    with open(folder / ".lock-scheduler", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            for older in folder.glob("wattle-kube-scheduler-*"):
                older.unlink()
            with SchedulerModule(version) as module:
                module.build(folder / "wattle-kube-scheduler.new")
            (folder / "wattle-kube-scheduler.new").rename(program)
    return program


def build_module(module: str, version: str, package: str, target: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        cwd = pathlib.Path(name)
        go("mod", "init", "wattle.test/control-plane", cwd=cwd)
        go("get", f"{module}@{version}", cwd=cwd)
        go("build", "-trimpath", "-ldflags", "-s -w", "-o", str(target), package, cwd=cwd)


def build(version: str, programs: list[str], folder: pathlib.Path) -> None:
    if shutil.which("go") is None:
        raise Missing("Go is not installed (1.25 or later, from go.dev/dl)")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        fresh = pathlib.Path(name)
        of_kubernetes = [program for program in programs if program in OF_KUBERNETES]
        if of_kubernetes:
            build_kubernetes(version, of_kubernetes, fresh, folder)
        for program, (module, of_module, package) in MODULES.items():
            if program in programs:
                build_module(module, of_module, package, fresh / program)
                (fresh / program).rename(folder / program)


def borrowed(program: str, cache: pathlib.Path, folder: pathlib.Path) -> bool:
    """etcd, KWOK and kubectl work with every version of Kubernetes, so this reuses them from the folder of another
    version."""
    if program in OF_KUBERNETES and program != "kubectl":
        return False
    for other in sorted(cache.glob(f"*/{program}")):
        (folder / program).symlink_to(other)
        return True
    return False


def cache_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("WATTLE_KUBE_CACHE", pathlib.Path.home() / ".cache/wattle/kube"))


def helm(may_build: bool = True) -> pathlib.Path:
    """Returns helm from the PATH if its version is 3, otherwise from the cache, otherwise builds it."""
    found = shutil.which("helm")
    if found and subprocess.run([found, "version", "--short"], capture_output=True, text=True, check=False).stdout.startswith("v3."):
        return pathlib.Path(found)
    return alone("helm", HELM, "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm", may_build)


def metrics_server(may_build: bool = True) -> pathlib.Path:
    return alone("metrics-server", METRICS_SERVER, "sigs.k8s.io/metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server", may_build)


def alone(name: str, version: str, module: str, package: str, may_build: bool) -> pathlib.Path:
    """Returns a program in its own cache folder; builds it if it is missing."""
    folder = cache_folder() / f"{name}-{version}"
    program = folder / name
    if program.exists():
        return program
    if not may_build:
        raise Missing(f"there is no {name} here (tests/e2e/kube/assets.py --only {name} builds it)")
    if shutil.which("go") is None:
        raise Missing(f"Go is not installed, which builds {name} with (1.25 or later, from go.dev/dl)")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            build_module(module, version, package, folder / f"{name}.new")
            (folder / f"{name}.new").rename(program)
    return program


def keda_definition() -> str:
    """Returns KEDA's definition of ScaledObjects from its module."""
    if shutil.which("go") is None:
        raise Missing("Go is not installed, which fetches KEDA's module (1.25 or later, from go.dev/dl)")
    with tempfile.TemporaryDirectory() as name:
        found = json.loads(go("mod", "download", "-json", f"github.com/kedacore/keda/v2@{KEDA}", cwd=pathlib.Path(name)))
    return (pathlib.Path(found["Dir"]) / "config/crd/bases/keda.sh_scaledobjects.yaml").read_text(encoding="utf-8")


def kubectl() -> pathlib.Path:
    """Returns kubectl of VERSION if it was built, otherwise of another version, otherwise from the PATH: all render the
    same."""
    built = [folder / "kubectl" for folder in (cache_folder() / VERSION, *sorted(cache_folder().glob("*"), reverse=True))]
    found = next((program for program in built if program.exists()), None) or shutil.which("kubectl")
    if not found:
        raise Missing("there is no kubectl here (Debian package kubernetes-client; tests/e2e/kube/assets.py --only kubectl builds one)")
    return pathlib.Path(found)


def assets(version: str = VERSION, programs: tuple[str, ...] = PROGRAMS) -> pathlib.Path:
    given = os.environ.get("KUBEBUILDER_ASSETS")
    if given:
        lacking = [program for program in programs if not (pathlib.Path(given) / program).exists()]
        if lacking:
            raise Missing(f"KUBEBUILDER_ASSETS={given} has no {', '.join(lacking)}")
        return pathlib.Path(given)
    cache = cache_folder()
    folder = cache / version
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lacking = [program for program in programs if not (folder / program).exists() and not borrowed(program, cache, folder)]
        if lacking:
            build(version, lacking, folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="builds the programs of a control plane and prints where they are")
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--arch", default="", help="of wattle-kube-scheduler in FOLDER; default: this machine's")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="where to write wattle-kube-scheduler, as kube-scheduler")
    options = parser.parse_args()
    try:
        if options.folder:
            options.folder.mkdir(parents=True, exist_ok=True)
            with SchedulerModule(options.version) as module:
                module.build(options.folder.resolve() / "kube-scheduler", options.arch)
            return 0
        single = {"helm": helm, "metrics-server": metrics_server, "wattle-kube-scheduler": lambda: scheduler(options.version)}
        print(single[options.only]() if options.only in single else assets(options.version, tuple(options.only.split(","))))
    except Missing as missing:
        print(f"[skipped] {missing}", file=sys.stderr)
        return SKIP
    return 0


if __name__ == "__main__":
    sys.exit(main())
