"""schedule: times at which a round creates and deletes pods, the same for each policy of the round.

Units    seconds since the start of the measurement; cores
Gives    a dictionary that JSON can hold: `events` in order of time, `blockers` (cores of each node)
Errors   none; pure functions of their arguments
"""
import random

APPS = ("video", "transmission", "write")
WORKLOADS = ("test1", "test2", "apps")
EMPTY_SHARE = 0.25  # the share of each cycle of test1 without pods


def test1(rng, seconds, pods):
    """Creates all pods, deletes all, and repeats: three cycles."""
    del rng
    cycle = seconds / 3
    return [event for number in range(3) for event in ((number * cycle, "scale", "test1", pods), ((number + 1 - EMPTY_SHARE) * cycle, "scale", "test1", 0))]


def test2(rng, seconds, pods):
    """A sliding window: each pod is replaced once, at random times."""
    times = sorted(rng.uniform(seconds * 0.2, seconds * 0.95) for _ in range(pods))
    return [(0.0, "scale", "test2", pods), *((at, "delete_oldest", "test2", 1) for at in times)]


def apps(rng, seconds, pods):
    """Starts applications in random order; each ends after half of the time."""
    counts, changes = dict.fromkeys(APPS, 0), []
    for number in range(pods):
        kind, at = rng.choice(APPS), rng.uniform(0, seconds * 0.8)
        changes += [(at if number else 0.0, kind, 1), ((at if number else 0.0) + seconds / 2, kind, -1)]
    events = []
    for at, kind, change in sorted(changes):
        counts[kind] += change
        if at < seconds:
            events.append((at, "scale", kind, counts[kind]))
    return events


def schedule(workload, seed, seconds, pods, nodes):
    rng = random.Random(f"{workload}/{seed}")
    blockers = {name: round(rng.uniform(0.02, 0.2), 2) for name in nodes}
    events = {"test1": test1, "test2": test2, "apps": apps}[workload](rng, seconds, pods)
    return {"workload": workload, "seed": seed, "seconds": seconds, "pods": pods, "blockers": blockers,
            "events": [{"at_s": round(at, 2), "do": do, "what": what, "count": count} for at, do, what, count in sorted(events)]}
