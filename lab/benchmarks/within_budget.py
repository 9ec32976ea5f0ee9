#!/usr/bin/env python3
"""within_budget: the planner's saving within the budget of waiting, compared with a clairvoyant under the same budget
(simulated).

Usage    within_budget.py WATTLE_SIM [--scenarios provisioning,churn,machines_fail] [--seeds 12]
Does     `wattle-sim eval --warm` with planner, default scheduler and true-budget on the same clusters and pods
Gives    for each scenario: energy over the default's and waiting, in %, means over seeds; and the planner's share of
         the clairvoyant's saving, the ratio of both sums over seeds, with a 95% interval by bootstrap over seeds
"""
import argparse
import json
import random
import subprocess

from seeds import range_text

DRAWS = 10_000
NAMES = ("planner", "kube-default", "true-budget")


def judged(sim, scenario, seeds):
    words = [sim, "eval", "--scenario", scenario, "--seeds", str(seeds), "--warm", "--policies", ",".join(NAMES), "-o", "json"]
    reported = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return {each["name"]: each["per_seed"] for each in reported["contestants"]}


def mean(values):
    return sum(values) / len(values)


def share_of(pairs):
    return sum(ours for ours, _ in pairs) / sum(theirs for _, theirs in pairs)


def interval(pairs, draws):
    shares = sorted(share_of(random.choices(pairs, k=len(pairs))) for _ in range(draws))
    return shares[int(0.025 * draws)], shares[int(0.975 * draws)]


def row(scenario, figures):
    ours, default, bound = (figures[name]["energy_kj"] for name in NAMES)
    pairs = [(d - o, d - b) for o, d, b in zip(ours, default, bound)]
    low, high = interval(pairs, DRAWS)
    waiting = [mean(figures[name]["pressure_pct"]) for name in NAMES]
    over = [100 * (sum(energy) / sum(default) - 1) for energy in (ours, bound)]
    return (f"| {scenario} | {over[0]:+.1f} | {waiting[0]:.2f} | {waiting[1]:.2f} | {over[1]:+.1f} | {waiting[2]:.2f} | "
            f"{share_of(pairs):.2f} {range_text(len(pairs), low, high, '.2f')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sim", help="the program wattle-sim")
    parser.add_argument("--scenarios", default="provisioning,churn,machines_fail")
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    random.seed(1)
    print("| scenario | planner: energy over default, % | waiting, % | default's | `true-budget`: energy | waiting | planner's share of its saving |")
    print("|---|---|---|---|---|---|---|")
    for scenario in options.scenarios.split(","):
        print(row(scenario, judged(options.sim, scenario, options.seeds)), flush=True)


if __name__ == "__main__":
    main()
