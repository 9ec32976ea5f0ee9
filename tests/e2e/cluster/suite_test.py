#!/usr/bin/env python3
"""suite_test: all claims about a real cluster, in parts, on one cluster. Then a cluster with a sleeping node, and clusters
that are killed at random moments.

Usage    suite_test.py BINARY-FOLDER [--only PART...] [--kills N] [--seed N] [--cluster RUN-FOLDER]
           --only       parts, of those in PARTS, sleep or kills; default: all
           --kills      clusters that are killed; default 2
           --cluster    uses a cluster that runs, and leaves it running
Skips    if the machine cannot run a cluster, with the reason (real_cluster.missing)
"""
import argparse
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import real_cluster  # noqa: E402
import autoscaling  # noqa: E402
import beside  # noqa: E402
import faults  # noqa: E402
import howtos  # noqa: E402
import kills  # noqa: E402
import objects  # noqa: E402
import releases  # noqa: E402
import resizes  # noqa: E402
import right_sizes  # noqa: E402
import running  # noqa: E402
import sleeping  # noqa: E402
import sums  # noqa: E402
import waiting  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import HouseError, SKIPPED  # noqa: E402

PARTS = {"running": running, "sums": sums, "how-tos": howtos, "resizes": resizes, "right-sizes": right_sizes,
         "objects": objects, "waiting": waiting, "autoscaling": autoscaling, "beside": beside, "faults": faults,
         "releases": releases}


def check_parts(claims, cluster, names):
    for name in names:
        begun = time.monotonic()
        print(f"== {name}", flush=True)
        try:
            if name == "sleep":
                sleeping.check(claims, cluster)
                howtos.check_sleep(claims, cluster)
            else:
                PARTS[name].check(claims, cluster)
        except HouseError as error:
            claims.check(f"{name}: the part ran to its end", False, error)
        print(f"== {name} took {time.monotonic() - begun:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "sleep", "kills"], default=[*PARTS, "sleep", "kills"])
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    parser.add_argument("--cluster", type=pathlib.Path)
    options = parser.parse_args()
    binaries, claims = options.binaries.resolve(), Claims()
    if reason := real_cluster.missing(binaries):
        print(f"skipped: {reason}")
        return SKIPPED
    if names := [name for name in PARTS if name in options.only]:
        with real_cluster.RealCluster(binaries, options.cluster and options.cluster.resolve(), DEMO_GANGS="1") as cluster:
            check_parts(claims, cluster, names)
            if options.cluster is None:
                claims.check("the demo exits with 0", cluster.end() == 0, cluster.demo.output()[-1000:])
                claims.check("no resource of the cluster is left", not real_cluster.left(cluster.run_folder), real_cluster.left(cluster.run_folder))
    if "sleep" in options.only:
        with real_cluster.RealCluster(binaries, DEMO_SLEEP="1") as cluster:
            check_parts(claims, cluster, ["sleep"])
    if "kills" in options.only:
        kills.check(claims, binaries, options.kills, options.seed)
    print("cluster: every claim holds" if claims.failed == 0 else f"cluster: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
