#!/usr/bin/env python3
"""A pod that a real kube-scheduler holds in PreBind, for a volume on the chosen node, keeps its reservation there until
it is deleted, which is longer than the half minute that Wattle expects a pod of another scheduler.

The volume's provisioner does not exist, so the scheduler waits for its timeout of ten minutes.
Usage    held_pods_test.py FOLDER-OF-BINARIES [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs cannot be had
"""
import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, wait_until  # noqa: E402
from kube_house import PATIENCE, KubeHouse  # noqa: E402

EXPIRY_S = 30  # decide.in_flight_expiry
PODS = 3


def claim(plane, name):
    plane.call("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {
        "metadata": {"name": name}, "spec": {"storageClassName": "slow", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})


def pod(name, volume):
    return {"metadata": {"name": name},
            "spec": {"schedulerName": "wattle", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": volume}}],
                     "containers": [{"name": "main", "image": "db:1", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}


def walk(plane, house, claims):
    house.start_controller()
    house.start_swarm()
    house.make_nodes()
    house.start_shim()
    plane.start_scheduler("scheduler", profile="wattle", extenders=[house.extender(httpTimeout="5s")])
    plane.call("POST", "/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "slow"}, "provisioner": "example.com/nobody", "volumeBindingMode": "WaitForFirstConsumer"})

    def expected():
        return sum(node["in_flight"] for node in house.nodes())
    wait_until("nodes are known", lambda: all(n["connected"] and n["kubernetes"] for n in house.nodes()), PATIENCE)
    for i in range(PODS):
        claim(plane, f"data-{i}")
        plane.call("POST", "/api/v1/namespaces/default/pods", pod(f"held-{i}", f"data-{i}"))
    wait_until("all are expected somewhere", lambda: expected() == PODS, PATIENCE)
    since = time.monotonic()
    wait_until("the time is over after which other pods are expected no more", lambda: time.monotonic() - since > EXPIRY_S + 6, PATIENCE)
    unbound = [p["metadata"]["name"] for p in plane.pods() if not p["spec"].get("nodeName")]
    claims.check("the scheduler still holds them", len(unbound) == PODS, unbound)
    claims.check("and they are still expected", expected() == PODS, expected())
    for i in range(PODS):
        plane.delete_pod(f"held-{i}")
    wait_until("once they are deleted they are expected no more", lambda: expected() == 0, PATIENCE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    claims = Claims()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver", "kube-scheduler"))
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    with ControlPlane(programs) as plane, KubeHouse(pathlib.Path(options.binaries).resolve(), plane, nodes=4, mode="live") as house:
        walk(plane, house, claims)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
