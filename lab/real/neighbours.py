#!/usr/bin/env python3
"""neighbours: measures on a real cluster whether Wattle learns to separate a service from a workload that slows it.
Needs root.

Usage    neighbours.py FOLDER [--binaries DIR] [--policies LIST] [--minutes N] [--window S] [--seed N]
Cluster  node-1 runs Wattle and the users, and accepts no other pods. node-2 and node-3 have one processor each
Plays    a web service, a disturber (stress-ng: cache and memory bandwidth) and three calm pods. All request the same. They
         are deleted in turn at random times, so that each is placed repeatedly. Each policy has a fresh cluster
Gives    FOLDER/POLICY.json: for each window of time the users' latency and the share of it in which the service and the
         disturber shared a node; prints medians of the windows of each third of the run
Errors   names the step that failed; exit 1
"""
import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import sys
import time

import arena

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB, DISTURBER = "web", "disturber"
NAMES = (WEB, DISTURBER, "calm")
MEAN_BETWEEN_S = {WEB: 150, DISTURBER: 60, "calm": 40}  # deletions of each pod


def deletions(seed, seconds):
    rng, found = random.Random(f"neighbours/{seed}"), []
    for name in NAMES:
        at = rng.expovariate(1 / MEAN_BETWEEN_S[name])
        while at < seconds:
            found.append((at, name))
            at += rng.expovariate(1 / MEAN_BETWEEN_S[name])
    return sorted(found)


def cordon(cluster, name):
    cluster.api.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}}, "application/merge-patch+json")


def start(cluster, scheduler):
    cordon(cluster, "node-1")
    for file in ("service", "neighbours"):
        for thing in arena.manifests(file, scheduler, cluster.version):
            if thing["metadata"]["name"] == WEB and thing["kind"] == "Deployment":
                thing["spec"]["replicas"] = 1
            cluster.create(thing)
    cluster.wait("all pods run", lambda: cluster.running() == 5)


def users(cluster, number, seconds):
    """Starts the users of a window on node-1 despite its cordon. They restart until the service accepts a
    connection."""
    thing, = arena.manifests("users", "default-scheduler", cluster.version)
    thing["metadata"]["name"] = f"users-{number}"
    spec = thing["spec"]
    spec["restartPolicy"] = "OnFailure"
    spec["nodeName"] = spec.pop("nodeSelector")["kubernetes.io/hostname"]
    arguments = spec["containers"][0]["args"]
    arguments[arguments.index("--for") + 1] = f"{seconds:.0f}s"
    cluster.create(thing)


def users_report(cluster, number):
    path = f"{arena.PODS}/users-{number}"
    cluster.wait(f"the users of window {number} have exited", lambda: cluster.api.call("GET", path)["status"]["phase"] in ("Succeeded", "Failed"), 300)
    log = cluster.api.text(f"{path}/log")
    cluster.api.call("DELETE", path)
    try:
        return json.loads(log)
    except ValueError as error:
        raise arena.ArenaError(f"the users of window {number} gave no report: {log.strip()[-500:] or 'no output'}") from error


def together(lives, begin, end):
    """Returns the share of the time in which the service and the disturber were on the same node."""
    def where(name, at):
        return {life["node"] for life in lives if life["name"].startswith(name) and life["placed_s"] is not None and life["placed_s"] <= at and
                (life["ended_s"] is None or life["ended_s"] > at)}
    seconds = range(int(begin), int(end))
    return sum(bool(where(WEB, at) & where(DISTURBER, at)) for at in seconds) / len(seconds)


def played(options, policy):
    os.environ["DEMO_CPUS"] = "0-1 0 1"
    with arena.Arena(options.binaries, 3, options.folder / "clusters.log") as cluster:
        cluster.set_policy(policy)
        start(cluster, arena.SCHEDULERS.get(policy, "wattle"))
        recorder = arena.Recorder(cluster.api, cluster.page, cluster.nodes)
        left, windows = deletions(options.seed, options.minutes * 60), []
        for number in range(options.minutes * 60 // options.window):
            begin, end = recorder.now(), (number + 1) * options.window
            users(cluster, number, max(10.0, end - begin - 5))
            while recorder.now() < end:
                if left and left[0][0] <= recorder.now():
                    cluster.delete_oldest(left.pop(0)[1])
                time.sleep(0.5)
            report = users_report(cluster, number)
            row = {"from_s": begin, "to_s": end, "p50_ms": report["latency_ms"]["p50"], "p99_ms": report["latency_ms"]["p99"],
                   "answered": report["answered"], "failed": sum(report["failed"].values()),
                   "together": together(recorder.lives.values(), begin, end)}
            windows.append(row)
            print(f"{policy}: {end / 60:.0f} min: p50 {row['p50_ms']:.1f}, p99 {row['p99_ms']:.1f} ms, {row['answered']} answered, {row['failed']} failed; "
                  f"on one node {row['together']:.0%} of the time", flush=True)
        recording = recorder.stop()
        live = [one for one in cluster.decisions() if one["mode"] == "live"]
    return {"policy": policy, "windows": windows, "pods": recording["pods"], "load": os.getloadavg()[0],
            "decided_by": dict(collections.Counter(one["decided_by"] or "neutral" for one in live))}


def thirds(run):
    count = len(run["windows"]) // 3
    for name, part in (("first", run["windows"][:count]), ("second", run["windows"][count:-count]), ("last", run["windows"][-count:])):
        yield (f"{name} third: p99 {statistics.median(one['p99_ms'] for one in part):.1f} ms [{min(one['p99_ms'] for one in part):.1f}, "
               f"{max(one['p99_ms'] for one in part):.1f}], on one node {statistics.mean(one['together'] for one in part):.0%}")


def main():
    parser = argparse.ArgumentParser(description="Measures whether Wattle separates a service from a workload that slows it.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--binaries", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--policies", type=lambda text: text.split(","), default=["dqn", "node-order"])
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--window", type=int, default=120, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for policy in options.policies:
        run = played(options, policy)
        (options.folder / f"{policy}.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
        for line in (f"decided by {run['decided_by']}", *thirds(run)):
            print(f"{policy}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (arena.ArenaError, OSError) as error:
        sys.exit(f"neighbours: {error}")
