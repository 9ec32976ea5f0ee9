"""resizes: level `requests` on a real kubelet: the requests of running pods are set through pods/resize, and the
container's cgroup follows.

Real     the node's kubelet, containerd and cgroups, the API server, the chart's Role and account, `wattle provision set`
Fake     the rule's figures (resize/advisor.py); the age of pods, which are bound with a start an hour ago, because a pod
         is not lowered in its first half hour; the agent and the controller, which run beside the cluster
"""
import datetime
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "kube"), str(HERE.parent / "kube/resize"), str(HERE.parent / "docs")]
import guard  # noqa: E402
import rendering  # noqa: E402
import resize_test  # noqa: E402
from house import House, HouseError, wait_until  # noqa: E402
from objects import milli  # noqa: E402
from patience import AGES_S, MOMENT_S, let_a_moment_pass  # noqa: E402
from rbac_test import Server  # noqa: E402
from real_cluster import TOOLS  # noqa: E402
from resize_test import PODS, SPACE, VPA_DEFINITION, VPAS  # noqa: E402

DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"


class NoKubelet:
    """The real kubelet, in the place of resize_test's simulated one."""

    def sync(self):
        pass


class OnRealNode(resize_test.Scenario):
    def __init__(self, house, cluster, admin, claims):
        super().__init__(house, cluster.plane, admin, None, claims)
        self.real_names = {}
        self.kubelet, self.cluster = NoKubelet(), cluster
        self.base_cores = self.held_cores()

    def eventually(self, claim, condition):
        def look():
            self.house.alive("setter")
            return condition()
        begun = time.monotonic()
        try:
            wait_until(claim, look, AGES_S)
        except HouseError as error:
            self.check(claim, False, error)
            raise
        self.check(claim, True)
        return time.monotonic() - begun

    def make(self, name, owner, requests=None, limits=None, **annotations):
        """Creates a Deployment with one pod, and binds it with an old start time, which the kubelet keeps."""
        resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
        labels = {"app": owner}
        self.plane.call("POST", DEPLOYMENTS, {"metadata": {"name": owner}, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels, "annotations": {f"wattle.dev/{key}": value for key, value in annotations.items()}},
            "spec": {"schedulerName": "by-hand", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": TOOLS, "imagePullPolicy": "Never", "resources": resources}]}}}})
        self.real_names[name] = wait_until(f"{owner} has a pod", lambda: self.plane.call("GET", f"{PODS}?labelSelector=app%3D{owner}")["items"])[0]["metadata"]["name"]
        path = f"{PODS}/{self.real_names[name]}"
        begun = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
        self.plane.call("PATCH", f"{path}/status", {"status": {"startTime": begun.strftime("%Y-%m-%dT%H:%M:%SZ")}})
        self.plane.call("POST", f"{path}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": self.real_names[name]},
                                                    "target": {"kind": "Node", "name": self.house.node}})
        self.eventually(f"{name} runs", lambda: self.pod(name)["status"]["phase"] == "Running")

    def pod(self, name):
        return super().pod(self.real_names[name])

    def state(self, name):
        return super().state(self.real_names[name])

    # ---- state of the node

    def container(self, name):
        return self.pod(name)["status"]["containerStatuses"][0]

    def cgroup(self, name, controller, old, new):
        """Reads a file of the container's cgroup: `old` in cgroup v1, `new` in v2."""
        identity = self.container(name)["containerID"].rpartition("/")[2]
        found = [each for each in guard.hierarchies() if controller in each.options.split(",")] or [each for each in guard.hierarchies() if each.kind == "cgroup2"]
        folder = next((found[0].point / f"{guard.PREFIX}{self.cluster.identity}" / self.house.node).rglob(identity))
        return (folder / (old if found[0].kind == "cgroup" else new)).read_text(encoding="utf-8").split()[0]

    def weight(self, name):
        return int(self.cgroup(name, "cpu", "cpu.shares", "cpu.weight"))

    def own_cores(self):
        """Returns the cores in the planner's view of the node beyond those of earlier pods."""
        return self.held_cores() - self.base_cores

    def why_of_cli(self, owner):
        return self.why(owner, "--kubeconfig", self.kubeconfig)

    def allocated(self, name):
        return self.container(name).get("allocatedResources", {})

    # ---- claims

    def up(self):
        self.make("web-1", "web", {"cpu": "500m", "memory": "128Mi"}, shrink="allowed")
        before, weight = self.container("web-1"), self.weight("web-1")
        self.want("web", 1, 256)
        took = self.eventually("up: the kubelet reports the new request as in force", lambda: self.state("web-1") == "in_force" and self.allocated("web-1") == {"cpu": "1", "memory": "256Mi"})
        after, raised = self.container("web-1"), self.weight("web-1")
        print(f"     up after {took:.1f} s; CPU weight of the container {weight} -> {raised}")
        self.check("up: the cgroup has more weight", raised > weight, (weight, raised))
        self.check("up: the container is the same and was not restarted", (after["containerID"], after["restartCount"]) == (before["containerID"], 0), (before, after))
        self.eventually("up: the planner's view has the new request", lambda: abs(self.own_cores() - 1) < 1e-6)
        self.eventually("up: the controller reports the new request", lambda: self.reported("web")["resizes"]["set"] == 1)
        print(f"     why: {self.why_of_cli('web')}")

    def down(self):
        weight = self.weight("web-1")
        self.want("web", 0.25, 64)
        took = self.eventually("down, below the original with permission: the kubelet reports the new request as in force",
                               lambda: self.state("web-1") == "in_force" and self.allocated("web-1") == {"cpu": "250m", "memory": "64Mi"})
        self.eventually("down: freed cores are in the planner's view", lambda: abs(self.own_cores() - 0.25) < 1e-6)
        lowered = self.weight("web-1")
        print(f"     down after {took:.1f} s; CPU weight of the container {weight} -> {lowered}")
        self.check("down: the cgroup has less weight, and the container was not restarted", lowered < weight and self.container("web-1")["restartCount"] == 0, (weight, lowered))

    def guaranteed(self):
        self.make("full-1", "full", {"cpu": "200m", "memory": "128Mi"}, {"cpu": "200m", "memory": "128Mi"}, shrink="allowed")
        def limits():
            return self.cgroup("full-1", "cpu", "cpu.cfs_quota_us", "cpu.max"), self.cgroup("full-1", "memory", "memory.limit_in_bytes", "memory.max")
        before = limits()
        self.want("full", 0.1, 64)
        self.eventually("Guaranteed: the limit changes with the request, and the kubelet applies it", lambda: self.state("full-1") == "in_force"
                        and self.container("full-1").get("resources", {}).get("limits") == {"cpu": "100m", "memory": "64Mi"})
        print(f"     CPU quota and memory limit: {before} -> {limits()}")
        self.check("Guaranteed: the kernel has the new limits", limits() == ("10000", str(64 << 20)), limits())
        self.check("Guaranteed: QoS class and container stay", self.pod("full-1")["status"]["qosClass"] == "Guaranteed" and self.container("full-1")["restartCount"] == 0)

    def deferred(self):
        allocatable = next(node for node in self.plane.nodes() if node["metadata"]["name"] == self.house.node)["status"]["allocatable"]["cpu"]
        self.make("big-1", "big", {"cpu": f"{milli(allocatable) - 500}m", "memory": "64Mi"})
        self.want("web", 1, 64)
        self.eventually("Deferred: the resize is reported and awaited", lambda: self.state("web-1") == "deferred")
        text = self.why_of_cli("web")
        print(f"     why: {text}")
        self.check("Deferred: why has the kubelet's message", "The node has no room now (Deferred)" in text and "cpu" in text, text)
        self.eventually("Deferred: why has the controller's message", lambda: "waiting for room on the node (Deferred)" in self.why("web"))
        self.check("Deferred: the kubelet keeps the old requests", self.allocated("web-1")["cpu"] == "250m", self.allocated("web-1"))
        self.plane.call("DELETE", f"{DEPLOYMENTS}/big")
        took = self.eventually("Deferred: the resize takes effect when the node has capacity, without another write", lambda: self.state("web-1") == "in_force" and self.allocated("web-1")["cpu"] == "1")
        print(f"     in force {took:.1f} s after the other pod was deleted")

    def infeasible(self):
        self.want("web", 64, 64)
        self.eventually("Infeasible: a resize beyond the node's capacity is reverted", lambda: self.state("web-1") == "infeasible" and self.requests("web-1")["cpu"] == "1")
        text = self.why_of_cli("web")
        print(f"     why: {text}")
        self.check("Infeasible: why has the kubelet's message", "can never provide these requests (Infeasible)" in text and "capacity" in text, text)
        generation = self.pod("web-1")["metadata"]["generation"]
        let_a_moment_pass(5 * MOMENT_S)
        self.check("Infeasible: it is not requested again", self.pod("web-1")["metadata"]["generation"] == generation)
        self.want("web", 1.2, 64)
        self.eventually("a smaller resize is requested and takes effect", lambda: self.state("web-1") == "in_force" and self.allocated("web-1")["cpu"] == "1200m")

    def refused(self):
        self.make("tight-1", "tight", {"cpu": "100m", "memory": "64Mi"}, {"cpu": "200m", "memory": "64Mi"})
        self.want("tight", 2, 64)
        self.eventually("a change of QoS class is refused by the API server, and reported", lambda: self.state("tight-1") == "refused")
        text = self.why_of_cli("tight")
        print(f"     why: {text}")
        self.check("why has the API server's message", "QOS Class may not change" in text, text)
        self.check("why does not say that the request was set", "was set to" not in text, text)
        self.check("a refused resize changes no request", self.requests("tight-1")["cpu"] == "100m" and self.allocated("tight-1")["cpu"] == "100m")

    def beside_vpa(self):
        self.plane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", VPA_DEFINITION)
        vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web-vpa"},
               "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Auto"}}}
        wait_until("the API server serves the autoscaler", lambda: self.plane.raw("POST", VPAS, vpa)[0] == 201)
        self.eventually("a VerticalPodAutoscaler takes precedence", lambda: self.state("web-1") == "refused")
        text = self.why_of_cli("web")
        print(f"     why: {text}")
        self.check("why names the VerticalPodAutoscaler", "VerticalPodAutoscaler web-vpa controls the pod" in text, text)
        generation = self.pod("web-1")["metadata"]["generation"]
        self.want("web", 0.5, 64)
        let_a_moment_pass(5 * MOMENT_S)
        self.check("no request is set beside a VerticalPodAutoscaler", self.pod("web-1")["metadata"]["generation"] == generation and self.allocated("web-1")["cpu"] == "1200m")

    def restored(self):
        done = self.house.wattle("provision", "restore", "--namespace", SPACE, "--kubeconfig", self.kubeconfig)
        print("     " + done.stdout.strip().replace("\n", "\n     "))
        self.eventually("restore: the kubelet has the original requests", lambda: self.allocated("web-1") == {"cpu": "500m", "memory": "128Mi"}
                        and self.container("full-1").get("resources", {}).get("limits") == {"cpu": "200m", "memory": "128Mi"})
        self.check("no container was restarted", all(self.container(name)["restartCount"] == 0 for name in ("web-1", "full-1", "tight-1")))


def check(claims, cluster):
    theirs = rendering.charted("--set", f"requests.namespaces={{{SPACE}}}")
    plane, admin = cluster.plane, Server(cluster.plane)
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    refused = [said[:300] for thing in theirs if thing["metadata"]["name"] == "wattle-requests" and thing["kind"] != "Deployment"
               for code, said, _ in [admin.apply(thing, False)] if code not in (200, 201)]
    claims.check("the chart's Role, account and record of requests are accepted", not refused, refused)
    (plane.dir / "controller.token").write_text(admin.account("wattle", "wattle-controller").token, encoding="utf-8")
    with cluster.drained() as node, House(cluster.binaries, mode="off", node=node, controller_extra=f"""
            provisioning: {{level: requests}}
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {plane.dir}/controller.token}}
            """) as house:
        house.start_controller()
        house.start_agent()
        wait_until("the agent beside the cluster is connected", house.connected)
        scenario = OnRealNode(house, cluster, admin, claims)
        scenario.start_setter()
        for part in (scenario.up, scenario.down, scenario.guaranteed, scenario.deferred, scenario.infeasible, scenario.refused, scenario.beside_vpa,
                     scenario.restored):
            part()
        house.kill("setter")  # ends before the controller that it asks
    plane.call("DELETE", f"/api/v1/namespaces/{SPACE}")
