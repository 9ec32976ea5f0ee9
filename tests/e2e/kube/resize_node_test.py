#!/usr/bin/env python3
"""Level `requests` on a real kubelet: what running pods request is set through pods/resize, and what the node makes of it, by its cgroups.

Real     resize_test.py's, on a control plane that a node can join; a QEMU machine with a stock Debian kernel, containerd and a kubelet
Played   the rule's figures (resize/advisor.py); the age of pods: they are bound with a start an hour ago, because one is not lowered before it
         has run for half an hour; the node's agent, which runs beside the control plane: what pods used is not looked at

Usage    resize_node_test.py FOLDER-OF-BINARIES
Needs    root; scripts/setup --long; Go, or KUBEBUILDER_ASSETS with a kubelet too
Time     250 s emulated beside other work, with everything in the cache, 10 minutes with nothing there but the programs
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import argparse
import datetime
import fcntl
import pathlib
import shutil
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "node"), str(HERE / "resize"), str(HERE.parent), str(HERE.parent / "docs"), str(HERE.parent / "images")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import images  # noqa: E402
import rendering  # noqa: E402
import resize_test  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, House, HouseError, wait_until  # noqa: E402
from node_plane import NodePlane  # noqa: E402
from patience import AGES_S, MOMENT_S, let_a_moment_pass  # noqa: E402
from rbac_test import Server  # noqa: E402
from real_node import NAME, PAUSE, RealNode, prepared  # noqa: E402
from registry import Registry  # noqa: E402
from resize_test import PODS, SPACE, VPA_DEFINITION, VPAS  # noqa: E402

PATIENCE = AGES_S  # emulated, and perhaps beside compilers
PROGRAMS = ("etcd", "kube-apiserver", "kubelet")
MACHINE = "resizes"  # of prepared()


def image_layout():
    """One image: what holds a pod's namespaces is what sleeps in its container, too."""
    cache = images.storage()
    with images.Buildah(cache) as buildah:
        buildah.commit("pause", buildah.base(), entrypoint='["/usr/bin/sleep","infinity"]')
        buildah.layout({"pause": PAUSE}, cache / "layout-resizes")
    return cache / "layout-resizes"


class Nobody:
    """In place of resize/kubelet.py: a real one is there."""

    def sync(self):
        pass


class OnRealNode(resize_test.Scenario):
    def __init__(self, house, plane, admin, role, claims, node):  # pylint: disable=too-many-arguments
        super().__init__(house, plane, admin, role, claims)
        self.kubelet, self.node = Nobody(), node

    def eventually(self, claim, condition):
        def look():
            self.house.alive("setter")
            self.node.alive()
            return condition()
        begun = time.monotonic()
        try:
            wait_until(claim, look, PATIENCE)
        except HouseError as error:
            self.check(claim, False, f"{error}\n{self.node.why()}")
            raise
        self.check(claim, True)
        return time.monotonic() - begun

    def make(self, name, owner, requests=None, limits=None, **annotations):
        """Bound once it has an age: a kubelet keeps the start that it finds."""
        resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
        self.plane.call("POST", PODS, {
            "metadata": {"name": name, "labels": {"pod-template-hash": "5d9"}, "annotations": {f"wattle.dev/{k}": v for k, v in annotations.items()},
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{owner}-5d9", "controller": True,
                                              "uid": "00000000-0000-4000-8000-000000000001"}]},
            "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, "hostNetwork": True,
                     "containers": [{"name": "main", "image": PAUSE, "imagePullPolicy": "IfNotPresent", "resources": resources}]}})
        begun = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
        self.plane.call("PATCH", f"{PODS}/{name}/status", {"status": {"startTime": begun.strftime("%Y-%m-%dT%H:%M:%SZ")}})
        self.plane.call("POST", f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": NAME}})
        self.eventually(f"{name} runs", lambda: self.pod(name)["status"]["phase"] == "Running")

    # ---- what the node has

    def container(self, name):
        return self.pod(name)["status"]["containerStatuses"][0]

    def cgroup(self, name, file):
        """Of the container, in the machine."""
        identity = self.container(name)["containerID"].rpartition("/")[2]
        folder = self.node.run("find", "/sys/fs/cgroup/kubepods.slice", "-name", f"cri-containerd-{identity}.scope").strip()
        return self.node.run("cat", f"{folder}/{file}").strip()

    def told_by_cli(self, owner):
        return self.why(owner, "--kubeconfig", self.kubeconfig)

    def allocated(self, name):
        return self.container(name).get("allocatedResources", {})

    # ---- what is claimed

    def up(self):
        self.make("web-1", "web", {"cpu": "500m", "memory": "128Mi"}, shrink="allowed")
        before, weight = self.container("web-1"), int(self.cgroup("web-1", "cpu.weight"))
        self.want("web", 1, 256)
        took = self.eventually("up: in force, the kubelet says", lambda: self.state("web-1") == "in_force" and self.allocated("web-1") == {"cpu": "1", "memory": "256Mi"})
        after, raised = self.container("web-1"), int(self.cgroup("web-1", "cpu.weight"))
        print(f"     up after {took:.1f} s; cpu.weight of the container {weight} -> {raised}")
        self.check("its cgroup has more weight", raised > weight, (weight, raised))
        self.check("the container goes on: the same one, not restarted", (after["containerID"], after["restartCount"]) == (before["containerID"], 0), (before, after))
        self.eventually("freed or taken, the scheduler's view has it", lambda: abs(self.held_cores() - 1) < 1e-6)
        self.eventually("the controller tells it was set", lambda: self.told("web")["resizes"]["set"] == 1)
        print(f"     why: {self.told_by_cli('web')}")

    def down(self):
        weight = int(self.cgroup("web-1", "cpu.weight"))
        self.want("web", 0.25, 64)
        took = self.eventually("down, below the original with leave: in force, the kubelet says",
                               lambda: self.state("web-1") == "in_force" and self.allocated("web-1") == {"cpu": "250m", "memory": "64Mi"})
        self.eventually("freed cores reach the planner's view", lambda: abs(self.held_cores() - 0.25) < 1e-6)
        lowered = int(self.cgroup("web-1", "cpu.weight"))
        print(f"     down after {took:.1f} s; cpu.weight of the container {weight} -> {lowered}")
        self.check("its cgroup has less weight, and it was not restarted", lowered < weight and self.container("web-1")["restartCount"] == 0, (weight, lowered))

    def guaranteed(self):
        self.make("full-1", "full", {"cpu": "200m", "memory": "128Mi"}, {"cpu": "200m", "memory": "128Mi"}, shrink="allowed")
        files = {file: self.cgroup("full-1", file) for file in ("cpu.max", "memory.max")}
        self.want("full", 0.1, 64)
        self.eventually("of Guaranteed the limit goes along, and the kubelet has done it", lambda: self.state("full-1") == "in_force"
                        and self.container("full-1").get("resources", {}).get("limits") == {"cpu": "100m", "memory": "64Mi"})
        lowered = {file: self.cgroup("full-1", file) for file in files}
        print(f"     {files} -> {lowered}")
        self.check("in the kernel, too", (lowered["cpu.max"].split()[0], lowered["memory.max"]) == ("10000", str(64 << 20)), lowered)
        self.check("class and container stay", self.pod("full-1")["status"]["qosClass"] == "Guaranteed" and self.container("full-1")["restartCount"] == 0)

    def deferred(self):
        self.make("big-1", "big", {"cpu": "1500m", "memory": "64Mi"})
        self.want("web", 1, 64)
        self.eventually("Deferred: told and waited for", lambda: self.state("web-1") == "deferred")
        text = self.told_by_cli("web")
        print(f"     why: {text}")
        self.check("why has it in the kubelet's words", "The node has no room now (Deferred)" in text and "cpu" in text, text)
        self.eventually("and the controller's", lambda: "waiting for room on the node (Deferred)" in self.why("web"))
        self.check("the kubelet has what it had", self.allocated("web-1")["cpu"] == "250m", self.allocated("web-1"))
        self.plane.call("DELETE", f"{PODS}/big-1", {"gracePeriodSeconds": 0})
        took = self.eventually("when room is made it is in force, without another write", lambda: self.state("web-1") == "in_force" and self.allocated("web-1")["cpu"] == "1")
        print(f"     in force {took:.1f} s after the other pod was deleted")

    def infeasible(self):
        self.want("web", 64, 64)
        self.eventually("Infeasible: what the node can never give is taken back", lambda: self.state("web-1") == "infeasible" and self.requests("web-1")["cpu"] == "1")
        text = self.told_by_cli("web")
        print(f"     why: {text}")
        self.check("why says so, in the kubelet's words", "can never provide these requests (Infeasible)" in text and "capacity" in text, text)
        generation = self.pod("web-1")["metadata"]["generation"]
        let_a_moment_pass(5 * MOMENT_S)
        self.check("it is not asked for again", self.pod("web-1")["metadata"]["generation"] == generation)
        self.want("web", 1.2, 64)
        self.eventually("less is, and is given", lambda: self.state("web-1") == "in_force" and self.allocated("web-1")["cpu"] == "1200m")

    def refused(self):
        self.make("tight-1", "tight", {"cpu": "100m", "memory": "64Mi"}, {"cpu": "200m", "memory": "64Mi"})
        self.want("tight", 2, 64)
        self.eventually("a change of QoS class is refused by the API server, and told", lambda: self.state("tight-1") == "refused")
        text = self.told_by_cli("tight")
        print(f"     why: {text}")
        self.check("why has it in its words", "QOS Class may not change" in text, text)
        self.check("and does not say that it was set", "was set to" not in text, text)
        self.check("nothing changed", self.requests("tight-1")["cpu"] == "100m" and self.allocated("tight-1")["cpu"] == "100m")

    def beside_vpa(self):
        self.plane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", VPA_DEFINITION)
        vpa = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web-vpa"},
               "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Auto"}}}
        wait_until("the API server knows the autoscaler", lambda: self.plane.raw("POST", VPAS, vpa)[0] == 201, PATIENCE)
        self.eventually("a VerticalPodAutoscaler beside it has the say", lambda: self.state("web-1") == "refused")
        text = self.told_by_cli("web")
        print(f"     why: {text}")
        self.check("why names it", "VerticalPodAutoscaler web-vpa controls the pod" in text, text)
        generation = self.pod("web-1")["metadata"]["generation"]
        self.want("web", 0.5, 64)
        let_a_moment_pass(5 * MOMENT_S)
        self.check("nothing is set there", self.pod("web-1")["metadata"]["generation"] == generation and self.allocated("web-1")["cpu"] == "1200m")

    def restored(self):
        done = self.house.wattle("provision", "restore", "--namespace", SPACE, "--kubeconfig", self.kubeconfig)
        print("     " + done.stdout.strip().replace("\n", "\n     "))
        self.eventually("restored: the kubelet has what there was", lambda: self.allocated("web-1") == {"cpu": "500m", "memory": "128Mi"}
                        and self.container("full-1").get("resources", {}).get("limits") == {"cpu": "200m", "memory": "128Mi"})
        self.check("no container was restarted in all of this", all(self.container(name)["restartCount"] == 0 for name in ("web-1", "full-1", "tight-1")))


def run_on(registry, binaries, programs, claims):
    theirs = rendering.charted("--set", f"requests.namespaces={{{SPACE}}}")
    with NodePlane(programs) as plane:
        admin = Server(plane)
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        plane.call("POST", f"/api/v1/namespaces/{SPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        for kinds in (("Namespace",), ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap")):
            for thing in (o for o in theirs if o["kind"] in kinds):
                code, said, _ = admin.apply(thing, False)
                if code not in (200, 201):
                    claims.check(f"the chart's {thing['kind']} {thing['metadata']['name']} is taken", False, said[:300])
        with RealNode(plane, programs, registry, runs=("kubelet",), name=MACHINE) as node, House(binaries, mode="off", node=NAME, controller_extra=f"""
            provisioning: {{level: requests}}
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {plane.dir}/controller.token}}
            """) as house:
            (plane.dir / "controller.token").write_text(admin.account("wattle", "wattle-controller").token)
            wait_until("the kubelet joins and its node is ready", lambda: node.alive() and plane.nodes_ready(1, 5), PATIENCE)
            found, = plane.nodes()
            told = found["status"]["nodeInfo"]
            print(f"     {told['kubeletVersion']}, {told['containerRuntimeVersion']}, {told['kernelVersion']}, {found['status']['allocatable']['cpu']} CPUs")
            house.start_controller()
            house.start_agent()
            wait_until("its agent is connected", house.connected, PATIENCE)
            scenario = OnRealNode(house, plane, admin, next(o for o in theirs if o["kind"] == "Role" and o["metadata"]["namespace"] == SPACE), claims, node)
            scenario.start_setter()
            for part in (scenario.up, scenario.down, scenario.guaranteed, scenario.deferred, scenario.infeasible, scenario.refused, scenario.beside_vpa,
                         scenario.restored):
                part()
            house.kill("setter")  # before the controller that it asks


def run(binaries, programs):
    """One at a time: the images, the root made of them and the registry are one set."""
    claims, begun = Claims(), time.monotonic()

    def told(what):
        print(f"     {time.monotonic() - begun:.0f} s: {what}", flush=True)
    with open(images.storage() / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with Registry(image_layout()) as registry:
                prepared(registry, MACHINE)
                told("the machine's root has the image")
                run_on(registry, binaries, programs, claims)
        except (HouseError, OSError, images.ImageError) as error:
            claims.check("it ran to its end", False, str(error)[:3000])
        told("the end")
    print("resize on a node: every claim holds" if claims.failed == 0 else f"resize on a node: {claims.failed} claims failed")
    return 1 if claims.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # by way of the `with` blocks
    lacking = [tool for tool in ("qemu-system-x86_64", "mke2fs", "setpriv") if shutil.which(tool) is None]
    missing = images.missing_tools() or (f"{', '.join(lacking)} missing (scripts/setup --long installs them)" if lacking else "")
    try:
        programs = assets.assets(assets.VERSION, PROGRAMS) if not missing else None
        assets.helm() if not missing else None  # pylint: disable=expression-not-assigned
    except assets.Missing as reason:
        missing = reason
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return run(options.binaries.resolve(), programs)


if __name__ == "__main__":
    sys.exit(main())
