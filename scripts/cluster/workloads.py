"""workloads: Kubernetes objects of the demo's services and jobs. `wattle` names the scheduler of the chart; the others
are placed by the default scheduler.

Gives    objects as dictionaries
"""
import os

from images import TOOLS

# Computes for 20 to 40 seconds
ENCODE = ["sh", "-c", "stress-ng --quiet --temp-path /tmp --cpu 1 --cpu-method matrixprod --timeout $(expr 20 + $(date +%s) % 20)"]
WEB_USERS = ["sh", "-c", "while true; do wattle-load http --rate 15 --for 20s --header 'Accept-Encoding: gzip' "
                         "http://web.default.svc.cluster.local:8080/; sleep 1; done"]
# redis-benchmark hangs if the store refuses its first connection.
STORE_USERS = ["sh", "-c", "s=store.default.svc.cluster.local; while true; do redis-cli -h $s ping && redis-benchmark -h $s -c 4 -n 2000 -q -t get,set; sleep 1; done"]


def container(command, cpu, limit=None, **more):
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}, "limits": {"memory": "128Mi"} | ({"cpu": limit} if limit else {})}
    return {"name": "main", "image": TOOLS, "imagePullPolicy": "Never", "command": command, "resources": resources} | more


def template(name, main, scheduler, **more):
    spec = {"automountServiceAccountToken": False, "enableServiceLinks": False, "terminationGracePeriodSeconds": 2, "containers": [main]}
    return {"metadata": {"labels": {"app.kubernetes.io/name": name}}, "spec": spec | ({"schedulerName": scheduler} if scheduler else {}) | more}


def deployment(name, replicas, main, scheduler=None):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}, "template": template(name, main, scheduler)}}


def service(name, port):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app.kubernetes.io/name": name}, "ports": [{"port": port}]}}


def batch(name, parallel, main, scheduler=None):
    """Returns Jobs whose pods end and are replaced while the cluster runs."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "completions": 10000, "parallelism": parallel, "backoffLimit": 1000, "template": template(name, main, scheduler, restartPolicy="Never")}}


def services():
    # Larger than half a node, so that each pod needs its own node; it has no pods until a user scales it
    large = f"{600 * os.cpu_count()}m"
    alive = {"readinessProbe": {"httpGet": {"path": "/livez", "port": 8080}, "periodSeconds": 5, "timeoutSeconds": 5}}
    return [
        service("web", 8080), deployment("web", 3, container(["nginx", "-c", "/etc/nginx.conf"], "100m", "300m", **alive), "wattle"),
        deployment("web-users", 1, container(WEB_USERS, "50m")),
        service("store", 6379),
        deployment("store", 1, container(["redis-server", "--save", "", "--protected-mode", "no", "--dir", "/tmp"], "50m"), "wattle"),
        deployment("store-users", 1, container(STORE_USERS, "50m", "100m")),
        deployment("report", 0, container(["sleep", "infinity"], large), "wattle")]


def jobs():
    return [
        batch("encode", 2, container(ENCODE, "100m", "150m"), "wattle"), batch("encode-default", 2, container(ENCODE, "100m", "150m"))]
