#!/usr/bin/env python3
"""kube_energy: joules and users' latency of a KWOK fleet under the default scheduler, MostAllocated and Wattle, through
a real kube-scheduler.

Usage    kube_energy.py BIN_DIR [--seeds 1,2,3,4,5] [--nodes 10] [--fill 0.5] [--measure 60] [--learn 90] [--at-once 3]
         [--policies node-order,dqn,dqn+sleep] [--json FILE]
Does     for each seed: a fleet of --nodes simulated servers whose agents are a swarm that follows the bindings, and
         pods of applications that differ in requests and usage, which start and end (exponential lifetimes, mean
         --life) so that about --fill of all cores is requested. Each arm gets the same pods at the same times, on empty
         nodes, and runs for --warm-up seconds before it is measured
Arms     default, most-allocated: kube-scheduler without an extender, while the controller watches and learns in mode
         shadow; then --learn seconds of other pods of the same applications through the real scheduler in mode live;
         then wattle:P for each of --policies, live. P is a policy, or a policy and a reward, or these and weights of
         it: dqn/ee, dqn/weighted/latency=0; a P that ends with +sleep also lets idle nodes sleep by the controller's
         plan and driver `exec`. Each node has proven one sleep cycle before the first arm. A shutdown and a boot take a
         thirtieth of their published times, and all of their published joules
Measures joules: the true watts of the fleet's curves, integrated by the swarm; W of the fleet; latency: of the pods'
         nodes, weighted by the running time of pods in the measured span; waiting: share of that time that pods waited
         for CPU in the swarm's model; share of bound pods; sources (plan, network, ...) of the arm's decisions; with
         +sleep: shutdowns and boots in the measured span, and the nodes that are off at its end
Gives    for each arm the ratio to default, node-order and the planner, of joules and of latency, paired by seed:
         geometric mean and its 95% interval (bootstrap over seeds); waiting and its 95% interval
"""
import argparse
import collections
import json
import math
import os
import pathlib
import random
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e")]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import free_ports, wait_until  # noqa: E402
from kube_house import KubeHouse  # noqa: E402
from seeds import LEAST_SEEDS  # noqa: E402

PATIENCE = 300
SLEEP = "+sleep"
SPEEDUP = 30  # speed of shutdowns and boots
RESAMPLES = 10_000
REQUESTS = (0.5, 1, 2, 4)  # cores
APPS = 8
MOST_ALLOCATED = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [
    {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}}}]


class SleepingHouse(KubeHouse):
    """A fleet whose nodes Wattle turns off and on: the driver `exec` runs curl, and the swarm implements the program's
    protocol."""

    def __init__(self, binaries, plane, **more):
        super().__init__(binaries, plane, controller_extra="""sleep: {mode: auto, drivers: PLACE/drivers.yaml, proven_trips: 1}
            store: {path: PLACE/store.db}""", **more)
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text().replace("PLACE", str(self.dir)))
        self.power, = free_ports(1)
        self.write("drivers.yaml", f'nodes: [{{node: "*", exec: {{command: [{shutil.which("curl")}, --fail-with-body, -sS, --max-time, "10", --data-binary, "@-", '
                   f'"http://127.0.0.1:{self.power}/power"]}}}}]')
        self.write("swarm.yaml", f"sleep_speedup: {SPEEDUP}")

    def start_swarm(self, *more):
        super().start_swarm("--config", str(self.dir / "swarm.yaml"), "--listen", f"127.0.0.1:{self.power}", *more)

    def make_one(self, server, **more):
        super().make_one(server, labels={"wattle.dev/sleep": "auto"}, **more)

    def order(self, word, node, *more):
        return self.cli("sleep", word, node, *more, key="operator", check=False).returncode == 0

    def records(self):
        return self.query("sleep", "status")["nodes"]

    def prove_round_trips(self):
        """Lets each node sleep and wake once by order, and then keeps it awake."""
        kept = set()

        def step():
            records = self.records()
            for one in records:
                if one["state"] == "awake" and one["round_trips"] < 1:
                    self.order("test", one["name"])
                elif (one["round_trips"] or one["state"] == "waking") and one["name"] not in kept and self.keep_awake(one["name"]):
                    kept.add(one["name"])
            return len(kept) == len(records) == self.swarm_nodes and all(one["state"] == "awake" and one["round_trips"] for one in records)
        wait_until("each node has completed a sleep cycle", step, PATIENCE)

    def keep_awake(self, node):
        return self.order("exclude", node, "--why", "this arm has all nodes on")

    def let_sleep(self, allowed):
        """Prepares an arm: lets idle nodes sleep, or keeps all nodes awake."""
        for one in self.records():
            wait_until("the order is accepted", lambda: self.order("allow", one["name"]) if allowed else self.keep_awake(one["name"]), PATIENCE)
        if not allowed:
            wait_until("all nodes are awake", lambda: all(one["state"] == "awake" for one in self.records()), PATIENCE)


def arrivals(rng, apps, cores, options, span_s):
    """Returns (start, lifetime, application) of each pod: a steady state from the start."""
    mean_request = sum(request for _, request in apps) / len(apps)
    rate = options.fill * cores / mean_request / options.life
    found = [(0.0, rng.expovariate(1 / options.life), rng.choice(apps)) for _ in range(round(rate * options.life))]
    at = 0.0
    while (at := at + rng.expovariate(rate)) < span_s:
        found.append((at, rng.expovariate(1 / options.life), rng.choice(apps)))
    return found


class Trial:
    def __init__(self, house, seed, options):
        self.house, self.plane, self.seed, self.options = house, house.plane, seed, options
        rng = random.Random(seed)
        self.apps = [(f"app{seed}-{i}", rng.choice(REQUESTS)) for i in range(APPS)]
        self.cores = sum(server["cpu_cores"] for server in house.servers())
        self.latency_ms = {server["name"]: server["latency_ms"] for server in house.servers()}

    def sums(self):
        """Returns joules, running and waiting time of pods, shutdowns and boots since the start."""
        servers = self.house.servers()
        return [sum(server[what] for server in servers) for what in ("energy_j", "pod_s", "waited_pod_s", "shutdowns", "boots")]

    def decided_since(self, last):
        """Returns the sources of the decisions after `since` among the last thousand as {source: count}, and the newest
        ID."""
        made = self.house.document("decisions?limit=1000")["decisions"]
        return dict(collections.Counter(one["decided_by"] or "neutral" for one in made if one["id"] > last)), max([last, *(one["id"] for one in made)])

    def create(self, name, app, scheduler):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app[0], "uid": "00000000-0000-4000-8000-000000000001", "controller": True}
        self.plane.add_pod(name, cpu=f"{int(app[1] * 1000)}m", memory=f"{int(app[1] * 512)}Mi", scheduler=scheduler, owner=owner, image=f"{app[0]}:1")

    def binds(self, scheduler):
        """Waits until the scheduler binds a pod, because on a busy machine its start takes longer than an arm's."""
        self.create("first", self.apps[0], scheduler)
        wait_until(f"scheduler {scheduler} binds", lambda: any(pod["spec"].get("nodeName") for pod in self.plane.pods()), PATIENCE)
        self.clear()

    def clear(self):
        self.plane.call("DELETE", "/api/v1/namespaces/default/pods", {"gracePeriodSeconds": 0})
        wait_until("nothing is requested", lambda: not self.plane.pods() and self.house.requested_cores() < 1e-6, PATIENCE)

    def run(self, arm, scheduler, stream, span_s, measured_from_s):
        pods = arrivals(random.Random(f"{self.seed}/{stream}"), self.apps, self.cores, self.options, span_s)
        events = sorted([(at, 0, i) for i, (at, _, _) in enumerate(pods)] + [(at + life, 1, i) for i, (at, life, _) in enumerate(pods)
                                                                            if at + life < span_s])
        names = [f"{re.sub('[^a-z0-9]', '-', arm)}-{stream}-{i}" for i in range(len(pods))]
        begun = time.monotonic()
        start, start_s, late_s, nodes = None, None, 0.0, {}
        _, last = self.decided_since(-1)
        for at, ends, i in events + [(span_s, 2, -1)]:
            if start is None and at >= measured_from_s:
                time.sleep(max(0.0, begun + measured_from_s - time.monotonic()))
                start, start_s = self.sums(), time.monotonic()
            time.sleep(max(0.0, begun + at - time.monotonic()))
            late_s = max(late_s, time.monotonic() - begun - at)
            if ends == 0:
                self.create(names[i], pods[i][2], scheduler)
            elif ends == 1:
                pod = self.plane.call("GET", f"/api/v1/namespaces/default/pods/{names[i]}")
                nodes[i] = pod["spec"].get("nodeName")
                self.plane.delete_pod(names[i])
        (joules, ran_pod_s, waited_pod_s, shutdowns, boots), took_s = [now - then for now, then in zip(self.sums(), start)], time.monotonic() - start_s
        off = sum(server["power_state"] == "off" for server in self.house.servers())
        decided, _ = self.decided_since(last)
        for pod in self.plane.pods():
            nodes[int(pod["metadata"]["name"].rsplit("-", 1)[1])] = pod["spec"].get("nodeName")
        ran_s = {i: max(0.0, min(at + life, span_s) - max(at, measured_from_s)) for i, (at, life, _) in enumerate(pods)}
        placed = [i for i, node in nodes.items() if node]
        weight = sum(ran_s[i] for i in placed)
        latency = sum(ran_s[i] * self.latency_ms[nodes[i]] for i in placed) / weight
        self.clear()
        return {"arm": arm, "watts": joules / took_s, "latency_ms": latency, "pods": len(pods), "bound": len(placed), "late_s": round(late_s, 2),
                "waiting": waited_pod_s / max(ran_pod_s, 1e-9), "decided_by": decided, "shutdowns": shutdowns, "boots": boots, "off": off}


def set_policy(house, named):
    policy, *reward = named.removesuffix(SLEEP).split("/")
    preset, *weights = reward or ["weighted"]
    said = [word for weight in weights for word in ("--weight", weight)]
    house.cli("policy", "set", "--mode", "live", "--force", "--why", "a bench measures each policy live", "--policy", policy, "--reward", preset,
              *said, key="operator")


def one_seed(binaries, seed, options):
    sleeps = any(policy.endswith(SLEEP) for policy in options.policies)
    kind = SleepingHouse if sleeps else KubeHouse
    with ControlPlane(assets.assets(assets.VERSION, assets.CONTROL_PLANE)) as plane, \
         kind(binaries, plane, nodes=options.nodes, seed=seed, mode="shadow") as house:
        house.start_controller()
        house.start_shim()
        house.start_swarm("--log-level", "error")
        plane.start_kwok()
        house.make_nodes()
        plane.start_scheduler("default", profile="default")
        plane.start_scheduler("most", profile="most", plugin_config=MOST_ALLOCATED)
        extender = house.extender()
        del extender["filterVerb"], extender["preemptVerb"]
        plane.start_scheduler("wattle", profile="wattle", extenders=[extender])
        wait_until("all agents report", lambda: sum(n["connected"] and n["latency"] != [] for n in house.nodes()) == options.nodes, PATIENCE)
        if sleeps:
            house.prove_round_trips()
        trial = Trial(house, seed, options)
        for scheduler in ("default", "most", "wattle"):
            trial.binds(scheduler)
        span = options.warm_up + options.measure
        found = [trial.run("default", "default", "measured", span, options.warm_up), trial.run("most-allocated", "most", "measured", span, options.warm_up)]
        set_policy(house, options.policies[0])
        trial.run("learning", "wattle", "learned", options.learn, 0)
        for policy in options.policies:
            set_policy(house, policy)
            if sleeps:
                house.let_sleep(policy.endswith(SLEEP))
            found.append(trial.run(f"wattle:{policy}", "wattle", "measured", span, options.warm_up))
        status = house.document("status")
        learned = {key: status[key] for key in ("decisions", "outcomes", "gradient_steps", "replay")}
        for one in found:
            print(f"seed {seed}: {one}", flush=True)
        return {"seed": seed, "cores": trial.cores, "learned": learned, "arms": found}


def interval(ratios, rng):
    """Returns the geometric mean, and its 2.5% and 97.5% quantiles over resampled seeds."""
    logs = [math.log(ratio) for ratio in ratios]
    drawn = sorted(sum(rng.choices(logs, k=len(logs))) / len(logs) for _ in range(RESAMPLES))
    return known(len(logs), [math.exp(value) for value in (sum(logs) / len(logs), drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)])])


def known(seeds, figures):
    """Returns estimate and range, rounded; no range for too few seeds."""
    rounded = [round(value, 4) for value in figures]
    return rounded if seeds >= LEAST_SEEDS else [rounded[0], None, None]


def judged(trials):
    rng = random.Random(1)
    table = {}
    for i, base in enumerate(trials[0]["arms"]):
        arm = base["arm"]
        table[arm] = {"watts": sum(t["arms"][i]["watts"] for t in trials) / len(trials), "latency_ms": sum(t["arms"][i]["latency_ms"] for t in trials) / len(trials),
                      **{what: sum(t["arms"][i][what] for t in trials) for what in ("bound", "pods", "shutdowns", "boots", "off")}}
        bases = {one["arm"].removeprefix("wattle:"): j for j, one in enumerate(trials[0]["arms"])}
        for name, other in [(name, bases[name]) for name in ("default", "node-order", "planner") if name in bases]:
            for what in ("watts", "latency_ms"):
                table[arm][f"{what}_to_{name}"] = interval([t["arms"][i][what] / t["arms"][other][what] for t in trials], rng)
        waiting = [t["arms"][i]["waiting"] for t in trials]
        drawn = sorted(sum(rng.choices(waiting, k=len(waiting))) / len(waiting) for _ in range(RESAMPLES))
        table[arm]["waiting"] = known(len(waiting), (sum(waiting) / len(waiting), drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)]))
        table[arm]["decided_by"] = dict(sum((collections.Counter(t["arms"][i]["decided_by"]) for t in trials), collections.Counter()))
    return table


def main():
    parser = argparse.ArgumentParser(description="Joules and latency of a KWOK fleet, through a real kube-scheduler.")
    parser.add_argument("binaries")
    parser.add_argument("--seeds", default="1,2,3,4,5", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--fill", type=float, default=0.5, help="share of all cores that is requested")
    parser.add_argument("--life", type=float, default=60, help="mean life of a pod, seconds")
    parser.add_argument("--warm-up", type=float, default=30)
    parser.add_argument("--measure", type=float, default=60)
    parser.add_argument("--learn", type=float, default=90)
    parser.add_argument("--policies", default="dqn,dqn/ee,planner", type=lambda text: text.split(","), help="of the arms that Wattle places")
    parser.add_argument("--at-once", type=int, default=3, help="seeds that run beside each other")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    binaries = pathlib.Path(options.binaries).resolve()
    with ThreadPoolExecutor(options.at_once) as seeds:
        trials = list(seeds.map(lambda seed: one_seed(binaries, seed, options), options.seeds))
    table = judged(trials)
    print(json.dumps(table, indent=1))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"arms": table, "trials": trials}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
