#!/usr/bin/env python3
"""requests_bounds: computes the slack of rules that know the future, as bounds for request rules, on the histories of
requests_vpa.py.

Usage    requests_bounds.py --trace DIR [--machines 60] [--seeds 100] [--first 1001]
Source   same as requests_vpa.py
Plays    foresees: knows the needs of the next ten minutes, and moves within the limits of the rule (every ten minutes,
         up immediately, down by a tenth after half an hour). For PlanetLab, also with a share of values given up, the
         most isolated first
         knows: memory; knows level, daily pattern and leak, but no spikes or steps; adds a share of the base
Gives    slack; share of values above the request, or kills (the first minute of a spike) per day
"""
import argparse
import pathlib

import requests_vpa
from requests_vpa import DAY, DAYS, LEARNED_DAYS

LOOK, NEAR = 2, 4  # number of five-minute values


class Track:
    """Same state as in provision/requests/request_rule."""

    def __init__(self, request, dead=0.1, hold=3):
        self.value, self.dead, self.hold, self.since, self.most = request, dead, hold, None, 0

    def look(self, wanted, now, may_lower):
        if wanted >= self.value * (1 - self.dead):
            self.value, self.since = max(self.value, wanted), None
            return
        if self.since is None:
            self.since, self.most = now, 0
        self.most = max(self.most, wanted)
        if may_lower and now - self.since >= self.hold:
            self.value, self.since = self.most, None


def foresees(needs, covered, request, learned, judged_from):
    """Returns (slack, share of values above the request); `covered` holds the amount to cover for each value."""
    track, slack, under = Track(request), 0, 0
    for i in range(1, len(needs) - 1):
        if i % LOOK == 1:
            track.look(max(covered[i + 1:i + 1 + LOOK]), i // LOOK, i >= learned)
        if i + 1 >= judged_from:
            slack += max(0, track.value - needs[i + 1])
            under += needs[i + 1] > track.value
    return slack / (len(needs) - judged_from), under / (len(needs) - judged_from)


def without(values, share):
    """Returns the values with a share of them lowered to those of their neighbours."""
    left = list(values)
    for _ in range(int(share * len(left))):
        def beside(i):
            return max(left[max(0, i - NEAR):i] + left[i + 1:i + 1 + NEAR])
        at = max(range(1, len(left) - 1), key=lambda i: left[i] - beside(i))
        lower = beside(at)
        if lower >= left[at]:
            at = max(range(len(left)), key=lambda i: left[i])
            near = sorted(left[max(0, at - 6):at + 7])
            lower = near[len(near) // 2]
        left[at] = lower
    return left


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def knows(histories, beyond):
    slack, kills, first = 0, 0, LEARNED_DAYS * DAY
    for base, values, calm in histories:
        requests = [calm[i - 1] + beyond * base for i in range(first - 1, DAYS * DAY)]
        over = [value > request for value, request in zip(values[first - 1:], requests)]
        slack += mean(max(0, request - value) for value, request in zip(values[first:], requests[1:]))
        kills += sum(now and not before for before, now in zip(over, over[1:])) / (DAYS - LEARNED_DAYS)
    return slack / len(histories), kills / len(histories)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=pathlib.Path, required=True)
    parser.add_argument("--machines", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1001, help="seed")
    options = parser.parse_args()
    shape = requests_vpa.shape_of_day(options.trace)
    memory = [requests_vpa.memory_of(seed, shape) for seed in range(options.first, options.first + options.seeds)]
    reported = [foresees(values, values, 2 * base, DAY // 2, LEARNED_DAYS * DAY) for base, values, _ in memory]
    print(f"memory, foresees: slack {mean(slack for slack, _ in reported):.0f} MiB, under {100 * mean(under for _, under in reported):.2f}%")
    for beyond in (0.36, 0.38, 0.39, 0.40, 0.41):
        print("memory, knows, {:.0%} of the base beyond: slack {:.0f} MiB, kills/day {:.3f}".format(beyond, *knows(memory, beyond)), flush=True)
    for name, lines in requests_vpa.planetlab(options.trace, options.machines):
        machines = [[float(value) for value in line.split()[4:]] for line in lines]
        for share in (0, 0.03, 0.05, 0.07, 0.09):
            reported = [foresees(values, without(values, share), 4, DAY // 2 - 1, 13 * 12) for values in machines]
            print(f"{name}, foresees, {share:.0%} given up: slack {mean(slack for slack, _ in reported):.3f} cores, "
                  f"under {100 * mean(under for _, under in reported):.2f}%", flush=True)


if __name__ == "__main__":
    main()
