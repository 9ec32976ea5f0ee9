#!/usr/bin/env python3
"""ratios: measures the benchmarks of speed as ratios to their floors, and compares them with the ratios kept in the tree.

Usage    ratios.py BIN_DIR [--only BENCHMARK,...] [--kept FILE] [--write] [--measured FILE]
Does     throughput  kube_throughput.py at 100 and 1,000 nodes, all nodes scored: pods/s of the extender over those of a
                     no-op extender, pods/s of the plugin over those without Wattle, and CPU per pod of shim and controller
                     over that of the no-op extender and the controller
         answer      extender_latency.py with 5,000 agents: median time of our answer over that of a no-op extender
         ingest      load.py with 5,000 agents: CPU per record over that of wire_floor
--write  writes the measured ratios to the file, with today's date, and does not compare
--measured  compares the ratios in this file, {name: ratio}, and measures nothing
Needs    what these benchmarks need: root, Go, the control plane's programs, wire_floor. Run it on a quiet machine
Exit     0 no ratio lost more than 15%; 1 one did, or a benchmark failed; 2 the file of kept ratios is unusable
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

import kept_ratios
from kept_ratios import COST, RATE

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "ratios.json"
SIZES = (100, 1000)
NAMES = (100, 500, 5000)


def throughput(run):
    """`run`: starts a benchmark of this folder with the given words, and returns its JSON."""
    found = {}
    for one in run("kube_throughput.py", "--nodes", ",".join(map(str, SIZES)), "--pods", "400", "--rounds", "5", "--arms", "none,noop-all,wattle-all,plugin-all"):
        nodes, cpu = one["nodes"], one["cpu_ms_per_pod"]
        found[f"extender_rate_{nodes}"] = one["ratio_to"]["noop-all"]["wattle-all"][0]
        found[f"plugin_rate_{nodes}"] = one["ratio_to"]["none"]["plugin-all"][0]
        ours, theirs = cpu["wattle-all"], cpu["noop-all"]
        found[f"extender_cpu_{nodes}"] = (ours["shim"] + ours["controller"]) / (theirs["noop"] + theirs["controller"])
    return found


def answer(run):
    asked = run("extender_latency.py", "--names", ",".join(map(str, NAMES)))["answers"]
    return {f"answer_time_{one['names']}": one["wattle"]["p50_ms"] / one["noop"]["p50_ms"] for one in asked}


def ingest(run):
    return {"ingest_cpu": run("load.py", "--only", "floor", "--only", "steady")["cpu_over_floor_ratio"]}


BENCHMARKS = {
    "throughput": (throughput, {f"{name}_{nodes}": kind for nodes in SIZES
                                for name, kind in (("extender_rate", RATE), ("plugin_rate", RATE), ("extender_cpu", COST))}),
    "answer": (answer, {f"answer_time_{names}": COST for names in NAMES}),
    "ingest": (ingest, {"ingest_cpu": COST}),
}
KINDS = {name: kind for _, kinds in BENCHMARKS.values() for name, kind in kinds.items()}


def measure(binaries, names):
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        def run(script, *words):
            out = pathlib.Path(folder) / f"{script}.json"
            subprocess.run([sys.executable, str(HERE / script), binaries, *words, "--json", str(out)], check=True)
            return json.loads(out.read_text(encoding="utf-8"))

        for name in names:
            benchmark, kinds = BENCHMARKS[name]
            found = benchmark(run)
            if set(found) != set(kinds):
                raise LookupError(f"{name} measured {', '.join(found)} instead of {', '.join(kinds)}")
            measured |= found
    return measured


def read_measured(path):
    measured = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if not isinstance(measured, dict) or not set(measured) <= set(KINDS):
        raise ValueError(f"{path} is not a JSON object by name of a ratio")
    return measured


def report(kept, measured):
    """Prints a line per ratio and returns whether none lost too much."""
    lost = kept_ratios.lost(KINDS, kept, measured)
    for name, ratio in measured.items():
        verdict = f"LOST {100 * lost[name]:.0f}%" if name in lost else "ok"
        print(f"{name}: {ratio} ({KINDS[name]}), kept {kept[name]}: {verdict}")
    return not lost


def main():
    parser = argparse.ArgumentParser(description="Compares speed ratios to floors with those kept in the tree.")
    parser.add_argument("binaries")
    parser.add_argument("--only", default=",".join(BENCHMARKS), type=lambda text: text.split(","))
    parser.add_argument("--kept", default=str(KEPT))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measured")
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    try:
        kept = {} if options.write else kept_ratios.read(options.kept, KINDS)
        measured = read_measured(options.measured) if options.measured else measure(options.binaries, options.only)
    except kept_ratios.Unusable as error:
        print(f"ratios: {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError, LookupError, subprocess.CalledProcessError) as error:
        print(f"ratios: a benchmark failed: {error!r}", file=sys.stderr)
        return 1
    if options.write:
        kept_ratios.write(options.kept, measured, datetime.date.today().isoformat())
        return 0
    return 0 if report(kept, measured) else 1


if __name__ == "__main__":
    sys.exit(main())
