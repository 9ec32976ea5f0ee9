#!/usr/bin/env python3
"""page_views: measures how much CPU time the main thread of an open page takes in each view, with decisions arriving.

Usage    page_views.py BIN_DIR FOLDER-OF-scripts/web [--nodes 10] [--per-second 5] [--first 200] [--span 10] [--runs 3]
Does     runs a controller, a swarm of --nodes simulated nodes and a shim, and asks for --first pods before and
         --per-second pods during the visits; Chromium shows each view for --span seconds, --runs times
Measures CPU time of the main thread of the page's process (/proc/PID/task/PID/stat)
Gives    a line per view with the median and the largest value, in seconds
Needs    node, chromium and playwright-core (scripts/setup)
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests/e2e/page"), str(HERE.parents[1] / "tests/e2e")]
from page_world import TOKEN, page_world  # noqa: E402

VIEWS = ("decisions", "fleet", "learning")


class Asking(threading.Thread):
    """Asks for pods at a steady rate until stop()."""

    def __init__(self, house, nodes, first, per_second):
        super().__init__(daemon=True)
        self.house, self.nodes, self.number, self.period = house, nodes, first, 1 / per_second
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(self.period):
            self.house.place(f"v-{self.number}", f"shop-{self.number}", self.nodes[self.number % len(self.nodes)], self.nodes, demand_cores=0.1)
            self.number += 1

    def stop(self):
        self.ended.set()
        self.join()


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of an open page for the browser.")
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("web")
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--per-second", type=float, default=5)
    parser.add_argument("--first", type=int, default=200, help="pods asked for before the first visit")
    parser.add_argument("--span", type=float, default=10)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with page_world(options.binaries.resolve(), options.nodes, mode="shadow") as (house, nodes):
        simulated = [name for name in nodes if name != house.node]
        for number in range(options.first):
            house.place(f"v-{number}", f"shop-{number}", simulated[number % len(simulated)], simulated, demand_cores=0.1)
        asking = Asking(house, simulated, options.first, options.per_second)
        asking.start()
        done = subprocess.run(["node", str(HERE / "page_views.mjs"), house.api(), TOKEN, shutil.which("chromium"), options.web, ",".join(VIEWS), str(options.span), str(options.runs)],
                              stdout=subprocess.PIPE, text=True, check=True)
        asking.stop()
        for view, seconds in json.loads(done.stdout).items():
            print(f"{view}: median {statistics.median(seconds):.2f} s of main-thread CPU in {options.span:g} s, largest {max(seconds):.2f} s ({len(seconds)} visits)")


if __name__ == "__main__":
    main()
