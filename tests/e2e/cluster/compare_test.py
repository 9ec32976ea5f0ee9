#!/usr/bin/env python3
"""compare_test: a short comparison of policies on real clusters (lab/real). DRS's applications, users and blockers run
as pods under kube-scheduler and under a policy of the controller; a second call repeats no run; the report page draws.

Usage    compare_test.py BINARY-FOLDER
Skips    if the machine cannot run a cluster, with the reason (real_cluster.missing)
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent)]
import real_cluster  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402

POLICIES = ("kube-default", "planner")
APPS = {"video", "transmission", "write"}


def compare(binaries, folder, cache):
    done = subprocess.run([sys.executable, "-B", ROOT / "lab/real/compare.py", folder, "--binaries", binaries, "--workload", "apps", "--policies", ",".join(POLICIES),
                           "--rounds", "1", "--seconds", "30", "--pods", "6"], capture_output=True, text=True, check=False,
                          env=os.environ | {"WATTLE_CLUSTER_CACHE": str(cache)})
    return done.returncode, done.stdout + done.stderr


def check_run(claims, run):
    policy, plan = run["policy"], run["schedule"]
    owners = {life["name"].rsplit("-", 2)[0] for life in run["pods"] if life["node"]}
    wanted = {event["what"] for event in plan["events"]} | {"web"}
    claims.check(f"{policy}: pods of {', '.join(sorted(wanted))} got nodes", wanted <= owners and wanted - {"web"} <= APPS, owners)
    claims.check(f"{policy}: no program of a pod has exited", run["restarts"] == 0, run["restarts"])
    claims.check(f"{policy}: users got answers", run["users"]["answered"] > 0, run["users"])
    claims.check(f"{policy}: each node draws watts", all(node["power_w"] > 0 for sample in run["samples"] for node in sample["nodes"].values()))
    claims.check(f"{policy}: the expected component decided", bool(run["decided_by"]) == (policy != "kube-default"), run["decided_by"])


def main():
    binaries, claims = pathlib.Path(sys.argv[1]).resolve(), Claims()
    if reason := real_cluster.missing(binaries):
        print(f"skipped: {reason}")
        return SKIPPED
    cache = pathlib.Path(os.environ.get("WATTLE_CLUSTER_CACHE", pathlib.Path.home() / ".cache/wattle/real"))
    with tempfile.TemporaryDirectory(prefix="wattle-compare-test-") as name:
        folder = pathlib.Path(name)
        code, said = compare(binaries, folder, cache)
        claims.check("the comparison exits with 0", code == 0, said[-2000:])
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("run-*.json"))]
        claims.check("both policies used the same schedule", [run["policy"] for run in runs] == list(POLICIES) and runs[0]["schedule"] == runs[-1]["schedule"], said)
        for run in runs:
            check_run(claims, run)
        before = {path.name: path.stat().st_mtime_ns for path in folder.glob("run-*.json")}
        code, said = compare(binaries, folder, cache)
        claims.check("a second call repeats no run", code == 0 and before == {path.name: path.stat().st_mtime_ns for path in folder.glob("run-*.json")}, said[-500:])
        claims.check("one round has no interval", "needs 5 rounds" in said and all(each["low"] is None for entry in json.loads((folder / "results.json").read_text(
            encoding="utf-8"))["policies"] for each in (entry["figures"] | entry["over_base"]).values()), said)
        if node := shutil.which("node") or shutil.which("nodejs"):
            drawn = subprocess.run([node, ROOT / "tests/integration/lab/report_page.js", folder / "report.html"], capture_output=True, text=True, check=False)
            claims.check("the report page draws", drawn.returncode == 0, (drawn.stdout + drawn.stderr)[-800:])
    claims.check("no cluster is left", not list(cache.glob("run-*")), list(cache.glob("run-*")))
    print("compare: every claim holds" if claims.failed == 0 else f"compare: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
