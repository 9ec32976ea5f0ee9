#!/usr/bin/env python3
"""preemption_test: with a filtering shim, kube-scheduler evicts no pod in favour of a pod that the shim refuses.

Every node is full of low-priority pods. A high-priority pod with a hard latency limit that no node meets evicts none of
them. With a limit that some nodes meet, it evicts a pod on one of those nodes and runs there. With a limit on a target
that no node measures, or without a limit, it evicts one pod, as without Wattle.

Usage    preemption_test.py FOLDER-OF-BINARIES [--version V]
Skips    (77) if the control plane's programs can neither be found nor built, with the reason
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, fetch, wait_until  # noqa: E402
from kube_house import PATIENCE, KubeHouse  # noqa: E402

NODES = 8
ROOM_MILLI = 400  # free on each node


def preempt_requests(house):
    _, page = fetch(f"{house.shim()}/metrics")
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
               if line.startswith("wattle_shim_requests_total{") and 'verb="preempt"' in line)


class Scenario:
    def __init__(self, house, claims):
        self.house, self.plane, self.claims = house, house.plane, claims
        self.made = 0

    def low(self):
        """Returns node -> its low-priority pod, without pods that are being deleted."""
        return {p["spec"]["nodeName"]: p["metadata"]["name"] for p in self.plane.pods()
                if p["metadata"]["name"].startswith("low-") and p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]}

    def fill(self):
        for name, value in (("low", 1), ("high", 1000)):
            self.plane.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        self.cores = {server["name"]: int(server["cpu_cores"]) for server in self.house.servers()}
        for name in self.cores:
            self.fill_node(name)
        wait_until("every node is full", lambda: len(self.low()) == NODES, PATIENCE)

    def fill_node(self, node):
        self.made += 1
        self.plane.add_pod(f"low-{self.made}", cpu=f"{int(self.cores[node] * 1000) - ROOM_MILLI}m", scheduler="wattle",
                           spec={"priorityClassName": "low", "nodeSelector": {"kubernetes.io/hostname": node}})
        wait_until(f"{node} is full", lambda: node in self.low(), PATIENCE)

    def high(self, name, **annotations):
        """Creates a pod that is larger than a node's free capacity and smaller than any of its pods."""
        self.plane.add_pod(name, cpu="500m", scheduler="wattle", spec={"priorityClassName": "high"},
                           annotations={f"wattle.dev/{key.replace('_', '-')}": value for key, value in annotations.items()})

    def node_of(self, name):
        return next(p["spec"].get("nodeName") for p in self.plane.pods() if p["metadata"]["name"] == name)

    def refused(self):
        """Creates two pods in turn: once the second is refused, the first one's preemption is complete."""
        for name in ("never-0", "never-1"):
            asked = preempt_requests(self.house)
            self.high(name, latency_hard_ms="0.001")
            wait_until("preemption is decided", lambda before=asked: preempt_requests(self.house) > before or len(self.low()) < NODES, PATIENCE)
        self.claims.check(f"a pod whose limit no node meets evicts none of {NODES} pods", len(self.low()) == NODES, self.low())
        self.claims.check("a pod whose limit no node meets is not placed", not self.node_of("never-0") and not self.node_of("never-1"))
        for name in ("never-0", "never-1"):
            self.plane.delete_pod(name)

    def accepted(self, name, allowed, **annotations):
        before = self.low()
        self.high(name, **annotations)
        node = wait_until(f"{name} is placed", lambda: self.node_of(name), PATIENCE)
        gone = before.keys() - self.low().keys()
        self.claims.check(f"{name}: one pod is evicted, on the node that the pod takes", gone == {node}, (gone, node))
        self.claims.check(f"{name}: the node meets the limit", node in allowed, (node, allowed))
        # The next pod must evict a pod again.
        self.cores[node] -= 0.5
        self.fill_node(node)

    def run(self):
        p50 = {n["name"]: n["latency"][0]["p50_ms"] for n in self.house.nodes() if n["latency"]}
        ordered = sorted(p50.values())
        # Between two values that are far apart, because the probes' jitter is a few percent.
        gap = max(range(1, len(ordered) - 1), key=lambda i: ordered[i + 1] / ordered[i])
        limit = (ordered[gap] * ordered[gap + 1]) ** 0.5
        self.fill()
        self.refused()
        self.accepted("near", {name for name, ms in p50.items() if ms < limit}, latency_hard_ms=f"{limit:.3f}")
        self.accepted("unmeasured", set(p50), latency_hard_ms="1", latency_target="nowhere")
        self.accepted("unlimited", set(p50))


def run(binaries, version, claims):
    with ControlPlane(assets.assets(version, assets.CONTROL_PLANE)) as plane, KubeHouse(binaries, plane, nodes=NODES) as house:
        house.start_controller()
        house.start_shim()
        house.start_swarm()
        plane.start_kwok()
        house.make_nodes()
        plane.start_scheduler("scheduler", profile="wattle", extenders=[house.extender()])
        wait_until("all agents report latencies", lambda: sum(n["connected"] and n["latency"] != [] for n in house.nodes()) == NODES, PATIENCE)
        house.set_mode("live")
        try:
            Scenario(house, claims).run()
        except BaseException:
            for name in ("controller", "shim", "swarm"):
                print(f"---- {name}\n{house.log(name)[-3000:]}")
            for name in plane.processes:
                print(f"---- {name}\n{plane.tail(name)}")
            raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    claims = Claims()
    try:
        run(pathlib.Path(options.binaries).resolve(), options.version, claims)
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
