#!/usr/bin/env python3
"""cluster_test: a real cluster in two minutes. scripts/demo cluster starts three nodes with the chart, `wattle` places
pods, an idle node sleeps until a pod needs it, each node reports its own values, pods are placed while shim and
controller are killed, and everything is removed at the end.
docs/start/real-cluster.md describes this cluster; the test uses its commands.

Usage    cluster_test.py BINARY-FOLDER
Skips    if the machine cannot run a cluster, with the reason (real_cluster.missing)
"""
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import real_cluster  # noqa: E402
import faults  # noqa: E402
import running  # noqa: E402
import sleeping  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402


def main():
    binaries, claims = pathlib.Path(sys.argv[1]).resolve(), Claims()
    if reason := real_cluster.missing(binaries):
        print(f"skipped: {reason}")
        return SKIPPED
    with real_cluster.RealCluster(binaries, DEMO_SLEEP="1") as cluster:
        sleeping.check(claims, cluster)
        running.check(claims, cluster)
        faults.check_short(claims, cluster)
        claims.check("after Ctrl-C the demo exits with 0", cluster.end(signal.SIGINT) == 0, cluster.demo.output()[-1000:])
        claims.check("the demo reports that it removed everything", "nothing is left behind" in cluster.demo.output())
        left = real_cluster.left(cluster.run_folder)
        claims.check("no resource of the cluster is left", not left, left)
    print("cluster: every claim holds" if claims.failed == 0 else f"cluster: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
