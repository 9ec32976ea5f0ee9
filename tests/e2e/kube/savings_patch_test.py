#!/usr/bin/env python3
"""savings_patch_test: patches of `wattle savings --patch` on a real API server.

Each patch is accepted by a strict server-side dry run and for real, changes only requests, limits and replicas, and
leaves the order of containers and all other fields as they were. Applied again it changes no object, and the command
then prints no further patch. Owners of autoscalers get none.

Real     etcd, kube-apiserver with its validation, `wattle savings --patch`
Fake     the controller's advice (scripted_controller), because its rule needs 12 hours of telemetry

Usage    savings_patch_test.py FOLDER-OF-BINARIES [--version V]
Skips    (77) if etcd and kube-apiserver can neither be found nor built
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import CLI_TIMEOUT, HouseError, wait_until  # noqa: E402
from patience import LATE_S  # noqa: E402
from rbac_test import Server  # noqa: E402
from resize_test import VPA_DEFINITION, main  # noqa: E402

SPACE = "shop"
APPS, BATCH = f"/apis/apps/v1/namespaces/{SPACE}", f"/apis/batch/v1/namespaces/{SPACE}"
VPAS = f"/apis/autoscaling.k8s.io/v1/namespaces/{SPACE}/verticalpodautoscalers"
SCALERS = f"/apis/autoscaling/v2/namespaces/{SPACE}/horizontalpodautoscalers"
PATHS = {"Deployment": f"{APPS}/deployments", "StatefulSet": f"{APPS}/statefulsets", "DaemonSet": f"{APPS}/daemonsets",
         "ReplicaSet": f"{APPS}/replicasets", "Job": f"{BATCH}/jobs", "CronJob": f"{BATCH}/cronjobs"}
STRATEGIC = "application/strategic-merge-patch+json"


def container(name, cpu=None, memory=None, limits=None, **more):
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": name, "image": f"example.com/{name}:1"} | ({"resources": resources} if resources else {}) | more


def foreign(one):
    """Returns the container with fields of all kinds that a patch must not change."""
    one = copy.deepcopy(one)
    one["resources"]["requests"]["ephemeral-storage"] = "1Gi"
    one["resources"].setdefault("limits", {})["example.com/gpu"] = "1"
    return one | {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["--x"], "ports": [{"containerPort": 80}],
                  "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}


def template_of(thing):
    spec = thing["spec"]["jobTemplate"]["spec"] if thing["kind"] == "CronJob" else thing["spec"]
    return spec["template"]["spec"]


def without_sizes(thing):
    """Returns the object without the fields that a patch may change, and those that each write changes."""
    thing = copy.deepcopy(thing)
    for key in ("resourceVersion", "generation", "managedFields"):
        thing["metadata"].pop(key, None)
    thing["metadata"]["annotations"].pop("deprecated.daemonset.template.generation", None)
    thing.pop("status", None)
    thing["spec"].pop("replicas", None)
    pod = template_of(thing)
    for one in pod["containers"] + pod.get("initContainers", []):
        for part in ("requests", "limits"):
            for resource in ("cpu", "memory"):
                one["resources"].get(part, {}).pop(resource, None)
            if not one["resources"].get(part, True):
                one["resources"].pop(part)
    return thing


class Patches:
    def __init__(self, advice, plane, claims):
        self.advice, self.plane, self.check = advice, plane, claims.check
        self.observed_s = 200_000
        self.admin = Server(plane)
        self.kubeconfig = str(plane.kubeconfig())

    # ---- objects

    def make(self, kind, name, containers, initial=(), owner=None, **pod):
        """Returns an owner with this template."""
        spec = {"containers": containers, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                "volumes": [{"name": "data", "emptyDir": {}}]} | ({"initContainers": list(initial)} if initial else {}) | pod
        labels = {"app": "x"}
        template = {"metadata": {"labels": labels, "annotations": {"example.com/kept": "yes"}}, "spec": copy.deepcopy(spec)}
        batch = kind in ("Job", "CronJob")
        if batch:
            template["spec"]["restartPolicy"] = "Never"
            template["metadata"].pop("labels")
        body = {"template": template} | ({} if batch else {"selector": {"matchLabels": labels}})
        if kind in ("Deployment", "StatefulSet", "ReplicaSet"):
            body["replicas"] = 3
        if kind == "StatefulSet":
            body |= {"serviceName": "x", "volumeClaimTemplates": [{"metadata": {"name": "disk"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}
        if kind == "CronJob":
            body = {"schedule": "0 3 * * *", "jobTemplate": {"spec": body}}
        metadata = {"name": name, "labels": {"team": "a"}, "annotations": {"example.com/note": "kept"}}
        if owner:
            metadata["ownerReferences"] = [owner]
        self.plane.call("POST", PATHS[kind], {"apiVersion": "batch/v1" if batch else "apps/v1", "kind": kind, "metadata": metadata, "spec": body})
        return f"{SPACE}/{kind}/{name}"

    def thing(self, workload):
        _, kind, name = workload.split("/", 2)
        return self.plane.call("GET", f"{PATHS[kind]}/{name}")

    def sizes(self, workload, list_name="containers"):
        return {one["name"]: one.get("resources", {}) for one in template_of(self.thing(workload)).get(list_name, [])}

    # ---- the command

    def suggest(self, workload, cores=None, mib=None, fewer=None):
        space, owner = workload.split("/", 1)
        self.advice.set(workload, {
            "workload": workload, "namespace": space, "owner": owner, "pods": 3, "levels": {}, "heard_s": self.observed_s, "lasting": {"cpu_cores": cores, "memory_bytes": mib and mib * 2**20},
            "replicas": {"state": "fewer", "suggested": fewer} if fewer else None})

    def command(self, workload):
        return self.advice.wattle("savings", "--patch", workload, "--kubeconfig", self.kubeconfig)

    def refused(self, claim, workload, why):
        done = self.command(workload)
        said = " ".join((done.stdout + done.stderr).split())
        self.check(f"{claim}: there is no patch, and the error names the reason", done.returncode == 1 and why in said and not done.stdout, said)

    def patch(self, workload):
        """Returns the patch and its notes."""
        done = self.command(workload)
        if done.returncode != 0:
            self.check(f"{workload}: a patch is printed", False, done.stderr)
            return None, done.stderr
        return yaml.safe_load(done.stdout), " ".join(line.removeprefix("# ") for line in done.stdout.splitlines() if line.startswith("#"))

    def apply(self, workload, patch, dry=False):
        _, kind, name = workload.split("/", 2)
        return self.admin("PATCH", f"{PATHS[kind]}/{name}?fieldManager=git&fieldValidation=Strict" + ("&dryRun=All" if dry else ""), patch, STRATEGIC)

    def accepted(self, workload):
        """Applies the patch of a workload in all ways. Returns its notes."""
        before = self.thing(workload)
        patch, notes = self.patch(workload)
        if patch is None:
            return notes
        code, said, warnings = self.apply(workload, patch, dry=True)
        self.check(f"{workload}: a strict dry run accepts the patch", code == 200 and not warnings, f"{code} {said[:600]} {warnings} {patch}")
        self.check(f"{workload}: the dry run changes no object", self.thing(workload) == before)
        code, said, _ = self.apply(workload, patch)
        after = self.thing(workload)
        self.check(f"{workload}: the API server accepts the patch", code == 200, f"{code} {said[:600]}")
        self.check(f"{workload}: only requests, limits and replicas change", without_sizes(after) == without_sizes(before) and after["spec"] != before["spec"], patch)
        self.apply(workload, patch)
        self.check(f"{workload}: the same patch again changes no field", self.thing(workload)["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"])
        self.refused(f"{workload}, patched", workload, "already requests what it needs")
        return notes

    # ---- claims

    def kinds(self):
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob"):
            workload = self.make(kind, "plain", [foreign(container("main", "2", "1Gi"))])
            self.suggest(workload, 0.25, 200)
            self.accepted(workload)
            resources = self.sizes(workload)["main"]
            self.check(f"{kind}: the requests are the suggested ones", (resources["requests"]["cpu"], resources["requests"]["memory"]) == ("250m", "200Mi"), resources)
        self.observed_s = 13.5 * 3600
        young = self.make("Deployment", "young", [container("main", "2", "1Gi")])
        self.suggest(young, 0.25, 200)
        notes = self.accepted(young)
        self.check("a note says that less than a day of usage is known", "Only 13 h are observed" in notes, notes)
        self.observed_s = 200_000
        job = self.make("Job", "once", [container("main", "2", "1Gi")])
        self.suggest(job, 0.25, 200)
        patch, notes = self.patch(job)
        code, said, _ = self.apply(job, patch, dry=True)
        self.check("Job: its template is immutable, and a note says so", code == 422 and "field is immutable" in said and "cannot be changed" in notes, f"{code} {said[:300]} {notes}")

    def containers(self):
        initial = [container("setup", "100m", "64Mi"), container("proxy", "500m", "256Mi", restartPolicy="Always"), container("migrate", "100m", "64Mi"),
                   container("logs", "500m", "256Mi", restartPolicy="Always")]
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            workload = self.make(kind, "many", [foreign(container("web", "2", "1Gi")), container("bare"), container("cache", "1", "512Mi")], initial)
            self.suggest(workload, 0.8, 512)
            notes = self.accepted(workload)
            got = self.sizes(workload) | self.sizes(workload, "initContainers")
            self.check(f"{kind}: containers and sidecars share the need, other containers keep their requests",
                       {name: resources.get("requests", {}).get("cpu") for name, resources in got.items()}
                       == {"web": "400m", "bare": None, "cache": "200m", "setup": "100m", "proxy": "100m", "migrate": "100m", "logs": "100m"}, got)
            self.check(f"{kind}: a note says how the need is divided", "share them in proportion" in notes and "bare requests no CPU" in notes, notes)

    def names(self):
        for name, each in (("1e3", "on"), ("null", "0x1f"), ("web.v2.example", "1e3"), ("2026-01-01", "null"), ("a" * 57, "c" * 63), ("true", "0123")):
            workload = self.make("Deployment", name, [container("side", "1", "128Mi"), container(each, "2", "1Gi")])
            self.suggest(workload, 0.3, 288)
            self.accepted(workload)
            self.check(f"Deployment {name}: container {each} has its share", self.sizes(workload)[each]["requests"]["cpu"] == "200m", self.sizes(workload))

    def limits(self):
        equal = self.make("Deployment", "equal", [container("main", "1", "1Gi", limits={"cpu": "1", "memory": "1Gi"})])
        self.suggest(equal, 0.5, 300)
        self.accepted(equal)
        self.check("limits that equal the requests change with them", self.sizes(equal)["main"]["limits"] == {"cpu": "500m", "memory": "300Mi"}, self.sizes(equal))
        # A limit between two units of a patch: a rounded-up request would exceed it.
        odd = self.make("Deployment", "odd", [container("main", "50m", "50M", limits={"cpu": "100m", "memory": "100M"})])
        self.suggest(odd, 0.3, 300)
        notes = self.accepted(odd)
        self.check("limits cap requests in their own unit, and the QoS class stays the same",
                   self.sizes(odd)["main"]["requests"] == {"cpu": "99m", "memory": "100M"} and "caps its memory" in notes and "QoS class" in notes, (self.sizes(odd), notes))
        near = self.make("Deployment", "near", [container("main", "50m", "50M", limits={"memory": "100M"})])
        self.suggest(near, 0.05, 95.2)
        self.accepted(near)
        two = self.make("Deployment", "two", [container("small", "100m", limits={"cpu": "150m"}), container("large", "100m")])
        self.suggest(two, 1)
        self.accepted(two)
        self.check("a capped container's surplus goes to the others", {name: one["requests"]["cpu"] for name, one in self.sizes(two).items()} == {"small": "150m", "large": "850m"},
                   self.sizes(two))
        tiny = self.make("Deployment", "tiny", [container(f"c{i}", "10m", "10Mi") for i in range(5)])
        self.suggest(tiny, 0.0031, 3.1)
        self.accepted(tiny)

    def pod_level(self):
        whole = self.make("Deployment", "whole", [container("main", "500m", "256Mi")], resources={"requests": {"cpu": "1", "memory": "1Gi"}})
        self.suggest(whole, 0.25, 200)
        self.refused("pod-level resources", whole, "pod-level resources")

    def replicas(self):
        workload = self.make("Deployment", "scaled", [container("main", "1", "512Mi")])
        self.suggest(workload, 1, 512, fewer=2)
        self.accepted(workload)
        self.check("fewer replicas are in the patch", self.thing(workload)["spec"]["replicas"] == 2)
        daemons = self.make("DaemonSet", "scaled", [container("main", "1", "512Mi")])
        self.suggest(daemons, 0.5, 256, fewer=2)
        self.accepted(daemons)

    def autoscalers(self):
        workload = self.make("Deployment", "auto", [container("main", "1", "512Mi")])
        self.suggest(workload, 0.5, 256, fewer=2)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "auto"}
        utilisation = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]
        external = [{"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}}}]
        scaler = {"metadata": {"name": "auto"}, "spec": {"scaleTargetRef": target, "maxReplicas": 5, "metrics": utilisation}}
        self.plane.call("POST", SCALERS, scaler)
        self.refused("an autoscaler by utilisation", workload, "HorizontalPodAutoscaler shop/auto (CPU utilisation)")
        self.plane.call("PATCH", f"{SCALERS}/auto", {"spec": {"metrics": external}})
        patch, _ = self.patch(workload)
        self.check("an autoscaler by another metric owns only the replicas", "replicas" not in patch["spec"] and "template" in patch["spec"], patch)
        self.plane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", VPA_DEFINITION)
        wait_until("the API server serves VerticalPodAutoscalers", lambda: self.plane.raw("GET", VPAS)[0] == 200, LATE_S)
        vertical = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "auto-vpa"},
                    "spec": {"targetRef": target, "updatePolicy": {"updateMode": "Initial"}}}
        self.plane.call("POST", VPAS, vertical)
        self.refused("a VerticalPodAutoscaler", workload, "VerticalPodAutoscaler auto-vpa sets its requests")
        self.plane.call("PATCH", f"{VPAS}/auto-vpa", {"spec": {"updatePolicy": {"updateMode": "Off"}}})
        self.accepted(workload)
        operated = self.make("Deployment", "operated", [container("main", "1", "512Mi")], owner={
            "apiVersion": "example.com/v1", "kind": "Database", "name": "orders", "controller": True, "uid": "00000000-0000-4000-8000-000000000002"})
        self.suggest(operated, 0.5, 256)
        notes = self.accepted(operated)
        self.check("a note names the controller that would undo the patch", "Database orders" in notes, notes)


class Advice:
    """A scripted controller and its reader."""

    def __init__(self, binaries):
        self.binaries, self.rows = binaries, {}
        self.folder = tempfile.TemporaryDirectory(prefix="wattle-patches-")
        self.dir = pathlib.Path(self.folder.name)

    def __enter__(self):
        self.run("keys", "new", "server", "reader")
        self.run("keys", "allow", "reader.pub", "reader", "ops", "--allow-list", "allow")
        self.process = subprocess.Popen([self.binaries / "scripted_controller", "server", "allow", "rows.json"], cwd=self.dir, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint:
            raise HouseError(f"scripted_controller exited with {self.process.wait()}")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def set(self, workload, row):
        self.rows[workload] = row
        (self.dir / "rows.json").write_text(json.dumps(self.rows), encoding="utf-8")

    def run(self, *words):
        return subprocess.run([self.binaries / "wattle", *words], cwd=self.dir, capture_output=True, text=True, check=False, timeout=LATE_S)

    def wattle(self, *words):
        if self.process.poll() is not None:
            raise HouseError("scripted_controller has exited")
        return self.run(*words, "--server", self.endpoint, "--key", "reader", "--server-key", "server.pub", "--timeout", CLI_TIMEOUT)


def run(binaries, version, claims):
    with ControlPlane(assets.assets(version, ("etcd", "kube-apiserver"))) as plane, Advice(binaries) as advice:
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        patches = Patches(advice, plane, claims)
        for part in (patches.kinds, patches.containers, patches.names, patches.limits, patches.pod_level, patches.replicas, patches.autoscalers):
            part()


if __name__ == "__main__":
    sys.exit(main("savings patch", run))
