#!/usr/bin/env python3
"""odd_waiting: checks whether the budget of waiting holds when pods wait longer than the model learned (simulated).

Usage    odd_waiting.py WATTLE_SIM [--scenarios churn,churn_sleep,machines_fail] [--times 1,3] [--placements 1500]
         [--seeds 12]
Does     `wattle-sim eval --warm --odd-waiting K` with planner and default scheduler on the same clusters and pods:
         shadow mode sees the unchanged scenario, then pods wait K times as long
Gives    for each scenario and K: waiting of pods from the second hour on, in % of their time, and the limit, means over
         seeds; the number of seeds that kept the limit; waiting minus the limit in points, mean with a 95% interval by
         bootstrap over seeds; energy over the default's
"""
import argparse
import json
import random
import subprocess

from seeds import range_text

DRAWS = 10_000
NAMES = ("planner", "kube-default")


def judged(sim, scenario, times, options):
    words = [sim, "eval", "--scenario", scenario, "--seeds", str(options.seeds), "--placements", str(options.placements), "--warm",
             "--odd-waiting", str(times), "--policies", ",".join(NAMES), "-o", "json"]
    reported = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return {each["name"]: each["per_seed"] for each in reported["contestants"]}


def mean(values):
    return sum(values) / len(values)


def interval(values):
    means = sorted(mean(random.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS)]


def row(scenario, times, figures):
    ours, default = (figures[name] for name in NAMES)
    over = [waited - limit for waited, limit in zip(ours["later_pct"], ours["wait_limit_pct"])]
    low, high = interval(over)
    kept = sum(each <= 0 for each in over)
    energy = 100 * (sum(ours["energy_kj"]) / sum(default["energy_kj"]) - 1)
    return (f"| {scenario} | {times} | {mean(ours['later_pct']):.2f} | {mean(ours['wait_limit_pct']):.2f} | {kept} of {len(over)} | "
            f"{mean(over):+.2f} {range_text(len(over), low, high)} | {mean(default['later_pct']):.2f} | {energy:+.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sim", help="the program wattle-sim")
    parser.add_argument("--scenarios", default="churn,churn_sleep,machines_fail")
    parser.add_argument("--times", default="1,3", help="values of K")
    parser.add_argument("--placements", type=int, default=1500, help="of an episode: four hours of churn")
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    random.seed(1)
    print("| scenario | K | planner: waiting from the second hour on, % | limit, % | kept in | beyond it, points | default's waiting, % | energy over default, % |")
    print("|---|---|---|---|---|---|---|---|")
    for scenario in options.scenarios.split(","):
        for times in options.times.split(","):
            print(row(scenario, times, judged(options.sim, scenario, times, options)), flush=True)


if __name__ == "__main__":
    main()
