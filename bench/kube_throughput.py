#!/usr/bin/env python3
"""kube_throughput: pods a second through a real kube-scheduler, without an extender and with ours and one that does nothing, in one run.

Usage    kube_throughput.py BIN_DIR [--nodes 100,1000,5000] [--pods 500] [--rounds 3] [--json FILE]
Does     for each size: KWOK nodes with a swarm's agents streaming; then in turn, per round, each arm: pods that wait are made first, then a
         scheduler for them is started; from its first binding to its last
Arms     none; noop (a Go extender that answers 0); wattle (prioritize, live); wattle-filter (filter and prioritize, live)
Needs    the control plane's programs (tests/e2e/kube/assets.py), and Go for the extender that does nothing
Gives    medians of the rounds and ratios to `none`; the shim's own p50 and p99 from its histogram
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e")]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import fetch, wait_until  # noqa: E402
from kube_house import KubeHouse  # noqa: E402

ARMS = ("none", "noop", "wattle", "wattle-filter")
PATIENCE = 600


class Noop:
    def __init__(self, folder):
        program = pathlib.Path(folder) / "noop"
        subprocess.run(["go", "build", "-o", str(program), str(ROOT / "bench/extender_main.go")], check=True)
        self.process = subprocess.Popen([str(program)], stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def close(self):
        self.process.kill()
        self.process.wait()


def extenders_of(arm, house, noop):
    if arm == "none":
        return []
    extender = house.extender()
    if arm == "noop":
        extender["urlPrefix"] = noop.url
    if arm != "wattle-filter":
        del extender["filterVerb"]
    return [extender]


def measure(plane, house, arm, noop, pods, turn):
    profile = f"arm-{turn}"
    annotations = {"wattle.dev/latency-hard-ms": "1000"} if arm == "wattle-filter" else None
    for i in range(pods):
        plane.add_pod(f"{profile}-{i}", cpu="20m", memory="16Mi", scheduler=profile, annotations=annotations)
    name = f"scheduler-{turn}"
    plane.start_scheduler(name, profile=profile, extenders=extenders_of(arm, house, noop))

    def count():
        _, page = plane.raw("GET", f"/api/v1/namespaces/default/pods?fieldSelector=spec.schedulerName%3D{profile}%2Cspec.nodeName%3D&limit=1")
        listed = json.loads(page)
        return pods - len(listed["items"]) - listed["metadata"].get("remainingItemCount", 0)
    wait_until("the first pod is bound", lambda: count() > 0, PATIENCE)
    begun, first = time.monotonic(), count()
    wait_until("all pods are bound", lambda: count() == pods, PATIENCE)
    rate = (pods - first) / (time.monotonic() - begun)
    plane.kill(name)
    for i in range(pods):
        plane.delete_pod(f"{profile}-{i}")
    wait_until("they are gone", lambda: not plane.pods(), PATIENCE)
    return rate


def shim_quantiles(house):
    """Upper ends of the histogram's buckets, per verb, in milliseconds."""
    _, page = fetch(f"{house.shim()}/metrics")
    found = {}
    for verb in ("prioritize", "filter"):
        buckets = [(float(le), int(count)) for le, count in re.findall(
            rf'wattle_shim_request_duration_seconds_bucket{{verb="{verb}",le="([0-9.e+-]+)"}} (\d+)', page)]
        total = buckets[-1][1] if buckets else 0
        if total:
            found[verb] = {f"p{int(q * 100)}_ms_at_most": next((le * 1e3 for le, count in buckets if count >= q * total), None) for q in (0.5, 0.99)}
    return found


def run(binaries, nodes, options, noop):
    with ControlPlane(assets.assets(assets.VERSION, assets.CONTROL_PLANE)) as plane, KubeHouse(binaries, plane, nodes=nodes, mode="live") as house:
        house.start_controller()
        house.start_shim()
        house.start_swarm()
        plane.start_kwok()
        house.make_nodes()
        wait_until("all agents are heard", lambda: house.document("status")["nodes_connected"] == nodes, PATIENCE)
        rates = {arm: [] for arm in ARMS}
        turn = 0
        for _ in range(options.rounds):
            for arm in ARMS:
                rates[arm].append(measure(plane, house, arm, noop, options.pods, turn))
                print(f"{nodes} nodes, {arm}: {rates[arm][-1]:.0f} pods/s", flush=True)
                turn += 1
        medians = {arm: statistics.median(values) for arm, values in rates.items()}
        return {"nodes": nodes, "pods": options.pods, "pods_per_s": rates, "median": medians,
                "ratio_to_none": {arm: value / medians["none"] for arm, value in medians.items()}, "shim": shim_quantiles(house)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--nodes", default="100,1000,5000")
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        noop = Noop(folder)
        try:
            for nodes in map(int, options.nodes.split(",")):
                results.append(run(pathlib.Path(options.binaries).resolve(), nodes, options, noop))
                print(json.dumps({key: value for key, value in results[-1].items() if key != "pods_per_s"}, indent=1), flush=True)
        finally:
            noop.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
