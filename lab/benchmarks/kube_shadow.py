#!/usr/bin/env python3
"""kube_shadow: compares the saving that shadow mode predicts with that of live mode, through a real kube-scheduler.

Usage    kube_shadow.py BIN_DIR [--seeds 1,2,3,4,5,6] [--nodes 10] [--learn 120] [--span 490] [--block 30] [--at-once 3]
         [--json FILE]
Does     for each seed, uses the fleet and applications of kube_energy. In mode shadow, the scheduler places pods alone
         for --learn seconds while the controller learns from them. Then, on empty nodes, it places other pods in the
         same way for --span seconds while the controller also gives advice. Then, on empty nodes, mode live places the
         same pods at the same times
Compares the modelled saving at the end of shadow, and its interval, with 1 - (joules of live / joules of shadow) over
         the same seconds. Joules are the true watts of the fleet's power curves, integrated by the swarm
Gives    one row per fleet, and the number of fleets whose interval contains the saving of live
"""
import argparse
import bisect
import json
import os
import pathlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab/benchmarks"), str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e")]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import HouseError, wait_until  # noqa: E402
from kube_energy import PATIENCE, Trial  # noqa: E402
from kube_house import KubeHouse  # noqa: E402

EVERY_S = 1.0


class Meter:
    """Records the fleet's joules and the modelled saving once a second during the `with` block; time 0 is its start."""

    def __init__(self, trial):
        self.trial, self.over = trial, threading.Event()
        self.at_s, self.joules = [], []
        self.figures = []  # (time of first sight, figure)
        self.failed = None

    def __enter__(self):
        self.begun = time.monotonic()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        try:
            while not self.over.wait(EVERY_S):
                joules = self.trial.energy_j()
                self.at_s.append(time.monotonic() - self.begun)
                self.joules.append(joules)
                figure = self.trial.house.document("policy")["modelled"]
                if figure and figure["saving_ratio"] is not None and (not self.figures or self.figures[-1][1]["saving_ratio"] != figure["saving_ratio"]):
                    self.figures.append((self.at_s[-1], figure))
        except Exception as error:  # raised again by the reader
            self.failed = error

    def joules_at(self, second):
        i = min(max(bisect.bisect_left(self.at_s, second), 1), len(self.at_s) - 1)
        share = (second - self.at_s[i - 1]) / (self.at_s[i] - self.at_s[i - 1])
        return self.joules[i - 1] + share * (self.joules[i] - self.joules[i - 1])

    def watts(self, begin_s, end_s):
        if self.failed:
            raise HouseError(f"the fleet was not measured to the end: {self.failed}")
        return (self.joules_at(end_s) - self.joules_at(begin_s)) / (end_s - begin_s)


def set_mode(house, mode):
    house.set_mode(mode)
    wait_until(f"mode {mode}", lambda: house.document("policy")["mode"] == mode, PATIENCE)


def counts(house):
    """Returns counts of decisions, and of answers of the shim without the controller."""
    status = house.document("status")
    return {"decisions": status["decisions"], "neutral": status["neutral"], "without_controller": sum(shim["without_controller"] for shim in status["shims"])}


def one_fleet(binaries, seed, options):
    with ControlPlane(assets.assets(assets.VERSION, assets.CONTROL_PLANE)) as plane, \
         KubeHouse(binaries, plane, nodes=options.nodes, seed=seed, mode="shadow", controller_extra=f"shadow: {{block: {options.block}s}}") as house:
        # Several fleets share the machine, so use deadlines long enough that no answer is lost.
        shim = house.dir / "shim.yaml"
        shim.write_text(shim.read_text(encoding="utf-8").replace("deadline: 100ms", "deadline: 1s"), encoding="utf-8")
        house.start_controller()
        house.start_shim()
        house.start_swarm("--log-level", "error")
        plane.start_kwok()
        house.make_nodes()
        extender = house.extender(httpTimeout="2s")
        del extender["filterVerb"], extender["preemptVerb"]
        plane.start_scheduler("wattle", profile="wattle", extenders=[extender])
        wait_until("all agents report", lambda: sum(n["connected"] and n["latency"] != [] for n in house.nodes()) == options.nodes, PATIENCE)
        trial = Trial(house, seed, options)
        trial.run("learning", "wattle", "learned", options.learn, 0)
        set_mode(house, "off")  # discards the modelled saving of earlier pods
        set_mode(house, "shadow")
        with Meter(trial) as shadow:
            placed = trial.run("shadow", "wattle", "measured", options.span, 0)
        if not shadow.figures:
            raise HouseError(f"seed {seed}: nothing was modelled in {options.span} s: {house.document('policy')['modelled']}")
        end_s, figure = shadow.figures[-1]
        serves = house.document("status")["network_serves"]
        set_mode(house, "live")
        before = counts(house)
        with Meter(trial) as live:
            acted = trial.run("live", "wattle", "measured", options.span, 0)
        asked = {key: value - before[key] for key, value in counts(house).items()}
        begin_s = end_s - figure["seconds"]
        watts = {"shadow": shadow.watts(begin_s, end_s), "live": live.watts(begin_s, end_s)}
        saved = 1 - watts["live"] / watts["shadow"]
        found = {"seed": seed, "modelled": figure, "from_s": begin_s, "to_s": end_s, "watts": watts, "saved_ratio": saved,
                 "holds": figure["saving_low"] <= saved <= figure["saving_high"], "serves": serves,
                 "shadow": placed, "live": acted, "asked_live": asked, "figures": [(at, each["saving_ratio"]) for at, each in shadow.figures]}
        print(f"seed {seed}: {json.dumps(found)}", flush=True)
        return found


def table(fleets):
    lines = ["| fleet | modelled, % of joules | live did, % | holds | W modelled: now, acting | W true: shadow, live | pods bound: shadow, live |", "|---|---|---|---|---|---|---|"]
    for one in fleets:
        of, arms = one["modelled"], (one["shadow"], one["live"])
        lines.append(f"| {one['seed']} | {-100 * of['saving_ratio']:+.1f} [{-100 * of['saving_high']:+.1f}, {-100 * of['saving_low']:+.1f}] | {-100 * one['saved_ratio']:+.1f} "
                     f"| {'yes' if one['holds'] else 'no'} | {of['power_w']:.0f}, {of['acting_power_w']:.0f} | {one['watts']['shadow']:.0f}, {one['watts']['live']:.0f} "
                     f"| {', '.join(f'''{arm['bound']}/{arm['pods']}''' for arm in arms)} |")
    return "\n".join([*lines, f"the interval contains the saving of live in {sum(one['holds'] for one in fleets)} of {len(fleets)} fleets"])


def main():
    parser = argparse.ArgumentParser(description="Compares the modelled saving with that of mode live, through a real kube-scheduler.")
    parser.add_argument("binaries")
    parser.add_argument("--seeds", default="1,2,3,4,5,6", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--fill", type=float, default=0.5, help="share of all cores that is requested")
    parser.add_argument("--life", type=float, default=60, help="mean life of a pod, seconds")
    parser.add_argument("--learn", type=float, default=120)
    parser.add_argument("--span", type=float, default=490)
    parser.add_argument("--block", type=float, default=30, help="of the modelled saving, seconds (shadow.block)")
    parser.add_argument("--at-once", type=int, default=3, help="fleets that run beside each other")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    binaries = pathlib.Path(options.binaries).resolve()
    with ThreadPoolExecutor(options.at_once) as seeds:
        fleets = list(seeds.map(lambda seed: one_fleet(binaries, seed, options), options.seeds))
    print(table(fleets))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(fleets, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
