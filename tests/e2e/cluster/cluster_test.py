#!/usr/bin/env python3
"""scripts/demo cluster: three real nodes become Ready, the chart runs, `wattle` places pods, each node reports its own
values, and nothing is left behind after SIGTERM and after SIGKILL at random moments. It types the commands of
docs/start/real-cluster.md.

Usage    cluster_test.py BINARY-FOLDER [--kills N]     N: default 1
Skips    without root, or where the programs of Kubernetes and helm are not in the cache (assets.py builds them)
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "kube")]
import assets  # noqa: E402
from demo_run import Claims, Demo  # noqa: E402
from house import HouseError, SKIPPED, fetch, wait_until  # noqa: E402
from patience import AGES_S, LATE_S, SOON_S, pace  # noqa: E402

NODES = 3
RISE_S = 40  # about the time of a start
CACHE = pathlib.Path(os.environ.get("WATTLE_CLUSTER_CACHE", pathlib.Path.home() / ".cache/wattle/cluster"))


def missing():
    if os.geteuid() != 0:
        return "not root"
    folder = assets.cache_folder() / assets.VERSION
    lacking = [program for program in assets.REAL_NODE if not (folder / program).exists()]
    if lacking:
        return f"{folder} has no {', '.join(lacking)} (tests/e2e/kube/assets.py --only {','.join(assets.REAL_NODE)} builds them)"
    try:
        assets.helm(may_build=False)
        assets.kubectl()
    except assets.Missing as reason:
        return str(reason)
    return ""


def cgroups_left():
    """Cgroups of clusters in all hierarchies."""
    points = {line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if line.split()[2].startswith("cgroup")}
    return sorted(str(path) for point in points for path in pathlib.Path(point).glob("wattle-cluster-*"))


def processes_left():
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(b"scripts/cluster/" in word for word in words[:4]) or any(b"wattle/cluster/run-" in word for word in words):
            found.append((path.parent.name, words[:4]))
    return found


def left():
    mounts = [line for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if "/run-" in line and str(CACHE) in line]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return [*cgroups_left(), *processes_left(), *mounts, *(str(path) for path in CACHE.glob("run-*")), *(name for name in ("nodes0", "link1") if f" {name}" in links)]


class Console:
    """kubectl and `wattle` with the files that the demo names."""

    def __init__(self, demo, binaries):
        (kubeconfig, config), = demo.find(r"KUBECONFIG=(\S+) WATTLE_CONFIG=(\S+)")
        self.env = os.environ | {"KUBECONFIG": kubeconfig, "WATTLE_CONFIG": config}
        self.wattle_program = binaries / "wattle"

    def run(self, *words):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=self.env, timeout=LATE_S)
        if done.returncode != 0:
            raise HouseError(f"{' '.join(map(str, words[:4]))}: exit {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def objects(self, kind, *more):
        return json.loads(self.run(assets.kubectl(), "get", kind, "--output", "json", *more))["items"]

    def wattle(self, *words):
        return json.loads(self.run(self.wattle_program, "--timeout", f"{SOON_S:.0f}s", *words, "--output", "json"))


def is_ready(thing):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in thing["status"]["conditions"])


def check_runs(claims, demo, binaries):
    demo.wait_for(r"s: ready\b", AGES_S)
    print("\n".join(line for line in demo.lines if " s: " in line), flush=True)
    console = Console(demo, binaries)
    nodes = console.objects("nodes")
    claims.check("three nodes are Ready", [is_ready(node) for node in nodes] == [True] * NODES, nodes)
    workloads = console.objects("deployments,daemonsets", "--all-namespaces")
    names = {each["metadata"]["name"] for each in workloads}
    claims.check("the chart's workloads exist", {"wattle-agent", "wattle-controller", "wattle-scheduler"} <= names, names)
    pods = {pod["metadata"]["uid"]: pod for pod in console.objects("pods") if pod["spec"]["schedulerName"] == "wattle"}

    def decided():
        made = [each for each in console.wattle("decisions")["decisions"] if each["pod_uid"] in pods and each["mode"] == "live" and each["placed_on"]]
        return made or None
    made = wait_until("the controller decided about a pod, which runs", decided)
    claims.check("pods of the scheduler `wattle` were placed by the controller's advice", any(each["placed_on"] for each in made), made)
    check_values(claims, console)
    status, _ = fetch(demo.find(r"Page:\s+(\S+)")[0] + "api/v1/nodes")
    claims.check("the page's address answers", status == 200, status)
    web = next(pod["metadata"]["name"] for pod in console.objects("pods") if pod["metadata"]["name"].startswith("web-") and is_ready(pod))
    claims.check("kubectl exec works", console.run(assets.kubectl(), "exec", web, "--", "cat", "/etc/nsswitch.conf").startswith("hosts:"))


def check_values(claims, console):
    def told():
        found = console.wattle("nodes")["nodes"]
        return found if len(found) == NODES and all(node["cpu_used_cores"] is not None and node["power_w"] is not None for node in found) else None
    nodes = wait_until("each node reports CPU and watts", told)
    cores = sum(node["cpu_used_cores"] for node in nodes)
    claims.check("the CPU of all nodes together is no more than the machine has", 0 < cores <= os.cpu_count() * 1.05, cores)
    claims.check("their watts are marked as estimates", {node["energy_source"] for node in nodes} == {"estimated"}, nodes)

    def with_memory():
        found = console.wattle("pods")["pods"]
        return found if found and all(pod["memory_bytes"] for pod in found if pod["age_s"] is None or pod["age_s"] > 5) else None
    pods = wait_until("every pod has memory", with_memory)
    total = sum(node["memory_used_bytes"] for node in nodes)
    print(f"     nodes: {cores:.2f} cores, {total / 2**20:.0f} MiB; {len(pods)} pods", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    binaries, claims = options.binaries.resolve(), Claims()
    with Demo(binaries, 0, "cluster", str(NODES)) as demo:
        check_runs(claims, demo, binaries)
        demo.process.send_signal(signal.SIGTERM)
        claims.check("the demo ends with 0", demo.end() == 0, demo.output()[-1000:])
        claims.check("it reports that nothing is left behind", "nothing is left behind" in demo.output())
    claims.check("nothing is left behind", not left(), left())
    moments = random.Random(options.seed)
    for number in range(options.kills):
        moment = moments.uniform(0, RISE_S)
        with Demo(binaries, 0, "cluster", str(NODES)) as demo:
            demo.wait_for(r"cluster: images", AGES_S)
            pace(moment)
            demo.process.kill()
            demo.process.wait()
            try:
                wait_until("everything is gone", lambda: not left())
                claims.check(f"kill -9 {number + 1} of {options.kills}, after {moment:.1f} s: nothing is left behind", True)
            except HouseError as error:
                claims.check(f"kill -9 after {moment:.1f} s (seed {options.seed}): nothing is left behind", False, f"{error}: {left()}")
    print("cluster: every claim holds" if claims.failed == 0 else f"cluster: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
