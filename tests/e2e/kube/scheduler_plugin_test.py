#!/usr/bin/env python3
"""scheduler_plugin_test: Wattle's plugin in a real kube-scheduler, on more KWOK nodes than it lets kube-scheduler
examine.

The same pods get the same nodes through the extender and through the plugin. A pod that fits only on a node that the
plugin did not name is bound by the next attempt, without preemption. Preemption, pods of a node, and pods that no node
can take work as without the plugin. A hung shim costs three timeouts, and a restarted one is used again.

Usage    scheduler_plugin_test.py FOLDER-OF-BINARIES [--version V]
Skips    (77) if the control plane's programs can neither be found nor built, with the reason
"""
import argparse
import pathlib
import re
import signal
import ssl
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, wait_until  # noqa: E402
from kube_house import PATIENCE, KubeHouse  # noqa: E402

NODES, MOST = 90, 50
PAIRS = 12
BLOCKS = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "shy"}}}]}}}


class Scenario:
    def __init__(self, house, claims):
        self.house, self.plane, self.check = house, house.plane, claims.check

    def bound(self, names):
        def where():
            found = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in self.plane.pods()}
            return {name: found[name] for name in names} if all(found.get(name) for name in names) else None
        return wait_until(f"{len(names)} pods are bound", where, PATIENCE)

    def place(self, name, **more):
        self.plane.add_pod(name, **({"scheduler": "plugin"} | more))
        return self.bound([name])[name]

    def clear(self):
        for pod in self.plane.pods():
            self.plane.delete_pod(pod["metadata"]["name"])
        wait_until("nothing is requested", lambda: not self.plane.pods() and self.house.requested_cores() == 0, PATIENCE)

    def failed_attempts(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with urllib.request.urlopen(f"https://127.0.0.1:{self.port}/metrics", context=context) as answer:
            return sum(float(value) for value in re.findall(r'^scheduler_schedule_attempts_total\{.*result="unschedulable"\} (\S+)$', answer.read().decode(), re.MULTILINE))

    def asked(self, verb):
        return self.metric_of_shim(rf'^wattle_shim_requests_total\{{code="200",verb="{verb}"\}}')

    def metric_of_shim(self, pattern):
        with urllib.request.urlopen(f"{self.house.shim()}/metrics") as answer:
            return sum(float(value) for value in re.findall(pattern + r" (\S+)$", answer.read().decode(), re.MULTILINE))

    # ---- claims

    def same_nodes(self):
        """Places one pod at a time, so that both see the same cluster, by a policy without a plan, which each decision
        would change."""
        differ = []
        for i in range(PAIRS):
            size = {"cpu": ("100m", "500m", "2")[i % 3], "memory": "64Mi"}
            pair = []
            for scheduler in ("extender", "plugin") if i % 2 == 0 else ("plugin", "extender"):
                name = f"{scheduler}-{i}"
                node = self.place(name, scheduler=scheduler, **size)
                decision = wait_until("the pod has a decision", lambda n=name: self.house.decision(f"default/{n}"), PATIENCE)
                pair.append((scheduler, node, decision["advice"], len(decision["candidates"])))
                self.plane.delete_pod(name)
                wait_until("nothing is requested", lambda: self.house.requested_cores() == 0, PATIENCE)
            if pair[0][1] != pair[1][1]:
                differ.append(pair)
        self.check(f"{PAIRS} pods get the same nodes through the extender and the plugin", not differ, differ)
        counts = {scheduler: candidates for scheduler, _, _, candidates in pair}
        self.check(f"the plugin's decisions have {MOST} candidates, and the extender's {NODES}", counts == {"extender": NODES, "plugin": MOST}, counts)

    def only_outside(self):
        """Uses anti-affinity of other pods, which the plugin does not check: all nodes but one refuse the pod."""
        names = [node["metadata"]["name"] for node in self.plane.nodes()]
        free = names[::15]
        for name in names:
            self.plane.add_pod(f"blocks-{name}", cpu="10m", labels={"app": "blocks"}, spec=BLOCKS | {"nodeName": name})
        wait_until("the blocking pods are known", lambda: abs(self.house.requested_cores() - 0.01 * len(names)) < 1e-6, PATIENCE)
        found, waited = {}, []
        failed = self.failed_attempts()
        for name in free:
            self.plane.delete_pod(f"blocks-{name}")
            wait_until("the blocking pod is deleted", lambda n=name: f"blocks-{n}" not in {pod["metadata"]["name"] for pod in self.plane.pods()}, PATIENCE)
            begun = time.monotonic()
            found[name] = self.place(f"shy-{name}", cpu="10m", labels={"app": "shy"}, spec={"priorityClassName": "high"})
            waited.append(time.monotonic() - begun)
            self.plane.delete_pod(f"shy-{name}")
            self.plane.add_pod(f"blocks-{name}", cpu="10m", labels={"app": "blocks"}, spec=BLOCKS | {"nodeName": name})
        self.check("a pod that fits one node is bound there, even if the plugin did not name the node", all(name == node for name, node in found.items()), found)
        again = self.failed_attempts() - failed
        self.check("some of these pods are bound by a second attempt", 0 < again <= len(free), again)
        print(f"seconds until the pod was bound: {', '.join(f'{one:.2f}' for one in waited)}", flush=True)
        left = sum(pod["metadata"]["name"].startswith("blocks-") for pod in self.plane.pods())
        self.check("no pod was evicted for these pods", left == len(names), left)
        self.clear()

    def own_nodes(self):
        """Tests a DaemonSet's pod, which names its node, and a pod that is too large until another is evicted."""
        name = self.plane.nodes()[-1]["metadata"]["name"]
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        node = self.place("daemon", spec={"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}})
        self.check("a pod that names its node is bound to it", node == name, node)
        self.plane.add_pod("huge", cpu="9999", scheduler="plugin")

        def refused():
            pod = next(one for one in self.plane.pods() if one["metadata"]["name"] == "huge")
            return next((c["message"] for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled" and c["status"] == "False"), None)
        message = wait_until("kube-scheduler reports the unschedulable pod", refused, PATIENCE)
        self.check("an unschedulable pod is reported for all nodes", f"0/{NODES} nodes" in message and "Insufficient cpu" in message, message)
        self.clear()

    def preempts(self):
        node = self.plane.nodes()[0]
        name, cores = node["metadata"]["name"], int(node["status"]["allocatable"]["cpu"])
        there = {"nodeSelector": {"kubernetes.io/hostname": name}}
        self.place("victim", cpu=str(cores - 1), spec=there | {"priorityClassName": "low"})
        self.check("a pod of higher priority evicts another one", self.place("urgent", cpu=str(cores - 1), spec=there | {"priorityClassName": "high"}) == name)
        self.check("the evicted pod is deleted", "victim" not in {pod["metadata"]["name"] for pod in self.plane.pods()})
        self.clear()

    def survives(self):
        shim = self.house.processes["shim"]
        names = [f"hung-{i}" for i in range(100)]
        shim.send_signal(signal.SIGSTOP)
        for name in names:
            self.plane.add_pod(name, scheduler="plugin", cpu="10m")
        self.bound(names)
        shim.send_signal(signal.SIGCONT)
        log = (self.plane.dir / "plugin.log").read_text(errors="replace")
        self.check("100 pods are bound while the shim hangs, and one line reports it", log.count("The shim does not answer") == 1, log[-2000:])
        self.clear()
        self.house.kill("shim")
        names = [f"gone-{i}" for i in range(20)]
        for name in names:
            self.plane.add_pod(name, scheduler="plugin", cpu="10m")
        self.bound(names)
        self.check("20 pods are bound without a shim", True)
        self.house.start_shim()
        before, count = self.asked("plugin_scores"), 0
        while self.asked("plugin_scores") == before and count < 200:
            count += 1
            self.place(f"back-{count}", cpu="10m")
        self.check("a restarted shim is used again", self.asked("plugin_scores") > before)
        self.clear()


def run(binaries, version, claims):
    program = assets.scheduler(version)
    with ControlPlane(assets.assets(version, assets.CONTROL_PLANE)) as plane, KubeHouse(binaries, plane, nodes=NODES, controller_extra="policy: amortised") as house:
        house.add_plugin_socket()
        house.start_controller()
        house.start_shim()
        house.start_swarm()
        house.make_nodes()
        plane.start_kwok()
        scenario = Scenario(house, claims)
        for value, name in ((1000, "high"), (1, "low")):
            plane.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        extender = house.extender()
        del extender["filterVerb"], extender["preemptVerb"]
        plane.start_scheduler("extender", profile="extender", extenders=[extender], more={"percentageOfNodesToScore": 100})
        scenario.port = plane.start_scheduler("plugin", profile="plugin", program=program, more={"percentageOfNodesToScore": 100}, **house.plugin())
        try:
            wait_until("all agents are used", lambda: sum(bool(n["connected"] and n["kubernetes"]) for n in house.nodes()) == NODES, PATIENCE)
            house.set_mode("live")
            wait_until("the board is published", lambda: scenario.metric_of_shim("^wattle_shim_board_age_seconds") < 2, PATIENCE)
            for part in (scenario.same_nodes, scenario.only_outside, scenario.own_nodes, scenario.preempts, scenario.survives):
                part()
        except BaseException:
            for name in ("controller", "shim"):
                print(f"---- {name}\n{house.log(name)[-3000:]}")
            for name in plane.processes:
                print(f"---- {name}\n{plane.tail(name)}")
            raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    claims = Claims()
    try:
        with assets.SchedulerModule(options.version) as module:
            print(module.test(), flush=True)
        run(pathlib.Path(options.binaries).resolve(), options.version, claims)
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
