#!/usr/bin/env python3
"""waiting: compares this kernel's CPU pressure under load with Wattle's waiting model and the simulator's rule.

Usage    waiting.py BENCH_DIR [--seconds S] [--json FILE]     BENCH_DIR has waiting_bench (WATTLE_BENCH=ON)
Does     runs cells: a number of on/off tasks (stress-ng --cpu-load, with slices of several lengths) at a load, S
         seconds each; reads /proc/stat and /proc/pressure/cpu before and after. The wanted load is known: its mean is
         tasks x load, and its variance follows because each task wants one core or none
Gives    one row per cell: cores wanted and used, measured waiting (pressure some), and the waiting share predicted by
         the typical curve, by a curve fitted to every second cell (for the others), by the simulator's rule (these
         three by waiting_bench), and by the queue M/M/c//n, in which tasks alternate between thinking and working. Then
         the mean absolute errors, and a comparison of that queue with the simulator's rule for larger nodes and several
         thresholds
Needs    stress-ng, PSI, and a quiet machine, because other load is not accounted for
Exit     0 measured, 1 failed
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

PRESSURE = pathlib.Path("/proc/pressure/cpu")
LOADS = (15, 30, 45, 60, 75, 90)
SLICES = {"short": -2, "long": 400}  # for stress-ng: negative values are rounds of work, positive ones milliseconds


def pressure_us():
    return int(PRESSURE.read_text(encoding="ascii").split("total=")[1].split()[0])


def busy_ticks():
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4]


def cell(tasks, load, kind, seconds):
    """Measures one cell; returns None if the machine was not quiet."""
    cores = os.cpu_count()
    run = subprocess.Popen(["stress-ng", "--cpu", str(tasks), "--cpu-load", str(load), "--cpu-load-slice", str(SLICES[kind]), "--timeout", f"{seconds + 4}s", "--quiet"])
    try:
        time.sleep(1.5)
        at, waited, busy = time.monotonic(), pressure_us(), busy_ticks()
        time.sleep(seconds)
        took = time.monotonic() - at
        waited, busy = pressure_us() - waited, busy_ticks() - busy
    finally:
        run.terminate()
        run.wait()
    share = load / 100
    return {"tasks": tasks, "load": share, "bursts": kind, "cores": cores, "mean": tasks * share, "variance": tasks * share * (1 - share),
            "used": busy / os.sysconf("SC_CLK_TCK") / took, "waited": waited / 1e6 / took}


def predicted(bench, rows):
    lines = "".join(f"{row['mean']} {row['variance']} {row['cores']} {row['used']} {row['waited']}\n" for row in rows)
    done = subprocess.run([bench], input=lines, capture_output=True, text=True, check=True)
    for row, line in zip(rows, done.stdout.splitlines()):
        row["typical"], row["fitted"], row["simulated"] = map(float, line.split())


def queued(tasks, load, cores):
    """Exact share of time in which more tasks want a core than exist (machine-repair queue)."""
    if tasks <= cores:
        return 0.0
    weights, ratio = [1.0], load / (1 - load)
    for k in range(tasks):
        weights.append(weights[-1] * (tasks - k) * ratio / min(k + 1, cores))
    return sum(weights[cores + 1:]) / sum(weights)


def ruled(wanted, crowded_from):
    """The waiting share by the simulator's rule (sim/cluster/kernel)."""
    return min(1.0, max(0.0, (wanted - crowded_from) / (1.25 - crowded_from)))


def larger_nodes():
    shares = [x / 10 for x in range(3, 13)]
    print("\nwanted over cores    " + "".join(f"{x:6.1f}" for x in shares))
    for cores in (4, 8, 16, 32, 64):
        for load in (0.1, 0.25, 0.5):
            print(f"{cores:3} cores, tasks of {load:4.2f}" + "".join(f"{queued(round(x * cores / load), load, cores):6.2f}" for x in shares))
    for crowded_from in (0.4, 0.575, 0.75, 0.85, 1.0):
        print(f"the rule, from {crowded_from:5.3f} " + "".join(f"{ruled(x, crowded_from):6.2f}" for x in shares))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench_dir", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--json", type=pathlib.Path)
    said = parser.parse_args()
    if not PRESSURE.exists():
        print("waiting: this kernel tells no pressure (/proc/pressure; boot with psi=1)", file=sys.stderr)
        return 1
    cores = os.cpu_count()
    rows = [cell(tasks, load, kind, said.seconds) for kind in SLICES for tasks in sorted({1, cores, 2 * cores, 4 * cores}) for load in LOADS
            if tasks * load / 100 <= 1.3 * cores]
    predicted(said.bench_dir / "waiting_bench", rows)
    for row in rows:
        row["queued"] = queued(row["tasks"], row["load"], cores)
    print(f"{'bursts':8}{'tasks':>6}{'load':>7}{'wanted':>8}{'used':>7}{'waited':>8}{'typical':>9}{'fitted':>8}{'simulated':>11}{'queued':>8}")
    for row in rows:
        print(f"{row['bursts']:8}{row['tasks']:6}{row['load']:7.2f}{row['mean']:8.2f}{row['used']:7.2f}{row['waited']:8.3f}{row['typical']:9.3f}{row['fitted']:8.3f}{row['simulated']:11.3f}{row['queued']:8.3f}")
    held = rows[1::2]
    crowded = [row for row in rows if row["tasks"] > cores]
    for name, among in (("typical", rows), ("fitted", held), ("simulated", rows), ("queued", rows), ("simulated", crowded), ("queued", crowded)):
        of = "cells" if among is not crowded else "cells with more tasks than cores"
        print(f"{name}: mean absolute error {sum(abs(row[name] - row['waited']) for row in among) / len(among):.3f} over {len(among)} {of}")
    larger_nodes()
    if said.json:
        said.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
