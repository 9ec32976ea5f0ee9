#!/usr/bin/env python3
"""page_cost: measures what an open page with thousands of nodes costs the controller and the browser.

Usage    page_cost.py BIN_DIR FOLDER-OF-scripts/web [--nodes 5000] [--tick 5] [--pairs 5] [--span 30] [--settle 8]
         [--json FILE]
Does     runs a controller, a swarm of --nodes simulated agents that report every --tick seconds, and Chromium. Spans
         without a page alternate with spans in which a page shows the fleet (map, curve and list, which it polls)
Measures CPU seconds of the controller's process in each span; for each visit, the first contentful paint, the time
         until the list has rows, bytes transferred for the page's own files, and the page's longest task while the list
         is scrolled from end to end
Gives    the difference per pair as a share of one core; their mean and maximum
Needs    node, chromium and playwright-core (scripts/setup)
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests/e2e"))
from house import House, wait_until  # noqa: E402

PATIENCE = 300
FDS_PER_AGENT = 4
FDS_BESIDE = 200
TOKEN = "a-word-for-this-bench-alone"


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(pid, span_s):
    """Returns the process's share of one core over `span_s` seconds."""
    before, begun = cpu_s(pid), time.monotonic()
    time.sleep(span_s)
    return (cpu_s(pid) - before) / (time.monotonic() - begun)


class Visit:
    """Keeps Chromium on the fleet view, from the list's first row to the end of the `with` block."""

    def __init__(self, house, web, settle_s):
        self.command = ["node", str(HERE / "page_visit.mjs"), house.api(), TOKEN, shutil.which("chromium"), str(web)]
        self.settle_s = settle_s

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reported = json.loads(self.process.stdout.readline() or '{"error": "the browser did not open the page"}')
        if "error" in self.reported:
            raise SystemExit(self.reported["error"])
        time.sleep(self.settle_s)  # skips requests that only the first view of the page makes
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        last = self.process.stdout.readline()
        self.process.wait(timeout=60)
        if last:
            self.reported |= json.loads(last)


def start_swarm(house, nodes, tick_s):
    keys = house.dir / "nodes"
    keys.mkdir(mode=0o700)
    config = house.write("swarm.yaml", f"""
        nodes: {nodes}
        endpoint: "tcp://127.0.0.1:{house.telemetry}"
        keys: {keys}
        server_key: {house.dir}/controller.key.pub
        seed: 7
        tick: {tick_s}s
        """)
    config.write_text("\n".join(line.strip() for line in config.read_text().splitlines()) + "\n")
    swarm = (house.binary("wattle-sim"), "swarm", "--config", str(config))
    made = house.run(*swarm, "--make-keys", str(house.dir / "allow"), timeout=PATIENCE)
    if made.returncode != 0:
        raise SystemExit(made.stderr)
    most = (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - FDS_BESIDE) // FDS_PER_AGENT
    parts = max(1, -(-nodes // most))
    return lambda: [house.start(f"swarm{part}", *swarm, "--part", f"{part}/{parts}") for part in range(1, parts + 1)]


def run(options):
    with House(options.binaries) as house:
        token = house.write("token", TOKEN)
        token.chmod(0o400)
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text().replace(f"http: {{port: {house.http}}}", f"http: {{port: {house.http}, token_file: {token}}}\n"
                                                     f"decide: {{stale_after: {3 * options.tick}s}}"))
        start = start_swarm(house, options.nodes, options.tick)
        house.start_controller()
        start()
        wait_until("all nodes report", lambda: house.query("status")["nodes_connected"] == options.nodes, PATIENCE)
        time.sleep(2 * options.tick)
        pid = house.processes["controller"].pid
        pairs, visits = [], []
        for number in range(options.pairs):
            without = measured(pid, options.span)
            with Visit(house, options.web, options.settle) as visit:
                opened = measured(pid, options.span)
            pairs.append({"without": without, "with": opened, "difference": opened - without})
            visits.append(visit.reported)
            print(f"pair {number + 1}: {json.dumps(pairs[-1])} {json.dumps(visit.reported)}", flush=True)
        return {"nodes": options.nodes, "tick_s": options.tick, "span_s": options.span, "pairs": pairs, "visits": visits,
                "status": {key: house.query("status")[key] for key in ("nodes_connected", "samples")}}


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of an open page for the controller.")
    parser.add_argument("binaries")
    parser.add_argument("web")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--tick", type=int, default=5, help="seconds between two records of a node")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--span", type=float, default=30)
    parser.add_argument("--settle", type=float, default=8)
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    found = run(options)
    differences = [pair["difference"] for pair in found["pairs"]]
    print(f"{options.nodes} nodes: the controller takes {100 * statistics.mean(p['without'] for p in found['pairs']):.2f}% of a core without a page; "
          f"an open page costs {100 * statistics.mean(differences):+.2f}% of a core (of {len(differences)} pairs {100 * min(differences):+.2f} to {100 * max(differences):+.2f})")
    for key, what in (("first_paint_ms", "first contentful paint, ms"), ("rows_ms", "list has rows, ms"), ("bytes", "bytes of its files"),
                      ("longest_task_ms", "longest task while scrolling, ms (0: none of 50 or more)")):
        values = [visit[key] for visit in found["visits"]]
        print(f"{what}: median {statistics.median(values):.0f}, largest {max(values):.0f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
