#!/usr/bin/env python3
"""kube_faults: measures how each fault of each part affects the pods of a real kube-scheduler that asks Wattle.

Usage    kube_faults.py BIN_DIR [--version 1.35.4] [--nodes 30] [--hold 5] [--faults controller:stopped,...]
                        [--json FILE]
Does     runs etcd, kube-apiserver, kube-scheduler, KWOK, a swarm of agents, our controller and our shim in a separate
         network namespace. Creates pods as fast as they are bound, with a constant backlog. For each fault: measures
         the rate without it, applies the fault for `--hold` seconds, ends it
Faults   killed: SIGKILL, restart at the end. stopped: SIGSTOP, SIGCONT at the end. restarted: SIGTERM, immediate
         restart. split: drops packets to and from the part's port (for the scheduler: all of its packets) until the end
Gives    per fault: pods that failed (phase Failed, or not bound within a minute after it), the rate during the fault as
         a share of the rate before it in the same run, the seconds from its end until the rate of one second is back at
         80%, and the sources of the shim's answers
Needs    root (network namespace), nft, the control plane's programs (tests/e2e/kube/assets.py --version VERSION)
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e"), str(ROOT / "lab/benchmarks")]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import HouseError, fetch, wait_until  # noqa: E402
from kube_house import KubeHouse  # noqa: E402
from kube_throughput import Bound  # noqa: E402

PROFILE = "wattle"
BACKLOG = 60
MAKERS = 3
BASE_S = 4
LOOK_S = 0.1
BACK_RATIO = 0.8
PATIENCE = 60
FAULTS = ("shim:killed", "shim:stopped", "shim:restarted", "shim:split",
          "controller:killed", "controller:stopped", "controller:restarted", "controller:split",
          "apiserver:killed", "apiserver:stopped", "apiserver:restarted", "apiserver:split",
          "scheduler:killed", "scheduler:stopped", "scheduler:restarted", "scheduler:split")
GROUP = 61234  # group of the scheduler only, to match its packets
INSIDE = "WATTLE_FAULTS_INSIDE"


class Load:
    """Keeps a backlog of pods and counts the bound ones, across restarts of the scheduler."""

    def __init__(self, plane, port):
        self.plane, self.port = plane, port
        self.made = self.gone = self.last = self.before = 0
        self.made_lock = threading.Lock()
        self.pause, self.stop = threading.Event(), threading.Event()
        self.looks = collections.deque()  # (time, number of bound pods)
        self.threads = [threading.Thread(target=self.make, daemon=True) for _ in range(MAKERS)] + [threading.Thread(target=self.look, daemon=True)]
        for thread in self.threads:
            thread.start()

    def bound(self):
        return self.before + self.last

    def make(self):
        while not self.stop.is_set():
            if self.pause.is_set() or self.made - self.bound() > BACKLOG:
                time.sleep(0.005)
                continue
            with self.made_lock:
                number = self.made
                self.made += 1
            while not self.stop.is_set():
                with contextlib.suppress(OSError, HouseError):
                    self.plane.add_pod(f"load-{number}", cpu="5m", memory="4Mi", scheduler=PROFILE)
                    break
                if self.there(number):
                    break
                time.sleep(0.1)

    def there(self, number):
        with contextlib.suppress(OSError):
            return self.plane.raw("GET", f"/api/v1/namespaces/default/pods/load-{number}", timeout=2)[0] == 200
        return False

    def look(self):
        link = Bound(self.port(), PROFILE)
        port = self.port()
        link.link.timeout = 1
        while not self.stop.is_set():
            if port != self.port():
                port = self.port()
                link = Bound(port, PROFILE)
                link.link.timeout = 1
            at, count = time.monotonic(), 0
            with contextlib.suppress(HouseError):
                count = link.count()
            if count:
                if count < self.last:  # a restarted scheduler counts from zero
                    self.before += self.last
                self.last = count
                self.looks.append((at, self.bound()))
            time.sleep(LOOK_S)

    def at(self, when):
        """Returns the number of bound pods at that time, interpolated between two samples."""
        before = after = None
        for one in list(self.looks):
            if one[0] <= when:
                before = one
            elif after is None:
                after = one
        if before is None or after is None:
            return (before or after or (0, 0))[1]
        return before[1] + (after[1] - before[1]) * (when - before[0]) / (after[0] - before[0])

    def rate(self, begin, end):
        return (self.at(end) - self.at(begin)) / (end - begin)


class Bench:
    def __init__(self, plane, house, options):
        self.plane, self.house, self.options = plane, house, options
        self.extender = {key: value for key, value in house.extender(httpTimeout="50ms").items() if key not in ("filterVerb", "preemptVerb")}
        self.scheduler_port = 0

    def start_scheduler(self):
        self.scheduler_port = self.plane.start_scheduler("scheduler", profile=PROFILE, extenders=[self.extender], group=GROUP)

    # ---- injection of faults

    def processes(self, part):
        owner, name = {"shim": (self.house, "shim"), "controller": (self.house, "controller"), "apiserver": (self.plane, "kube-apiserver"),
                       "scheduler": (self.plane, "scheduler")}[part]
        return owner.processes, name

    def signal(self, part, number):
        table, name = self.processes(part)
        table[name].send_signal(number)

    def start(self, part):
        command = {"shim": lambda: self.house.start("shim", self.house.binary("wattle-shim"), "--config", str(self.house.dir / "shim.yaml")),
                   "controller": lambda: self.house.start("controller", self.house.binary("wattle-controller"), "--config", str(self.house.dir / "controller.yaml")),
                   "apiserver": self.plane.start_apiserver, "scheduler": self.start_scheduler}
        command[part]()

    def end(self, part, number):
        table, name = self.processes(part)
        process = table.pop(name)
        process.send_signal(number)
        process.wait()

    def split(self, part, on):
        ports = {"shim": [self.house.shim_port], "controller": [self.house.ask, self.house.feed], "apiserver": [self.plane.port], "scheduler": []}[part]
        if not on:
            return subprocess.run(["nft", "delete", "table", "inet", "faults"], check=True)
        rules = [f"tcp dport {port} drop; tcp sport {port} drop;" for port in ports] or [f"meta skgid {GROUP} drop;"]
        rules = "table inet faults { chain out { type filter hook output priority 0; " + " ".join(rules) + " }; }\n"
        return subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)

    def begin_fault(self, part, fault):
        if fault == "killed":
            self.end(part, signal.SIGKILL)
        elif fault == "stopped":
            self.signal(part, signal.SIGSTOP)
        elif fault == "restarted":
            self.end(part, signal.SIGTERM)
            self.start(part)
        else:
            self.split(part, True)

    def end_fault(self, part, fault):
        if fault == "killed":
            self.start(part)
        elif fault == "stopped":
            self.signal(part, signal.SIGCONT)
        elif fault == "split":
            self.split(part, False)

    # ---- measurement of a fault's effect

    def answers(self):
        with contextlib.suppress(OSError):
            _, page = fetch(f"{self.house.shim()}/metrics", timeout=2)
            return collections.Counter({f"{source}: {reason}": int(count) for reason, source, count in
                                        re.findall(r'^wattle_shim_answers_total\{reason="(.+)",source="(.+)"\} (\d+)$', page, re.MULTILINE)})
        return collections.Counter()

    def measure(self, part, fault):
        load = Load(self.plane, lambda: self.scheduler_port)
        wait_until("the load is bound", lambda: load.bound() > 2 * BACKLOG, PATIENCE)
        time.sleep(BASE_S + 0.5)
        before_answers = self.answers()
        begun = time.monotonic()
        base = load.rate(begun - BASE_S, begun)
        self.begin_fault(part, fault)
        held = 0 if fault == "restarted" else self.options.hold
        time.sleep(max(0, begun + held - time.monotonic()))
        during = self.answers() - before_answers
        ended = time.monotonic()
        self.end_fault(part, fault)
        back = None
        while back is None and time.monotonic() < ended + PATIENCE:
            time.sleep(0.2)
            now = time.monotonic()
            # A restart has no duration: the fault starts when it ends.
            since = max(ended, now - 1)
            if now - since >= 1 and load.rate(since, now) >= BACK_RATIO * base:
                back = max(0.0, now - 1 - ended)
        kept = None if fault == "restarted" else load.rate(begun + 1, begun + held) / base
        load.pause.set()
        failed = self.settle(load)
        load.stop.set()
        for thread in load.threads:
            thread.join()
        self.plane.delete_pods(f"spec.schedulerName={PROFILE}")
        wait_until("all pods are deleted", lambda: not self.plane.pods(), PATIENCE)
        return {"part": part, "fault": fault, "base_pods_per_s": round(base, 1), "pods": load.made, "failed": failed,
                "kept": None if kept is None else round(kept, 2), "back_s": None if back is None else round(back, 1),
                "answers": dict(during.most_common(4)), "load": round(os.getloadavg()[0], 1)}

    def settle(self, load):
        """Returns the number of pods that failed or were not bound within a minute."""
        end = time.monotonic() + PATIENCE
        while True:
            pods = self.plane.pods()
            bad = sum(1 for pod in pods if not pod["spec"].get("nodeName") or pod["status"].get("phase") == "Failed")
            if (bad == 0 and len(pods) >= load.made) or time.monotonic() > end:
                return bad + load.made - len(pods)
            time.sleep(0.5)


def table(results):
    lines = ["| part | fault | pods | failed | rate kept | back after |", "|---|---|---|---|---|---|"]
    for one in results:
        kept = "" if one["kept"] is None else f"{one['kept']:.2f}"
        back = "not within a minute" if one["back_s"] is None else f"{one['back_s']:.1f} s"
        lines.append(f"| {one['part']} | {one['fault']} | {one['pods']} | {one['failed']} | {kept} | {back} |")
    return "\n".join(lines)


def run(binaries, options):
    results = []
    with ControlPlane(assets.assets(options.version, assets.CONTROL_PLANE)) as plane, KubeHouse(binaries, plane, nodes=options.nodes, mode="live") as house:
        shim = (house.dir / "shim.yaml").read_text().replace("deadline: 100ms\n", "deadline: 20ms\n").replace("filter: true\n", "")
        (house.dir / "shim.yaml").write_text(shim)
        house.start_controller()
        house.start_shim()
        house.swarm_nice = 10
        house.start_swarm("--log-level", "error")
        for server in house.servers():
            plane.add_node(server["name"], cpu=str(int(server["cpu_cores"])), memory=f"{int(server['memory_total_bytes'] // 2**20)}Mi", pods="400")
        plane.start_kwok(600)
        wait_until("all agents report", lambda: house.document("status")["nodes_connected"] == options.nodes, PATIENCE * 4)
        bench = Bench(plane, house, options)
        bench.start_scheduler()
        for name in options.faults:
            part, fault = name.split(":")
            results.append(bench.measure(part, fault))
            print(json.dumps(results[-1]), flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results))
    print(f"median rate without a fault: {statistics.median(one['base_pods_per_s'] for one in results):.0f} pods/s")
    return 0


def main():
    parser = argparse.ArgumentParser(description="Measures the effect of each fault of each part.")
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    parser.add_argument("--nodes", type=int, default=30)
    parser.add_argument("--hold", type=float, default=5)
    parser.add_argument("--faults", default=",".join(FAULTS), type=lambda text: text.split(","))
    parser.add_argument("--json")
    options = parser.parse_args()
    unknown = [fault for fault in options.faults if fault not in FAULTS]
    if unknown:
        parser.error(f"no fault {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    if INSIDE not in os.environ:
        for program in ("unshare", "nft", "ip"):
            if shutil.which(program) is None or os.geteuid() != 0:
                print(f"skipped: needs root and {program}")
                return 77
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return run(pathlib.Path(options.binaries).resolve(), options)


if __name__ == "__main__":
    sys.exit(main())
