#!/usr/bin/env python3
"""sleep_cycles: nodes of a real cluster sleep and wake, with real kubelets, evictions and budgets, and an `exec` driver
that turns nodes off and on (power_switch.py).

Claims   a node that sleeps carries Wattle's marks, DaemonSets do not count it, and it comes back without marks; a pending
         pod wakes a node; a drain respects budgets; a node that dies gets no marks, and its pods are moved as without
         sleepers; through N cycles with faults no pod is lost, no budget is broken and no node is stuck
Usage    sleep_cycles.py BINARY-FOLDER [--cycles N] [--seed N] [--only PART...] [--cluster RUN-FOLDER]
Skips    where the machine cannot run a cluster, with the reason (real_cluster.missing)
"""
import argparse
import json
import pathlib
import random
import signal
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import real_cluster  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import HouseError, SKIPPED, wait_until  # noqa: E402
from objects import milli, template  # noqa: E402
from patience import AGES_S, LATE_S, let_a_moment_pass, pace  # noqa: E402
from power_switch import PLACE, PowerSwitch  # noqa: E402
from real_cluster import is_ready  # noqa: E402

LABEL, TAINT, EXCLUDE = "wattle.dev/sleep", "wattle.dev/sleep", "node.kubernetes.io/exclude-disruption"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
GRACE = "50s"  # Kubernetes' default
PROVEN = 1  # round trips before a node sleeps by itself
PARTS = ("switch", "cycles", "pending", "drain", "dead")


class Watch:
    """Looks at the pods and budgets of the namespace `default` all the time, and keeps what must not be."""

    def __init__(self, cluster, power):
        self.cluster, self.power = cluster, power
        self.breaches, self.looks = set(), 0
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def run(self):
        while not self.end.is_set():
            try:
                self.look()
                self.looks += 1
            except (OSError, ValueError, KeyError, HouseError):  # the API server may be down
                pass
            pace(0.5)

    def look(self):
        for budget in self.cluster.plane.call("GET", BUDGETS)["items"]:
            status = budget.get("status", {})
            if status.get("expectedPods") and status["currentHealthy"] < status["desiredHealthy"]:
                self.breaches.add(f"budget {budget['metadata']['name']}: {status['currentHealthy']} of {status['desiredHealthy']} pods are healthy")
        records = {node["name"]: node["state"] for node in self.cluster.wattle("sleep", "status")["nodes"]}
        for pod in self.cluster.plane.pods():
            node = pod["spec"].get("nodeName")
            if records.get(node) == "asleep" and pod["status"]["phase"] == "Running" and not owned_by_daemon_set(pod):
                self.breaches.add(f"{node} is asleep with pod {pod['metadata']['name']} on it")


def owned_by_daemon_set(pod):
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))


class Sleepers:
    def __init__(self, claims, cluster, power):
        self.claims, self.cluster, self.power = claims, cluster, power
        self.home, *self.names = cluster.names  # the controller's volume keeps it on the first node

    # ---- set up

    def set_up(self):
        """The first node has the controller and the second scheduler; the others may sleep, and are empty."""
        self.cluster.kubectl("delete", "deployments,jobs", "--all", "--namespace", "default", "--wait=true", f"--timeout={LATE_S:.0f}s", seconds=LATE_S)
        self.cluster.kubectl("cordon", *self.names)
        self.cluster.kubectl("delete", "pods", "--namespace", "wattle", "--selector", "app.kubernetes.io/name=wattle-scheduler")
        wait_until("the second scheduler runs on the first node",
                   lambda: (pods := self.cluster.part("scheduler")) and all(is_ready(pod) and pod["spec"]["nodeName"] == self.home for pod in pods))
        self.cluster.kubectl("uncordon", *self.names)
        self.cluster.upgrade("--set", f"sleep.mode=auto,controller.config.sleep.drivers={PLACE}/drivers.yaml,controller.config.sleep.proven_trips={PROVEN}")
        self.cluster.kubectl("label", "node", *self.names, f"{LABEL}=auto", "--overwrite")
        wait_until("the nodes may sleep", lambda: {node["name"] for node in self.status()} >= set(self.names))
        self.cluster.plane.call("POST", "/apis/apps/v1/namespaces/default/daemonsets", {
            "metadata": {"name": "each"}, "spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "each"}}, "template": template("each")}})
        wait_until("the DaemonSet runs", lambda: len(pods := self.cluster.pods("each")) == len(self.cluster.names) and all(map(is_ready, pods)))
        self.guard()

    def guard(self):
        """Three pods with a budget, on the node that does not sleep."""
        self.deploy("guarded", 3, node=self.home)
        self.budget("guarded", 2)

    def deploy(self, name, replicas, node=None, cpu="20m", **more):
        pod = template(name, cpu)
        pod["spec"] |= more
        if node:
            pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        self.cluster.plane.call("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}, "template": pod}})
        self.runs(name, replicas)

    def runs(self, name, replicas, seconds=LATE_S):
        return wait_until(f"{replicas} pods of {name} run", lambda: len(pods := self.cluster.pods(name)) == replicas and all(map(is_ready, pods)) and pods, seconds)

    def budget(self, name, least):
        self.cluster.plane.call("POST", BUDGETS, {"metadata": {"name": name}, "spec": {
            "minAvailable": least, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}}})
        wait_until(f"the budget of {name} is known", lambda: self.cluster.plane.call("GET", f"{BUDGETS}/{name}")["status"].get("expectedPods"))

    def remove(self, *names):
        for name in names:
            self.cluster.plane.raw("DELETE", f"{DEPLOYMENTS}/{name}")
            self.cluster.plane.raw("DELETE", f"{BUDGETS}/{name}")

    # ---- what is

    def status(self):
        return self.cluster.wattle("sleep", "status")["nodes"]

    def state(self, node):
        return next((each["state"] for each in self.status() if each["name"] == node), None)

    def reaches(self, node, *states, seconds=LATE_S):
        return wait_until(f"{node} is {' or '.join(states)}", lambda: (state := self.state(node)) in states and state, seconds)

    def node(self, name):
        return self.cluster.plane.call("GET", f"/api/v1/nodes/{name}")

    def marks(self, name):
        node = self.node(name)
        found = [key for key in node["metadata"].get("annotations", {}) if key.startswith("wattle.dev/power-marks")]
        found += ["label"] if EXCLUDE in node["metadata"]["labels"] else []
        found += ["taint" for taint in node["spec"].get("taints", []) if taint["key"] == TAINT]
        return sorted(found + (["cordon"] if node["spec"].get("unschedulable") else []))

    def is_back(self, name):
        return self.state(name) == "awake" and not self.marks(name) and is_ready(self.node(name)) and name in self.cluster.connected()

    # ---- claims

    def check_switch(self):
        """The switch itself: a node that is turned off ends at once, and comes back with a new agent."""
        node = self.names[-1]
        begun = time.monotonic()
        self.power.turn(node, False)
        wait_until(f"{node} has no processes", lambda: not self.power.is_on(node))
        wait_until(f"{node} is not Ready", lambda: not is_ready(self.node(node)) and node not in self.cluster.connected())
        self.claims.check(f"{node} is off: no process, not Ready, its agent is silent", True)
        lost_s = time.monotonic() - begun
        begun = time.monotonic()
        self.power.turn(node, True)
        wait_until(f"{node} is Ready", lambda: is_ready(self.node(node)) and node in self.cluster.connected())
        self.claims.check(f"{node} is on again: Ready, and its agent is connected", True)
        print(f"     not Ready {lost_s:.0f} s after it was turned off, Ready with its agent {time.monotonic() - begun:.0f} s after it was turned on", flush=True)

    def check_round_trip(self, node):
        """One sleep by order, with the marks while it lasts."""
        before = {key: self.node(node)["metadata"]["labels"].get(key) for key in ("kubernetes.io/hostname", LABEL, EXCLUDE)}
        sets = self.daemon_sets()
        self.order(node)
        self.reaches(node, "asleep")
        marks = self.marks(node)
        self.claims.check(f"{node} is off, with all marks", not self.power.is_on(node) and {"cordon", "taint", "label"} <= set(marks), marks)
        counted = wait_until("DaemonSets do not count it", lambda: (now := self.daemon_sets()) and all(now[name] == sets[name] - 1 for name in sets if name != "wattle-agent") and now)
        print(f"     DaemonSets want {sets} pods, and {counted} while it sleeps", flush=True)
        wait_until(f"{node} is back", lambda: self.is_back(node))
        after = {key: self.node(node)["metadata"]["labels"].get(key) for key in before}
        self.claims.check(f"{node} is ready again, without marks", after == before, after)
        events = [each["reason"] for each in self.cluster.objects("events", "--namespace", "default") if each["involvedObject"] == each["involvedObject"] | {"kind": "Node", "name": node}]
        self.claims.check("`kubectl describe node` has Events of its sleep", bool(set(events) - {"NodeNotReady", "NodeReady", "RegisteredNode"}), events)

    def daemon_sets(self):
        return {each["metadata"]["name"]: each["status"]["desiredNumberScheduled"] for each in self.cluster.objects("daemonsets", "--all-namespaces")}

    def order(self, node):
        """A sleep and a wake by order. A controller that starts, or has no plan yet, takes none."""
        wait_until(f"{node} takes the order", lambda: self.cluster.wattle("sleep", "test", node))

    def check_cycles(self, count, seed):
        """Round trips by order, each with a fault."""
        chance = random.Random(seed)
        begun, stuck = time.monotonic(), 0
        self.check_round_trip(self.names[0])
        for number in range(1, count):
            node, fault = chance.choice(self.names), FAULTS[(number - 1) % len(FAULTS)]
            try:
                self.cycle(node, fault, chance)
            except HouseError as error:
                stuck += 1
                self.claims.check(f"cycle {number + 1} of {count} (seed {seed}): {fault} on {node}: it comes back", False, error)
            print(f"     cycle {number + 1} of {count}: {node}, {fault}: {time.monotonic() - begun:.0f} s since the first", flush=True)
        self.claims.check(f"after {count} cycles with faults no node is stuck", not stuck and all(map(self.is_back, self.names)), self.status())
        self.runs("guarded", 3)
        self.claims.check("and no pod is lost", True)

    def cycle(self, node, fault, chance):
        self.power.faults.pop(node, None)
        if fault in ("refuse", "deaf"):
            self.power.faults[node] = fault
        self.order(node)
        if fault == "controller killed":
            pace(chance.uniform(0, 20))
            self.cluster.send(self.home, "wattle-controller", signal.SIGKILL)
        elif fault == "API server killed":
            pace(chance.uniform(0, 20))
            self.cluster.send("plane", "kube-apiserver", signal.SIGKILL)
        elif fault == "deaf to wake":
            self.reaches(node, "asleep", "waking")
            self.power.faults[node] = "deaf"
            self.reaches(node, "waking")
            let_a_moment_pass()
        elif fault in ("refuse", "deaf"):
            self.reaches(node, "suspending", "probation", "unknown", "failed", "awake", "blocked")
            let_a_moment_pass()
        self.power.faults.pop(node, None)
        wait_until(f"{node} is back", lambda: self.is_back(node), AGES_S)

    def check_pending(self):
        """Idle nodes sleep by themselves, and a pod that fits on no awake node wakes one."""
        for node in self.names:
            if not next(each["round_trips"] for each in self.status() if each["name"] == node) >= PROVEN:
                self.cycle(node, "none", random)
        asleep = wait_until("an idle node sleeps by itself", lambda: [node for node in self.names if self.state(node) == "asleep"], AGES_S)
        self.claims.check("an idle node sleeps by itself", True)
        size = min(self.free_milli(name) for name in asleep) - 50
        # A spare node that stays awake has as much room as a sleeper: fill what is awake.
        fillers = {f"fills-{name}": (name, room - size + 50) for name in self.cluster.names if name not in asleep and (room := self.free_milli(name)) >= size}
        for filler, (name, cpu) in fillers.items():
            self.cluster.plane.add_pod(filler, cpu=f"{cpu}m", memory="16Mi", image=real_cluster.TOOLS, spec={"nodeName": name})
        begun = time.monotonic()
        self.cluster.plane.add_pod("wakes", cpu=f"{size}m", memory="16Mi", scheduler="wattle", image=real_cluster.TOOLS)
        woken = self.runs_pod("wakes")
        waited = time.monotonic() - begun
        trips = [each for each in self.cluster.wattle("sleep", "history", woken)["transitions"] if each["node"] == woken]
        wake = max((each["at_wall_s"] for each in trips if each["to"] == "awake"), default=0) - max((each["at_wall_s"] for each in trips if each["to"] == "waking"), default=0)
        self.claims.check("a pod that fits on no awake node wakes one, and runs there", woken in asleep, woken)
        print(f"     the pod runs {waited:.1f} s after it was created; its node took {wake:.1f} s to wake", flush=True)
        self.cluster.delete("wakes", *fillers)

    def runs_pod(self, name):
        return wait_until(f"pod {name} runs", lambda: next((pod["spec"]["nodeName"] for pod in self.cluster.plane.pods() if pod["metadata"]["name"] == name and is_ready(pod)), None))

    def free_milli(self, node):
        room = milli(self.node(node)["status"]["allocatable"]["cpu"])
        for pod in self.cluster.objects("pods", "--all-namespaces"):
            if pod["spec"].get("nodeName") == node and pod["status"]["phase"] in ("Pending", "Running"):
                room -= sum(milli(main["resources"].get("requests", {}).get("cpu", "0")) for main in pod["spec"]["containers"])
        return room

    def check_drain(self):
        """A node with pods is emptied by evictions, one budget at a time, or stays awake."""
        for node in self.names:
            self.cluster.wattle("sleep", "wake", node)
        wait_until("both are awake", lambda: all(map(self.is_back, self.names)), AGES_S)
        node = self.names[-1]
        others = [name for name in self.cluster.names if name != node]
        self.cluster.kubectl("cordon", *others)
        self.deploy("moving", 2)
        self.budget("moving", 1)
        self.cluster.kubectl("uncordon", *others)
        before = {pod["metadata"]["uid"] for pod in self.cluster.pods("moving")}
        self.reaches(node, "draining", seconds=2 * AGES_S)
        self.reaches(node, "asleep", seconds=AGES_S)
        after = self.runs("moving", 2)
        self.claims.check("a node with pods is drained, and sleeps", not before & {pod["metadata"]["uid"] for pod in after} and all(pod["spec"]["nodeName"] != node for pod in after))
        self.remove("moving")

    def check_dead(self):
        """A node that dies without a goodbye: no marks, and its pods are moved as fast as without sleepers."""
        dies, sleeps = self.names
        took = {}
        for asleep in (False, True):
            self.cluster.wattle("sleep", "exclude", dies, "--why", "test")
            if asleep:
                self.reaches(sleeps, "asleep", seconds=AGES_S)
            else:
                self.cluster.wattle("sleep", "exclude", sleeps, "--why", "test")
            wait_until("it is awake", lambda: is_ready(self.node(dies)) and dies in self.cluster.connected())
            name = f"moved-{asleep}".lower()
            tolerations = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5} for key in ("not-ready", "unreachable")]
            prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [dies]}]}}]}}
            self.cluster.kubectl("cordon", *[each for each in self.cluster.names if each != dies])
            self.deploy(name, 1, tolerations=tolerations, affinity=prefers)
            self.cluster.kubectl("uncordon", self.home, *([] if asleep else [sleeps]))
            begun = time.monotonic()
            self.power.turn(dies, False)
            wait_until("its pod runs elsewhere", lambda name=name: any(is_ready(pod) and pod["spec"]["nodeName"] != dies for pod in self.cluster.pods(name)))
            took[asleep] = time.monotonic() - begun
            self.claims.check(f"a node that dies gets no marks, {'beside a sleeper' if asleep else 'without sleepers'}", not self.marks(dies), self.marks(dies))
            self.power.turn(dies, True)
            self.remove(name)
            self.cluster.wattle("sleep", "allow", sleeps)
        print(f"     its pod runs elsewhere after {took[False]:.0f} s without sleepers, and {took[True]:.0f} s beside one", flush=True)
        self.cluster.wattle("sleep", "allow", dies)
        wait_until("it is awake", lambda: is_ready(self.node(dies)) and dies in self.cluster.connected())


FAULTS = ("controller killed", "deaf to wake", "none", "refuse", "API server killed", "deaf")


def check(claims, cluster, cycles, seed, parts):
    with PowerSwitch(cluster) as power:
        sleepers = Sleepers(claims, cluster, power)
        run = {"switch": sleepers.check_switch, "cycles": lambda: sleepers.check_cycles(cycles, seed), "pending": sleepers.check_pending,
               "drain": sleepers.check_drain, "dead": sleepers.check_dead}

        def check_part(name):
            begun = time.monotonic()
            try:
                run[name]()
            except HouseError as error:
                claims.check(f"{name}: it ran to its end", False, error)
            print(f"== {name} took {time.monotonic() - begun:.0f} s", flush=True)
        if "switch" in parts:
            check_part("switch")
        if not (rest := [name for name in PARTS if name in parts and name != "switch"]):
            return
        sleepers.set_up()
        with Watch(cluster, power) as watch:
            for name in rest:
                check_part(name)
            claims.check(f"no budget was broken, and no node slept with pods on it ({watch.looks} looks)", watch.looks and not watch.breaches, sorted(watch.breaches))
        print("     calls of the driver: " + json.dumps({what: sum(1 for call in power.calls if call[0] == what) for what in ("sleep", "wake", "observe", "probe")}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--cluster", type=pathlib.Path)
    options = parser.parse_args()
    binaries, claims = options.binaries.resolve(), Claims()
    if reason := real_cluster.missing(binaries):
        print(f"skipped: {reason}")
        return SKIPPED
    with real_cluster.RealCluster(binaries, options.cluster and options.cluster.resolve(), DEMO_GRACE=GRACE) as cluster:
        check(claims, cluster, options.cycles, options.seed, options.only)
    print("sleep: every claim holds" if claims.failed == 0 else f"sleep: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
