#!/usr/bin/env python3
"""requests_vpa: compares the controller's request rule with the Vertical Pod Autoscaler's own recommender and updater
on the same histories.

Usage    requests_vpa.py BIN_DIR --trace DIR [--sets planetlab,services,memory,openb] [--machines 1000] [--seeds 200]
                         [--first 1001] [--every 1] [--json FILE]
Source   DIR with planetlab_*.csv[.gz] (measured), openb_pods.csv (requests of a production cluster) and
         rate_diurnal_rps.txt (daily pattern); VPA from the Go module
         k8s.io/autoscaler/vertical-pod-autoscaler at version VPA, built into the cache (see assets.py)
Plays    planetlab: each machine of a day may use 4 cores; the rules learn from 13 hours and are judged on the last 11
         services, seeded: 14 days of CPU with the trace's daily pattern; days differ by 10% (sd, log), days 6 and 7 of
         a week are lower, five-minute values differ by 5 to 30%; judged on the last 6 days
         memory, seeded: 14 days of a working set with steps (every 2 days on average, by 0.85 to 1.25), a share that
         follows the day, spikes, 1% noise, and in a third of workloads a leak that lasts until the next deployment
         (every 3 days on average); judged on the last 6 days
         openb: as memory, of pods that request what a pod of openb requests, with a base of 70% of it
Gives    per set and rule: slack, share of minutes above the request, the missing amount in those, changes and kills per
         day; ratio of the slack of `wattle` to that of each other rule, with 95% intervals by resampling histories
"""
import argparse
import csv
import gzip
import itertools
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e")]
import assets  # noqa: E402
from seeds import LEAST_SEEDS, range_text  # noqa: E402

VPA = "v1.8.1"
MODULE = "k8s.io/autoscaler/vertical-pod-autoscaler"
DAY = 288  # values of five minutes
DAYS, LEARNED_DAYS = 14, 8
OPENB_USED = 0.7  # share of the request; the trace has no memory usage
RULES = ("wattle", "tenth", "updater")
FIGURES = ("requested", "slack", "short", "under_ratio", "changes_per_day", "kills_per_day")
RESAMPLES = 2000


def recommender():
    """Builds the program once per version of its source and returns its path."""
    source = ROOT / "lab/benchmarks/vpa_recommender.go"
    folder = assets.cache_folder() / f"vpa-{VPA}"
    program, built_of = folder / "vpa_recommender", folder / "main.go"
    if program.exists() and built_of.exists() and built_of.read_bytes() == source.read_bytes():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, built_of)
    if not (folder / "go.mod").exists():
        assets.go("mod", "init", "wattle.test/vpa", cwd=folder)
    assets.go("get", f"{MODULE}@{VPA}", cwd=folder)
    assets.go("build", "-trimpath", "-o", str(program), "main.go", cwd=folder)
    return program


def line_of(kind, name, judged_from, request, values):
    return " ".join([kind, name, str(judged_from), f"{request:.3f}", *(f"{value:.4g}" for value in values)])


def planetlab(folder, machines):
    for path in sorted(pathlib.Path(folder).glob("planetlab_*.csv*")):
        text = (gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")).read()
        lines = [line.rstrip(",").split(",") for line in text.split()]
        yield path.name.split(".")[0], [line_of("cpu", f"{path.name.split('.')[0]}-{i}", 13 * 60, 4, [float(v) * 4 / 100 for v in values])
                                        for i, values in enumerate(lines[:machines])]


def shape_of_day(folder):
    rates = [float(line) for line in (pathlib.Path(folder) / "rate_diurnal_rps.txt").read_text().split()]
    mean, wide = sum(rates) / len(rates), len(rates) / DAY
    return [sum(rates[int(i * wide):int((i + 1) * wide)]) / len(rates[int(i * wide):int((i + 1) * wide)]) / mean for i in range(DAY)]


def day_factors(rng):
    weekend = rng.uniform(0.5, 1)
    return [math.exp(rng.gauss(0, 0.1)) * (weekend if day % 7 in (5, 6) else 1) for day in range(DAYS)]


def service(seed, shape):
    rng = random.Random(seed)
    scale, constant, phase, noise = 0.5 * math.exp(rng.gauss(0, 0.8)), rng.uniform(0.05, 0.3), rng.randrange(DAY), rng.uniform(0.05, 0.3)
    factors = day_factors(rng)
    values = [scale * (constant + (1 - constant) * shape[(i + phase) % DAY] * factors[i // DAY] * math.exp(rng.gauss(0, noise) - noise * noise / 2))
              for i in range(DAYS * DAY)]
    return line_of("cpu", f"service-{seed}", LEARNED_DAYS * 1440, 2.5 * scale, values)


def until(rng, values):
    """Draws the number of values until the next event, `values` on average."""
    return 1 + int(rng.expovariate(1 / values))


def memory_of(seed, shape, base=None):
    """Returns the base, the MiB needed in each five minutes, and the same without spikes and noise."""
    rng = random.Random(seed)
    drawn = math.exp(rng.uniform(math.log(300), math.log(4000)))
    base = base or drawn
    daily, phase, leak = rng.uniform(0, 0.2), rng.randrange(DAY), rng.uniform(0.01, 0.08) / DAY if rng.random() < 1 / 3 else 0
    level, leaked, spike, values, calm = 1.0, 0.0, 0.0, [], []
    step, deploy, burst, burst_left = until(rng, 2 * DAY), until(rng, 3 * DAY), until(rng, DAY), 0
    for i in range(DAYS * DAY):
        step, deploy, burst, burst_left, leaked = step - 1, deploy - 1, burst - 1, burst_left - 1, leaked + leak
        if step == 0:
            level, step = min(2.0, max(0.5, level * rng.uniform(0.85, 1.25))), until(rng, 2 * DAY)
        if deploy == 0:
            leaked, deploy = 0.0, until(rng, 3 * DAY)
        if burst == 0:
            spike, burst_left, burst = rng.uniform(0.05, 0.4), rng.randrange(1, 4), until(rng, DAY)
        calm.append(base * (level + daily * (shape[(i + phase) % DAY] - 1) + leaked))
        now = level + daily * (shape[(i + phase) % DAY] - 1) + leaked + (spike if burst_left > 0 else 0)
        values.append(base * max(0.1, now * (1 + rng.gauss(0, 0.01))))
    return base, values, calm


def working_set(seed, shape):
    base, values, _ = memory_of(seed, shape)
    return line_of("memory", f"memory-{seed}", LEARNED_DAYS * 1440, 2 * base, values)


def openb(folder, seeds, shape):
    with open(pathlib.Path(folder) / "openb_pods.csv", encoding="utf-8") as pods:
        requests = [float(pod["memory_mib"]) for pod in csv.DictReader(pods) if float(pod["memory_mib"]) > 0]
    for seed in seeds:
        request = random.Random(seed).choice(requests)
        yield line_of("memory", f"openb-{seed}", LEARNED_DAYS * 1440, request, memory_of(seed, shape, OPENB_USED * request)[1])


def sets_of(options):
    chosen = options.sets.split(",")
    if "planetlab" in chosen:
        yield from planetlab(options.trace, options.machines)
    seeds = range(options.first, options.first + options.seeds)
    for name, make in (("services", service), ("memory", working_set)):
        if name in chosen:
            shape = shape_of_day(options.trace)
            yield name, [make(seed, shape) for seed in seeds]
    if "openb" in chosen:
        yield "openb", list(openb(options.trace, seeds, shape_of_day(options.trace)))


def play(options, program, lines):
    """Returns the figures by history and rule."""
    with tempfile.TemporaryDirectory(prefix="wattle-vpa-") as name:
        folder = pathlib.Path(name)
        (folder / "histories").write_text("\n".join(lines) + "\n", encoding="utf-8")
        ours = subprocess.run([str(options.binaries / "wattle-lab"), "requests", "--histories", str(folder / "histories")],
                              capture_output=True, text=True, check=True).stdout
        with open(folder / "histories", encoding="utf-8") as given:
            theirs = subprocess.run([str(program), str(options.every)], stdin=given, capture_output=True, text=True, check=True,
                                    env=os.environ | {"GOMAXPROCS": "1"}).stdout
        reported = [json.loads(line) for line in itertools.chain(ours.splitlines(), theirs.splitlines())]
    found = {}
    for one in reported:
        found.setdefault(one["history"], {}).update(one)
    return list(found.values())


def ratio(found, rule, key="slack"):
    """Returns the ratio of the sums minus 1 with its 95% interval; no interval for fewer histories than
    seeds.LEAST_SEEDS."""
    pairs = [(one["wattle"][key], one[rule][key]) for one in found]
    rng = random.Random(1)

    def of(some):
        below = sum(b for _, b in some)
        return sum(a for a, _ in some) / below - 1 if below else float("nan")
    if len(pairs) < LEAST_SEEDS:
        return of(pairs), None, None
    again = sorted(of(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return of(pairs), again[int(0.025 * RESAMPLES)], again[int(0.975 * RESAMPLES)]


def judged(name, found):
    rules = [rule for rule in RULES if rule in found[0]]
    result = {"set": name, "histories": len(found), "used": sum(one["used"] for one in found) / len(found)}
    for rule in rules:
        result[rule] = {key: sum(one[rule][key] for one in found) / len(found) for key in FIGURES}
    result["slack_against"] = {rule: ratio(found, rule) for rule in rules[1:]}
    print(f"\n{name}: {len(found)} histories, used {result['used']:.3f}")
    for rule in rules:
        f = result[rule]
        print(f"  {rule:8} slack {f['slack']:9.3f}  under {100 * f['under_ratio']:6.2f}%  short {f['short']:8.4f}  changes/day {f['changes_per_day']:5.2f}  "
              f"kills/day {f['kills_per_day']:6.3f}" + ("" if rule == "wattle" else f"  slack of wattle {result['slack_against'][rule][0]:+.1%} {range_text(len(found), *result['slack_against'][rule][1:], form='+.1%')}"),
              flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--trace", type=pathlib.Path, required=True)
    parser.add_argument("--sets", default="planetlab,services,memory")
    parser.add_argument("--machines", type=int, default=10_000, help="of a day, at most")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=1001, help="seed")
    parser.add_argument("--every", type=int, default=1, help="minutes between two samples for VPA")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    program = recommender()
    results = [judged(name, play(options, program, lines)) for name, lines in sets_of(options)]
    if options.json:
        options.json.write_text(json.dumps({"simulated": True, "vpa": VPA, "every": options.every, "sets": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
