#!/usr/bin/env python3
"""compare: compares policies on a real cluster from equal starts. Each run has a fresh cluster of real kubelets
(scripts/demo cluster), so that no policy profits from another's pods, caches or learned state. Needs root.

Usage    compare.py FOLDER [--binaries DIR] [--workload test1|test2|apps] [--policies LIST] [--rounds N] [--seconds S] [--pods N]
                    [--nodes N] [--blocked N] [--seed N] [--settle S]
Policies kube-default, most-allocated: kube-scheduler alone; else a policy of the controller, and a reward preset as in dqn/ee;
         `presets`: dqn with each preset; dqn+sleep: nodes without work sleep before the run begins
Rounds   a round has one schedule, a function of its seed, for all policies, in random order. FOLDER keeps schedules and recordings;
         an existing run is not repeated, so an interrupted comparison continues, and more rounds can be added
Gives    FOLDER/results.json and FOLDER/report.html. Joules are estimates. Intervals need five rounds
Errors   names the step that failed; exit 1. A failed run is not recorded; it is repeated twice
"""
import argparse
import json
import os
import pathlib
import platform
import random
import signal
import subprocess
import sys
import time

import arena
import figures
import page
import schedule

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESETS = ("weighted", "ee", "lb", "lc", "el-rl", "drs", "power")
ATTEMPTS = 3
POLICIES = f"{arena.DEFAULT},{arena.MOST_ALLOCATED},node-order,dqn"


def policies(text):
    names = [name for word in text.split(",") for name in ([f"dqn/{preset}" for preset in PRESETS] if word == "presets" else [word])]
    if arena.DEFAULT not in names:
        raise argparse.ArgumentTypeError(f"must contain {arena.DEFAULT}, with which the others are compared")
    return list(dict.fromkeys(names))


def busy_s():
    """Returns the busy seconds of this machine's processors."""
    words = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    ticks = list(map(int, words))
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def one_run(options, policy, number, plan):
    begun = time.monotonic()
    load = os.getloadavg()[0]
    with arena.Arena(options.binaries, options.nodes, options.folder / "clusters.log", sleeps=policy.endswith(arena.SLEEP)) as cluster:
        names = cluster.nodes
        busy, at = busy_s(), time.monotonic()
        recording = cluster.run(policy, plan, options.settle)
        used = figures.mean([sum(node["cpu_cores"] or 0 for node in sample["nodes"].values()) for sample in recording["samples"]])
        machine = (busy_s() - busy) / (time.monotonic() - at)
    return {"policy": policy, "round": number, "schedule": plan, "nodes": names, "load_before": load, "load_after": os.getloadavg()[0],
            "machine_cores": machine, "node_cores": used, "took_s": time.monotonic() - begun} | recording


def attempted(options, policy, number, plan):
    """Runs one policy. A cluster that fails to start or to answer on a busy machine is discarded, and the run is
    repeated."""
    for attempt in range(ATTEMPTS):
        try:
            return one_run(options, policy, number, plan)
        except (arena.ArenaError, OSError) as error:
            print(f"compare: round {number}: {policy}: attempt {attempt + 1} of {ATTEMPTS} failed: {str(error)[-1500:]}", flush=True)
            if attempt + 1 == ATTEMPTS:
                raise
    return None


def conditions(runs):
    def span(values):
        return f"{min(values):.1f} to {max(values):.1f}"
    ages = [node["age_s"] for run in runs for sample in run["samples"] for node in sample["nodes"].values() if "age_s" in node]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit, "kernel": platform.release(), "processors": os.cpu_count(),
            "load average at the start of a run": span([run["load_before"] for run in runs]),
            "busy processors during a run": span([run["machine_cores"] for run in runs]),
            "of them used by the nodes": span([run["node_cores"] for run in runs]),
            "oldest sample of a node": f"{max(ages):.0f} s" if ages else "not recorded",
            "latest event": f"{max(run['late_s'] for run in runs):.2f} s late",
            "joules": "estimated: a server's curve at the node's own CPU use (scripts/cluster/values.yaml); a node that sleeps draws "
                      f"{arena.ASLEEP_W} W, and its transitions are not charged"}


def report(options):
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(options.folder.glob("run-*.json"))]
    runs.sort(key=lambda run: (options.policies.index(run["policy"]) if run["policy"] in options.policies else len(options.policies), run["policy"], run["round"]))
    plan = runs[0]["schedule"]
    result = {"workload": plan["workload"], "seconds": plan["seconds"], "pods": plan["pods"], "nodes": runs[0]["nodes"], "base": arena.DEFAULT,
              "columns": [{"name": name, "title": title, "has_ratio": ratio} for name, title, ratio in figures.COLUMNS],
              "conditions": conditions(runs), "policies": figures.compared(runs, arena.DEFAULT)}
    (options.folder / "results.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (options.folder / "report.html").write_text(page.html(result), encoding="utf-8")
    for entry in result["policies"]:
        print(f"{entry['name']}: {len(entry['rounds'])} rounds; joules {figures.text(entry, 'energy_j')} ({figures.text(entry, 'energy_j', True)}), of nodes with pods "
              f"{figures.text(entry, 'active_energy_j')} ({figures.text(entry, 'active_energy_j', True)}), active nodes {figures.text(entry, 'active_nodes')}, "
              f"p99 {figures.text(entry, 'latency_p99_ms')} ms, {figures.text(entry, 'by_wattle')} of {figures.text(entry, 'pods')} pods advised", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Compares policies on a real cluster from equal starts.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--binaries", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--workload", choices=schedule.WORKLOADS, default="test2")
    parser.add_argument("--policies", type=policies, default=policies(POLICIES))
    parser.add_argument("--rounds", type=int, default=figures.LEAST_SEEDS)
    parser.add_argument("--seconds", type=int, default=90)
    parser.add_argument("--pods", type=int, default=12, help="placed pods of 250m CPU at a time")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--blocked", type=int, help="nodes with a blocker, which keeps a node awake (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--settle", type=float, default=5, help="seconds between the service's start and the measurement")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("compare: ended by SIGTERM"))
    options.blocked = options.nodes if options.blocked is None else options.blocked
    options.binaries, options.folder = options.binaries.resolve(), options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, options.rounds + 1):
        seed = options.seed + number - 1
        plan = schedule.schedule(options.workload, seed, options.seconds, options.pods, [f"node-{i}" for i in range(1, options.blocked + 1)])
        recorded = options.folder / f"schedule-{number}.json"
        if recorded.exists() and json.loads(recorded.read_text(encoding="utf-8")) != plan:
            sys.exit(f"compare: {recorded} is the schedule of other options (use another folder)")
        recorded.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")
        order = list(options.policies)
        random.Random(f"order/{seed}").shuffle(order)
        for policy in order:
            file = options.folder / f"run-{number}-{policy.replace('/', '-')}.json"
            if file.exists():
                continue
            run = attempted(options, policy, number, plan)
            file.with_suffix(".new").write_text(json.dumps(run) + "\n", encoding="utf-8")
            file.with_suffix(".new").rename(file)
            print(f"compare: round {number} of {options.rounds}: {policy}: {run['took_s']:.0f} s", flush=True)
    report(options)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (arena.ArenaError, OSError) as error:
        sys.exit(f"compare: {error}")
