#!/usr/bin/env python3
"""extender_latency: measures the latency of our extender, from names to scores, and of a no-op extender in turn, while
agents stream.

Usage    extender_latency.py BIN_DIR [--agents 5000] [--names 100,500,5000] [--requests 500] [--pace 50] [--policy P]
         [--json FILE]
Does     a swarm's agents send a sample a second to a controller in mode live; a Go client (extender_ask.go) asks our
         shim and a no-op Go extender (extender_noop.go) in turn, --pace requests per second in total, over persistent
         connections
Needs    Go. The swarm uses several processes if the limit of open files is too low for the number of agents
Gives    p50, p99 and maximum of each by number of names; the sources of our answers; the share of the controller's
         decision
"""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from house import House, HouseError, fetch, wait_until  # noqa: E402

PATIENCE = 300
FDS_PER_AGENT = 4
FDS_BESIDE = 200
SWARM_NICE = 10  # real agents run on other machines, so the simulated ones have lower priority than the measured processes


class Fleet(House):
    def __init__(self, binaries, agents, policy):
        super().__init__(binaries, mode="live", controller_extra=f"policy: {policy}\n            decide: {{epsilon: 0}}\n            log: {{level: warn}}")
        self.agents = agents
        with open(self.dir / "shim.yaml", "a", encoding="utf-8") as shim:
            shim.write("deadline: 100ms\n")
        made = self.run(self.binary("wattle-sim"), "swarm", "--nodes", str(agents), "--keys", str(self.dir / "swarm"), "--make-keys",
                        str(self.dir / "allow"), timeout=PATIENCE)
        if made.returncode != 0:
            raise HouseError(f"swarm --make-keys: {made.stderr}")

    def start_swarm(self):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        parts = max(1, -(-self.agents // ((limit - FDS_BESIDE) // FDS_PER_AGENT)))
        for part in range(1, parts + 1):
            self.start(f"swarm{part}", "nice", "-n", str(SWARM_NICE), self.binary("wattle-sim"), "swarm", "--nodes", str(self.agents), "--part", f"{part}/{parts}", "--keys",
                       str(self.dir / "swarm"), "--server-key", str(self.dir / "controller.key.pub"), "--endpoint", f"tcp://127.0.0.1:{self.telemetry}",
                       "--log-level", "error")
        wait_until("all agents report", lambda: self.status()["nodes_connected"] == self.agents, PATIENCE)

    def status(self):
        return json.loads(fetch(f"{self.api()}/api/v1/status", timeout=30)[1])

    def names(self):
        return [node["name"] for node in json.loads(fetch(f"{self.api()}/api/v1/nodes", timeout=60)[1])["nodes"]]

    def answers(self):
        _, page = fetch(f"{self.shim()}/metrics")
        return {label: int(count) for label, count in re.findall(r'^wattle_shim_answers_total\{(.+)\} (\d+)$', page, re.MULTILINE)}


def run(options, folder):
    programs = {}
    for name in ("extender_noop", "extender_ask"):
        programs[name] = str(pathlib.Path(folder) / name)
        subprocess.run(["go", "build", "-o", programs[name], str(ROOT / f"lab/benchmarks/{name}.go")], check=True)
    found = {"agents": options.agents, "policy": options.policy, "machine_load": os.getloadavg()[0], "answers": []}
    with Fleet(options.binaries, options.agents, options.policy) as house:
        house.start_controller()
        house.start_shim()
        house.start_swarm()
        names = json.dumps(house.names())
        with subprocess.Popen([programs["extender_noop"]], stdout=subprocess.PIPE, text=True) as noop:
            url = f"http://127.0.0.1:{int(noop.stdout.readline())}"
            time.sleep(options.settle)
            try:
                for count in options.names:
                    before = house.answers()
                    asked = subprocess.run([programs["extender_ask"], str(options.pace), str(options.requests), str(count), house.shim(), url], input=names,
                                           capture_output=True, text=True, check=False)
                    if asked.returncode != 0:
                        raise HouseError(f"extender_ask: {asked.stderr}")
                    ours, theirs = map(json.loads, asked.stdout.splitlines())
                    status = house.status()
                    sources = {label: n - before.get(label, 0) for label, n in house.answers().items() if n > before.get(label, 0)}
                    found["answers"].append({"names": count, "wattle": ours, "noop": theirs, "sources": sources,
                                             "decide_p50_ms": status["decide_p50_us"] / 1e3, "decide_p99_ms": status["decide_p99_us"] / 1e3})
                    print(f"{count} names: " + ", ".join(f"{who} p50 {one['p50_ms']:.2f} p99 {one['p99_ms']:.2f} max {one['max_ms']:.1f} ms, {one['named']:.0f} scored, {one['failures']} failed"
                                                         for who, one in (("wattle", ours), ("noop", theirs))) +
                          f"; decision p50 {status['decide_p50_us'] / 1e3:.2f} p99 {status['decide_p99_us'] / 1e3:.2f} ms; {sources}", flush=True)
            finally:
                noop.kill()
    return found


def main():
    parser = argparse.ArgumentParser(description="Measures the latency of an extender while agents stream.")
    parser.add_argument("binaries")
    parser.add_argument("--agents", type=int, default=5000)
    parser.add_argument("--names", default="100,500,5000", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--pace", type=int, default=50, help="requests a second, both together")
    parser.add_argument("--policy", default="dqn")
    parser.add_argument("--settle", type=float, default=10)
    parser.add_argument("--json")
    options = parser.parse_args()
    if max(options.names) > options.agents:
        parser.error("there are fewer agents than names")
    with tempfile.TemporaryDirectory() as folder:
        found = run(options, folder)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
