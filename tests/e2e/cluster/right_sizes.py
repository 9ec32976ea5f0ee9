"""right_sizes: lowers requests by measurement on a real kubelet: a canary of owners, then all; a throttled workload
gets its original request back.

Real     the node's kubelet, containerd and cgroups, throttling by the kernel, the API server, the chart's Role and
         account, `wattle provision set --follow`, the controller's decision
Fake     18 hours of low use before the test (sizing_history), the age of pods, the agent and the controller, which run
         beside the cluster
"""
import json
import re
import subprocess
import time

import assets
import rendering
from house import House, wait_until
from patience import AGES_S
from rbac_test import Server
from resizes import DEPLOYMENTS, OnRealNode
from resize_test import SPACE

OWNERS = ("web", "api")
SIZE = {"cpu": "200m", "memory": "128Mi"}
BUSY_S = 600


class Ladder(OnRealNode):
    def start_setter(self):
        self.house.start("setter", self.house.binary("wattle"), "provision", "set", "--follow", "--every", "1", "--from", self.house.api(),
                         "--namespace", SPACE, "--kubeconfig", self.kubeconfig)

    def mode(self, *words):
        return self.house.cli("provision", "mode", *words, key="operator")

    def sizing(self, owner):
        return self.reported(owner)["sizing"]

    def lowered(self):
        return [owner for owner in OWNERS if self.allocated(f"{owner}-1") not in (SIZE, {})]

    def quota(self, owner):
        return int(self.cgroup(f"{owner}-1", "cpu", "cpu.cfs_quota_us", "cpu.max"))

    def audit(self):
        return [f"{each['what']}: {each['why']}" for each in json.loads(self.house.cli("policy", "get", "-o", "json").stdout)["changes"]]

    def busy(self, owner):
        """Runs a load that uses more CPU time than the lowered limit allows, and less than the original one."""
        return subprocess.Popen([assets.kubectl(), "--namespace", SPACE, "exec", self.real_names[f"{owner}-1"], "--",
                                 "stress-ng", "--cpu", "1", "--cpu-load", "18", "--timeout", f"{BUSY_S}s"],
                                env=self.cluster.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def canary(self):
        full = self.quota("web")
        self.mode("canary:95%")
        took = self.eventually("canary: the kubelet reports lowered requests of one owner", lambda: len(self.lowered()) == 1)
        owner = self.lowered()[0]
        self.eventually("canary: the kernel has the lowered quota", lambda: self.quota(owner) < full)
        print(f"     canary: {owner} after {took:.0f} s: {SIZE} -> {self.allocated(f'{owner}-1')}, CPU quota {full} -> {self.quota(owner)} us")
        self.check("canary: the container keeps running", self.container(f"{owner}-1")["restartCount"] == 0)
        self.check("canary: one owner at a time", len(self.lowered()) == 1, self.lowered())
        return owner

    def live(self):
        self.mode("live", "--force", "--why", "the test cannot wait half an hour")
        self.eventually("live: the requests of all owners are lowered by one step of a quarter", lambda: sorted(self.lowered()) == sorted(OWNERS)
                        and all(self.allocated(f"{owner}-1")["cpu"] == "150m" for owner in OWNERS))

    def rolled_back(self, owner, other):
        busy = self.busy(owner)
        try:
            begun = time.monotonic()
            self.eventually("the kubelet reports the restored request of a throttled workload", lambda: self.allocated(f"{owner}-1") == SIZE)
            print(f"     rolled back {time.monotonic() - begun:.0f} s after its load began")
            self.eventually("the kernel has the restored quota", lambda: self.quota(owner) > self.quota(other))
            self.check("the other owner keeps its lower request", self.lowered() == [other], self.lowered())
            sizing = self.sizing(owner)
            self.check("the document has the cause", re.search("were throttled|waited for CPU", str(sizing)), sizing)
            audit = "\n".join(self.audit())
            for step in ("mode shadow -> canary:95%", "mode canary:95% -> live", f"Deployment/{owner}: requests are lowered",
                         f"Deployment/{owner}: the original requests are restored: pods (were throttled|waited for CPU)"):
                self.check(f"the audit has: {step}", re.search(step, audit), audit[-1500:])
            self.check("the alarm line reports the rollback", any("rolled back" in str(alarm) for alarm in self.house.query("status")["alarms"]), self.house.query("status")["alarms"])
        finally:
            busy.kill()
            busy.wait()

    def off(self):
        self.mode("off")
        self.eventually("off: all owners have their original requests", lambda: not self.lowered())
        self.check("no container was restarted", all(self.container(f"{owner}-1")["restartCount"] == 0 for owner in OWNERS))


def check(claims, cluster):
    plane, admin = cluster.plane, Server(cluster.plane)
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    refused = [said[:300] for thing in rendering.charted("--set", f"requests.namespaces={{{SPACE}}}")
               if thing["metadata"]["name"] == "wattle-requests" and thing["kind"] != "Deployment"
               for code, said, _ in [admin.apply(thing, False)] if code not in (200, 201)]
    claims.check("the chart's Role, account and record of requests are accepted", not refused, refused)
    (plane.dir / "controller.token").write_text(admin.account("wattle", "wattle-controller").token, encoding="utf-8")
    with cluster.drained() as node, House(cluster.binaries, mode="off", node=node, controller_extra=f"""
            provisioning: {{level: requests}}
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {plane.dir}/controller.token}}
            """) as house:
        house.write("controller.yaml", (house.dir / "controller.yaml").read_text(encoding="utf-8") + f"store: {{path: {house.dir}/controller/store.db}}\n")
        house.run(str(house.binary("sizing_history")), str(house.dir / "controller"), *[f"Deployment/{owner}" for owner in OWNERS], timeout=AGES_S)
        house.start_controller()
        house.start_agent()
        wait_until("the agent beside the cluster is connected", house.connected)
        scenario = Ladder(house, cluster, admin, claims)
        scenario.start_setter()
        for owner in OWNERS:
            scenario.make(f"{owner}-1", owner, SIZE, SIZE, shrink="allowed")
        owner = scenario.canary()
        scenario.live()
        scenario.rolled_back(owner, next(each for each in OWNERS if each != owner))
        scenario.off()
        house.kill("setter")  # ends before the controller that it asks
    for owner in OWNERS:
        plane.call("DELETE", f"{DEPLOYMENTS}/{owner}")
    plane.call("DELETE", f"/api/v1/namespaces/{SPACE}")
