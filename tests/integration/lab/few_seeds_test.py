#!/usr/bin/env python3
"""few_seeds_test: no command of wattle-sim or wattle-lab reports an interval or verdict from fewer than five
independent
seeds.

Usage    few_seeds_test.py BIN_DIR
Checks   each command that compares, with one seed and with four: it says how many are needed, and prints and writes no
         range and no verdict. With five it has a range again. A command that has an option for the number of seeds and
         is in no list here fails the test
Errors   exits with 1 and the output
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# The help of each command, which docs_reference compares with the program: saves half a second of CPU.
ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = {"wattle-sim": ROOT / "docs/reference/cli/wattle-sim.md", "wattle-lab": ROOT / "lab/docs/wattle-lab.md"}
BIN = pathlib.Path(sys.argv[1])
RANGE = re.compile(r"\[\s*[-+]?\d+(\.\d+)?,\s*[-+]?\d+(\.\d+)?\]")
NOTE = "at least 5 independent ones are needed"
COUNTS = ("--seeds", "--clusters", "--plays")
FEW = (1, 4)

# Program and command, quick arguments, the option for the number of seeds, and the JSON option.
SMALL_CHURN = ["consolidation_churn", "--nodes", "2", "--policies", "kube-default,planner"]
COMPARES = [
    ("wattle-sim eval", ["--scenario", "memory_only", "--placements", "20", "--policies", "kube-default"], "--seeds", "-o json"),
    ("wattle-lab bench", ["--scenarios", "memory_only"], "--seeds", "--json"),
    ("wattle-lab bench", SMALL_CHURN + ["--moves", "0"], "--seeds", "--json"),
    ("wattle-lab provision", ["--minutes", "5", "--contestants", "wattle,k8s-cpu-fast"], "--seeds", "--json"),
    ("wattle-sim teach", ["--hours", "1", "--rounds", "0", "--minutes", "5"], "--seeds", "--json"),
    ("wattle-lab shadow", ["consolidation_churn", "--nodes", "3"], "--seeds", None),
    ("wattle-lab worlds", ["consolidation_churn", "--nodes", "2", "--worlds", "plain", "--policies", "node-order,planner", "--days", "1",
                           "--model", str(ROOT / "models/pretrained/weighted.safetensors")], "--seeds", "--json"),
    ("wattle-lab sleep", ["--nodes", "2", "--rules", "slurm-5", "--days", "1"], "--seeds", None),
]
# improve: its seeds are the judging days of a record, which no option counts.
ELSEWHERE = {"wattle-sim improve"}


def run(command, *words):
    """Runs `PROGRAM COMMAND` with further arguments."""
    program, *rest = command.split()
    done = subprocess.run([BIN / program, *rest, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def options_by_command():
    """Returns the options in the lists and lines of common options of PAGES."""
    options = {}
    for program, page in PAGES.items():
        for words, body in re.findall(rf"^##+ {program} ([a-z][^\n]*)\n(.*?)(?=^##|\Z)", page.read_text(encoding="utf-8"), re.M | re.S):
            cells = re.findall(r"^- `(-[^`]*)`", body, re.M) + re.findall(r"`(--[a-z-]+)`", "".join(re.findall(r"^Common options:.*$", body, re.M)))
            options.setdefault(f"{program} {words.split()[0]}", set()).update(name for cell in cells for name in re.findall(r"(?:^|, )(--[-a-z]+)", cell))
    return options


def fail(what, text=""):
    sys.exit(f"few_seeds: {what}\n{text}")


def ranges_in(value, path=""):
    """Yields the JSON paths of ranges that have a number."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("low", "high") and each is not None:
                yield f"{path}/{key}"
            yield from ranges_in(each, f"{path}/{key}")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from ranges_in(each, f"{path}/{at}")


def play(folder, command, words, option, into, seeds):
    given = [command, *words, option, str(seeds)]
    file = folder / "out.json"
    if into == "--json":
        given += ["--json", str(file)]
    code, out, err = run(*given)
    if code != 0:
        fail(f"{' '.join(given)} ended with {code}", out + err)
    reported = json.loads(file.read_text()) if into == "--json" else None
    if into == "-o json":
        reported = json.loads(run(*given, "-o", "json")[1])
    return " ".join(given), out, reported


def recorded_days(days):
    """Writes a cluster's record of `days` days of an hour, each with the same kinds of pods."""
    from_s, lines = 1_700_000_000 - 1_700_000_000 % 3600, []
    lines.append({"wattle_record": 1, "to_s": from_s + 3600 * days, "names": "plain"})
    for node in range(3):
        watts = [60 + 10 * node + k * (8 + 6 * node) for k in range(11)]
        lines.append({"nodes": {"name": f"n{node}", "cores": 8, "memory_bytes": 32e9, "watts": watts, "readings": 500, "residual_sd_w": 1.0,
                                "state": "ready", "wake_j": 0}})
    for at in range(0, 3600 * days, 240):
        app = at // 240 % 4
        lines.append({"pods": {"owner": f"Deployment/app-{app}", "image": f"image:{app}", "labels": "", "cpu_cores": 1, "memory_bytes": 1e9,
                               "node": f"n{at // 240 % 2}", "placed_s": from_s + at, "ended_s": from_s + at + 900 if at + 900 < 3600 * days else None,
                               "used_cores": [0.1 + 0.2 * app] * 2}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def improve(folder, days):
    """Runs improve on a record of `days` days. Returns its output and verdict."""
    record, verdict = folder / "record.jsonl", folder / "verdict.json"
    record.write_text(recorded_days(days), encoding="utf-8")
    given = ["wattle-sim improve", str(record), "--model", str(ROOT / "models/pretrained/weighted.safetensors"), "--day-hours", "1", "--per-day", "2", "--plays", "20",
             "--epochs", "1", "--json", str(verdict), "--out", str(folder / "kept.safetensors")]
    code, out, err = run(*given)
    if code != 0:
        fail(f"{' '.join(given)} ended with {code}", out + err)
    return out, json.loads(verdict.read_text(encoding="utf-8"))


def benches():
    """Benches that resample seeds check with lab/benchmarks/seeds.py that there are enough."""
    for file in sorted((ROOT / "lab/benchmarks").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "0.975 *" in text and not re.search(r"^from seeds import ", text, re.M):
            fail(f"{file.name} reports intervals without checking in lab/benchmarks/seeds.py that there are enough seeds")


def main():
    benches()
    commands = []
    for program in PAGES:
        listed = run(program, "--help")[1]
        commands += [f"{program} {name}" for name in re.findall(r"^  ([a-z][a-z-]*)\s", listed, re.M)]
    if not {"wattle-lab bench", "wattle-sim eval"} <= set(commands):
        fail("no commands found", str(commands))
    help_of = options_by_command()
    if set(commands) - set(help_of):
        fail(f"the pages do not have {sorted(set(commands) - set(help_of))}: run scripts/docs-reference")
    there = [each for each in COMPARES if each[0] in commands]
    for command in commands:
        counts = [option for option in COUNTS if option in help_of[command]]
        if counts and command not in {each[0] for each in COMPARES} | ELSEWHERE:
            fail(f"{command} has {counts[0]}: list it in ELSEWHERE if it reports no interval, or test it")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for (command, words, option, into), seeds in itertools.product(there, FEW):
            typed, out, reported = play(folder, command, words, option, into, seeds)
            if NOTE not in out:
                fail(f"{typed} does not say how many seeds are needed", out)
            if RANGE.search(out) or "confidence" in out or "interval holds" in out:
                fail(f"{typed} reports an interval or a verdict", out)
            if reported is not None and list(ranges_in(reported)):
                fail(f"{typed} writes ranges: {list(ranges_in(reported))[:3]}")
            if reported is not None and "better_than_rule" in reported:
                fail(f"{typed} writes a verdict")
        for command, words, option, into in there[:4]:
            typed, out, reported = play(folder, command, words, option, into, 5)
            if NOTE in out or not RANGE.search(out) or not list(ranges_in(reported)):
                fail(f"{typed} has no range", out)
        code, out, err = run("wattle-lab labels", "consolidation_churn", "--episodes", "1", "--per-episode", "2", "--min-nodes", "2",
                             "--max-nodes", "3", "--out", str(folder / "labels"))
        if code != 0:
            fail(f"labels ended with {code}", out + err)
        if "wattle-sim improve" in commands:
            out, verdict = improve(folder, 6)  # one of a quarter of the days judges, in twenty plays
            ends = [end for key, value in verdict.items() if "_over_" in key for end in value[1:]]
            if NOTE not in out or RANGE.search(out) or "confidence" in out or verdict["kept"] or any(end is not None for end in ends):
                fail("improve reports an interval or a verdict from plays of one day", f"{out}{verdict}")
            out, verdict = improve(folder, 14)
            if NOTE in out or not RANGE.search(out):
                fail("improve has no range although five days judge", f"{out}{verdict}")
        if "wattle-lab imitate" in commands:
            code, out, err = run("wattle-lab imitate", "--labels", str(folder / "labels"), "--held-out",
                                 str(folder / "labels"), "--epochs", "1", "--out", str(folder / "x"))
            if code != 1 or "at least 5" not in err or RANGE.search(out):
                fail(f"imitate on held-out labels of one fleet ended with {code}", out + err)
    print(f"few_seeds: {len(there)} commands")


if __name__ == "__main__":
    main()
