#!/usr/bin/env python3
"""sleep_cycles: nodes of a real cluster sleep and wake, with real kubelets, evictions and budgets, and an `exec` driver
that turns nodes off and on (power_switch.py).

Claims   a sleeping node has Wattle's marks, DaemonSets do not count it, and it returns without marks; a pending pod
         wakes a node; a drain respects budgets; a node that fails gets no marks, and its pods are moved as without sleeping
         nodes; through N cycles with faults no pod is lost, no budget is violated and no node is stuck
Usage    sleep_cycles.py BINARY-FOLDER [--cycles N] [--seed N] [--only PART...] [--cluster RUN-FOLDER]
Skips    if the machine cannot run a cluster, with the reason (real_cluster.missing)
"""
import argparse
import json
import pathlib
import random
import signal
import statistics
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import real_cluster  # noqa: E402
import sleep_empty  # noqa: E402
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
PROVEN = 1  # proven cycles before a node sleeps by plan
UNPROVEN = 100  # during the cycles, so that no plan puts a node to sleep between two orders
# A day has at most six sleeps by the plan, and the plan counts the highest demand of the last 40 minutes: orders and
# large pods come last.
PARTS = ("switch", "drain", "empty", "dead", "pending", "cycles")


class Watch:
    """Watches pods and budgets of the namespace `default` continuously, and records violations."""

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
        self.next = threading.Lock()
        self.blocked = 0  # times that a node was allowed to sleep again

    # ---- set up

    def set_up(self):
        """Sets up: the first node has the controller and the second scheduler; the others are empty and may sleep."""
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
        """Creates three pods with a budget, on the node that does not sleep."""
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

    # ---- state

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

    def comes_back(self, name, seconds=AGES_S):
        """Allows a node to sleep again as an operator: after three failures in a row it stays awake for a day."""
        def back():
            pace(0.3)  # each query starts a process
            if (state := self.state(name)) == "blocked":
                self.blocked += 1
                self.cluster.wattle("sleep", "allow", name)
            return state == "awake" and self.is_back(name)
        wait_until(f"{name} is awake again", back, seconds)

    # ---- claims

    def prove(self):
        """Runs sleep cycles by order, until the nodes may sleep by plan."""
        trips = {each["name"]: each["round_trips"] for each in self.status()}
        for node in (unproven := [name for name in self.names if trips[name] < PROVEN]):
            self.order(node)
        for node in unproven:
            self.comes_back(node)
        self.claims.check("each node has a proven sleep cycle", all(each["round_trips"] >= PROVEN for each in self.status()), self.status())

    def check_switch(self):
        """Tests the power switch: a node ends immediately when turned off, and returns with a new agent."""
        node = self.names[-1]
        begun = time.monotonic()
        self.power.turn(node, False)
        wait_until(f"{node} has no processes", lambda: not self.power.is_on(node))
        wait_until(f"{node} is not Ready", lambda: not is_ready(self.node(node)) and node not in self.cluster.connected())
        self.claims.check(f"{node} is off: no process, not Ready, its agent is disconnected", True)
        lost_s = time.monotonic() - begun
        begun = time.monotonic()
        self.power.turn(node, True)
        wait_until(f"{node} is Ready", lambda: is_ready(self.node(node)) and node in self.cluster.connected())
        self.claims.check(f"{node} is on again: Ready, and its agent is connected", True)
        print(f"     not Ready {lost_s:.0f} s after it was turned off, Ready with its agent {time.monotonic() - begun:.0f} s after it was turned on", flush=True)

    def check_round_trip(self, node):
        """Tests one sleep by order, with its marks."""
        before = {key: self.node(node)["metadata"]["labels"].get(key) for key in ("kubernetes.io/hostname", LABEL, EXCLUDE)}
        sets = self.daemon_sets()
        self.order(node)
        self.reaches(node, "asleep")
        marks = self.marks(node)
        self.claims.check(f"{node} is off, with all marks", not self.power.is_on(node) and {"cordon", "taint", "label"} <= set(marks), marks)
        counted = wait_until("DaemonSets do not count the sleeping node", lambda: (now := self.daemon_sets()) and all(now[name] == sets[name] - 1 for name in sets if name != "wattle-agent") and now)
        print(f"     DaemonSets want {sets} pods, and {counted} while it sleeps", flush=True)
        wait_until(f"{node} is awake again", lambda: self.is_back(node))
        after = {key: self.node(node)["metadata"]["labels"].get(key) for key in before}
        self.claims.check(f"{node} is ready again, without marks", after == before, after)
        events = [each["reason"] for each in self.cluster.objects("events", "--namespace", "default") if each["involvedObject"] == each["involvedObject"] | {"kind": "Node", "name": node}]
        self.claims.check("`kubectl describe node` has Events of the sleep", bool(set(events) - {"NodeNotReady", "NodeReady", "RegisteredNode"}), events)

    def daemon_sets(self):
        return {each["metadata"]["name"]: each["status"]["desiredNumberScheduled"] for each in self.cluster.objects("daemonsets", "--all-namespaces")}

    def order(self, node):
        """Runs a sleep and a wake by order. A starting controller without a plan refuses orders."""
        wait_until(f"the order for {node} is accepted", lambda: self.cluster.wattle("sleep", "test", node))

    def check_cycles(self, count, seed):
        """Runs sleep cycles by order, each with a fault, on all nodes at the same time."""
        guarded = {pod["metadata"]["uid"] for pod in self.cluster.pods("guarded")}
        self.cluster.upgrade("--set", f"controller.config.sleep.proven_trips={UNPROVEN}")
        for node in self.names:
            wait_until(f"{node} is awake", lambda node=node: self.cluster.wattle("sleep", "wake", "--all") is not None and self.is_back(node))
        self.check_round_trip(self.names[0])
        faults = [FAULTS[number % len(FAULTS)] for number in range(count - 1)]
        random.Random(seed).shuffle(faults)
        self.done, self.stuck, begun = {fault: [] for fault in FAULTS}, 0, time.monotonic()
        threads = [threading.Thread(target=self.cycles_of, args=(node, faults, random.Random(seed + number)), daemon=True) for number, node in enumerate(self.names)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = {fault: f"{len(seconds)} of {statistics.median(seconds):.0f} s" for fault, seconds in self.done.items() if seconds}
        print(f"     {1 + sum(map(len, self.done.values()))} cycles in {time.monotonic() - begun:.0f} s, with the median by fault {json.dumps(took)}; {self.blocked} times blocked after three failures", flush=True)
        trips = {each["name"]: f"{each['transitions_j']:.0f} J, {'measured' if each['transitions_measured'] else 'published'}" for each in self.status()}
        print(f"     energy of a sleep and a wake: {json.dumps(trips)}", flush=True)
        self.claims.check(f"after {count} cycles with faults (seed {seed}) no node is stuck", not self.stuck and all(map(self.is_back, self.names)), self.status())
        self.claims.check("after all cycles no pod is lost", guarded == {pod["metadata"]["uid"] for pod in self.runs("guarded", 3)})
        wait_until("the DaemonSet is complete again", lambda: len(pods := self.cluster.pods("each")) == len(self.cluster.names) and all(map(is_ready, pods)))

    def cycles_of(self, node, faults, chance):
        """Runs the next fault until none is left."""
        while True:
            with self.next:
                if not faults:
                    return
                fault = faults.pop()
            begun = time.monotonic()
            try:
                self.cycle(node, fault, chance)
                self.done[fault].append(time.monotonic() - begun)
            except HouseError as error:
                self.stuck += 1
                self.claims.check(f"{fault} on {node}: the node is awake again", False, error)
            finally:
                self.power.faults.pop(node, None)
            print(f"     {node}, {fault}: {time.monotonic() - begun:.0f} s; {len(faults)} cycles to come", flush=True)

    def cycle(self, node, fault, chance):
        if fault in ("refuse", "deaf", "lie"):
            self.power.faults[node] = fault
        calls = len(self.power.calls)
        self.order(node)
        if fault == "controller killed":
            pace(chance.uniform(0, 20))
            self.cluster.send(self.home, "wattle-controller", signal.SIGKILL)
        elif fault == "API server killed":
            pace(chance.uniform(0, 20))
            self.cluster.send("plane", "kube-apiserver", signal.SIGKILL)
        elif fault == "repeats":
            for _ in range(5):
                pace(chance.uniform(0, 4))
                self.cluster.run(self.cluster.binaries / "wattle", "sleep", chance.choice(("test", "wake")), node, check=False)
        elif fault in ("refuse", "deaf"):
            self.orders(node, "sleep", calls)
            self.power.faults.pop(node, None)
        elif fault == "deaf to wake" and self.orders(node, "sleep", calls):
            self.power.faults[node] = "deaf"
            self.orders(node, "wake", calls)
            self.power.faults.pop(node, None)
        elif fault == "wakes by itself" and self.orders(node, "sleep", calls):
            wait_until(f"{node} is off", lambda: not self.power.is_on(node))
            self.power.turn(node, True)
        self.comes_back(node)

    def orders(self, node, what, calls):
        """Waits until the driver gets the order, or the node is awake without one, as after a restart of the
        controller."""
        def ordered():
            return any(call[:2] == (what, node) for call in self.power.calls[calls:])
        wait_until(f"{node} is ordered to {what}", lambda: ordered() or self.state(node) in ("awake", "blocked", "failed"))
        return ordered()

    def check_pending(self):
        """Tests that idle nodes sleep by plan, and that a pod that fits on no awake node wakes one."""
        self.prove()
        asleep = wait_until("an idle node sleeps by plan", lambda: [node for node in self.names if self.state(node) == "asleep"], AGES_S)
        self.claims.check("an idle node sleeps by plan", True)
        size = min(self.free_milli(name) for name in asleep) - 50
        # A spare awake node has as much capacity as a sleeping one, so fill the awake nodes.
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

    def one_on_each(self, name, node, least=1):
        """Creates two pods with a budget, on the node and on the one that does not sleep. Returns {uid: node}."""
        self.cluster.kubectl("cordon", *self.names)
        self.deploy(name, 1)
        self.cluster.kubectl("uncordon", node)
        self.cluster.kubectl("cordon", self.home)
        self.cluster.kubectl("scale", "deployment", name, "--replicas=2")
        pods = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in self.runs(name, 2)}
        self.budget(name, least)
        self.cluster.kubectl("uncordon", *self.cluster.names)
        self.claims.check(f"one of two pods of {name} with a budget is on {node}", sorted(pods.values()) == [self.home, node], pods)
        return pods

    def check_drain(self):
        """Tests that a node with pods stays awake while their budget allows no eviction; then it is drained and
        sleeps."""
        self.prove()
        node = self.names[-1]
        before = self.one_on_each("moving", node, least=2)
        kept = wait_until("the plan keeps the node awake", lambda: next((each for each in self.cluster.wattle("sleep", "plan")["awake"] if each["name"] == node and each["cause"] == "budget"), None))
        self.claims.check("a node with a pod that a budget keeps there stays awake", "moving" in kept["why"] and self.state(node) == "awake", kept)
        self.cluster.plane.call("PATCH", f"{BUDGETS}/moving", {"spec": {"minAvailable": 1}})
        begun = time.monotonic()
        self.reaches(node, "draining", seconds=AGES_S)
        began = time.monotonic() - begun
        self.reaches(node, "asleep", seconds=AGES_S)
        print(f"     its drain began after {began:.0f} s, and it sleeps after {time.monotonic() - begun:.0f} s", flush=True)
        after = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in self.runs("moving", 2)}
        moved = [uid for uid in before if uid not in after]
        self.claims.check("a node with pods is drained and sleeps; only its own pod moved", [before[uid] for uid in moved] == [node] and node not in after.values(), (before, after))
        events = [each for each in self.cluster.objects("events", "--namespace", "default") if each["reason"] == "EvictedByWattle"]
        self.claims.check("the pod has an Event that names the eviction", len(events) == 1, events)
        self.remove("moving")

    def check_dead(self):
        """Tests that a node that fails without goodbye gets no marks, and its pods move as fast as without sleeping
        nodes."""
        dies, sleeps = self.names
        self.prove()
        self.cluster.wattle("sleep", "exclude", dies, "--why", "test")
        wait_until(f"{sleeps} sleeps", lambda: self.state(sleeps) == "asleep", AGES_S)
        beside_s = self.moved_after(dies, "moved-beside")
        self.cluster.wattle("sleep", "exclude", sleeps, "--why", "test")
        self.comes_back(sleeps)
        alone_s = self.moved_after(dies, "moved-alone")
        print(f"     its pod runs elsewhere after {alone_s:.0f} s without sleepers, and {beside_s:.0f} s beside one", flush=True)
        for node in self.names:
            self.cluster.wattle("sleep", "allow", node)

    def moved_after(self, dies, name):
        """Returns the seconds from the node's failure until its pod runs on another one."""
        wait_until(f"{dies} is awake", lambda: self.is_back(dies))
        tolerations = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5} for key in ("not-ready", "unreachable")]
        self.cluster.kubectl("cordon", self.home)
        prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [dies]}]}}]}}
        self.deploy(name, 1, tolerations=tolerations, affinity=prefers)
        self.cluster.kubectl("uncordon", self.home)
        self.claims.check(f"the pod {name} runs on {dies}", [pod["spec"]["nodeName"] for pod in self.cluster.pods(name)] == [dies])
        begun = time.monotonic()
        self.power.turn(dies, False)
        wait_until("its pod runs on another node", lambda: any(is_ready(pod) and pod["spec"]["nodeName"] != dies for pod in self.cluster.pods(name)))
        took_s = time.monotonic() - begun
        self.reaches(dies, "failed")
        self.claims.check(f"{name}: a node that fails gets no marks", not self.marks(dies), self.marks(dies))
        self.power.turn(dies, True)
        wait_until(f"{dies} is awake again", lambda: self.is_back(dies))
        self.remove(name)
        return took_s


FAULTS = ("none", "controller killed", "API server killed", "deaf to wake", "wakes by itself", "refuse", "deaf", "lie", "repeats")


def check(claims, cluster, cycles, seed, parts):
    with PowerSwitch(cluster) as power:
        sleepers = Sleepers(claims, cluster, power)
        run = {"switch": sleepers.check_switch, "cycles": lambda: sleepers.check_cycles(cycles, seed), "pending": sleepers.check_pending,
               "drain": sleepers.check_drain, "dead": sleepers.check_dead, "empty": lambda: sleep_empty.check(sleepers)}

        def check_part(name):
            begun = time.monotonic()
            try:
                run[name]()
            except HouseError as error:
                claims.check(f"{name}: the test ran to its end", False, error)
            print(f"== {name} took {time.monotonic() - begun:.0f} s", flush=True)
        if "switch" in parts:
            check_part("switch")
        if not (rest := [name for name in PARTS if name in parts and name != "switch"]):
            return
        sleepers.set_up()
        with Watch(cluster, power) as watch:
            for name in rest:
                check_part(name)
            claims.check(f"no budget was violated, and no node slept with pods on it ({watch.looks} looks)", watch.looks and not watch.breaches, sorted(watch.breaches))
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
