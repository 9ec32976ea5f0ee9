"""objects: DaemonSets, disruption budgets, drained nodes and priorities, with real kubelets, beside Wattle.

Claims   Kubernetes keeps its rules for pods of the scheduler `wattle`, and the controller advises no node that a rule
         excludes
"""
import json

from house import wait_until
from real_cluster import TOOLS, is_ready

SCALE_M = 1000


def milli(quantity):
    return int(quantity[:-1]) if quantity.endswith("m") else int(float(quantity) * SCALE_M)


def template(app, cpu="20m"):
    return {"metadata": {"labels": {"app.kubernetes.io/name": app}}, "spec": {
        "schedulerName": "wattle", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": TOOLS, "imagePullPolicy": "Never", "resources": {"requests": {"cpu": cpu, "memory": "16Mi"}}}]}}


def check_daemon_set(claims, cluster):
    cluster.plane.call("POST", "/apis/apps/v1/namespaces/default/daemonsets", {
        "metadata": {"name": "each"}, "spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "each"}}, "template": template("each")}})
    found = wait_until("the DaemonSet runs", lambda: all(map(is_ready, pods := cluster.pods("each"))) and len(pods) == len(cluster.names) and pods)
    claims.check("a DaemonSet of the scheduler `wattle` has a pod on each node", sorted(pod["spec"]["nodeName"] for pod in found) == cluster.names)
    names = {pod["metadata"]["name"] for pod in found}
    shown = wait_until("`wattle pods` has them", lambda: [pod for pod in cluster.wattle("pods")["pods"] if pod["name"] in names and pod["memory_bytes"]][2:])
    claims.check("`wattle pods` has their memory", bool(shown))
    cluster.plane.call("DELETE", "/apis/apps/v1/namespaces/default/daemonsets/each")


def check_budget(claims, cluster):
    """A budget refuses an eviction, and allows it once it has room."""
    cluster.plane.call("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
        "metadata": {"name": "web"}, "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app.kubernetes.io/name": "web"}}}})

    def budget(allowed):
        status = json.loads(cluster.kubectl("get", "pdb", "web", "--output", "json"))["status"]
        return status["disruptionsAllowed"] == allowed and status["currentHealthy"] == 3 and status["observedGeneration"]
    wait_until("the budget counts three pods", lambda: budget(0))
    pod = cluster.pods("web")[0]["metadata"]["name"]

    def evict():
        return cluster.plane.raw("POST", f"/api/v1/namespaces/default/pods/{pod}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}})
    status, text = evict()
    claims.check("an eviction is refused by the disruption budget", status == 429 and "disruption budget" in text, text)
    cluster.plane.call("PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", {"spec": {"minAvailable": 2}})
    wait_until("the budget allows one", lambda: budget(1))
    status, text = evict()
    claims.check("with room in the budget the pod is evicted", status == 201, text)
    wait_until("its successor runs", lambda: (pods := cluster.pods("web")) and pod not in [each["metadata"]["name"] for each in pods] and len(pods) == 3 and all(map(is_ready, pods)))
    claims.check("the controller of its ReplicaSet replaces it, and the successor runs", True)
    cluster.plane.call("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web")


def check_drain(claims, cluster):
    """`kubectl drain` empties a node; Wattle advises it again only when it may be used."""
    with cluster.drained() as node:
        running = [pod for pod in cluster.objects("pods") if pod["spec"].get("nodeName") == node and pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]
        claims.check("kubectl drain empties a node", not running, [pod["metadata"]["name"] for pod in running])
        names = [f"drained-{number}" for number in range(4)]
        bound = cluster.place(*names)
        made = [wait_until(f"the decision about {name}", lambda name=name: cluster.decision(name)) for name in names]
        claims.check("pods are placed on the other nodes, among which the controller chooses", node not in bound.values() and all(each["candidates"] == len(cluster.names) - 1 for each in made), made)
        claims.check("its agent stays", node in cluster.connected())
    cluster.decided("uncordoned", lambda made: made["candidates"] == len(cluster.names))
    claims.check("after `kubectl uncordon` it is a candidate again", True)
    cluster.delete(*names)


def check_priorities(claims, cluster):
    """A pod of high priority takes the place of one pod of low priority, which the kubelet ends."""
    for name, value in (("low", -1), ("high", 1000)):  # pods of the demo have 0
        cluster.plane.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    node = cluster.names[-1]
    cluster.kubectl("cordon", *[name for name in cluster.names if name != node])
    allocatable = next(each for each in cluster.plane.nodes() if each["metadata"]["name"] == node)["status"]["allocatable"]["cpu"]
    used = sum(milli(main["resources"].get("requests", {}).get("cpu", "0")) for pod in cluster.objects("pods", "--all-namespaces")
               if pod["spec"].get("nodeName") == node and pod["status"]["phase"] in ("Pending", "Running") for main in pod["spec"]["containers"])
    size = (milli(allocatable) - used) * 2 // 5
    here = {"terminationGracePeriodSeconds": 1}
    cluster.place("low-1", "low-2", cpu=f"{size}m", spec=here | {"priorityClassName": "low"})
    wait_until("both run", lambda: [pod["status"]["phase"] for pod in cluster.plane.pods() if pod["metadata"]["name"].startswith("low-")] == ["Running"] * 2)
    bound = cluster.place("high", cpu=f"{size}m", spec=here | {"priorityClassName": "high"})
    claims.check("a pod of high priority is bound where pods of low priority are", bound == {"high": node}, bound)

    def low():
        return [pod["metadata"]["name"] for pod in cluster.plane.pods() if pod["metadata"]["name"].startswith("low-")]
    wait_until("one pod of low priority is gone", lambda: len(low()) == 1)
    wait_until("it runs", lambda: [pod for pod in cluster.plane.pods() if pod["metadata"]["name"] == "high" and is_ready(pod)])
    claims.check("it displaces one of them, and runs", len(low()) == 1, low())
    cluster.delete("high", *low())
    cluster.kubectl("uncordon", *cluster.names)


def check(claims, cluster):
    check_daemon_set(claims, cluster)
    check_budget(claims, cluster)
    check_drain(claims, cluster)
    check_priorities(claims, cluster)
