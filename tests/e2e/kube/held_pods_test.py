#!/usr/bin/env python3
"""held_pods_test: a pod that a real kube-scheduler holds between its choice of a node and the binding keeps its
reservation there until it is deleted, which is longer than the half minute for pods of other schedulers.

    PreBind   a volume on the chosen node, whose provisioner does not exist: the scheduler waits for ten minutes
    Permit    a gang with one member that fits nowhere: the others wait for five minutes. 1.35 only: later versions
              schedule a group at once, and earlier ones have no gangs
A pod with a scheduling gate gets no node, so it has no reservation.

Usage    held_pods_test.py FOLDER-OF-BINARIES [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs are not available
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
from patience import let_a_moment_pass  # noqa: E402

EXPIRY_S = 30  # decide.in_flight_expiry
PODS = 3
HAVE_GANGS = "1.35."  # gang scheduling in Permit
GATES = "GenericWorkload=true"


class Plane(ControlPlane):
    """A control plane with the alpha API of gangs if the version supports it."""

    def __init__(self, programs, gangs):
        super().__init__(programs)
        self.gangs = gangs

    def start(self, name, *command):
        more = {"kube-apiserver": [f"--feature-gates={GATES}", "--runtime-config=scheduling.k8s.io/v1alpha1=true"],
                "scheduler": [f"--feature-gates={GATES},GangScheduling=true"]}.get(name, []) if self.gangs else []
        super().start(name, *command, *more)


def claim(plane, name):
    plane.call("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {
        "metadata": {"name": name}, "spec": {"storageClassName": "slow", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})


def pod(name, cpu="500m", **spec):
    return {"metadata": {"name": name},
            "spec": {"schedulerName": "wattle", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "db:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]} | spec}


class Held:
    def __init__(self, plane, house, claims):
        self.plane, self.house, self.claims = plane, house, claims

    def create(self, thing):
        self.plane.call("POST", "/api/v1/namespaces/default/pods", thing)

    def expected(self):
        return sum(node["in_flight"] for node in self.house.nodes())

    def unbound(self):
        return [p["metadata"]["name"] for p in self.plane.pods() if not p["spec"].get("nodeName")]

    def stay_expected(self, where, names):
        wait_until(f"{where}: all pods have a reservation", lambda: self.expected() == len(names), PATIENCE)
        since = time.monotonic()
        wait_until("the reservation time of other pods has passed", lambda: time.monotonic() - since > EXPIRY_S + 6, PATIENCE)
        self.claims.check(f"{where}: the scheduler still holds the pods", set(names) <= set(self.unbound()), self.unbound())
        self.claims.check(f"{where}: the pods still have their reservations", self.expected() == len(names), self.expected())
        for name in self.unbound():
            self.plane.delete_pod(name)
        wait_until(f"{where}: deleted pods have no reservation", lambda: self.expected() == 0, PATIENCE)

    def in_prebind(self):
        self.plane.call("POST", "/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "slow"}, "provisioner": "example.com/nobody", "volumeBindingMode": "WaitForFirstConsumer"})
        names = [f"held-{i}" for i in range(PODS)]
        for name in names:
            claim(self.plane, name)
            self.create(pod(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}]))
        self.stay_expected("PreBind", names)

    def in_permit(self):
        self.plane.call("POST", "/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads", {
            "metadata": {"name": "job"}, "spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": PODS + 1}}}]}})
        names = [f"gang-{i}" for i in range(PODS)]
        for name in names:
            self.create(pod(name, workloadRef={"name": "job", "podGroup": "workers"}))
        self.create(pod("gang-large", cpu="1000", workloadRef={"name": "job", "podGroup": "workers"}))
        self.stay_expected("Permit", names)

    def gated(self):
        self.create(pod("gated", schedulingGates=[{"name": "example.com/quota"}]))
        let_a_moment_pass()
        self.claims.check("a pod with a scheduling gate has no reservation", self.expected() == 0 and self.unbound() == ["gated"], self.expected())
        self.plane.call("PATCH", "/api/v1/namespaces/default/pods/gated", {"spec": {"schedulingGates": []}})
        wait_until("the pod is bound without the gate", lambda: not self.unbound(), PATIENCE)
        self.claims.check("the pod is placed after its gate is removed", self.house.decision("default/gated") is not None)


def walk(plane, house, claims):
    house.start_controller()
    house.start_swarm()
    house.make_nodes()
    house.start_shim()
    plane.start_scheduler("scheduler", profile="wattle", extenders=[house.extender(httpTimeout="5s")])
    wait_until("nodes are known", lambda: all(n["connected"] and n["kubernetes"] for n in house.nodes()), PATIENCE)
    held = Held(plane, house, claims)
    held.in_prebind()
    if plane.gangs:
        held.in_permit()
    held.gated()


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
    with Plane(programs, options.version.startswith(HAVE_GANGS)) as plane, KubeHouse(pathlib.Path(options.binaries).resolve(), plane, nodes=4, mode="live") as house:
        walk(plane, house, claims)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
