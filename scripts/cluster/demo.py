"""demo: starts a cluster of real nodes on this machine, and ends it with this process.

Usage    scripts/demo cluster [NODES]     NODES: 1 to 9, default 3; needs root
         scripts/demo cluster --clean     removes what killed demos left
         scripts/demo cluster --prepare   builds and downloads what a start needs, except Wattle's own programs
Units    DEMO_BIN: folder with built programs; the demo then builds nothing
         DEMO_LOGS: folder that receives the logs
         DEMO_BARE=1: no services and jobs, but the images of lab/real; DEMO_VALUES: file with further values of the chart
         DEMO_PORT: port of the page (default 8050, or a free one if that is in use)
         DEMO_SLEEP=0: no node sleeps (the default with DEMO_BARE); DEMO_SLEEP=1: nodes without work sleep
         DEMO_GRACE: silence after which a node is not Ready (default 15m)
         DEMO_CPUS: processors of each node in order, as "0-1 0 1" (default: each node uses all)
         DEMO_IP: addresses of nodes, pods and Services: ipv4 (default), ipv6 or dual
         DEMO_GANGS=1: with the alpha API of gangs, scheduling.k8s.io/v1alpha1
         WATTLE_CLUSTER_CACHE (default ~/.cache/wattle/cluster): unpacked packages, images and the state of running nodes
         WATTLE_KUBE_CACHE, WATTLE_KUBE_VERSION: as in tests/e2e/kube/assets.py
Errors   names what is missing and the fix; exit 1
Locks    one demo at a time changes the cache, and another one names it while it waits; several clusters run at the same
         time
Leaves   no process, namespace, mount, cgroup or file outside the cache, also after kill -9 (guard.py)
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "k8s/images")]
import assets  # noqa: E402
import guard  # noqa: E402
import images  # noqa: E402
import network  # noqa: E402
import packages  # noqa: E402
from closure import ImageError  # noqa: E402

PROGRAMS = ("wattle", "wattle-agent", "wattle-controller", "wattle-shim", "wattle-load")
if os.environ.get("DEMO_BARE"):
    PROGRAMS += ("wattle-actuator", "wattle-sim")


def say(text):
    print(f"cluster: {text}", flush=True)


def version_of_chart():
    return next(line.split()[1] for line in (ROOT / "k8s/chart/Chart.yaml").read_text(encoding="utf-8").splitlines() if line.startswith("appVersion:"))


def binaries():
    if given := os.environ.get("DEMO_BIN"):
        return pathlib.Path(given).resolve()
    subprocess.run([*packages.CONTAINED, ROOT / "scripts/build", "release", *PROGRAMS], check=True)
    return ROOT / "build/release/bin"


def made(cache, only):
    """Returns the path that assets.py prints; its builds end with this process."""
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        env = os.environ | {"TMPDIR": folder}
        return packages.run(sys.executable, "-B", assets.__file__, "--only", only, env=env).strip()


def prepare(cache):
    """Builds and downloads programs and packages into the cache for later starts."""
    packages.check_tools()
    with guard.exclusive(cache):
        if not all((assets.cache_folder() / assets.VERSION / program).exists() for program in assets.REAL_NODE):
            say("building Kubernetes from its Go modules, once: 15 minutes of processor time")
        kube, helm = (made(cache, only) for only in (",".join(assets.REAL_NODE), "helm"))
        tree = packages.tree(cache)
    return {"kube": str(kube), "version": assets.VERSION, "helm": str(helm), "tree": str(tree)}


def run(cache, settings, page):
    """Starts the guard. `page`: the listening socket of the page."""
    built, tree = binaries(), settings["tree"]
    with guard.exclusive(cache):
        say("images")
        store = images.store(images.all_images(built, pathlib.Path(tree), pathlib.Path(settings["kube"]), assets.VERSION, version_of_chart(), cache), tree, cache)
    given = json.dumps(settings | {"bin": str(built), "store": str(store), "page": page.fileno()})
    keeper = subprocess.Popen([sys.executable, "-B", guard.__file__, str(cache), given],
                              stdin=subprocess.PIPE, start_new_session=True, pass_fds=[page.fileno()])
    page.close()

    def stop(*_):
        keeper.stdin.close()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    if (code := keeper.wait()) < 0:  # a killed guard leaves resources
        with guard.exclusive(cache):
            guard.clean(cache)
        return 1
    return code


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo cluster", description="starts a cluster of real nodes on this machine")
    parser.add_argument("nodes", nargs="?", type=int, default=3, choices=range(1, 10), metavar="NODES")
    parser.add_argument("--clean", action="store_true", help="only remove what killed demos left")
    parser.add_argument("--prepare", action="store_true", help="only build and download what a start needs")
    options = parser.parse_args()
    begun = time.time()
    cache = pathlib.Path(os.environ.get("WATTLE_CLUSTER_CACHE", pathlib.Path.home() / ".cache/wattle/cluster"))
    cache.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        raise packages.Missing("root is required for namespaces and cgroups")
    with guard.exclusive(cache):
        for name in guard.clean(cache):
            say(f"removed {name}, which a killed demo left")
    if options.clean:
        return 0
    ip = os.environ.get("DEMO_IP", "ipv4")
    if ip not in network.FAMILIES:
        raise packages.Missing(f"DEMO_IP is '{ip}': use {', '.join(network.FAMILIES)}")
    if not options.prepare and not os.environ.get("DEMO_BIN"):
        # Runs outside of the namespaces, because a killed apt-get leaves an incomplete package.
        subprocess.run([ROOT / "scripts/setup", "--build", "--cluster"], check=True)
    if options.prepare:
        prepare(cache)
        return 0
    with guard.listen_for_page(os.environ.get("DEMO_PORT")) as page:
        return run(cache, prepare(cache) | {"ip": ip, "nodes": options.nodes, "begun": begun}, page)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (packages.Missing, assets.Missing, ImageError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cluster: {error}")
    except KeyboardInterrupt:  # before the cluster exists
        sys.exit(130)
