"""figures: measured figures of one run, and comparisons over rounds.

Source   the recording of a run (arena.Recorder): samples of nodes, lives of pods, the report of the users
Units    in names; joules are estimates, because no node has a meter
Errors   none; pure functions of their arguments
"""
import math
import random
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks"))
from seeds import LEAST_SEEDS  # noqa: E402

RESAMPLES = 10_000
# name, title, whether to report ratios to the default scheduler
COLUMNS = (("energy_j", "joules of all nodes, estimated", True), ("active_energy_j", "joules of nodes with placed pods, estimated", True),
           ("active_nodes", "active nodes", True), ("asleep_nodes", "nodes asleep", False), ("latency_p50_ms", "users' latency p50, ms", True), ("latency_p99_ms", "users' latency p99, ms", True),
           ("answered", "answered requests", False), ("failed", "failed requests", False), ("pending_s", "mean time to a node, s", False),
           ("start_s", "mean time to Ready, s", False), ("waiting_pct", "CPU pressure of nodes, %", False), ("pods", "placed pods", False),
           ("unplaced", "pods without a node", False), ("by_wattle", "pods advised by Wattle", False))


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def pods_over_time(lives, nodes, seconds):
    """Returns placed pods of each node at each second: [[pods of node 1, ...], ...]."""
    rows = []
    for second in range(int(seconds) + 1):
        here = [life["node"] for life in lives if life["placed_s"] is not None and life["placed_s"] <= second and (life["ended_s"] is None or life["ended_s"] > second)]
        rows.append([here.count(node) for node in nodes])
    return rows


def watts_over_time(samples, nodes, seconds):
    """Returns the watts of each node at each second, from the last sample. Does not use the agents' energy counters: on
    a busy machine they have different delays at the end and at the start."""
    rows, at = [], 0
    for second in range(int(seconds) + 1):
        while at + 1 < len(samples) and samples[at + 1]["at_s"] <= second:
            at += 1
        rows.append([samples[at]["nodes"].get(node, {}).get("power_w") for node in nodes])
    return rows


def of_run(run):
    nodes, seconds = run["nodes"], run["schedule"]["seconds"]
    lives = [life for life in run["pods"] if life["created_s"] < seconds]
    pods, watts = pods_over_time(lives, nodes, seconds), watts_over_time(run["samples"], nodes, seconds)
    active = [[count > 0 for count in row] for row in pods]
    users = run["users"]
    return {
        "energy_j": sum(watt or 0 for row in watts[1:] for watt in row),
        "active_energy_j": sum(watt or 0 for row, on in zip(watts[1:], active[1:]) for watt, is_active in zip(row, on) if is_active),
        "active_nodes": mean([sum(row) for row in active[1:]]),
        "asleep_nodes": mean([sum(node.get("asleep", False) for node in sample["nodes"].values()) for sample in run["samples"]]),
        "latency_p50_ms": users["latency_ms"]["p50"], "latency_p99_ms": users["latency_ms"]["p99"], "answered": users["answered"],
        "failed": sum(users["failed"].values()),
        "pending_s": mean([life["placed_s"] - life["created_s"] for life in lives if life["placed_s"] is not None]),
        "start_s": mean([life["ready_s"] - life["created_s"] for life in lives if life["ready_s"] is not None]),
        "waiting_pct": mean([100 * node["waiting_ratio"] for sample in run["samples"] for node in sample["nodes"].values() if node["waiting_ratio"] is not None]),
        "pods": len(lives), "unplaced": sum(life["placed_s"] is None for life in lives), "by_wattle": run["by_wattle"],
        "series": {"at_s": list(range(int(seconds) + 1)), "pods": pods, "watts": [sum(watt or 0 for watt in row) for row in watts]}}


def interval(values, rng, to=lambda mean_of_values: mean_of_values):
    """Returns the mean and its 95% bootstrap interval over rounds; no interval for too few rounds."""
    drawn = sorted(sum(rng.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES)) if len(values) >= LEAST_SEEDS else None
    return {"iqm": to(sum(values) / len(values)), "low": to(drawn[int(0.025 * RESAMPLES)]) if drawn else None,
            "high": to(drawn[int(0.975 * RESAMPLES)]) if drawn else None, "rounds": len(values)}


def compared(runs, base):
    """Returns the mean figures of each policy, and ratios to `base` paired by round (geometric mean minus 1)."""
    rng, policies = random.Random(1), list(dict.fromkeys(run["policy"] for run in runs))
    found = {(run["policy"], run["round"]): of_run(run) for run in runs}
    table = []
    for policy in policies:
        own = {number: figures for (name, number), figures in found.items() if name == policy}
        entry = {"name": policy, "rounds": sorted(own), "figures": {}, "over_base": {}, "series": [{"round": number, **own[number].pop("series")} for number in sorted(own)]}
        for column, _, has_ratio in COLUMNS:
            values = [figures[column] for figures in own.values() if figures[column] is not None]
            if values:
                entry["figures"][column] = interval(values, rng)
            pairs = [(figures[column], found[base, number][column]) for number, figures in own.items() if (base, number) in found]
            logs = [math.log(ours / theirs) for ours, theirs in pairs if ours and theirs]
            if has_ratio and logs and policy != base:
                entry["over_base"][column] = interval(logs, rng, lambda value: math.exp(value) - 1)
        table.append(entry)
    return table


def text(entry, column, ratio=False):
    found = entry["over_base" if ratio else "figures"].get(column)
    if found is None:
        return "-"
    form, scale, unit = ("+.1f", 100, "%") if ratio else (".4g", 1, "")
    ends = f" [{found['low'] * scale:{form}}, {found['high'] * scale:{form}}]{unit}" if found["low"] is not None else f" [needs {LEAST_SEEDS} rounds]"
    return f"{found['iqm'] * scale:{form}}{unit if found['low'] is None else ''}{ends}"
