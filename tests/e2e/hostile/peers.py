#!/usr/bin/env python3
"""peers: authenticated clients that send valid messages and use as many resources as they can.

Use      peers.py PLAY PORT KEY SERVER_KEY NAME SECONDS [SINK]    SINK: port that gets the same bytes and discards them
Prints   one line of JSON: counts of sent and answered messages
Plays    PLAYS; the prefix is the role
"""
import itertools
import json
import socket
import sys
import time

import msgpack
from zmtp import Closed, Keys, Peer, Refused, frame, server_key
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import pace, SOON_S  # noqa: E402

HELLO, SAMPLES, ACK, PING, REFUSAL, ASK, SUGGESTION, PLACEMENT, SNAPSHOT, QUERY, REPLY = 1, 3, 4, 5, 7, 8, 9, 11, 14, 15, 16
SECOND_NS = 1_000_000_000


def message(kind, *fields):
    return msgpack.packb([1, kind, *fields])


def hello(name, incarnation):
    return message(HELLO, 1, 1, name, incarnation, "hostile", [], {}, 8.0, 8 << 30)


def workload(name, ended=False):
    return [7, 0, name, ended, 1000, 1000]


def record(incarnation, seq, workloads, partial=False, part=0, parts=1):
    return [incarnation, seq, seq * SECOND_NS, 0, SECOND_NS, [1.0, 8.0, 1 << 30, 8 << 30] if part == 0 else [], workloads, [], partial, part, parts]


def ask(number, candidates, uid=None, deadline_ms=0.0):
    return message(ASK, number, uid or f"hostile-{number}-{time.monotonic_ns()}", "pod", "default", "ReplicaSet/x y", 0.1, 1e6, False, None, None, "", "",
                   candidates, [], deadline_ms)


class Sink:
    """Encrypts messages like a Peer, and sends them to a sink that does not answer."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self._peer = Peer.__new__(Peer)
        self._peer._nonce, self._peer._in, self._peer._key = 0, b"", b"k" * 32
        self._peer.socket = self.socket

    def send(self, *frames):
        self._peer.send(*frames)

    def receive(self, seconds=SOON_S):
        pace(min(seconds, 0.01))
        return None

    def close(self):
        self.socket.close()


class Play:
    def __init__(self, port, key, server, name, seconds, sink):
        self.port, self.keys, self.server, self.name, self.sink = port, key, server, name, sink
        self.end = time.monotonic() + seconds
        self.reported = dict.fromkeys(("sent", "answered", "busy", "refused", "acked", "connections", "unanswered"), 0)
        self.peer = None

    def connect(self):
        self.close()
        self.peer = Sink(self.sink) if self.sink else Peer(self.port, self.keys, self.server, seconds=SOON_S)
        self.reported["connections"] += 1

    def close(self):
        if self.peer is not None:
            self.peer.close()
        self.peer = None

    def over(self):
        return time.monotonic() >= self.end

    def send(self, body):
        self.peer.send(body)
        self.reported["sent"] += 1

    # Counts the next answer and returns its kind, or None on timeout.
    def hear(self, seconds=0.001):
        frames = self.peer.receive(seconds)
        if frames is None:
            return None
        _, kind, *fields = msgpack.unpackb(frames[0], strict_map_key=False)
        if kind == REFUSAL:
            self.reported["refused"] += 1
        elif (kind == REPLY and fields[3].startswith("busy")) or (kind == SUGGESTION and fields[3].startswith("busy")):
            self.reported["busy"] += 1
        elif kind in (REPLY, SUGGESTION, SNAPSHOT):
            self.reported["answered"] += 1
        elif kind == ACK:
            self.reported["acked"] += 1
        return kind

    def run(self, play):
        while not self.over():
            try:
                self.connect()
                play(self)
            except (Closed, Refused, TimeoutError, OSError):
                pace(0.2)
        self.close()


def greet(play, incarnation):
    """A session; a sink sends no welcome."""
    play.send(hello(play.name, incarnation))
    if not play.sink and play.hear(10) == REFUSAL:
        raise Refused("not welcome")


def agent_churn(play):
    """Sends two thousand new pods in each record, and a new record as soon as the last is acknowledged."""
    incarnation = time.time_ns() >> 10
    greet(play, incarnation)
    for seq in itertools.count(1):
        play.send(message(SAMPLES, [record(incarnation, seq, [workload(f"{play.name}-{seq}-{i}") for i in range(2000)])], []))
        while not play.over():
            heard = play.hear(0.2)
            if heard == REFUSAL:
                return
            if heard == ACK or play.sink:
                break
        if play.over():
            return


def agent_tiny(play):
    """Sends sixty-four empty intervals of two thousand workloads per message, more than its credit."""
    incarnation = time.time_ns() >> 10
    greet(play, incarnation)
    play.send(message(SAMPLES, [record(incarnation, 1, [workload(f"{play.name}-{i}") for i in range(2000)])], []))
    for first in itertools.count(2, 64):
        play.send(message(SAMPLES, [record(incarnation, seq, [], partial=True) for seq in range(first, first + 64)], []))
        if play.hear() == REFUSAL or play.over():
            return


def agent_placements(play):
    """Sends asks for unknown pods."""
    greet(play, time.time_ns() >> 10)
    for number in itertools.count():
        play.send(message(PLACEMENT, f"{play.name}-{number}", play.name, number % 2 == 1))
        if number % 50 == 0:
            play.hear()
            if play.over():
                return


def agent_parts(play):
    """Sends intervals of a thousand parts."""
    incarnation = time.time_ns() >> 10
    greet(play, incarnation)
    seq = 0
    while not play.over():
        for part in range(1000):
            seq += 1
            play.send(message(SAMPLES, [record(incarnation, seq, [workload(f"{play.name}-{part}-{i}") for i in range(40)], part=part, parts=1000)], []))
            if play.hear() == REFUSAL or play.over():
                return


def agent_hellos(play):
    """Sends hello and ping repeatedly."""
    for incarnation in itertools.count(time.time_ns() >> 10):
        play.send(hello(play.name, incarnation))
        for nonce in range(20):
            play.send(message(PING, nonce, 0))
        play.hear()
        if play.over():
            return


def pipeline(play, make, at_once):
    """Keeps this many requests open at a time; each gets one answer."""
    open_ = 0
    for number in itertools.count(1):
        if play.over():
            break
        play.send(make(number))
        open_ += 1
        if not play.sink and play.hear(0.0001) is not None:
            open_ -= 1
        while open_ >= at_once and not play.over():
            if play.sink:
                open_ = 0
            elif play.hear(0.2) is not None:
                open_ -= 1
    patience = time.monotonic() + SOON_S
    while open_ > 0 and not play.sink and time.monotonic() < patience:
        if play.hear(1) in (REPLY, SUGGESTION, SNAPSHOT, REFUSAL):
            open_ -= 1
    if not play.sink:
        play.reported["unanswered"] += open_


def query(what, **arguments):
    return lambda number: message(QUERY, number, what, arguments)


NAMES = [f"nowhere-{i}" for i in range(5000)]  # advised pods are in flight on the node, which would reduce others' capacity


def unread(play, make, count):
    for number in range(count):
        play.send(make(number))
        if play.over():
            return
    while not play.over():
        pace(0.1)


def close_at_once(play, make):
    for number in range(20):
        play.send(make(number))
    pace(0.1)


PLAYS = {
    "agent-churn": agent_churn,
    "agent-tiny": agent_tiny,
    "agent-placements": agent_placements,
    "agent-parts": agent_parts,
    "agent-hellos": agent_hellos,
    "shim-names": lambda play: pipeline(play, lambda n: ask(n, NAMES), 50),
    "shim-many-names": lambda play: pipeline(play, lambda n: ask(n, [f"n{i}" for i in range(8192)]), 10),
    "shim-unread": lambda play: unread(play, lambda n: ask(n, NAMES[:1000]), 5000),
    "shim-snapshots": lambda play: pipeline(play, query("snapshot"), 100),
    "shim-closes": lambda play: close_at_once(play, lambda n: ask(n, NAMES[:500])),
    "reader-nodes": lambda play: pipeline(play, query("nodes"), 5400),
    "reader-unread": lambda play: unread(play, query("nodes"), 5400),
    "reader-pods": lambda play: pipeline(play, query("pods"), 200),
    "reader-closes": lambda play: close_at_once(play, query("pods")),
    "reader-decisions": lambda play: pipeline(play, query("decisions", limit="1000"), 100),
    "operator-asks": lambda play: pipeline(play, lambda n: ask(n, NAMES[:200]), 200),
    "operator-explains": lambda play: pipeline(play, query("explain", pod="nobody"), 200),
    "operator-doctor": lambda play: pipeline(play, query("doctor"), 200),
    "operator-nonsense": lambda play: pipeline(play, lambda n: b"\xc1 nonsense", 100),
    "operator-unknown": lambda play: pipeline(play, query("there is none"), 100),
}


def main():
    name, port, key, server, who, seconds, *sink = sys.argv[1:]
    play = Play(int(port), Keys.of(key), server_key(server), who, float(seconds), int(sink[0]) if sink else None)
    play.run(PLAYS[name])
    print(json.dumps(play.reported))


if __name__ == "__main__":
    main()
