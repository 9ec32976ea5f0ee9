"""objects: DaemonSets, disruption budgets, drained nodes and priorities, with real kubelets, beside Wattle.

Claims   Kubernetes keeps its rules for pods of the scheduler `wattle`, and the controller advises no node that a rule
         excludes
"""
import contextlib
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
    shown = wait_until("`wattle pods` shows the DaemonSet's pods", lambda: [pod for pod in cluster.wattle("pods")["pods"] if pod["name"] in names and pod["memory_bytes"]][2:])
    claims.check("`wattle pods` shows their memory", bool(shown))
    cluster.plane.call("DELETE", "/apis/apps/v1/namespaces/default/daemonsets/each")


def check_budget(claims, cluster):
    """Tests that a budget refuses an eviction, and permits it once it allows a disruption."""
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
    claims.check("once the budget allows a disruption, the pod is evicted", status == 201, text)
    wait_until("its successor runs", lambda: (pods := cluster.pods("web")) and pod not in [each["metadata"]["name"] for each in pods] and len(pods) == 3 and all(map(is_ready, pods)))
    claims.check("the controller of its ReplicaSet replaces it, and the successor runs", True)
    cluster.plane.call("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web")


def check_drain(claims, cluster):
    """Tests that `kubectl drain` empties a node, and that Wattle advises it again only after uncordon."""
    with cluster.drained() as node:
        running = [pod for pod in cluster.objects("pods") if pod["spec"].get("nodeName") == node and pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]
        claims.check("kubectl drain empties a node", not running, [pod["metadata"]["name"] for pod in running])
        names = [f"drained-{number}" for number in range(4)]
        bound = cluster.place(*names)
        made = [wait_until(f"the decision about {name}", lambda name=name: cluster.decision(name)) for name in names]
        claims.check("the controller places pods on the other nodes", node not in bound.values() and all(each["candidates"] == len(cluster.names) - 1 for each in made), made)
        claims.check("the drained node's agent stays", node in cluster.connected())
    cluster.decided("uncordoned", lambda made: made["candidates"] == len(cluster.names))
    claims.check("after `kubectl uncordon` the node is a candidate again", True)
    cluster.delete(*names)


@contextlib.contextmanager
def jobs_suspended(cluster):
    """Stops the demo's Jobs: their pods end and are replaced, and a replacement could preempt a pod of low priority or
    use the capacity of an evicted one."""
    def suspend(value):
        for job in cluster.objects("jobs"):
            cluster.plane.call("PATCH", f"/apis/batch/v1/namespaces/default/jobs/{job['metadata']['name']}", {"spec": {"suspend": value}})
    try:
        suspend(True)
        wait_until("no pod of a Job is active, and every other pod is bound and stays",
                   lambda: all(pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"] and not is_of_job(pod) for pod in active(cluster)))
        yield
    finally:
        suspend(False)


@contextlib.contextmanager
def priority_classes(cluster, **values):
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    try:
        for name, value in values.items():
            cluster.plane.call("POST", path, {"metadata": {"name": name}, "value": value})
        yield
    finally:
        for name in values:
            cluster.plane.raw("DELETE", f"{path}/{name}")


def is_of_job(pod):
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences", []))


def active(cluster):
    return [pod for pod in cluster.objects("pods", "--all-namespaces") if pod["status"]["phase"] in ("Pending", "Running")]


def free_milli(cluster):
    """Returns {node: CPU that no pod requests}."""
    free = {node["metadata"]["name"]: milli(node["status"]["allocatable"]["cpu"]) for node in cluster.plane.nodes()}
    for pod in active(cluster):
        for main in pod["spec"]["containers"]:
            free[pod["spec"]["nodeName"]] -= milli(main["resources"].get("requests", {}).get("cpu", "0"))
    return free


def preempted(cluster, preemptor):
    """Returns (namespace, name) of each pod that kube-scheduler evicted in favour of this one."""
    return [(event["involvedObject"]["namespace"], event["involvedObject"]["name"])
            for event in cluster.objects("events", "--all-namespaces", "--field-selector", "reason=Preempted") if preemptor["metadata"]["uid"] in event["message"]]


def check_preemption(claims, cluster, low):
    """Creates two pods of low priority on each node, which leave at most half of the capacity that the pod of high
    priority needs. low: {node: their names}"""
    sizes = {node: free * 2 // 5 for node, free in free_milli(cluster).items()}
    here = {"terminationGracePeriodSeconds": 1}
    for node, size in sizes.items():
        cluster.place(*low[node], cpu=f"{size}m",
                      spec=here | {"priorityClassName": "low", "nodeSelector": {"kubernetes.io/hostname": node}})

    def pods(*names):
        return {name: pod for pod in cluster.plane.pods() if (name := pod["metadata"]["name"]) in names}
    names = [name for pair in low.values() for name in pair]
    before = wait_until("every pod of low priority runs", lambda: len(found := pods(*names)) == len(names) and all(map(is_ready, found.values())) and found)
    others = {pod["metadata"]["uid"] for pod in active(cluster)} - {pod["metadata"]["uid"] for pod in before.values()}
    bound = cluster.place("high", cpu=f"{max(sizes.values())}m", spec=here | {"priorityClassName": "high"})
    high = wait_until("the pod of high priority runs", lambda: is_ready(found := pods("high")["high"]) and found)
    victims = wait_until("an event names the evicted pod", lambda: preempted(cluster, high))
    claims.check("a pod of high priority that fits on no node evicts exactly one pod of low priority, and runs in its place",
                 len(victims) == 1 and victims[0][1] in before and before[victims[0][1]]["spec"]["nodeName"] == bound["high"], (victims, bound))
    wait_until("the evicted pod is deleted", lambda: victims[0][1] not in pods(*names))
    left = {name for name, pod in pods(*names).items() if is_ready(pod) and "deletionTimestamp" not in pod["metadata"]}
    claims.check("every other pod of low priority keeps running", left == set(before) - {victims[0][1]}, (left, victims))
    gone = others - {pod["metadata"]["uid"] for pod in active(cluster)}
    claims.check("no other pod of the cluster is evicted", not gone, gone)


def check_priorities(claims, cluster):
    """Tests preemption with all nodes as candidates. Pods of the demo have priority 0."""
    with jobs_suspended(cluster), priority_classes(cluster, low=-1, high=1000):
        low = {node: [f"low-{node}-{number}" for number in (1, 2)] for node in cluster.names}
        try:
            check_preemption(claims, cluster, low)
        finally:
            cluster.kubectl("delete", "pods", "high", *(name for pair in low.values() for name in pair), "--ignore-not-found", "--now")


def check(claims, cluster):
    check_daemon_set(claims, cluster)
    check_budget(claims, cluster)
    check_drain(claims, cluster)
    check_priorities(claims, cluster)
