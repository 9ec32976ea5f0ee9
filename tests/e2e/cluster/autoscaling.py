"""autoscaling: metrics-server and a HorizontalPodAutoscaler, whose Deployment the scheduler `wattle` places.

Real     metrics-server in a pod, built from its Go module, behind the API server's aggregation; the kubelets' figures;
         the autoscaler of kube-controller-manager
Claims   under load the autoscaler adds replicas, which the controller places; without load it removes them, and
         `wattle pods` no longer shows them
"""
import json

import assets
from house import ProcessEnded, wait_until
from objects import template
from patience import AGES_S, LATE_S
from real_cluster import TOOLS, is_ready

SPACE, NAME, PORT = "kube-system", "metrics-server", 4443
MOST = 3
# Uses its CPU limit until the file /tmp/idle exists
BURN = ["sh", "-c", "stress-ng --quiet --temp-path /tmp --cpu 1 & "
        "until ls /tmp/idle > /dev/null 2>&1; do sleep 1; done; kill $!; sleep 2147483647"]


def ruled(kind, name, role, space=None):
    thing = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role[0], "name": role[1]},
             "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": SPACE}]}
    return thing if space is None else thing | {"metadata": {"name": name, "namespace": space}}


def server(folder):
    """Returns the objects of metrics-server's own manifest; the program comes from a folder of this machine that each
    node mounts."""
    labels = {"app.kubernetes.io/name": NAME}
    arguments = [f"--secure-port={PORT}", "--cert-dir=/tmp", "--kubelet-insecure-tls",
                 "--kubelet-preferred-address-types=InternalIP", "--metric-resolution=15s"]
    main = {"name": "main", "image": TOOLS, "imagePullPolicy": "Never",
            "command": ["/program/metrics-server", *arguments],
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": PORT, "scheme": "HTTPS"}, "periodSeconds": 2},
            "volumeMounts": [{"name": "program", "mountPath": "/program", "readOnly": True}]}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": SPACE}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": [
            {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}]},
        ruled("ClusterRoleBinding", NAME, ("ClusterRole", NAME)),
        ruled("ClusterRoleBinding", f"{NAME}-auth", ("ClusterRole", "system:auth-delegator")),
        ruled("RoleBinding", NAME, ("Role", "extension-apiserver-authentication-reader"), SPACE),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "namespace": SPACE},
         "spec": {"selector": labels, "ports": [{"port": 443, "targetPort": PORT}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": NAME, "namespace": SPACE},
         "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
             "serviceAccountName": NAME, "containers": [main],
             "volumes": [{"name": "program", "hostPath": {"path": str(folder)}}]}}}},
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
         "metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": {
             "group": "metrics.k8s.io", "version": "v1beta1", "service": {"name": NAME, "namespace": SPACE},
             "insecureSkipTLSVerify": True, "groupPriorityMinimum": 100, "versionPriority": 100}}]


def scaled():
    """Creates a Deployment of one pod that uses four times its request, and an autoscaler with a target of half the
    request."""
    pod = template("burn", cpu="20m")
    pod["spec"]["containers"][0] |= {"command": BURN}
    pod["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "80m"}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "burn"}, "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": "burn"}}, "template": pod}},
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "burn"}, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "burn"},
            "minReplicas": 1, "maxReplicas": MOST,
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}}]


def autoscaler(cluster):
    found = json.loads(cluster.kubectl("get", "horizontalpodautoscaler", "burn", "--output", "json"))["status"]
    return {key: found.get(key) for key in ("currentReplicas", "desiredReplicas", "currentMetrics", "conditions")}


def check_metrics(claims, cluster):
    look = ("get", "apiservice", "v1beta1.metrics.k8s.io",
            "--output", "jsonpath={.status.conditions[?(@.type=='Available')].status}")

    def served():
        for pod in cluster.pods(NAME, "--namespace", SPACE):
            if any(each["restartCount"] > 2 for each in pod["status"].get("containerStatuses", [])):
                name = pod["metadata"]["name"]
                log = cluster.kubectl("logs", name, "--namespace", SPACE, "--previous", "--tail=15")
                raise ProcessEnded(f"metrics-server has exited: {log}")
        return cluster.kubectl(*look) == "True"
    wait_until("the API of metrics is served", served)

    def measured():
        rows = [line.split() for line in cluster.kubectl("top", "nodes", "--no-headers").splitlines()]
        return sorted(row[0] for row in rows if row[1] != "<unknown>") == cluster.names and rows
    rows = wait_until("metrics-server has figures of every node", measured)
    claims.check("`kubectl top nodes` shows every node", bool(rows))
    nodes = {node["name"]: node["cpu_used_cores"] for node in cluster.wattle("nodes")["nodes"]}
    print("     CPU by metrics-server and by Wattle: " +
          ", ".join(f"{row[0]} {row[1]} {nodes[row[0]] * 1000:.0f}m" for row in rows), flush=True)


def check_scaling(claims, cluster):
    def replicas(count):
        pods = cluster.pods("burn")
        return pods if len(pods) == count and all(map(is_ready, pods)) else None
    try:
        pods = wait_until(f"the autoscaler wants {MOST} replicas, and they run", lambda: replicas(MOST), AGES_S)
    except Exception:
        print(json.dumps(autoscaler(cluster)), flush=True)
        raise
    claims.check("under load the autoscaler adds replicas", True)
    names = [pod["metadata"]["name"] for pod in pods]
    made = [wait_until(f"the decision about {name}", lambda name=name: cluster.decision(name)) for name in names]
    claims.check("the controller placed each replica among all nodes",
                 all(each["mode"] == "live" and each["candidates"] == len(cluster.names) for each in made), made)

    def with_cpu():
        return [pod for pod in cluster.wattle("pods")["pods"] if pod["name"] in names and pod["cpu_cores"]]
    shown = wait_until("`wattle pods` has their CPU", with_cpu)
    claims.check("`wattle pods` shows their CPU", bool(shown))
    for name in names:
        cluster.kubectl("exec", name, "--", "dd", "if=/dev/null", "of=/tmp/idle")
    pods = wait_until("the autoscaler wants one replica", lambda: replicas(1), AGES_S)
    claims.check("without load the autoscaler removes the replicas", len(pods) == 1)
    gone = set(names) - {pods[0]["metadata"]["name"]}
    wait_until("`wattle pods` shows one replica",
               lambda: not gone & {pod["name"] for pod in cluster.wattle("pods")["pods"]}, LATE_S)
    claims.check("`wattle pods` no longer shows the removed replicas", True)


def check(claims, cluster):
    try:
        program = assets.metrics_server()
    except assets.Missing as reason:
        print(f"     skipped: {reason}", flush=True)
        return
    made = json.dumps({"apiVersion": "v1", "kind": "List", "items": server(program.parent) + scaled()})
    cluster.kubectl("apply", "--validate=false", "--filename", "-", given=made)
    try:
        check_metrics(claims, cluster)
        check_scaling(claims, cluster)
    finally:
        cluster.kubectl("delete", "--filename", "-", "--wait=false", given=made)
