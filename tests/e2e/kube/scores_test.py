#!/usr/bin/env python3
"""scores_test: the simulator's model of the default scheduler gives the scores of a real kube-scheduler. For each pod
and node, sim/world/kube_scoring returns the scores that the plugins NodeResourcesFit (LeastAllocated and MostAllocated)
and NodeResourcesBalancedAllocation log, and the pod is bound to one of the best nodes.

The model is that of Kubernetes 1.36 and later. Up to 1.35, NodeResourcesBalancedAllocation had another formula; for
these versions its scores are not compared.

Usage    scores_test.py FOLDER-OF-BINARIES [--version V] [--pods 90] [--write FILE]
         --write: records the real scores as the fixture of tests/unit/sim/kube_scoring_test.cpp
Skips    (77) if the control plane's programs can neither be found nor built, with the reason
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
PACKED = {"schedulerName": "packed", "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {
    "type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}}}]}


def logged(plane, name):
    """Returns node -> plugin -> score of one pod."""
    found = {}
    for pod, plugin, node, score in SCORED.findall((plane.dir / "scheduler.log").read_text(errors="replace")):
        if pod == name and plugin in PLUGINS:
            found.setdefault(node, {})[PLUGINS[plugin]] = int(score)
    # The log omits a plugin without scores for a pod.
    return {node: {"fit": 0, "balanced": 0} | scores for node, scores in found.items()}


def has_model_of_balance(plane):
    """Returns whether the model has the BalancedAllocation formula of this version."""
    version = plane.call("GET", "/version")["gitVersion"].removeprefix("v")
    return tuple(int(part) for part in version.split(".")[:2]) >= (1, 36)


def make_cluster(plane):
    nodes = [{"name": f"n{i}", "milli_cpu": cores * 1000, "memory_bytes": gib << 30, "pods": 110} for i, (cores, gib) in enumerate(NODES)]
    for node, (cores, gib) in zip(nodes, NODES):
        plane.add_node(node["name"], cpu=str(cores), memory=f"{gib}Gi")
    plane.nodes_ready(len(nodes))
    return nodes


class Comparison:
    def __init__(self, plane, model, nodes):
        self.plane, self.model, self.compare_balance = plane, model, has_model_of_balance(plane)
        self.differ, self.not_best, self.record = [], [], {"nodes": nodes, "pods": []}
        self.say({"nodes": nodes})

    def say(self, line):
        self.model.stdin.write(json.dumps(line) + "\n")
        self.model.stdin.flush()

    def place(self, name, pod):
        self.say(pod)
        predicted = json.loads(self.model.stdout.readline())
        self.plane.add_pod(name, cpu=f"{pod['milli_cpu']}m" if pod["milli_cpu"] else None, memory=str(pod["memory_bytes"]) if pod["memory_bytes"] else None,
                           scheduler="packed" if pod["packed"] else "default-scheduler")
        bound = wait_until(f"{name} is bound", lambda: next((p["spec"].get("nodeName") for p in self.plane.pods() if p["metadata"]["name"] == name), None), LATE_S)
        real = logged(self.plane, name)
        if not self.compare_balance:
            for node in predicted.keys() & real.keys():
                predicted[node]["balanced"] = real[node]["balanced"]
        if real != predicted:
            self.differ.append((name, pod, real, predicted))
        total = {node: sum(scores.values()) for node, scores in predicted.items()}
        if total.get(bound) != max(total.values()):
            self.not_best.append((name, bound, total))
        self.record["pods"].append(pod | {"scores": {node: [one["fit"], one["balanced"]] for node, one in real.items()}, "bound": bound})
        self.say({"bound": bound})


def run(binaries, version, pods, claims, write):
    rng = random.Random(7)
    with ControlPlane(assets.assets(version, assets.CONTROL_PLANE)) as plane:
        plane.start_kwok()
        nodes = make_cluster(plane)
        plane.start_scheduler("scheduler", profile="default-scheduler", verbosity=10, more_profiles=[PACKED])
        with subprocess.Popen([str(binaries / "kube_scores")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as model:
            both = Comparison(plane, model, nodes)
            for i in range(pods):
                both.place(f"pod-{i}", {"milli_cpu": rng.choice([0, 50, 100, 250, 333, 500, 1000, 1999]), "memory_bytes": rng.choice([0, 1, 64, 128, 200, 500, 1000, 3000]) << 20,
                                        "packed": rng.random() < 0.3})
            model.stdin.close()
        claims.check(f"the model gives the real scores of every node, for each of {pods} pods" + ("" if both.compare_balance else " (BalancedAllocation left out)"), not both.differ, f"{len(both.differ)} differ: {both.differ[:2]}")
        claims.check("each pod is bound to one of the best nodes", not both.not_best, both.not_best[:2])
        if write:
            rows = ",\n".join(json.dumps(pod, separators=(",", ":")) for pod in both.record["pods"])
            write.write_text(f'{{"version": "{version}",\n"nodes": {json.dumps(nodes)},\n"pods": [\n{rows}\n]}}\n', encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    parser.add_argument("--pods", type=int, default=90)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    claims = Claims()
    try:
        run(pathlib.Path(options.binaries).resolve(), options.version, options.pods, claims, options.write)
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
