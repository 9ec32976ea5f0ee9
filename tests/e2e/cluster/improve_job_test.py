#!/usr/bin/env python3
"""improve_job_test: the chart's improve Jobs on three real nodes. Eight shards compute the labels in pods, one is
killed by SIGKILL and one is deleted, both continue, and network and verdict have the same bytes as from one process and
from a Job of one shard.

Usage    improve_job_test.py BINARY-FOLDER
Skips    if the machine cannot run a cluster, with the reason (real_cluster.missing)
"""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "lab/real")]
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402
from patience import AGES_S, holds  # noqa: E402
import arena  # noqa: E402
import real_cluster  # noqa: E402

SHARDS, DAYS, HOURS, NODES, USER = 8, 12, 24, 6, 64460
LEARNED_DAYS = 6
POLL_S = 0.02  # so that a shard is observed between its first and its last day
OPTIONS = ["--per-day", "200", "--plays", "6", "--epochs", "6", "--learning-rate", "0.003", "--anchor", "0"]
JOBS, PODS = "/apis/batch/v1/namespaces/wattle/jobs", "/api/v1/namespaces/wattle/pods"


def recorded_days():
    """Writes a record of days whose pods use another share of their requests than a network expects, so that there is
    something to learn."""
    rng = random.Random(1)
    from_s = 1_700_000_000 - 1_700_000_000 % 3600
    to_s, at = from_s + 3600 * HOURS * DAYS, float(from_s)
    lines = [{"wattle_record": 1, "to_s": to_s, "names": "plain"}]
    for node in range(NODES):
        watts = [60 + 15 * node + k * (6 + 4 * (node % 3)) + (20 if k else 0) * (node % 2) for k in range(11)]
        lines.append({"nodes": {"name": f"n{node}", "cores": 16, "memory_bytes": 64e9, "watts": watts, "readings": 500, "residual_sd_w": 1.0,
                                "state": "ready", "wake_j": 0}})
    while (at := at + rng.expovariate(1 / 240)) < to_s:
        app, life = rng.randrange(6), rng.expovariate(1 / 7200) + 60
        lines.append({"pods": {"owner": f"Deployment/app-{app}", "image": f"image:{app}", "labels": "", "cpu_cores": 1 + app % 3, "memory_bytes": 1e9,
                               "node": f"n{rng.randrange(NODES)}", "placed_s": at, "ended_s": at + life if at + life < to_s else None,
                               "used_cores": [round(0.2 + 0.25 * app, 2)] * (int(life // 3600) + 2)}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def days_done(path):
    """Returns the finished days of a shard from the metadata of its safetensors file; 0 without a file."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        content = path.read_bytes()
        return int(json.loads(content[8:8 + int.from_bytes(content[:8], "little")])["__metadata__"]["days_done"])
    return 0


def process_of(shard):
    """Returns the PID of the shard's process in its pod."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if words[0].endswith("wattle-sim") and f"{shard}/{SHARDS}" in words and "labels" in words:
                return int(path.parent.name)
    return None


def volume(cluster, folder):
    cluster.api.call("POST", "/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "days"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": str(folder)},
        "claimRef": {"namespace": "wattle", "name": "days"}}})
    cluster.api.call("POST", "/api/v1/namespaces/wattle/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
        "name": "days"}, "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": "days", "resources": {"requests": {"storage": "1Gi"}}}})


def disturb(claims, cluster, labels):
    """Kills the first shard that has judged a day, and deletes the pod of another."""
    def file(shard):
        return labels / f"labels-{shard}-of-{SHARDS}.safetensors"

    working = []

    def seen():
        working[:] = [(shard, pid) for shard in range(SHARDS) if 0 < days_done(file(shard)) < LEARNED_DAYS and (pid := process_of(shard))]
        return working or all(days_done(file(shard)) == LEARNED_DAYS for shard in range(SHARDS))
    holds(seen, AGES_S, POLL_S)
    if not working:
        claims.check("a working shard was observed", False)
        return
    end, pid = working[0]
    done = days_done(file(end))
    os.kill(pid, signal.SIGKILL)
    claims.check(f"shard {end} is killed after {done} of {LEARNED_DAYS} days", True)
    other = next((pod for pod in cluster.api.call("GET", f"{PODS}?labelSelector=batch.kubernetes.io%2Fjob-completion-index")["items"]
                  if pod["status"].get("phase") in ("Pending", "Running") and pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] != str(end)), None)
    if other:
        cluster.api.call("DELETE", f"{PODS}/{other['metadata']['name']}", {"gracePeriodSeconds": 0})
        print(f"     deleted the pod of shard {other['metadata']['labels']['batch.kubernetes.io/job-completion-index']}", flush=True)
    least = done

    def finished():
        nonlocal least
        least = min(least, now := days_done(file(end)))
        return now == LEARNED_DAYS
    claims.check("the killed shard keeps its days and finishes", holds(finished, AGES_S, POLL_S) and least == done, least)


def in_pods(claims, binaries, folder, work, shards):
    """Runs the chart's Jobs on a cluster; disturbs them if there are several shards."""
    values = folder / "values.yaml"
    values.write_text(json.dumps({"improve": {"claim": "days", "shards": shards, "options": OPTIONS, "resources": {
        "requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}}}}), encoding="utf-8")
    with arena.Arena(binaries, 3, folder / "cluster.log", values) as cluster:
        volume(cluster, work)
        if shards > 1:
            disturb(claims, cluster, work / "labels")

        def ended():
            jobs = cluster.api.call("GET", JOBS)["items"]
            found = {job["metadata"]["name"].rpartition("-")[2]: job["status"].get("succeeded", 0) for job in jobs if "improve" in job["metadata"]["name"]}
            return found if found == {"labels": shards, "learn": 1} else None
        cluster.wait("both Jobs are complete", ended, AGES_S)
        if shards == 1:
            return
        pods = [pod for pod in cluster.api.call("GET", f"{PODS}?labelSelector=batch.kubernetes.io%2Fjob-completion-index")["items"]]
        claims.check("shards ran on more than one node", len({pod["spec"].get("nodeName") for pod in pods}) > 1)
        restarts = sum(status["restartCount"] for pod in pods for status in pod["status"].get("containerStatuses", []))
        claims.check("the kubelet started the killed container again", restarts >= 1, restarts)


def here(binaries, work):
    """Runs one process outside the cluster, without variables that choose other kernels of OpenBLAS than in a pod."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    done = subprocess.run([binaries / "wattle-sim", "improve", "record.jsonl", "--model", ROOT / "models/pretrained/weighted.safetensors", "--work", "labels",
                           "--json", "verdict.json", "--out", "candidate.safetensors", *OPTIONS], cwd=work, capture_output=True, text=True, check=False,
                          env=inherited | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    return done.returncode, done.stdout + done.stderr


def main():
    binaries, claims = pathlib.Path(sys.argv[1]).resolve(), Claims()
    if reason := real_cluster.missing(binaries):
        print(f"skipped: {reason}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wattle-improve-job-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        one, pod, pods = folder / "one", folder / "pod", folder / "pods"
        for work in (one, pod, pods):
            work.mkdir()
            (work / "record.jsonl").write_text(recorded_days(), encoding="utf-8")
            if work != one:
                shutil.chown(work, USER, USER)
        code, said = here(binaries, one)
        claims.check("one process finishes", code == 0, said[-800:])
        in_pods(claims, binaries, folder, pods, SHARDS)
        in_pods(claims, binaries, folder, pod, 1)
        for file in ("verdict.json", "candidate.safetensors"):
            for what, works in ((f"from {SHARDS} shards and from one shard, in pods", (pods, pod)),
                                (f"from {SHARDS} shards in pods and from one process", (pods, one))):
                there = [hashlib.sha256((work / file).read_bytes()).hexdigest() if (work / file).exists() else "absent" for work in works]
                claims.check(f"{file} has the same bytes {what}", there[0] == there[1] != "absent", there)
    print("improve_job: every claim holds" if claims.failed == 0 else f"improve_job: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
