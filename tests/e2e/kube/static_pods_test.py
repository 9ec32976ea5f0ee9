#!/usr/bin/env python3
"""static_pods_test: a tenant's pod on a real API server that is annotated as the mirror of another tenant's pod takes
over nothing from it: name, namespace, joules and requested cores stay the victim's, before and after a restart of the
controller, which lists the forgery first. It does not take over the joules of a pod that ended before that restart
either.

The tenant may only create pods in its own namespace, and knows the UIDs of victim and node. A swarm that follows the
bindings simulates the nodes.
Usage    static_pods_test.py FOLDER-OF-BINARIES [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs are not available
"""
import argparse
import http.client
import json
import pathlib
import ssl
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, wait_until  # noqa: E402
from kube_house import PATIENCE, KubeHouse  # noqa: E402
from patience import SOON_S  # noqa: E402

TENANT = "a-tenant"  # listed before the victim's namespace
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def as_tenant(plane, method, path, body):
    """Creates a pod as a user who has only the permissions of the role below."""
    link = http.client.HTTPSConnection("127.0.0.1", plane.port, timeout=SOON_S, context=ssl.create_default_context(cafile=str(plane.ca)))
    link.request(method, path, json.dumps(body), {"Authorization": f"Bearer {plane.token}", "Content-Type": "application/json", "Impersonate-User": "mallory"})
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def pod(name, node, cpu, annotations=None, owner=None):
    return {"metadata": {"name": name, "annotations": annotations or {}, "ownerReferences": [owner] if owner else []},
            "spec": {"nodeName": node, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "web:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]}}


def let_tenant_in(plane):
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": TENANT}})
    plane.call("POST", f"{RBAC}/namespaces/{TENANT}/roles", {"metadata": {"name": "pods"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete"]}]})
    plane.call("POST", f"{RBAC}/namespaces/{TENANT}/rolebindings", {
        "metadata": {"name": "pods"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pods"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}]})


def forgery(victim, node, owned):
    owner = {"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"], "controller": True}
    annotations = {"kubernetes.io/config.mirror": victim, "kubernetes.io/config.hash": victim, "kubernetes.io/config.source": "file",
                   "wattle.dev/provision": "limits"}
    return pod("owned" if owned else "plain", node["metadata"]["name"], "1m", annotations, owner if owned else None)


def walk(plane, house, claims):
    house.start_controller()
    house.start_swarm()
    house.make_nodes()
    let_tenant_in(plane)
    at = plane.nodes()[0]
    name = at["metadata"]["name"]
    made = plane.call("POST", "/api/v1/namespaces/default/pods", pod("victim", name, "2"))
    victim = made["metadata"]["uid"]

    def row():
        return next((p for p in house.document("pods")["pods"] if p["uid"] == victim), {})

    def requested():
        return (house.node_of(name) or {}).get("cpu_requested_cores")
    wait_until("the victim and its joules are known", lambda: row().get("name") == "victim" and (row().get("energy_j") or 0) > 0, PATIENCE)
    wait_until("its request counts", lambda: requested() == 2, PATIENCE)

    for owned in (False, True):
        status, said = as_tenant(plane, "POST", f"/api/v1/namespaces/{TENANT}/pods", forgery(victim, at, owned))
        claims.check(f"the API server takes the tenant's pod ({'owned by the node' if owned else 'not owned'})", status == 201, said[:300])
    claims.check("the tenant has no further permission", as_tenant(plane, "GET", "/api/v1/nodes", None)[0] == 403)
    for when in ("while watching", "after a restart"):
        before = row().get("energy_j") or 0
        wait_until(f"both of the tenant's pods count ({when})", lambda: abs((requested() or 0) - 2.002) < 1e-6, PATIENCE)
        wait_until("the victim is reported", lambda: row().get("name"), PATIENCE)
        claims.check(f"the victim keeps its name and namespace ({when})", (row()["name"], row()["namespace"]) == ("victim", "default"), row())
        wait_until("the victim's joules grow", lambda start=before: (row().get("energy_j") or 0) > start, PATIENCE)
        if when == "while watching":
            house.kill("controller")
            house.start_controller()
            wait_until("nodes are connected again", lambda: house.node_of(name) and house.node_of(name)["connected"], PATIENCE)
            wait_until("the victim is reported again", lambda: (row().get("energy_j") or 0) > 0, PATIENCE)
    for forged in ("plain", "owned"):
        as_tenant(plane, "DELETE", f"/api/v1/namespaces/{TENANT}/pods/{forged}", {"gracePeriodSeconds": 0})
    wait_until("after the forgeries are deleted only the victim's request counts", lambda: requested() == 2, PATIENCE)
    claims.check("the victim still has its name", row().get("name") == "victim", row())

    # As a kubelet reports a static pod.
    static = "0123456789abcdef0123456789abcdef"
    plane.call("POST", "/api/v1/namespaces/default/pods", forgery(static, at, True) | {"metadata": forgery(static, at, True)["metadata"] | {"name": f"etcd-{name}"}})
    wait_until("a static pod has the UID of its cgroup", lambda: house.document(f"node?name={name}") and abs((requested() or 0) - 2.001) < 1e-6, PATIENCE)


def ended(plane, house, claims):
    """A pod keeps its joules although no list of pods contains it when the controller restarts."""
    at = plane.nodes()[0]
    name = at["metadata"]["name"]

    def drawn(owner):
        rows = house.document("report?by=owner")["rows"]
        return sum(row["measured_j"] + row["estimated_j"] for row in rows if row["key"] == owner)

    def requested():
        return (house.node_of(name) or {}).get("cpu_requested_cores") or 0
    others = requested()
    uid = plane.call("POST", "/api/v1/namespaces/default/pods", pod("ended", name, "1"))["metadata"]["uid"]
    wait_until("the store has its joules", lambda: drawn("Pod/ended") > 0, PATIENCE)
    plane.delete_pod("ended")
    wait_until("the pod is deleted", lambda: abs(requested() - others) < 1e-6, PATIENCE)
    house.kill("controller")
    house.start_controller()
    wait_until("nodes are connected again", lambda: (house.node_of(name) or {}).get("connected") and abs(requested() - others) < 1e-6, PATIENCE)
    before = drawn("Pod/ended")
    status, said = as_tenant(plane, "POST", f"/api/v1/namespaces/{TENANT}/pods", forgery(uid, at, True))
    claims.check("the API server accepts a pod that claims to be the mirror of an ended one", status == 201, said[:300])
    wait_until("it counts", lambda: abs(requested() - others - 0.001) < 1e-6, PATIENCE)
    plane.call("POST", "/api/v1/namespaces/default/pods", pod("marker", name, "1"))  # reported after it, so not written to the store earlier
    wait_until("the store has the later pod", lambda: drawn("Pod/marker") > 0, PATIENCE)
    claims.check("the joules stay those of the pod that ended", drawn("Pod/ended") >= before, f"{before} J before, {drawn('Pod/ended')} J after")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    claims = Claims()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver"))
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, ControlPlane(programs) as plane, \
            KubeHouse(pathlib.Path(options.binaries).resolve(), plane, nodes=2, mode="shadow", controller_extra=f"store: {{path: {folder}/store.db}}") as house:
        walk(plane, house, claims)
        ended(plane, house, claims)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
