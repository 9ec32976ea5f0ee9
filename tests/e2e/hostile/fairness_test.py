#!/usr/bin/env python3
"""fairness_test: twenty greedy peers of every role run with a hundred honest agents, a scheduler and probes. No honest
client starves, no data is lost, memory is bounded, and every refusal is counted. In a control run, the twenty send the
same bytes to a sink.

Usage    fairness_test.py BINARY-FOLDER [PLAY...]     PLAY: run only these attacks
Units    WATTLE_HOSTILE_SECONDS: seconds of attack and of control (default 15 each; from 300 on, the test also judges
         latencies and lost sessions)
"""
import collections
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from house import House, HouseError, binaries_from, extender_args, fetch, free_ports, wait_until  # noqa: E402
from patience import LATE_S, pace, SOON_S  # noqa: E402
from peers import PLAYS, ask  # noqa: E402
from zmtp import Keys, Peer, server_key  # noqa: E402

import msgpack  # noqa: E402

SECONDS = float(os.environ.get("WATTLE_HOSTILE_SECONDS", "15"))
JUDGED_FROM_S = 300
NODES = 100
PERIOD_S = 0.05
MOST_MIB = 512  # allowed growth of the controller: twenty peers' shares of waiting requests, and answers (docs/reference/fairness.md)
ROLES = {"agent": "agent", "shim": "shim", "reader": "reader", "operator": "operator"}


def sink(server):
    """Reads and discards all bytes."""
    def drain(connection):
        while connection.recv(1 << 20):
            pass
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=drain, args=(connection,), daemon=True).start()


def rss_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


class Cluster(House):
    def __init__(self, binaries, plays):
        super().__init__(binaries)
        self.plays = plays
        with open(self.dir / "controller.yaml", "a", encoding="utf-8") as config:
            config.write(f"store: {{path: {self.dir}/controller/store.db}}\n")
        self.swarm_port, self.sink_port = free_ports(2)
        (self.dir / "swarm.yaml").write_text(f"nodes: {NODES}\nendpoint: \"tcp://127.0.0.1:{self.telemetry}\"\nkeys: {self.dir}\n"
                                             f"server_key: {self.dir}/controller.key.pub\nlisten: \"127.0.0.1:{self.swarm_port}\"\n")
        done = self.run(self.binary("wattle-sim"), "swarm", "--config", str(self.dir / "swarm.yaml"), "--make-keys", str(self.dir / "allow"))
        if done.returncode != 0:
            raise HouseError(done.stderr)
        self.wattle("keys", "new", str(self.dir / "scheduler.key"))
        self.wattle("keys", "allow", "--allow-list", str(self.dir / "allow"), str(self.dir / "scheduler.key.pub"), "shim", "scheduler")
        for play in plays:
            self.wattle("keys", "new", str(self.dir / f"{play}.key"))
            self.wattle("keys", "allow", "--allow-list", str(self.dir / "allow"), str(self.dir / f"{play}.key.pub"), ROLES[play.split("-")[0]], play)
        self.sink = socket.create_server(("127.0.0.1", self.sink_port))
        threading.Thread(target=sink, args=(self.sink,), daemon=True).start()

    def begin(self):
        self.start_controller()
        self.start_shim()
        self.start("swarm", self.binary("wattle-sim"), "swarm", "--config", str(self.dir / "swarm.yaml"))
        wait_until("the swarm is connected", lambda: self.swarm()["welcomed"] == NODES)
        # A scheduler that binds the pods that it asks about.
        self.start("drive", self.binary("wattle-sim"), "drive", "--shim", self.shim(), "--swarm", f"http://127.0.0.1:{self.swarm_port}",
                   "--controller", self.api(), "--seconds", "100000", "--pods", "100", "--period", "0.2", "-o", "line")

    def swarm(self, window=10):
        return json.loads(fetch(f"http://127.0.0.1:{self.swarm_port}/status?window={window}")[1])

    def metrics(self):
        values = collections.Counter()
        for name, labels, value in re.findall(r"^(\w+)(\{[^}]*\})? (\S+)$", fetch(f"{self.api()}/metrics", timeout=SOON_S)[1], re.M):
            values[name + labels] += float(value)
        return values

    def refused(self):
        return sum(value for name, value in self.metrics().items() if name.startswith("wattle_controller_refused_total"))

    def hostile(self, seconds, to_sink):
        folder = pathlib.Path(__file__).resolve().parent
        port = {"agent": self.telemetry}
        return {play: subprocess.Popen(
            ["nice", "-n", "10", sys.executable, str(folder / "peers.py"), play, str(port.get(play.split("-")[0], self.ask)), str(self.dir / f"{play}.key"),
             str(self.dir / "controller.key.pub"), play, str(seconds), *([str(self.sink_port)] if to_sink else [])],
            stdout=subprocess.PIPE, text=True) for play in self.plays}


class Honest:
    """A scheduler that asks the controller directly, and probes; measures the latency of each answer. Runs on one
    thread, by the clock."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.ask_s, self.shim_s, self.probe_s, self.ack_s, self.mib = [], [], [], [], []
        self.neutral, self.failed, self.behind = 0, [], 0
        self.names = [node["name"] for node in json.loads(fetch(f"{cluster.api()}/api/v1/nodes")[1])["nodes"]]

    def ask(self, peer, number):
        begun = time.monotonic()
        peer.send(ask(number, self.names, uid=f"scheduler-{number % 64}"))  # repeats asks, so that expected pods do not accumulate
        while True:
            frames = peer.receive(SOON_S)
            if frames is None:
                self.failed.append(f"an ask was not answered within {SOON_S} s")
                return
            _, kind, answered, *rest = msgpack.unpackb(frames[0])
            if kind == 9 and answered == number:
                break
        self.ask_s.append(time.monotonic() - begun)
        if rest[1]:
            self.neutral += 1

    def get(self, into, url, data=None):
        begun = time.monotonic()
        status, body = fetch(url, data, timeout=SOON_S)
        into.append(time.monotonic() - begun)
        if status != 200:
            self.failed.append(f"{url}: {status} {body[:100]}")

    def run(self, seconds):
        cluster, end, turn = self.cluster, time.monotonic() + seconds, 0
        peer = Peer(cluster.ask, Keys.of(cluster.dir / "scheduler.key"), server_key(cluster.dir / "controller.key.pub"))
        with peer:
            while time.monotonic() < end:
                turn += 1
                self.ask(peer, turn)
                if turn % 4 == 0:
                    self.get(self.probe_s, f"{cluster.api()}/livez")
                    self.get(self.shim_s, f"{cluster.shim()}/prioritize", extender_args(f"s-{time.monotonic_ns()}", random.sample(self.names, 20)))
                if turn % 20 == 0:
                    status = cluster.swarm(window=5)
                    self.ack_s.append(status["ack_p99_s"])
                    self.behind += status["welcomed"] < NODES
                    self.mib.append(rss_mib(cluster.processes["controller"].pid))
                pace(PERIOD_S)
        return self

    def line(self, name):
        rows = (("asks", self.ask_s), ("shim", self.shim_s), ("probes", self.probe_s))
        figures = "  ".join(f"{what} {quantile(values, 0.5) * 1e3:.1f} / {quantile(values, 0.99) * 1e3:.1f}" for what, values in rows)
        print(f"{name}: p50 / p99 ms: {figures}  acks p99 (median of windows) {quantile(self.ack_s, 0.5) * 1e3:.0f}; "
              f"controller {max(self.mib):.0f} MiB at most; {len(self.ask_s)} asks, {self.neutral} neutral", flush=True)


def main():
    plays = sys.argv[2:] or list(PLAYS)
    failures = 0

    def check(claim, truth, detail=""):
        nonlocal failures
        print(("ok   " if truth else "FAIL ") + claim + ("" if truth else f": {detail}"), flush=True)
        failures += not truth

    with Cluster(binaries_from(sys.argv), plays) as cluster:
        cluster.begin()
        Honest(cluster).run(3)
        phases = {}
        for phase in ("control", "attack"):
            refused_before, swarm_before = cluster.refused(), cluster.swarm()
            peers = cluster.hostile(SECONDS, phase == "control")
            phases[phase] = honest = Honest(cluster).run(SECONDS)
            honest.line(phase)
            reported = {play: json.loads(process.communicate(timeout=LATE_S)[0].strip() or "{}") for play, process in peers.items()}
        cluster.alive("controller")
        for play, counts in reported.items():
            print(f"  {play}: {counts}", flush=True)
        check("every hostile peer ran to its end", all(reported.values()), [play for play, counts in reported.items() if not counts])
        # The amount that they send depends on the machine.
        check("the hostile peers sent many messages", sum(counts["sent"] for counts in reported.values()) > 20 * len(plays), reported)

        control, attack = phases["control"], phases["attack"]
        check("every honest ask, probe and call of the shim was answered", not attack.failed, attack.failed[:5])
        check("no ask was answered neutrally because of the attack", attack.neutral <= control.neutral + 0.01 * len(attack.ask_s), attack.neutral)
        wait_until("records of honest agents are acknowledged", lambda: cluster.swarm()["oldest_waiting_s"] < 3)
        swarm = cluster.swarm()
        check("no honest record is lost", swarm["records_dropped"] == 0, swarm)
        check("every honest agent is connected", wait_until("all agents are connected", lambda: cluster.swarm()["welcomed"] == NODES))
        if SECONDS >= JUDGED_FROM_S:  # on a busy machine a session may end because its agent did not run
            check("no honest agent lost its session", swarm["reconnects"] == swarm_before["reconnects"] and attack.behind == 0, (swarm, attack.behind))
        check("memory is bounded", max(attack.mib) < max(control.mib) + MOST_MIB, (max(control.mib), max(attack.mib)))
        # Unread refusals are counted too, so the count exceeds the number of received ones.
        counted = cluster.refused() - refused_before
        heard = sum(counts["busy"] + counts["refused"] for counts in reported.values())
        check("every refusal is counted", counted >= heard, (counted, heard))
        # The controller drops answers that a connection has no room for: the reader was too slow on a busy machine.
        for role in ("shim", "reader", "operator"):
            unanswered = {play: counts["unanswered"] for play, counts in reported.items() if ROLES[play.split("-")[0]] == role and counts["unanswered"]}
            dropped = cluster.metrics()[f'wattle_controller_answers_unread_total{{role="{role}"}}']
            print(f"{role}s: {dropped:.0f} answers dropped unread; without an answer though they read: {unanswered}")
            check(f"every request of a reading {role} was answered or refused, or its answer counts as unread", sum(unanswered.values()) <= dropped, unanswered)
        used = {role: value for name, value in cluster.metrics().items() for role in ROLES if name == f'wattle_controller_peer_seconds_total{{role="{role}"}}'}
        check("metrics show the loop time of each role", all(used.values()) and len(used) == len(ROLES), used)
        print(f"refused {counted:.0f}, reported {heard}; seconds of the loop by role: { {role: round(value, 1) for role, value in used.items()} }")
        for what in ("ask_s", "shim_s", "probe_s", "ack_s"):
            before, after = quantile(getattr(control, what), 0.99), quantile(getattr(attack, what), 0.99)
            print(f"p99 of {what[:-2]}s: {after / before:.2f} of the control's ({before * 1e3:.1f} -> {after * 1e3:.1f} ms)")
            if SECONDS >= JUDGED_FROM_S:
                check(f"p99 of {what[:-2]}s is at most twice the control's", after <= 2 * before, (before, after))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
