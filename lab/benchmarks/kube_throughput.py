#!/usr/bin/env python3
"""kube_throughput: measures pods per second through a real kube-scheduler: without an extender, with ours, with a no-op
extender, and with our plugin.

Usage    kube_throughput.py BIN_DIR [--nodes 100,1000,5000] [--pods 1000] [--rounds 3] [--arms A,...] [--favour N]
         [--seed N] [--json FILE]
Does     for each size, creates KWOK nodes, whose simulated agents stream to a controller. Each round runs every arm once,
         in random order: creates pending pods, starts a scheduler for them, and samples its count of bound pods from a
         tenth of them to the last
Arms     none; noop (a Go extender that answers 0 to prioritize) and noop-filter (which also passes all nodes in
         filter); wattle (prioritize, live) and wattle-filter (also filter, for pods with a hard latency limit that all
         nodes meet); wattle-shadow (prioritize in the default mode: decides without influence) and wattle-off (asks the
         controller, which decides nothing: the cost of the round trip); plugin (kube-scheduler with our plugin). With
         -all behind it, an arm examines all nodes (percentageOfNodesToScore: 100), as the chart's scheduler does
Favour   N above 0: the controller, the shim and the no-op extender run N nice levels above the control plane, KWOK and
         etcd, as if they had a processor to themselves; they still share the same processors
Needs    the control plane's programs (tests/e2e/kube/assets.py), and Go for the no-op extender
Gives    pods per second of each run and their medians; ratios to the base arms, each the median over the rounds, with a
         bootstrap interval of 95%; the sources of our answers; the cores of each process before the first arm (idle) and
         in each arm, and its CPU milliseconds per pod above idle
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e")]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import HouseError, fetch, wait_until  # noqa: E402
from kube_house import KubeHouse  # noqa: E402

ARMS = ("none", "noop", "wattle", "noop-filter", "wattle-filter", "wattle-shadow", "wattle-off", "plugin",
        "none-all", "noop-all", "wattle-all", "plugin-all")
MODES = {"wattle-shadow": "shadow", "wattle-off": "off"}
BASES = ("none", "none-all", "noop", "noop-all", "noop-filter")
DRAWS = 2000
PATIENCE = 600
LOOK_EVERY_S = 0.1
MAKERS = 4
LEASE_S = 600  # long, because lease renewals of thousands of nodes would dominate the measurement


class Noop:
    def __init__(self, folder):
        program = pathlib.Path(folder) / "noop"
        subprocess.run(["go", "build", "-o", str(program), str(ROOT / "lab/benchmarks/extender_noop.go")], check=True)
        self.process = subprocess.Popen([str(program)], stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def close(self):
        self.process.kill()
        self.process.wait()


class Bound:
    """Reads the number of bound pods from a scheduler's metrics, over one connection."""

    def __init__(self, port, profile):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the scheduler's certificate is self-signed
        self.link = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
        self.line = re.compile(rf'^scheduler_schedule_attempts_total{{profile="{profile}",result="scheduled"}} (\S+)$', re.MULTILINE)

    def count(self):
        try:
            self.link.request("GET", "/metrics")
            answer = self.link.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self.link.close()  # the scheduler does not listen yet
            return 0
        if answer.status != 200:
            raise HouseError(f"kube-scheduler's metrics: HTTP {answer.status}: {text[:200]}")
        found = self.line.search(text)
        return int(float(found.group(1))) if found else 0


def extenders_of(arm, house, noop):
    if arm in ("none", "plugin"):
        return []
    extender = house.extender()
    if arm.startswith("noop"):
        extender["urlPrefix"] = noop.url
    if not arm.endswith("-filter"):
        del extender["filterVerb"], extender["preemptVerb"]
    return [extender]


def favour(processes, levels):
    """Raises the priority of all threads of the processes; new threads inherit it."""
    for process in processes:
        for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            if os.getpriority(os.PRIO_PROCESS, int(thread.name)) <= 0:  # skips the learner's threads, which run at a lower priority
                os.setpriority(os.PRIO_PROCESS, int(thread.name), -levels)


def cpu_s(processes):
    """Returns CPU seconds of each process so far, by its name in this run."""
    used = {}
    for name, process in processes.items():
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(") ", 1)[1].split()
        used[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def ratio(rates, base, rng):
    """Returns [median, lower, upper] of the ratio of two arms, paired by round."""
    pairs = [one / other for one, other in zip(rates, base)]
    draws = sorted(statistics.median(rng.choices(pairs, k=len(pairs))) for _ in range(DRAWS))
    return [round(one, 3) for one in (statistics.median(pairs), draws[DRAWS // 40], draws[-DRAWS // 40 - 1])]


def idle_cores(processes, seconds):
    before = cpu_s(processes)
    time.sleep(seconds)
    after = cpu_s(processes)
    return {name: (after[name] - before[name]) / seconds for name in before}


def start_scheduler(plane, house, arm, noop, profile):
    more = {"percentageOfNodesToScore": 100} if arm.endswith("-all") else {}
    kind = arm.removesuffix("-all")
    plugin = house.plugin() | {"program": assets.scheduler(assets.VERSION)} if kind == "plugin" else {}
    return plane.start_scheduler("scheduler", profile=profile, extenders=extenders_of(kind, house, noop), more=more, **plugin)


def measure(plane, house, arm, noop, pods, turn):
    """Returns (pods per second, cores that each process used)."""
    profile = f"arm-{turn}"
    house.set_mode(MODES.get(arm, "live"))
    annotations = {"wattle.dev/latency-hard-ms": "1000"} if arm == "wattle-filter" else None
    with ThreadPoolExecutor(MAKERS) as makers:
        list(makers.map(lambda i: plane.add_pod(f"{profile}-{i}", cpu="20m", memory="16Mi", scheduler=profile, annotations=annotations), range(pods)))
    port = start_scheduler(plane, house, arm, noop, profile)
    bound = Bound(port, profile)
    looks = []  # (time, number of bound pods)
    processes = {**plane.processes, **house.processes, "noop": noop.process}
    used = {}

    def look():
        at, count = time.monotonic(), bound.count()
        if count >= pods // 10 and not looks:
            used.update(cpu_s(processes))
        if count >= pods // 10:
            looks.append((at, count))
        return count == pods

    end = time.monotonic() + PATIENCE
    while not look():
        if plane.processes["scheduler"].poll() is not None or time.monotonic() > end:
            raise HouseError(f"{arm}: {looks[-1:]} of {pods} pods bound:\n{plane.tail('scheduler')}")
        time.sleep(LOOK_EVERY_S)
    after = cpu_s(processes)
    (begun, first), (done, last) = looks[0], looks[-2] if len(looks) > 2 else looks[-1]
    took = looks[-1][0] - begun
    plane.kill("scheduler")
    plane.delete_pods(f"spec.schedulerName={profile}")
    wait_until("all pods are deleted", lambda: not plane.pods(), PATIENCE)
    wait_until("nothing is requested", lambda: house.requested_cores() < 1e-6, PATIENCE)
    return (last - first) / (done - begun), {name: (after[name] - used[name]) / took for name in used}


def answers(house):
    """Returns the shim's counts so far: answers by source, and vetoes by reason."""
    _, page = fetch(f"{house.shim()}/metrics")
    return {label: int(count) for label, count in re.findall(r'^wattle_shim_(?:answers|filters)_total\{(.+)\} (\d+)$', page, re.MULTILINE)}


def make_nodes(plane, house):
    with ThreadPoolExecutor(MAKERS) as makers:
        list(makers.map(house.make_one, house.servers()))


def run(binaries, nodes, options, noop):
    with ControlPlane(assets.assets(assets.VERSION, assets.CONTROL_PLANE)) as plane, KubeHouse(binaries, plane, nodes=nodes, mode="live") as house:
        house.add_plugin_socket()
        house.start_controller()
        house.start_shim()
        house.swarm_nice = 10  # real agents run on other machines
        house.start_swarm("--log-level", "error")
        make_nodes(plane, house)
        plane.start_kwok(LEASE_S)
        wait_until("all agents report", lambda: house.document("status")["nodes_connected"] == nodes, PATIENCE)
        wait_until("all nodes are known", lambda: all(n["kubernetes"] for n in house.nodes()), PATIENCE)
        time.sleep(options.settle / 2)
        idle = idle_cores({**plane.processes, **house.processes, "noop": noop.process}, options.settle / 2)
        favour([house.processes["controller"], house.processes["shim"], noop.process], options.favour)
        runs = {arm: [] for arm in options.arms}
        cores = {arm: [] for arm in options.arms}
        rng = random.Random(options.seed)
        turn = 0
        for _ in range(options.rounds):
            for arm in rng.sample(options.arms, k=len(options.arms)):
                rate, used = measure(plane, house, arm, noop, options.pods, turn)
                runs[arm].append(round(rate, 1))
                cores[arm].append(used)
                print(f"{nodes} nodes, {arm}: {rate:.0f} pods/s", flush=True)
                turn += 1
        status = house.document("status")

        def per_pod(arm, name):
            return round(statistics.median(1e3 * (one[name] - idle.get(name, 0)) / rate for one, rate in zip(cores[arm], runs[arm])), 2)
        return {"nodes": nodes, "pods": options.pods, "favour": options.favour, "seed": options.seed, "pods_per_s": runs,
                "median": {arm: statistics.median(values) for arm, values in runs.items()},
                "ratio_to": {base: {arm: ratio(values, runs[base], rng) for arm, values in runs.items()} for base in BASES if base in runs},
                "answers": answers(house), "decide_p50_us": status["decide_p50_us"], "decide_p99_us": status["decide_p99_us"],
                "idle_cores": {name: round(value, 3) for name, value in idle.items()},
                "cores": {arm: {name: round(statistics.median(one[name] for one in used), 2) for name in used[0]} for arm, used in cores.items()},
                "cpu_ms_per_pod": {arm: {name: per_pod(arm, name) for name in used[0]} for arm, used in cores.items()},
                "load": round(os.getloadavg()[0], 1)}


def main():
    parser = argparse.ArgumentParser(description="Measures pods per second through a real kube-scheduler.")
    parser.add_argument("binaries")
    parser.add_argument("--nodes", default="100,1000,5000")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arms", default=",".join(ARMS[:5]), type=lambda text: text.split(","))
    parser.add_argument("--favour", type=int, default=0, help="nice levels")
    parser.add_argument("--settle", type=float, default=10, help="seconds between the last agent and the first arm")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the arms")
    parser.add_argument("--json")
    options = parser.parse_args()
    unknown = [arm for arm in options.arms if arm not in ARMS]
    if unknown:
        parser.error(f"no arm {', '.join(unknown)}; there are {', '.join(ARMS)}")
    if any(arm.startswith("plugin") for arm in options.arms):
        assets.scheduler(assets.VERSION)  # builds it now if it is missing, because its compiler must not run during an arm
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        noop = Noop(folder)
        try:
            for nodes in map(int, options.nodes.split(",")):
                results.append(run(pathlib.Path(options.binaries).resolve(), nodes, options, noop))
                print(json.dumps(results[-1], indent=1), flush=True)
                if options.json:
                    pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        finally:
            noop.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
