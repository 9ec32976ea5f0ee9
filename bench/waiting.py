#!/usr/bin/env python3
"""waiting: what this kernel's pressure says of load, beside what Wattle's model of waiting and the simulator's rule predict.

Usage    waiting.py BENCH_DIR [--seconds S] [--json FILE]     BENCH_DIR has waiting_bench (WATTLE_BENCH=ON)
Does     runs tasks that are on and off (stress-ng --cpu-load, by slices of several lengths) in many numbers and loads, S seconds each;
         reads /proc/stat and /proc/pressure/cpu around each; the load that is wanted is known: tasks x load, and its variance, since each
         task wants one core or none
Gives    a row a cell: wanted, used, waited (pressure some), and by waiting_bench the share that the typical curve predicts, a curve fitted to
         every second cell predicts for the others, and the simulator's rule; then the mean absolute errors
Needs    stress-ng, PSI, a quiet machine: what else runs is load of no known size
Exit     0 measured, 1 not
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
SLICES = {"short": -2, "long": 400}  # of stress-ng: rounds of work, or milliseconds


def pressure_us():
    return int(PRESSURE.read_text(encoding="ascii").split("total=")[1].split()[0])


def busy_ticks():
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4]


def cell(tasks, load, kind, seconds):
    """None: the machine was not quiet."""
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
    print(f"{'bursts':8}{'tasks':>6}{'load':>7}{'wanted':>8}{'used':>7}{'waited':>8}{'typical':>9}{'fitted':>8}{'simulated':>11}")
    for row in rows:
        print(f"{row['bursts']:8}{row['tasks']:6}{row['load']:7.2f}{row['mean']:8.2f}{row['used']:7.2f}{row['waited']:8.3f}{row['typical']:9.3f}{row['fitted']:8.3f}{row['simulated']:11.3f}")
    held = rows[1::2]
    for name, among in (("typical", rows), ("fitted", held), ("simulated", rows)):
        print(f"{name}: mean absolute error {sum(abs(row[name] - row['waited']) for row in among) / len(among):.3f} over {len(among)} cells")
    if said.json:
        said.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
