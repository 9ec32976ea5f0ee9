#!/usr/bin/env python3
"""manifests_test: kubectl reads every manifest and the kustomization, and their objects are consistent.

kubectl looks up kinds at a server even in a client dry run; a small fake server on loopback reports the existing kinds.
Source   k8s/base, which k8s/render.py makes from the chart (chart_test.py checks that)
Exit     0 fine, 1 breach, 77 kubectl is missing (skipped)
"""
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/e2e/kube"))
import assets  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from patience import SOON_S  # noqa: E402
K8S = ROOT / "k8s/base"
BREACHES = []

# group/version -> (kind, plural, namespaced)
KINDS = {
    "v1": [("Namespace", "namespaces", False), ("ServiceAccount", "serviceaccounts", True), ("Service", "services", True),
           ("ConfigMap", "configmaps", True), ("Secret", "secrets", True), ("Pod", "pods", True),
           ("PersistentVolumeClaim", "persistentvolumeclaims", True), ("ResourceQuota", "resourcequotas", True)],
    "apps/v1": [("Deployment", "deployments", True), ("DaemonSet", "daemonsets", True), ("StatefulSet", "statefulsets", True)],
    "rbac.authorization.k8s.io/v1": [("ClusterRole", "clusterroles", False), ("ClusterRoleBinding", "clusterrolebindings", False),
                                     ("Role", "roles", True), ("RoleBinding", "rolebindings", True)],
    "networking.k8s.io/v1": [("NetworkPolicy", "networkpolicies", True)],
    "batch/v1": [("Job", "jobs", True)],
    "policy/v1": [("PodDisruptionBudget", "poddisruptionbudgets", True)],
}
# Not in the manifests: the Job of the keys creates these (cli/keys_cluster.cpp), or the cluster has them.
EXPECTED = {("Secret", "wattle", "wattle-controller"), ("Secret", "wattle", "wattle-shim"), ("ConfigMap", "wattle", "wattle-public"),
            ("Secret", "wattle", "wattle-operator"), ("Secret", "wattle", "wattle-metrics"), ("Secret", "wattle-agent", "wattle-metrics"),
            ("ConfigMap", "wattle-agent", "wattle-public"), ("ConfigMap", "wattle", "kube-root-ca.crt")}
OBJECTS = {"secrets": "Secret", "configmaps": "ConfigMap"}  # objects that a role may name


def breach(text):
    BREACHES.append(text)
    print(f"BREACH {text}")


def discovery():
    """Returns the documents by path."""
    groups = sorted(version for version in KINDS if "/" in version)
    pages = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
            {"name": group.split("/")[0], "versions": [{"groupVersion": group, "version": group.split("/")[1]}],
             "preferredVersion": {"groupVersion": group, "version": group.split("/")[1]}} for group in groups]},
        "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    }
    for version, kinds in KINDS.items():
        pages["/apis/" + version if "/" in version else "/api/" + version] = {
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": [
                {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": ["create", "get", "list"]}
                for kind, plural, namespaced in kinds]}
    return {path: json.dumps(page).encode() for path, page in pages.items()}


class Discovery(http.server.BaseHTTPRequestHandler):
    pages = discovery()
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        page = self.pages.get(self.path.split("?")[0])
        body = page or b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}'
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class Kubectl:
    def __init__(self, server, home):
        self.program = str(assets.kubectl())
        kubeconfig = pathlib.Path(home) / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server}}], "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}), encoding="utf-8")
        # Without proxies, because the server is on loopback.
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig), "NO_PROXY": "*"}

    def run(self, *command, text=None):
        done = subprocess.run([self.program, *command], input=text, capture_output=True, text=True, check=False, timeout=SOON_S, env=self.env)
        return done.returncode, done.stdout, done.stderr.strip()

    def read(self, name, text):
        """Returns the objects of a manifest, or None and a reason."""
        code, out, said = self.run("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", text=text)
        if code != 0:
            return None, f"{name}: {said}"
        objects, at, decoder = [], 0, json.JSONDecoder()
        while out[at:].strip():
            at += len(out[at:]) - len(out[at:].lstrip())
            value, at = decoder.raw_decode(out, at)
            objects += value["items"] if value["kind"] == "List" else [value]
        return objects, ""


def pod_template(thing):
    return thing["spec"]["template"] if thing["kind"] in ("Deployment", "DaemonSet", "StatefulSet", "Job") else None


def label(thing):
    return f"{thing['kind']} {thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}"


def agent_capabilities():
    """Returns the unit's capabilities, because the same program runs on nodes without systemd."""
    unit = (ROOT / "systemd/wattle-agent.service").read_text(encoding="utf-8")
    return set(re.findall(r"CAP_(\w+)", re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M).group(1)))


def container_faults(spec, container):
    security = container.get("securityContext", {})
    pod = spec.get("securityContext", {})
    restricted = spec["serviceAccountName"] != "wattle-agent"
    allowed = set() if restricted else agent_capabilities()
    checks = {
        "readOnlyRootFilesystem is not true": security.get("readOnlyRootFilesystem") is True,
        "allowPrivilegeEscalation is not false": security.get("allowPrivilegeEscalation") is False,
        "privileged": not security.get("privileged", False),
        "capabilities: ALL is not dropped": security.get("capabilities", {}).get("drop") == ["ALL"],
        "capabilities: too many": set(security.get("capabilities", {}).get("add", [])) <= allowed,
        "no seccompProfile RuntimeDefault": pod.get("seccompProfile", {}).get("type") == "RuntimeDefault",
        "may run as root": not restricted or (pod.get("runAsNonRoot") is True and security.get("runAsUser", 1) != 0),
        "no memory limit": "memory" in container.get("resources", {}).get("limits", {}),
    }
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    for mount in container.get("volumeMounts", []):
        volume = volumes.get(mount["name"])
        checks[f"mount {mount['name']}: no such volume"] = volume is not None
        if volume and "hostPath" in volume and volume["name"] != "state":
            checks[f"mount {mount['name']}: host path is writable"] = mount.get("readOnly") is True
    return [fault for fault, fine in checks.items() if not fine]


def pod_faults(spec, namespace, objects):
    there = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects} | EXPECTED
    wanted = [("ServiceAccount", namespace, spec["serviceAccountName"])]
    for volume in spec.get("volumes", []):
        for source in [volume, *volume.get("projected", {}).get("sources", [])]:
            if "configMap" in source:
                wanted.append(("ConfigMap", namespace, source["configMap"]["name"]))
            if "secret" in source:
                wanted.append(("Secret", namespace, source["secret"].get("secretName") or source["secret"]["name"]))
            if "persistentVolumeClaim" in source:
                wanted.append(("PersistentVolumeClaim", namespace, source["persistentVolumeClaim"]["claimName"]))
    faults = [f"needs {kind} {name}, which does not exist" for kind, space, name in wanted if (kind, space, name) not in there]
    if any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")):
        faults.append("shares a namespace with the host")
    if spec.get("automountServiceAccountToken") is not False:
        faults.append("mounts a token in every container")
    ports = [port["name"] for container in spec["containers"] for port in container.get("ports", [])]
    for container in spec["containers"]:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            port = container.get(probe, {}).get("httpGet", {}).get("port")
            if probe in container and port not in ports:
                faults.append(f"{container['name']}: {probe} uses the unknown port {port}")
    for container in spec["containers"] + spec.get("initContainers", []):
        faults += [f"container {container['name']}: {fault}" for fault in container_faults(spec, container)]
    return faults


def role_faults(role, there):
    """Checks names in roles, which kustomize rewrites if they match those of a generator."""
    space = role["metadata"]["namespace"]
    return [f"{label(role)}: names {OBJECTS[resource]} {name}, which does not exist" for rule in role["rules"] for resource in rule["resources"]
            if resource in OBJECTS for name in rule.get("resourceNames", []) if (OBJECTS[resource], space, name) not in there]


def faults_of(objects):
    """Returns inconsistencies among the applied objects."""
    faults = []
    there = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects} | EXPECTED
    namespaces = {o["metadata"]["name"] for o in objects if o["kind"] == "Namespace"} | {"kube-system"}
    namespaced = {kind for kinds in KINDS.values() for kind, _, inside in kinds if inside}
    workloads = [o for o in objects if pod_template(o)]
    for thing in objects:
        space = thing["metadata"].get("namespace")
        if thing["kind"] in namespaced and space not in namespaces:
            faults.append(f"{label(thing)}: namespace '{space}' is not created")
        if pod_template(thing):
            labels = pod_template(thing)["metadata"]["labels"]
            if not thing["spec"].get("selector", {}).get("matchLabels", {}).items() <= labels.items():
                faults.append(f"{label(thing)}: its selector does not match its pods")
            faults += [f"{label(thing)}: {fault}" for fault in pod_faults(pod_template(thing)["spec"], space, objects)]
        if thing["kind"] == "Service":
            pods = [pod_template(w) for w in workloads if w["metadata"]["namespace"] == space
                    and thing["spec"]["selector"].items() <= pod_template(w)["metadata"]["labels"].items()]
            ports = {p["name"] for pod in pods for c in pod["spec"]["containers"] for p in c.get("ports", [])}
            faults += [f"{label(thing)}: no pod has the port {p['targetPort']}" for p in thing["spec"]["ports"] if p["targetPort"] not in ports]
        if thing["kind"] in ("ClusterRoleBinding", "RoleBinding"):
            for subject in thing["subjects"]:
                if not any(o["kind"] == "ServiceAccount" and o["metadata"]["name"] == subject["name"]
                           and o["metadata"]["namespace"] == subject["namespace"] for o in objects):
                    faults.append(f"{label(thing)}: the ServiceAccount {subject['name']} does not exist")
        if thing["kind"] == "Role":
            faults += role_faults(thing, there)
        if thing["kind"] in ("ClusterRole", "Role") and "*" in json.dumps(thing["rules"]):
            faults.append(f"{label(thing)}: grants a wildcard")
        if thing["kind"] == "Secret":
            faults.append(f"{label(thing)}: secrets do not belong in manifests")
    return faults


def check_scheduler(objects):
    """Checks our KubeSchedulerConfiguration, which kubectl does not know."""
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("scheduler configuration not checked: python3-yaml is missing")
        return
    texts = {key: text for o in objects if o["kind"] == "ConfigMap" for key, text in o["data"].items()}
    if "scheduler.yaml" not in texts or "shim.yaml" not in texts:
        breach("ConfigMaps with scheduler.yaml and shim.yaml were expected")
        return
    config = yaml.safe_load(texts["scheduler.yaml"])
    wanted = {"prioritizeVerb": "prioritize", "weight": 6, "nodeCacheCapable": True, "ignorable": True, "enableHTTPS": False}
    extender = config["extenders"][0]
    for key, value in wanted.items():
        if extender.get(key) != value:
            breach(f"scheduler.yaml: extender {key} is {extender.get(key)}, not {value}")
    if "filterVerb" in extender:
        breach("scheduler.yaml: an extender that filters can fail a pod")
    shim = yaml.safe_load(texts["shim.yaml"])
    # Either the profile lets preferences outvote the scores, or the shim bounds the scores.
    scored = {plugin["name"]: plugin["weight"] for plugin in config["profiles"][0].get("plugins", {}).get("score", {}).get("enabled", [])}
    outvoted = min(scored.get(name, 0) for name in ("TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity")) >= 200
    if not outvoted and not shim.get("bound_scores", True):
        breach("shim.yaml: bound_scores is false, and the scheduler's profile lets the scores outvote pods' preferences")
    if extender["urlPrefix"] != f"http://127.0.0.1:{shim['listen']['port']}":
        breach(f"scheduler.yaml: urlPrefix {extender['urlPrefix']} is not where the shim listens")


def self_test(kubectl, whole, objects):
    """Checks that invalid manifests are refused."""
    unknown = "apiVersion: apps/v1\nkind: DeamonSet\nmetadata: {name: x, namespace: wattle}\n"
    if kubectl.read("self-test", unknown)[0] is not None:
        breach("self-test: an unknown kind was accepted")
    spoilt = {
        "capabilities: too many": ("DAC_READ_SEARCH", "SYS_ADMIN"),
        "host path is writable": ('"readOnly": true', '"readOnly": false'),
        "is not created": ('"namespace": "wattle"', '"namespace": "elsewhere"'),
        "which does not exist": ('{"name": "wattle-shim"}', '{"name": "wattle-other"}'),
        "names Secret wattle-operator-1234567890": ('"wattle-operator"', '"wattle-operator-1234567890"'),
    }
    for fault, (old, new) in spoilt.items():
        text = json.dumps(objects)
        if old not in text or not any(fault in found for found in faults_of(json.loads(text.replace(old, new)))):
            breach(f"self-test: '{fault}' is not reported after {old} became {new}")
    if not whole:
        breach("self-test: no case was checked")


def check(kubectl):
    for manifest in sorted(K8S.glob("*.yaml")):
        if manifest.name == "kustomization.yaml":
            continue
        objects, why = kubectl.read(manifest.name, manifest.read_text(encoding="utf-8"))
        if objects is None:
            breach(why)
        else:
            print(f"{manifest.name}: {len(objects)} objects")
    code, whole, said = kubectl.run("kustomize", str(K8S))
    if code != 0:
        breach(f"kubectl kustomize k8s/base: {said}")
        return
    objects, why = kubectl.read("kustomize", whole)
    if objects is None:
        breach(why)
        return
    print(f"kustomization: {len(objects)} objects")
    for fault in faults_of(objects):
        breach(fault)
    check_scheduler(objects)
    self_test(kubectl, whole, objects)


def main():
    try:
        assets.kubectl()
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discovery)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory() as home:
            check(Kubectl(f"http://127.0.0.1:{server.server_address[1]}", home))
    finally:
        server.shutdown()
    print("manifests: no breach" if not BREACHES else f"manifests: {len(BREACHES)} breaches")
    return 1 if BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
