#!/usr/bin/env python3
"""The simulator's default-scheduler baseline is the default scheduler: pod by pod, sim/world/kube_scoring gives each node the scores that a real
kube-scheduler's NodeResourcesFit and NodeResourcesBalancedAllocation log, and the node that it binds to is one of the best.

The baseline is the default scheduler up to 1.35. That of 1.37 scores by how much the pod changes a node's balance (1.36 was not looked at):
there the balance with the pod, which the simulator gives, is put into its formula, with the balance without the pod from this test's books.

Usage    scores_test.py FOLDER-OF-BINARIES [--version V] [--pods 60]
Skips    (77) where the control plane's programs can neither be found nor built, with the reason
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, wait_until  # noqa: E402
from patience import LATE_S  # noqa: E402

SCORED = re.compile(r'"Plugin scored node for pod" pod="default/([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(-?\d+)')
PLUGINS = {"NodeResourcesFit": "fit", "NodeResourcesBalancedAllocation": "balanced"}
NODES = [(4, 8), (8, 16), (8, 64), (16, 32), (32, 64), (64, 512), (2, 4), (6, 48)]  # cores, GiB


def logged(plane, name):
    """node -> plugin -> score, of one pod."""
    found = {}
    for pod, plugin, node, score in SCORED.findall((plane.dir / "scheduler.log").read_text(errors="replace")):
        if pod == name and plugin in PLUGINS:
            found.setdefault(node, {})[PLUGINS[plugin]] = int(score)
    return found


class Balance:
    """NodeResourcesBalancedAllocation of a version, from the balance with the pod (balanced_allocation.go of 1.37.2: balancedResourceScorer)."""

    def __init__(self, nodes, version):
        self.by_change = tuple(int(part) for part in version.split(".")[:2]) >= (1, 37)
        self.room = {node["name"]: (node["milli_cpu"], node["memory_bytes"]) for node in nodes}
        self.used = {node["name"]: (0, 0) for node in nodes}

    def score(self, node, with_pod, requests):
        if not self.by_change or not requests:  # the plugin is skipped for a pod that requests nothing
            return with_pod
        cpu, memory = (min(1.0, used / room) for used, room in zip(self.used[node], self.room[node]))
        without = int((1 - abs((cpu - memory) / 2)) * 100)
        return 50 + (50 + with_pod - without) // 2

    def bind(self, node, milli_cpu, memory_bytes):
        self.used[node] = (self.used[node][0] + milli_cpu, self.used[node][1] + memory_bytes)


def run(binaries, version, pods, claims):
    rng = random.Random(7)
    with ControlPlane(assets.assets(version, assets.CONTROL_PLANE)) as plane:
        plane.start_kwok()
        nodes = [{"name": f"n{i}", "milli_cpu": cores * 1000, "memory_bytes": gib << 30, "pods": 110} for i, (cores, gib) in enumerate(NODES)]
        for node, (cores, gib) in zip(nodes, NODES):
            plane.add_node(node["name"], cpu=str(cores), memory=f"{gib}Gi")
        plane.nodes_ready(len(nodes))
        plane.start_scheduler("scheduler", profile="default-scheduler", verbosity=10)
        differ, not_best = [], []
        balance = Balance(nodes, plane.call("GET", "/version")["gitVersion"].removeprefix("v"))
        with subprocess.Popen([str(binaries / "kube_scores")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
            def tell(line):
                ours.stdin.write(json.dumps(line) + "\n")
                ours.stdin.flush()
            tell({"nodes": nodes})
            for i in range(pods):
                milli_cpu, mib = rng.choice([0, 50, 100, 250, 333, 500, 1000, 1999]), rng.choice([0, 1, 64, 128, 200, 500, 1000, 3000])
                tell({"milli_cpu": milli_cpu, "memory_bytes": mib << 20})
                predicted = json.loads(ours.stdout.readline())
                for node, scores in predicted.items():
                    scores["balanced"] = balance.score(node, scores["balanced"], milli_cpu or mib)
                name = f"pod-{i}"
                plane.add_pod(name, cpu=f"{milli_cpu}m" if milli_cpu else None, memory=f"{mib}Mi" if mib else None)
                bound = wait_until(f"{name} is bound", lambda n=name: next((p["spec"].get("nodeName") for p in plane.pods() if p["metadata"]["name"] == n), None), LATE_S)
                # A plugin that has nothing to say of a pod is left out of the log.
                real = {node: {"fit": 0, "balanced": 0} | scores for node, scores in logged(plane, name).items()}
                if real != predicted:
                    differ.append((name, milli_cpu, mib, real, predicted))
                total = {node: sum(scores.values()) for node, scores in predicted.items()}
                if total.get(bound) != max(total.values()):
                    not_best.append((name, bound, total))
                balance.bind(bound, milli_cpu, mib << 20)
                tell({"bound": bound})
            ours.stdin.close()
        claims.check(f"of {pods} pods every node's scores are the real ones", not differ, f"{len(differ)} differ: {differ[:2]}")
        claims.check("and each is bound to one of the best", not not_best, not_best[:2])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    parser.add_argument("--pods", type=int, default=60)
    options = parser.parse_args()
    claims = Claims()
    try:
        run(pathlib.Path(options.binaries).resolve(), options.version, options.pods, claims)
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
