"""node_objects: objects of the node besides those of k8s/base, and probe delays: replacements for parts of a full
cluster.

Gives    Kubernetes objects as dictionaries
"""
import manifests_test as manifests
from real_node import NAME

CONSOLE = {30462: 7462, 30850: 8050}  # NodePort -> the controller's


def volume():
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "by-hand"}, "spec": {
        "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/var/lib/wattle-volume"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}]}]}}}}


def console():
    """A NodePort Service instead of `kubectl port-forward`."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "console", "namespace": "wattle"}, "spec": {
        "type": "NodePort", "selector": {"app.kubernetes.io/name": "wattle-controller"},
        "ports": [{"name": f"p{port}", "port": port, "nodePort": there} for there, port in CONSOLE.items()]}}


def patient(objects):
    """Applies changes like an overlay: longer probe delays, because an emulated processor may answer a probe minutes
    late, and one scheduler for the one machine."""
    for thing in objects:
        if thing["kind"] == "Deployment" and thing["metadata"]["name"] == "wattle-scheduler":
            thing["spec"]["replicas"] = 1
    for template in filter(None, map(manifests.pod_template, objects)):
        for container in template["spec"]["containers"]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container:
                    container[probe] |= {"timeoutSeconds": 60, "failureThreshold": 300 if probe == "startupProbe" else 30}
    return objects
