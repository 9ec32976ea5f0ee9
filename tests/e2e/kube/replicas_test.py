#!/usr/bin/env python3
"""replicas_test: a controller with the chart's permissions reads from a real API server which workloads have an
autoscaler.

The cluster has KEDA's definition of ScaledObjects (first without it), but no KEDA. A fake Prometheus provides rates.
The agent is real, but the pods are only objects, so their usage is unknown, and workloads without an autoscaler are
`learning`. The controller reads the lists once a minute, so the test takes five minutes.
Usage    replicas_test.py BIN_DIR [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs, helm or KEDA's module are not available
"""
import argparse
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import rbac_test as rbac  # noqa: E402
import rendering  # noqa: E402
from house import SKIPPED, House, fetch, wait_until  # noqa: E402
from provision_test import Api, pod  # noqa: E402
from rbac_test import Plane, Server, check  # noqa: E402

MINUTES = 300  # lists are read once a minute, and the machine may be busy
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCALED = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects"
HORIZONTAL = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
WEB, DB = "shop/Deployment/web", "shop/Deployment/db"
UNOWNED = ("learning", None)


def made(admin, path, thing):
    code, said, _ = admin("POST", path, thing)
    check(f"{thing['kind']} {thing['metadata']['name']} is accepted", code == 201, f"{code} {said[:500]}")


def scaled(name, target):
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": name},
            "spec": {"scaleTargetRef": target, "maxReplicaCount": 5, "triggers": [{"type": "cron", "metadata": {
                "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3"}}]}}


def install(admin, prometheus, node):
    """Creates the controller's permissions of the chart, a node, and pods of two Deployments on it."""
    wanted = ("wattle-controller", "wattle-autoscalers")
    objects = rendering.charted("--set", f"replicas.suggest=true,controller.config.provisioning.prometheus.url={prometheus},controller.config.provisioning.prometheus.rate_query=r")
    rights = [o for o in objects if o["kind"] == "Namespace" or (o["metadata"]["name"] in wanted and o["kind"] in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding"))]
    refused = [f"{rbac.path_of(o)}: {said[:300]}" for o in rights for code, said, _ in [admin.apply(o, False)] if code not in (200, 201)]
    check("namespaces, account and permissions are accepted", not refused, "\n".join(refused))
    made(admin, "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "shop"}})
    made(admin, "/api/v1/nodes", {"kind": "Node", "metadata": {"name": node}})
    for name in ("web", "db"):
        thing = pod(f"{name}-1", node, name)
        thing["kind"] = "Pod"
        thing["metadata"]["ownerReferences"][0] |= {"apiVersion": "apps/v1", "uid": f"uid-of-{name}"}
        thing["spec"]["automountServiceAccountToken"] = False
        made(admin, "/api/v1/namespaces/shop/pods", thing)


def walk(admin, house, definition):
    def owned():
        return {row["workload"]: (row["replicas"]["state"], row["replicas"]["owner"]) for row in house.query("provision", "replicas")["workloads"]}

    def until(what, web, db):
        check(what, wait_until(what, lambda: owned() == {WEB: web, DB: db}, MINUTES))

    until("without KEDA and autoscalers no workload's replicas have an owner", UNOWNED, UNOWNED)
    made(admin, DEFINITIONS, yaml.safe_load(definition))
    wait_until("the API server serves ScaledObjects", lambda: admin("GET", SCALED)[0] == 200, MINUTES)
    code, said, _ = admin("POST", SCALED, scaled("none", {"kind": "Deployment"}))
    check("KEDA's schema rejects a ScaledObject without a target", code == 422 and "scaleTargetRef.name" in said, f"{code} {said[:500]}")
    made(admin, SCALED, scaled("web-scaler", {"name": "web"}))
    # The HorizontalPodAutoscaler that KEDA would create.
    made(admin, HORIZONTAL, {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "keda-hpa-web-scaler"},
                             "spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
    until("a ScaledObject without a kind owns its Deployment's replicas, and is named instead of KEDA's autoscaler",
          ("owned", "ScaledObject shop/web-scaler"), UNOWNED)
    text = house.cli("provision", "replicas").stdout
    check("the table names the ScaledObject", "ScaledObject shop/web-scaler" in text, text)
    text = " ".join(house.cli("provision", "why", "web").stdout.split())
    check("why says that replicas have no suggestion", "no suggestion, because ScaledObject shop/web-scaler sets their number" in text, text)
    wait_until("metrics count the ScaledObject", lambda: 'wattle_controller_replica_workloads{state="withheld"} 1' in fetch(f"{house.api()}/metrics")[1].splitlines(), MINUTES)
    admin("DELETE", f"{SCALED}/web-scaler")
    until("after its removal the remaining autoscaler is named", ("owned", "HorizontalPodAutoscaler shop/keda-hpa-web-scaler"), UNOWNED)
    admin("DELETE", f"{HORIZONTAL}/keda-hpa-web-scaler")
    made(admin, SCALED, scaled("other", {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "other"}))
    all_of = ("owned", "ScaledObject shop/other, which scales Rollout other and therefore unknown pods,")
    until("a ScaledObject of a kind with unknown pods owns its namespace's replicas", all_of, all_of)
    admin("DELETE", f"{SCALED}/other")
    until("after its removal the namespace's replicas have no owner", UNOWNED, UNOWNED)


def run(binaries, programs, definition):
    prometheus = Api()
    with Plane(programs) as plane:
        admin = Server(plane)
        provisioning = f"{{replicas: suggest, prometheus: {{url: '{prometheus.url()}', rate_query: rate}}}}"
        with House(binaries, mode="off", controller_extra=f"kubernetes: {{server: '{plane.url}', ca: {plane.ca}, token: {plane.dir}/me}}\n"
                   f"            provisioning: {provisioning}") as house:
            install(admin, prometheus.url(), house.node)
            (plane.dir / "me").write_text(admin.account("wattle", "wattle-controller").token, encoding="utf-8")
            house.start_controller()
            house.start_agent()
            wait_until("the agent has connected", house.connected)
            walk(admin, house, definition)
    print("replicas: every claim holds" if rbac.failures == 0 else f"replicas: {rbac.failures} claims failed")
    return 1 if rbac.failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver"))
        assets.helm()
        definition = assets.keda_definition()
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return run(options.binaries.resolve(), programs, definition)


if __name__ == "__main__":
    sys.exit(main())
