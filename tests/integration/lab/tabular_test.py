#!/usr/bin/env python3
"""tabular_test: trains, saves, resumes, judges and benches the table of policy tabular-q with wattle-sim and
wattle-lab.

Usage    tabular_test.py BIN_DIR
Errors   exits with 1 and the output
"""
import json
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(sys.argv[1])
LAB = ("bench", "worlds")  # the others are commands of wattle-sim
SIMPLE = ["--scenario", "memory_only", "--placements", "100", "--reward", "lb", "--load", "memory", "--look-ahead", "1"]


def run(*words, code=0):
    done = subprocess.run([BIN / ("wattle-lab" if words[0] in LAB else "wattle-sim"), *words], capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"tabular: {' '.join(words)} ended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(what, text):
    if what not in text:
        sys.exit(f"tabular: {what!r} is not in\n{text}")


def main():
    if "train " not in run("--help"):
        print("skipped: built without libtorch, and so without the command train")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        table, kept = str(folder / "table"), str(folder / "kept")
        train = ["train", "--network", "tabular", *SIMPLE, "--out", table, "--keep", kept]
        run(*train, "--steps", "600")
        expect("kept as trained", run(*train, "--resume", "--steps", "1500"))
        header = open(table, "rb").read(4096)
        if b'"table"' not in header or b'"network":"tabular"' not in header:
            sys.exit(f"tabular: {table} is not a table file\n{header}")
        judged = json.loads(run("eval", "--model", table, *SIMPLE, "--seeds", "5", "--policies", "node-order", "-o",
                                "json"))
        reward = {each["name"]: sum(each["per_seed"]["reward"]) / 5 for each in judged["contestants"]}
        if not reward["trained"] > reward["node-order"]:
            sys.exit(f"tabular: no better than node-order: {reward}")
        expect("  tabular-q ", run("bench", "--scenarios", "memory_only", "--seeds", "5", "--model", table, "--reward", "lb",
                                   "--load", "memory"))
        churn = ["bench", "consolidation_churn", "--knowledge", "production", "--cold", "--nodes", "2", "--seeds", "1", "--moves",
                 "0", "--model", table, "--policies"]
        expect("tabular-q ", run(*churn, "tabular-q"))
        expect("is for policy tabular-q", run(*churn, "dqn", code=1))
        expect("contains a table of tabular-q, not a network",
               run("worlds", "consolidation_churn", "--nodes", "2", "--worlds", "plain", "--policies", "planner", "--days", "1", "--model", table, code=1))
        expect("--prior", run(*train, "--prior", "none", "--steps", "600", code=1))
    print("tabular: trained, saved, resumed, judged, benched")


if __name__ == "__main__":
    main()
