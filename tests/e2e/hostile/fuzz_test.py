#!/usr/bin/env python3
"""fuzz_test: sends nearly valid messages through real sockets, with a valid key of each role: fields of other types,
extreme numbers, lists and texts of any length, and truncated, duplicated or reordered messages, also of another role.
The controller survives with bounded memory, answers every honest ask, keeps the honest agent connected, and adds no
node without a key.

Usage    fuzz_test.py BINARY-FOLDER
Units    WATTLE_FUZZ_MESSAGES: messages per role (default 3000); WATTLE_FUZZ_SEED (default: random, printed)
"""
import copy
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import msgpack  # noqa: E402
from house import House, binaries_from, fetch, wait_until  # noqa: E402
from patience import pace, SOON_S  # noqa: E402
import peers  # noqa: E402
from zmtp import Closed, Keys, Peer, Refused, server_key  # noqa: E402

MESSAGES = int(os.environ.get("WATTLE_FUZZ_MESSAGES", "3000"))
SEED = int(os.environ.get("WATTLE_FUZZ_SEED", random.randrange(1 << 32)))
MOST_MIB = 192  # bound for a session of 4,096 workloads, kept decisions and the allocator
EDGES = [0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -2**63, 2**64 - 1, 0.0, -0.0, 0.5, 1e308, -1e308, 5e-324,
         float("inf"), float("-inf"), float("nan"), None, True, False, "", "x", b"", b"x", "\0", "\u202e\u200b", "../../etc/passwd", [], {}, [[]], [None]]
QUERIES = ["status", "nodes", "node", "pods", "decisions", "explain", "doctor", "policy", "snapshot", "latency", "energy", "models", "shim", "metrics", "none"]
ORDERS = ["policy-set", "policy-promote", "policy-rollback", "provision-mode", "provision-report", "model-save", "model-load", "confirm"]  # only an operator may


class Fuzz:
    def __init__(self, dice):
        self.dice = dice

    def value(self, depth=0):
        kind = self.dice.randrange(8)
        if kind < 4:
            return self.dice.choice(EDGES)
        if kind == 4:
            return self.dice.choice(["x", "\u00e9", "\x1b[2J", "a/b"]) * self.dice.choice([1, 60, 253, 4096, 4097])
        if kind == 5:
            return self.dice.randrange(-2**63, 2**64)
        if depth > 3:
            return None
        if kind == 6:
            return [self.value(depth + 1) for _ in range(3)] if self.dice.random() < 0.5 else [self.dice.choice(EDGES)] * self.dice.choice([1, 17, 1000])
        return {self.dice.choice(["why", "limit", "pod", "node", "", "since"]): self.value(depth + 1)}

    def deep(self):
        nested = None
        for _ in range(self.dice.choice([15, 16, 17, 100])):
            nested = [nested]
        return nested

    def mutate(self, message):
        """Replaces one value at any depth."""
        message = copy.deepcopy(message)
        place = message
        while True:
            inner = [at for at in (range(len(place)) if isinstance(place, list) else place) if isinstance(place[at], (list, dict)) and place[at]]
            if not inner or self.dice.random() < 0.4:
                break
            place = place[self.dice.choice(inner)]
        at = self.dice.choice(list(range(len(place)) if isinstance(place, list) else place))
        deed = self.dice.randrange(7)
        if deed < 3:
            place[at] = self.value()
        elif deed == 3:
            place[at] = self.deep()
        elif deed == 4:
            del place[at]
        elif isinstance(place, list):
            place.insert(at, place[at] if deed == 5 else self.value())
        return message

    def packed(self, message):
        """Returns the message unchanged, changed in structure, or changed in its bytes."""
        for _ in range(self.dice.choice([0, 1, 1, 1, 2, 5])):
            if message:
                message = self.mutate(message)
        try:
            data = bytearray(msgpack.packb(message))
        except (OverflowError, ValueError, TypeError):
            data = bytearray(b"\xc1")
        deed = self.dice.randrange(12)
        if deed == 0 and data:
            data[self.dice.randrange(len(data))] = self.dice.randrange(256)
        elif deed == 1:
            del data[self.dice.randrange(len(data) + 1):]
        elif deed == 2:
            data += bytes(self.dice.randrange(256) for _ in range(self.dice.randrange(20)))
        return [bytes(data)] if self.dice.random() < 0.97 else [bytes(data)] * self.dice.choice([0, 2, 3])


def reported(data):
    return msgpack.unpackb(data, strict_map_key=False)


class Agent:
    """Yields the messages of a session in any order."""
    role = "agent"

    def __init__(self, dice):
        self.dice = dice
        self.seq, self.incarnation = 0, time.time_ns() >> 10

    def greeting(self):
        self.incarnation += 1
        self.seq = 0
        return reported(peers.hello("hostile-agent", self.incarnation))

    def next(self):
        kind = self.dice.randrange(10)
        if kind < 5:
            self.seq += self.dice.choice([1, 1, 1, 1, 0, 2, -1])
            seq = max(0, self.seq)
            workloads = [peers.workload(f"w{self.dice.randrange(50)}", self.dice.random() < 0.1) for _ in range(self.dice.randrange(20))]
            return reported(peers.message(peers.SAMPLES if kind < 4 else 17, [peers.record(self.incarnation, seq, workloads)], []))
        if kind < 7:
            return reported(peers.message(peers.PLACEMENT, f"p{self.dice.randrange(50)}", "hostile-agent", self.dice.random() < 0.5))
        if kind == 7:
            return reported(peers.message(peers.PING, self.seq, 0))
        if kind == 8:
            return self.greeting()
        return [1, self.dice.randrange(256), *[self.dice.choice(EDGES) for _ in range(self.dice.randrange(12))]]


class Asker:
    def __init__(self, role, dice):
        self.role, self.dice = role, dice

    def greeting(self):
        return None

    def next(self):
        kind = self.dice.randrange(10)
        if kind < 4:
            names = self.dice.sample(["this-machine", "nowhere", "", "hostile-agent", "x" * 253], self.dice.randrange(5))
            return reported(peers.ask(self.dice.randrange(2**40), names, uid=f"fuzz-{self.dice.randrange(100)}", deadline_ms=self.dice.choice([0.0, 5.0, 1e9])))
        if kind < 9:
            what = self.dice.choice(QUERIES + (ORDERS if self.role != "operator" else []))
            arguments = {self.dice.choice(["limit", "pod", "node", "since", "why", "mode", "name"]): self.dice.choice(["", "1", "-1", "this-machine", "9" * 30])}
            return reported(peers.message(peers.QUERY, self.dice.randrange(2**40), what, arguments))
        return [1, self.dice.randrange(256), *[self.dice.choice(EDGES) for _ in range(self.dice.randrange(20))]]


def besiege(house, server, kind, fuzz, honest):
    """Sends the requested number of messages, over as many connections as needed."""
    port = house.telemetry if kind.role == "agent" else house.ask
    keys = Keys.of(house.dir / f"hostile-{kind.role}.key")
    sent, peer = 0, None
    while sent < MESSAGES:
        try:
            if peer is None:
                peer = Peer(port, keys, server, seconds=SOON_S)
                if (first := kind.greeting()) is not None:
                    peer.send(msgpack.packb(first))
            frames = fuzz.packed(kind.next())
            sent += 1
            if frames:
                peer.send(*frames)
            if sent % 20 == 0:
                while peer.receive(0.002) is not None:
                    pass
            if sent % 100 == 0:
                honest()
        except (Closed, Refused, TimeoutError):
            if peer is not None:
                peer.close()
            peer = None
            pace(0.01)
    if peer is not None:
        peer.close()


def main():
    failures = 0

    def check(claim, truth, detail=""):
        nonlocal failures
        print(("ok   " if truth else "FAIL ") + claim + ("" if truth else f": {detail}"), flush=True)
        failures += not truth

    print(f"seed {SEED}", flush=True)
    dice = random.Random(SEED)
    with House(binaries_from(sys.argv)) as house:
        for role in ("agent", "shim", "reader", "operator"):
            house.wattle("keys", "new", str(house.dir / f"hostile-{role}.key"))
            house.wattle("keys", "allow", "--allow-list", str(house.dir / "allow"), str(house.dir / f"hostile-{role}.key.pub"), role, f"hostile-{role}")
        house.start_controller()
        house.start_agent()
        wait_until("the agent is connected", house.connected)
        server = server_key(house.dir / "controller.key.pub")
        controller = house.processes["controller"]
        asked, unanswered = 0, 0

        def rss_mib():
            status = pathlib.Path(f"/proc/{controller.pid}/status").read_text()
            return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024

        with Peer(house.ask, Keys.of(house.dir / "shim.key"), server) as shim:
            def honest():
                nonlocal asked, unanswered
                asked += 1
                unanswered += 1  # until it is answered, because another peer's load may end its connection
                shim.send(peers.ask(asked, ["this-machine"], uid="honest"))
                while (frames := shim.receive(10)) is not None:
                    answer = reported(frames[0])
                    if answer[1] == peers.SUGGESTION and answer[2] == asked:
                        unanswered -= 1
                        return

            for kind in (Agent(dice), Asker("shim", dice), Asker("reader", dice), Asker("operator", dice)):
                before = rss_mib()
                besiege(house, server, kind, Fuzz(dice), honest)
                lives = controller.poll() is None
                check(f"{kind.role}: the controller runs", lives, house.log("controller")[-2000:])
                if not lives:
                    return 1
                check(f"{kind.role}: its memory is bounded", rss_mib() - before < MOST_MIB, f"{rss_mib() - before:.0f} MiB more")
        check(f"all {asked} honest asks are answered", unanswered == 0, unanswered)
        nodes = {node["node"] if "node" in node else node["name"] for node in house.query("nodes")["nodes"]}
        check("valid messages are accepted, and no node without a key appears", nodes == {house.node, "hostile-agent"}, nodes)
        page = fetch(f"{house.api()}/metrics")[1]
        check("refusals are counted", any("refused_total{" in line and not line.endswith(" 0") for line in page.splitlines()), page[:300])
        wait_until("the agent's records are acknowledged", house.connected)
        check("the honest agent stayed connected", "controller.lost" not in house.log("agent"), house.log("agent")[-500:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
