#!/usr/bin/env python3
"""resize_test: level `requests` on a real API server: sets requests of running pods, reports and restores them.

Real     etcd, kube-apiserver with RBAC and validation, the chart's Role and account, `wattle provision set --follow`, a controller with its
         own account and its watch, an agent
Fake     the kubelet's part (resize/kubelet.py), and the rule's figures (resize/advisor.py)

Usage    resize_test.py FOLDER-OF-BINARIES [--version V]
Skips    (77) if the control plane's programs or helm can neither be found nor built, with the reason
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE / "resize"), str(HERE.parent / "docs")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import rendering  # noqa: E402
from advisor import Advisor  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import Walk  # noqa: E402
from house import SKIPPED, House, wait_until  # noqa: E402
from kubelet import Kubelet  # noqa: E402
from patience import LATE_S, let_a_moment_pass, pace  # noqa: E402
from rbac_test import Server, replace, without  # noqa: E402

SPACE = "shop"
PAGE = "docs/how-to/set-requests.md"
PATIENCE = LATE_S
KILLS = 20
PODS = f"/api/v1/namespaces/{SPACE}/pods"
VPAS = f"/apis/autoscaling.k8s.io/v1/namespaces/{SPACE}/verticalpodautoscalers"
SCALERS_V1 = f"/apis/autoscaling/v1/namespaces/{SPACE}/horizontalpodautoscalers"
SCALERS = f"/apis/autoscaling/v2/namespaces/{SPACE}/horizontalpodautoscalers"
SCALED = f"/apis/keda.sh/v1alpha1/namespaces/{SPACE}/scaledobjects"
METRICS = "autoscaling.alpha.kubernetes.io/metrics"  # metrics other than CPU in version v1
VPA_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "verticalpodautoscalers.autoscaling.k8s.io", "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"}},
    "spec": {"group": "autoscaling.k8s.io", "scope": "Namespaced", "names": {"plural": "verticalpodautoscalers", "kind": "VerticalPodAutoscaler"},
             "versions": [{"name": "v1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


class Scenario:
    def __init__(self, house, plane, admin, role, claims):
        self.role = role
        self.house, self.plane, self.admin, self.check = house, plane, admin, claims.check
        self.kubelet = Kubelet(plane, SPACE, house.node)
        self.advisor = Advisor(house.api())
        self.account = admin.account("wattle", "wattle-requests")
        self.kubeconfig = str(self.account.kubeconfig("requests.kubeconfig"))

    # ---- objects

    def make(self, name, owner, requests=None, limits=None, **annotations):
        resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
        self.plane.call("POST", PODS, {
            "metadata": {"name": name, "labels": {"pod-template-hash": "5d9"}, "annotations": {f"wattle.dev/{k}": v for k, v in annotations.items()},
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{owner}-5d9", "controller": True,
                                              "uid": "00000000-0000-4000-8000-000000000001"}]},
            "spec": {"nodeName": self.house.node, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "i", "resources": resources}]}})

    def pod(self, name):
        return self.plane.call("GET", f"{PODS}/{name}")

    def requests(self, name):
        return self.pod(name)["spec"]["containers"][0]["resources"].get("requests", {})

    def record(self):
        data = self.plane.call("GET", f"/api/v1/namespaces/{SPACE}/configmaps/wattle-requests").get("data") or {}
        pods = {one["name"]: one for one in (json.loads(text) for key, text in data.items() if key.startswith("pod."))}
        return pods, json.loads(data.get("said", "{}"))

    def state(self, name):
        return self.record()[0].get(name, {}).get("state")

    def want(self, owner, cores, mib):
        self.advisor.wanted[f"{SPACE}/Deployment/{owner}"] = (cores, mib)

    def eventually(self, claim, condition):
        def look():
            self.house.alive("setter")
            self.kubelet.sync()
            return condition()
        wait_until(claim, look, PATIENCE)
        self.check(claim, True)

    def reported(self, owner, *more):
        return self.house.query("provision", "why", f"{SPACE}/Deployment/{owner}", *more)["workloads"][0]

    def why(self, owner, *more):
        """Returns the text without line breaks."""
        reported = self.reported(owner, *more)
        return " ".join(reported["why"] + reported.get("recorded", []))

    def start_setter(self):
        self.house.start("setter", self.house.binary("wattle"), "provision", "set", "--follow", "--every", "1", "--from", self.advisor.url(),
                         "--namespace", SPACE, "--kubeconfig", self.kubeconfig)

    def held_cores(self):
        return next(n["cpu_requested_cores"] for n in self.house.query("nodes")["nodes"] if n["name"] == self.house.node)

    # ---- claims

    def up_and_down(self):
        self.make("web-1", "web", {"cpu": "1", "memory": "512Mi"})
        self.kubelet.sync()
        self.kubelet.hold = True
        self.want("web", 2, 512)
        self.eventually("up: the API server has the rule's requests", lambda: self.requests("web-1") == {"cpu": "2", "memory": "512Mi"})
        self.check("up: the original requests are recorded", self.record()[0]["web-1"]["original"]["requests"] == {"cpu": "1", "memory": "512Mi"}, self.record())
        self.eventually("up: the kubelet's progress is reported", lambda: self.state("web-1") == "in_progress")
        self.eventually("up: why reports the progress", lambda: "1 being resized by the kubelet" in self.why("web"))
        self.kubelet.hold = False
        self.eventually("up: why reports the completion", lambda: self.state("web-1") == "in_force")
        self.eventually("up: the planner's view has the new requests", lambda: abs(self.held_cores() - 2) < 1e-6)
        reported = self.reported("web")
        self.check("up: the controller reports the original requests and who set the new ones", (reported["request"]["cpu_cores"], reported["original"]["cpu_cores"], reported["resizes"]["set"]) == (2, 1, 1), reported)
        generation = self.pod("web-1")["metadata"]["generation"]
        let_a_moment_pass()
        self.check("up: no further write", self.pod("web-1")["metadata"]["generation"] == generation)
        self.want("web", 0.5, 100)
        self.eventually("down: requests are lowered to the original", lambda: self.requests("web-1") == {"cpu": "1", "memory": "512Mi"})
        let_a_moment_pass()
        self.check("down: not below the original without permission", self.requests("web-1") == {"cpu": "1", "memory": "512Mi"}, self.requests("web-1"))
        self.plane.call("PATCH", f"{PODS}/web-1", {"metadata": {"annotations": {"wattle.dev/shrink": "allowed"}}})
        self.eventually("down: below the original with permission", lambda: self.requests("web-1") == {"cpu": "500m", "memory": "100Mi"})
        self.eventually("down: freed cores are in the planner's view", lambda: abs(self.held_cores() - 0.5) < 1e-6)

    def deferred(self):
        self.make("big-1", "big", {"cpu": "3", "memory": "64Mi"})
        self.kubelet.sync()
        self.want("web", 2, 100)
        self.eventually("Deferred: the resize is reported and awaited", lambda: self.state("web-1") == "deferred")
        self.check("Deferred: the kubelet's message is reported", "enough resource: cpu, requested: 2000" in self.why("web", "--kubeconfig", self.kubeconfig), self.why("web"))
        self.eventually("Deferred: the controller reports it", lambda: "waiting for room on the node (Deferred)" in self.why("web"))
        self.eventually("Deferred: the larger of both requests counts", lambda: abs(self.held_cores() - 5) < 1e-6)
        self.plane.call("DELETE", f"{PODS}/big-1", {"gracePeriodSeconds": 0})
        self.eventually("Deferred: the resize takes effect when the node has capacity", lambda: self.state("web-1") == "in_force")

    def infeasible(self):
        self.want("web", 64, 100)
        self.eventually("Infeasible: a resize beyond the node's capacity is reverted", lambda: self.state("web-1") == "infeasible" and self.requests("web-1")["cpu"] == "2")
        self.check("Infeasible: why reports it", "can never provide these requests (Infeasible)" in self.why("web", "--kubeconfig", self.kubeconfig))
        generation = self.pod("web-1")["metadata"]["generation"]
        let_a_moment_pass()
        self.check("Infeasible: it is not requested again", self.pod("web-1")["metadata"]["generation"] == generation)
        self.want("web", 3, 100)
        self.eventually("less is", lambda: self.requests("web-1")["cpu"] == "3" and self.state("web-1") == "in_force")
        self.want("web", 1, 100)
        self.eventually("a feasible resize afterwards is in force", lambda: self.requests("web-1")["cpu"] == "1")

    def classes(self):
        self.make("tight-1", "tight", {"cpu": "500m", "memory": "64Mi"}, {"cpu": "1", "memory": "64Mi"})
        self.make("full-1", "full", {"cpu": "500m", "memory": "64Mi"}, {"cpu": "500m", "memory": "64Mi"}, shrink="allowed")
        self.make("best-1", "best")
        self.kubelet.sync()
        self.want("tight", 2, 64)
        self.want("best", 1, 64)
        self.want("full", 0.25, 32)
        self.eventually("a change of QoS class is refused by the API server, and reported", lambda: self.state("tight-1") == "refused")
        text = self.why("tight", "--kubeconfig", self.kubeconfig)
        self.check("the API server's message is reported", "QOS Class may not change" in text, text)
        self.check("a refused resize changes no request", self.requests("tight-1")["cpu"] == "500m")
        self.eventually("BestEffort: why explains it", lambda: "BestEffort" in self.record()[1].get(f"{SPACE}/Deployment/best", {}).get("why", ""))
        self.eventually("Guaranteed: the limit changes with the request", lambda: self.pod("full-1")["spec"]["containers"][0]["resources"]
                        == {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"cpu": "250m", "memory": "32Mi"}})
        self.check("Guaranteed: the QoS class stays", self.pod("full-1")["status"]["qosClass"] == "Guaranteed")

    def others(self):
        self.plane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", VPA_DEFINITION)
        vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web-vpa"},
               "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}
        wait_until("the API server serves the autoscaler", lambda: self.plane.raw("POST", VPAS, vpa)[0] == 201, PATIENCE)
        self.eventually("a VerticalPodAutoscaler takes precedence", lambda: self.state("web-1") == "refused")
        self.check("why names the VerticalPodAutoscaler", "web-vpa" in self.why("web", "--kubeconfig", self.kubeconfig))
        self.want("web", 1.5, 100)
        let_a_moment_pass()
        self.check("no request is set beside a VerticalPodAutoscaler", self.requests("web-1")["cpu"] == "1")
        self.plane.call("PATCH", f"{VPAS}/web-vpa", {"spec": {"updatePolicy": {"updateMode": "Off"}}})
        self.eventually("a VerticalPodAutoscaler that only recommends does not take precedence", lambda: self.requests("web-1")["cpu"] == "1500m")
        self.plane.call("PATCH", f"{PODS}/full-1", {"metadata": {"annotations": {"wattle.dev/provision": "limits"}}})
        self.eventually("a pod gets either limits or requests", lambda: self.state("full-1") == "refused")
        self.make("hand-1", "hand", {"cpu": "500m", "memory": "64Mi"})
        self.kubelet.sync()
        self.want("hand", 0.6, 64)
        self.eventually("the pod's request is set", lambda: self.requests("hand-1")["cpu"] == "600m")
        self.plane.raw("PATCH", f"{PODS}/hand-1/resize", {"spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "700m", "memory": "64Mi"}}}]}})
        self.eventually("a write of another client is the new original", lambda: self.record()[0]["hand-1"]["original"]["requests"]["cpu"] == "700m")
        let_a_moment_pass()
        self.check("a write of another client is kept", self.requests("hand-1")["cpu"] == "700m", self.requests("hand-1"))

    def scaled(self):
        """Tests that autoscalers by utilisation in each form keep the request, and others do not."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        memory = json.dumps([{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 60}}])
        queue = json.dumps([{"type": "External", "external": {"metricName": "queue", "targetAverageValue": "30"}}])
        container = [{"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "main", "target": {"type": "Utilization", "averageUtilization": 70}}}]
        horizontal = lambda notes=None, **spec: {"metadata": {"name": "web-scaler", "annotations": notes or {}}, "spec": {"scaleTargetRef": target, "maxReplicas": 3} | spec}
        keda = lambda **trigger: {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "web-scaler"}, "spec": {
            "scaleTargetRef": {"name": "web"}, "triggers": [trigger]}}
        self.plane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(assets.keda_definition()))
        wait_until("the API server serves ScaledObjects", lambda: self.plane.raw("GET", SCALED)[0] == 200, PATIENCE)
        for what, path, scaler, named in (
                ("autoscaling/v1", SCALERS_V1, horizontal(targetCPUUtilizationPercentage=70), "HorizontalPodAutoscaler shop/web-scaler (CPU utilisation)"),
                ("autoscaling/v1, memory by annotation", SCALERS_V1, horizontal({METRICS: memory}), "HorizontalPodAutoscaler shop/web-scaler (memory utilisation)"),
                ("autoscaling/v2, one container", SCALERS, horizontal(metrics=container), "HorizontalPodAutoscaler shop/web-scaler (CPU utilisation)"),
                ("autoscaling/v2 without metrics", SCALERS, horizontal(), "HorizontalPodAutoscaler shop/web-scaler (CPU utilisation)"),
                ("KEDA, trigger cpu", SCALED, keda(type="cpu", metricType="Utilization", metadata={"value": "70"}), "ScaledObject shop/web-scaler (CPU utilisation)")):
            before = self.requests("web-1")["cpu"]
            self.plane.call("POST", path, scaler)
            self.eventually(f"{what}: the request stays", lambda: self.state("web-1") == "refused")
            self.check(f"{what}: why names the autoscaler", named in self.why("web", "--kubeconfig", self.kubeconfig), self.why("web", "--kubeconfig", self.kubeconfig))
            self.want("web", 1.6, 100)
            let_a_moment_pass()
            self.check(f"{what}: the request is not changed", self.requests("web-1")["cpu"] == before, self.requests("web-1"))
            self.plane.call("DELETE", f"{path}/web-scaler")
            self.eventually(f"{what}: without the autoscaler the request is set", lambda: self.requests("web-1")["cpu"] == "1600m")
            self.want("web", 1.5, 100)
            self.eventually("and again", lambda: self.requests("web-1")["cpu"] == "1500m")
        for what, path, scaler in (("autoscaling/v1, external metric by annotation", SCALERS_V1, horizontal({METRICS: queue})),
                                   ("KEDA, trigger cron", SCALED, keda(type="cron", metadata={"timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3"}))):
            self.plane.call("POST", path, scaler)
            self.want("web", 1.6, 100)
            self.eventually(f"{what}: the request is set", lambda: self.requests("web-1")["cpu"] == "1600m")
            self.plane.call("DELETE", f"{path}/web-scaler")
            self.want("web", 1.5, 100)
            self.eventually("and again", lambda: self.requests("web-1")["cpu"] == "1500m")

    def ordered(self):
        """Tests right sizes: the controller's orders replace the rule."""
        owner, had = f"{SPACE}/Deployment/sized", {"cpu": "200m", "memory": "128Mi"}
        self.make("sized-1", "sized", had, shrink="allowed")
        self.kubelet.sync()
        self.advisor.orders[owner] = {"kind": "raise"}
        self.want("sized", 0.1, 64)
        let_a_moment_pass()
        self.check("order raise: nothing is lowered", self.requests("sized-1") == had, self.requests("sized-1"))
        self.advisor.orders[owner] = {"kind": "lower", "cpu_cores": 0.15, "memory_bytes": 96 << 20}
        self.eventually("order lower: the ordered step, not the rule's value", lambda: self.requests("sized-1") == {"cpu": "150m", "memory": "96Mi"})
        self.eventually("order lower: the step is in force", lambda: self.state("sized-1") == "in_force")
        self.advisor.orders[owner] = {"kind": "hold"}
        generation = self.pod("sized-1")["metadata"]["generation"]
        let_a_moment_pass()
        self.check("order hold: nothing is written", self.pod("sized-1")["metadata"]["generation"] == generation)
        self.advisor.orders[owner] = {"kind": "restore"}
        self.eventually("order restore: exactly the original", lambda: self.requests("sized-1") == had)
        self.eventually("order restore: its record is removed", lambda: self.state("sized-1") is None)
        self.eventually("order restore: the report says that the request is restored", lambda: any(
            report["namespace"] == SPACE and report["workloads"].get(owner, {}).get("state") == "restored" for report in self.advisor.reports))
        self.advisor.orders[owner] = {"kind": "raise"}

    def rights(self):
        may = lambda who, method, path, body=None: who(method, path, body, "application/merge-patch+json" if method == "PATCH" else "application/json")[0]
        controller = self.admin.account("wattle", "wattle-controller")
        tries = {"the account may not change a pod": (self.account, "PATCH", f"{PODS}/web-1", {"metadata": {"labels": {"a": "b"}}}),
                 "the account may not delete a pod": (self.account, "DELETE", f"{PODS}/web-1", None),
                 "the account may not read Secrets": (self.account, "GET", f"/api/v1/namespaces/{SPACE}/secrets", None),
                 "the account may not read other ConfigMaps": (self.account, "GET", f"/api/v1/namespaces/{SPACE}/configmaps/other", None),
                 "the account may not read other namespaces": (self.account, "GET", "/api/v1/namespaces/default/pods", None),
                 "the account may not resize in other namespaces": (self.account, "PATCH", "/api/v1/namespaces/default/pods/x/resize", {}),
                 "the controller's account may not resize pods": (controller, "PATCH", f"{PODS}/web-1/resize", {}),
                 "the controller's account may not read ConfigMaps": (controller, "GET", f"/api/v1/namespaces/{SPACE}/configmaps/wattle-requests", None)}
        for claim, request in tries.items():
            status = may(*request)
            self.check(claim, status == 403, status)

    def each_right(self):
        """Tests that each permission of the Role is needed."""
        self.make("need-1", "need", {"cpu": "500m", "memory": "64Mi"})
        self.kubelet.sync()
        turn = [0]

        def by_hand():
            turn[0] += 1
            self.want("need", 0.6 + 0.1 * (turn[0] % 2), 64)
            done = self.house.wattle("provision", "set", "need", "--namespace", SPACE, "--from", self.advisor.url(), "--kubeconfig", self.kubeconfig,
                                     "-o", "json", check=False)
            self.kubelet.sync()
            said = done.stdout + done.stderr
            return "forbidden" in said or "does not allow" in said, done.returncode == 0 and "refused" not in done.stdout
        for number, rule in enumerate(self.role["rules"]):
            for verb in rule["verbs"]:
                replace(self.admin, without(self.role, number, "verbs", verb))
                self.eventually(f"without {verb} of {rule['resources']} no request is set, and the command reports it", lambda: by_hand() == (True, False))
                replace(self.admin, self.role)
                self.eventually("with it the request is set", lambda: by_hand() == (False, True))

    def killed(self):
        """Kills the command at any write; the original requests are recorded in each case."""
        chance = random.Random(1)
        for turn in range(KILLS):
            self.want("web", 0.5 + 0.1 * (turn % 9), 64 + turn)
            self.want("full", 0.1 + 0.01 * turn, 32 + turn)
            pace(chance.uniform(0.02, 1.2))
            self.house.kill("setter")
            self.start_setter()
            self.kubelet.sync()
        record = self.record()[0]
        self.check(f"after {KILLS} kills the originals are recorded",
                   (record["web-1"]["original"]["requests"], record["full-1"]["original"]["limits"])
                   == ({"cpu": "1", "memory": "512Mi"}, {"cpu": "500m", "memory": "64Mi"}), record)

    def restored(self):
        done = self.house.wattle("provision", "restore", "--namespace", SPACE, "--kubeconfig", self.kubeconfig, "-o", "json", check=False)
        reported = {one["pod"]: one["state"] for one in json.loads(done.stdout)["pods"]} if done.returncode == 0 else {}
        self.check("restore runs", done.returncode == 0 and reported.get("web-1") == "restored" and reported.get("full-1") == "restored", done.stdout + done.stderr)
        self.check("restore sets the original requests", (self.requests("web-1"), self.pod("full-1")["spec"]["containers"][0]["resources"]["limits"])
                   == ({"cpu": "1", "memory": "512Mi"}, {"cpu": "500m", "memory": "64Mi"}), (self.requests("web-1"), self.requests("full-1")))
        self.check("restore keeps a write of another client", self.requests("hand-1")["cpu"] == "700m" and reported.get("hand-1") == "kept", reported)
        self.want("web", 2, 600)
        let_a_moment_pass()
        self.house.alive("setter")
        self.check("a restored request is not set again", self.requests("web-1") == {"cpu": "1", "memory": "512Mi"}, self.requests("web-1"))
        self.check("the record of a restored pod is removed", not self.record()[0], self.record()[0])
        by_hand = ["provision", "set", "--namespace", SPACE, "--from", self.advisor.url(), "--kubeconfig", self.kubeconfig]
        dry = self.house.wattle(*by_hand, "--dry-run")
        self.check("a dry run prints the change and makes none", "cpu 2000m" in dry.stdout and self.requests("web-1")["cpu"] == "1", dry.stdout)
        self.house.wattle(*by_hand)
        self.check("the dry run's change can be made by hand", self.requests("web-1")["cpu"] == "2", self.requests("web-1"))
        self.advisor.level = "suggest"
        self.want("web", 2.5, 600)
        wait_until("at level suggest the command says that requests are not set", lambda: "is suggest, so requests are not set" in self.house.log("setter"), PATIENCE)
        self.check("at level suggest no request is set", self.requests("web-1")["cpu"] == "2")

    def documented(self):
        """Runs the page's commands with a configuration and a kubeconfig in a reader's place."""
        home = self.house.dir / "home"
        (home / ".kube").mkdir(parents=True)
        (home / ".kube/config").write_text(self.admin.kubeconfig("admin.kubeconfig").read_text(), encoding="utf-8")
        config = self.house.write("cli.yaml", f"server: tcp://127.0.0.1:{self.house.ask}\nkey: {self.house.dir}/operator.key\nserver_key: {self.house.dir}/controller.key.pub")
        around = os.environ | {"HOME": str(home), "PATH": f"{self.house.binaries}:{os.environ['PATH']}", "WATTLE_CONFIG": str(config)}

        def typed(text):
            done = subprocess.run(["bash", "-euc", text], env=around, capture_output=True, text=True, timeout=PATIENCE, check=False)
            return done.returncode, done.stdout + done.stderr
        skipped = '--force --why "the test has no hour"', "no mode has measured anything yet"
        walk = Walk(PAGE, typed, lambda *_: None, without={"helm upgrade": "the chart's objects are applied at the start of this test"},
                    instead={f"wattle provision mode {mode}": (f"wattle provision mode {mode} {skipped[0]}", skipped[1]) for mode in ("canary:10%", "live")})
        walk("Set the requests of running pods")
        self.check(f"{PAGE}: every command was run and succeeded ({walk.finish()} blocks)", True)


def run(binaries, version, claims):
    programs = assets.assets(version, ("etcd", "kube-apiserver"))
    theirs = rendering.charted("--set", f"requests.namespaces={{{SPACE}}}")
    with ControlPlane(programs) as plane:
        admin = Server(plane)
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for kinds in (("Namespace",), ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap", "Deployment")):
            for thing in (o for o in theirs if o["kind"] in kinds):
                code, said, _ = admin.apply(thing, False)
                if code not in (200, 201):
                    claims.check(f"the chart's {thing['kind']} {thing['metadata']['name']} is accepted", False, said[:300])
        with House(binaries, mode="off", controller_extra=f"""
            provisioning: {{level: requests}}
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {plane.dir}/controller.token}}
            """) as house:
            (plane.dir / "controller.token").write_text(admin.account("wattle", "wattle-controller").token)
            plane.add_node(house.node)
            house.start_controller()
            house.start_agent()
            wait_until("the agent has connected", house.connected, PATIENCE)
            scenario = Scenario(house, plane, admin, next(o for o in theirs if o["kind"] == "Role" and o["metadata"]["namespace"] == SPACE), claims)
            scenario.start_setter()
            for part in (scenario.up_and_down, scenario.deferred, scenario.infeasible, scenario.classes, scenario.ordered, scenario.others, scenario.scaled, scenario.rights, scenario.each_right,
                         scenario.killed, scenario.restored, scenario.documented):
                part()


def main(what, run_claims):
    """Runs the claims of one test. `what`: its name in the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    claims = Claims()
    try:
        run_claims(options.binaries.resolve(), options.version, claims)
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    print(f"{what}: every claim holds" if claims.failed == 0 else f"{what}: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main("resize", run))
