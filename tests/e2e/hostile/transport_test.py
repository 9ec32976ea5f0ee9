#!/usr/bin/env python3
"""transport_test: peers with an allowed key violate the protocol: endless messages, announced routing IDs, unlimited
subscriptions, unlimited connections, replayed bytes, the name of another node, a revoked key. Each loses its connection
and is counted by role; the controller's memory stays bounded, and an honest agent loses no data. A node with a wrong
clock loses none either."""
import json
import pathlib
import re
import select
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from house import House, binaries_from, fetch, wait_until  # noqa: E402
from patience import let_a_moment_pass, SOON_S  # noqa: E402
import msgpack  # noqa: E402
import peers  # noqa: E402
import zmtp  # noqa: E402

MIB = 1 << 20
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"), flush=True)
    failures += 0 if truth else 1


class Siege:
    """A house with a hostile key for each role besides the honest ones."""
    # (endpoint, role of the hostile key, announced socket type)
    FRONTS = (("telemetry", "agent", b"DEALER"), ("ask", "reader", b"DEALER"), ("feed", "reader", b"SUB"))

    def __init__(self, house):
        self.house = house
        self.server = zmtp.server_key(house.dir / "controller.key.pub")
        for role in ("agent", "reader"):
            house.wattle("keys", "new", str(house.dir / f"hostile-{role}.key"))
            self.allow(role)

    def allow(self, role):
        house = self.house
        house.wattle("keys", "allow", "--allow-list", str(house.dir / "allow"), str(house.dir / f"hostile-{role}.key.pub"), role, f"hostile-{role}")

    def peer(self, endpoint, role, kind, key=None, **how):
        keys = zmtp.Keys.of(self.house.dir / f"{key or 'hostile-' + role}.key")
        return zmtp.Peer(getattr(self.house, endpoint), keys, self.server, socket_type=kind, **how)

    def refused(self, endpoint, reason, role):
        page = fetch(f"{self.house.api()}/metrics")[1]
        found = re.search(rf'^wattle_controller_refused_total{{socket="{endpoint}",reason="{reason}",role="{role}"}} (\S+)$', page, re.M)
        return float(found.group(1)) if found else 0.0

    def counted(self, endpoint, reason, role, at_least=1):
        try:
            wait_until("the refusal is counted", lambda: self.refused(endpoint, reason, role) >= at_least)
            return True
        except Exception:
            return False

    def memory_mib(self):
        status = pathlib.Path(f"/proc/{self.house.processes['controller'].pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024


def ends(peer, deed, seconds=SOON_S):
    """Returns whether the other side closes during the action or soon after."""
    try:
        deed(peer)
        return peer.closed(seconds)
    except zmtp.Closed:
        return True


def unfinished_messages(siege):
    for endpoint, role, kind in siege.FRONTS:
        for size, count in ((64 << 10, 2000), (0, 200_000), (40, 200_000)):
            before = siege.memory_mib()
            with siege.peer(endpoint, role, kind) as peer:
                ended = ends(peer, lambda p: p.part(b"x" * size, count))
                grown = siege.memory_mib() - before
            check(f"{endpoint}: a message of {count} parts of {size} bytes without an end closes the connection", ended)
            check(f"{endpoint}: memory is bounded", grown < 24, f"{grown:.0f} MiB more")
        check(f"{endpoint}: endless messages are counted", siege.counted(endpoint, "unfinished", role, 3))


def broken_frames(siege):
    for endpoint, role, kind in siege.FRONTS:
        with siege.peer(endpoint, role, kind) as peer:
            check(f"{endpoint}: an unencrypted frame closes the connection", ends(peer, lambda p: p.raw(zmtp.frame(b"x" * 100))))
        with siege.peer(endpoint, role, kind) as peer:
            check(f"{endpoint}: malformed bytes close the connection", ends(peer, lambda p: p.raw(b"\0\x09no frame!" * 100)))
        with siege.peer(endpoint, role, kind) as peer:
            check(f"{endpoint}: an oversized frame closes the connection", ends(peer, lambda p: p.half(b"x" * 100, of=1 << 40)))
    half = [siege.peer("telemetry", "agent", b"DEALER") for _ in range(4)]
    before = siege.memory_mib()
    for peer in half:
        peer.half(b"x" * (MIB // 2), of=MIB)
    let_a_moment_pass()
    check("incomplete frames use no more memory than a message", siege.memory_mib() - before < 8, f"{siege.memory_mib() - before:.0f} MiB more")
    for peer in half:
        peer.close()
    before = siege.memory_mib()
    half = [siege.peer("ask", "reader", b"DEALER") for _ in range(60)]
    ended = sum(ends(peer, lambda p: p.half(b"x" * (MIB - 1000), of=MIB), 0.1) for peer in half)
    check("many connections of one key stay within its memory limit", siege.memory_mib() - before < 40, f"{siege.memory_mib() - before:.0f} MiB more")
    check("connections beyond the limit are closed and counted", ended >= 60 - 32 and siege.counted("ask", "unread", "reader", 60 - 32), ended)
    for peer in half:
        peer.close()


def strangers(siege):
    """Tests clients without a key."""
    for endpoint in ("telemetry", "ask", "feed"):
        with socket.create_connection(("127.0.0.1", getattr(siege.house, endpoint)), timeout=SOON_S) as stranger:
            stranger.sendall(zmtp.GREETING + bytes([6]) + struct.pack(">Q", MIB) + b"\x05HELLO")
            said = b""
            try:
                while piece := stranger.recv(4096):
                    said += piece
                ended = True
            except ConnectionError:
                ended = True
            except TimeoutError:
                ended = False
        check(f"{endpoint}: a frame without a key that exceeds a handshake closes the connection", ended, said)


def routing_ids(siege):
    for endpoint, role in (("telemetry", "agent"), ("ask", "reader")):
        for identity in (b"\0\0\0\0\1", b"me", b"x" * 255):
            try:
                siege.peer(endpoint, role, b"DEALER", identity=identity).close()
                check(f"{endpoint}: a routing id of {len(identity)} bytes is refused", False)
            except zmtp.Refused:
                check(f"{endpoint}: a routing id of {len(identity)} bytes is refused", True)
        check(f"{endpoint}: refused routing IDs are counted", siege.counted(endpoint, "routing_id", role, 3))
        try:
            siege.peer(endpoint, role, b"DEALER", properties=[(b"X-Much", b"x" * 100_000)]).close()
            check(f"{endpoint}: a handshake with much unused data is refused", False)
        except zmtp.Refused:
            check(f"{endpoint}: a handshake with much unused data is refused", True)
        siege.peer(endpoint, role, b"DEALER", identity=b"").close()


def many_connections(siege):
    for endpoint, role, kind, most in (("telemetry", "agent", b"DEALER", 8), ("feed", "reader", b"SUB", 32)):
        peers = [siege.peer(endpoint, role, kind) for _ in range(most + 4)]
        check(f"{endpoint}: the oldest of more connections than {most} is closed", peers[0].closed(10))
        check(f"{endpoint}: the latest connection stays open", not peers[-1].closed(0.5))
        check(f"{endpoint}: the closed connection is counted", siege.counted(endpoint, "connections", role, 4))
        for peer in peers:
            peer.close()


def subscriptions(siege):
    with siege.peer("feed", "reader", b"SUB") as peer:
        before = siege.memory_mib()
        check("a topic of half a megabyte closes the connection", ends(peer, lambda p: p.subscribe(b"x" * (MIB // 2))))
        check("a huge topic uses no memory afterwards", siege.memory_mib() - before < 8, f"{siege.memory_mib() - before:.0f} MiB more")
    with siege.peer("feed", "reader", b"SUB") as peer:
        for topic in (b"other", b"", b"boar", b"board "):
            peer.subscribe(topic)
        peer.command(b"SUBSCRIBE", b"another")
        check("unknown topics are counted", siege.counted("feed", "subscription", "reader", 5))
        check("unknown topics deliver no messages", peer.receive(1.5) is None)
        peer.subscribe(b"state")
        news = peer.receive(10)
        check("a known topic delivers messages", news is not None and news[0] == b"state", str(news)[:80])
    for topics in ((b"%d" % at for at in range(5000)), (b"board" for _ in range(5000))):
        with siege.peer("feed", "reader", b"SUB") as peer:
            check("endless subscriptions close the connection", ends(peer, lambda p: [p.subscribe(topic) for topic in topics]))


class Tap:
    """Relays one connection to a port, and keeps the bytes that the client sends."""

    def __init__(self, port):
        self.port, self.sent = port, bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.relay, daemon=True)
        self.thread.start()

    def relay(self):
        client, _ = self.listener.accept()
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    (server if one is client else client).sendall(data)
                    if one is client:
                        self.sent += data


def replays(siege):
    """Sends captured bytes again: a whole conversation on another connection, and a message on its own."""
    house = siege.house
    keys = zmtp.Keys.of(house.dir / "hostile-agent.key")
    tap = Tap(house.telemetry)
    with zmtp.Peer(tap.listener.getsockname()[1], keys, siege.server) as peer:
        peer.send(peers.hello("hostile-agent", 1))
        check("a captured conversation is accepted", peer.receive() is not None)
        peer.send(peers.message(peers.SAMPLES, [peers.record(1, 1, [])], []))
        check("the record is acknowledged", peer.receive() is not None)
    tap.thread.join(SOON_S)
    with socket.create_connection(("127.0.0.1", house.telemetry), timeout=SOON_S) as again:
        try:
            again.sendall(tap.sent)
            while again.recv(1 << 16):
                pass
            closed = True
        except TimeoutError:
            closed = False
        except OSError:
            closed = True
    check("telemetry: a replayed conversation is closed", closed)
    peer = siege.peer("telemetry", "agent", b"DEALER")
    once = peer.sealed(peers.hello("hostile-agent", 2))
    peer.raw(once)
    check("telemetry: a message is accepted once", peer.receive() is not None)
    check("telemetry: the same message again ends its connection", ends(peer, lambda one: one.raw(once)))


def other_names(siege):
    """An allowed key speaks for another node."""
    with siege.peer("telemetry", "agent", b"DEALER") as peer:
        peer.send(peers.hello("this-machine", 1 << 40))
        answer = msgpack.unpackb(peer.receive()[0])
        check("an agent cannot speak for another node, and learns the fix", answer[1] == peers.REFUSAL and "node: hostile-agent" in answer[4], answer)
    check("the refusal is counted", siege.counted("telemetry", "node", "agent"))


def skewed_clocks(siege):
    """Records of a node whose wall clock is days off and steps, and whose incarnation falls after it lost its state."""
    house = siege.house
    day_ns, now_ns = 86400 * peers.SECOND_NS, time.time_ns()
    taken = []
    for incarnation, offsets in ((1 << 40, (0, 10 * day_ns, -10 * day_ns)), (3, (-now_ns, 1 << 61, 0))):
        with siege.peer("telemetry", "agent", b"DEALER") as peer:
            wait_until("the earlier session has ended", lambda: greeted(peer, incarnation))
            for seq, offset in enumerate(offsets, 1):
                one = peers.record(incarnation, seq, [])
                one[3] = now_ns + offset if offset != 1 << 61 else offset
                peer.send(peers.message(peers.SAMPLES, [one], []))
                answer = msgpack.unpackb(peer.receive()[0])
                taken.append(answer[1] == peers.ACK and answer[2:4] == [incarnation, seq])
    check("records count whatever the node's clock shows", len(taken) == 6 and all(taken), taken)
    shown = json.loads(fetch(f"{house.api()}/api/v1/nodes")[1])
    check("no figure of the nodes is infinite", "Infinity" not in json.dumps(shown) and "NaN" not in json.dumps(shown))


def greeted(peer, incarnation):
    peer.send(peers.hello("hostile-agent", incarnation))
    answer = peer.receive()
    return answer is not None and msgpack.unpackb(answer[0])[1] == 2


def revoked_keys(siege):
    house = siege.house
    hostile = {endpoint: siege.peer(endpoint, role, kind) for endpoint, role, kind in siege.FRONTS}
    honest = {"ask": siege.peer("ask", "operator", b"DEALER", key="operator"), "feed": siege.peer("feed", "operator", b"SUB", key="operator")}
    hostile["feed"].subscribe(b"state")
    honest["feed"].subscribe(b"state")
    check("both subscribers receive the feed", hostile["feed"].receive(10) is not None and honest["feed"].receive(10) is not None)
    for endpoint in ("telemetry", "ask"):
        hostile[endpoint].part(b"never to end", 10)
    for role in ("agent", "reader"):
        house.wattle("keys", "revoke", "--allow-list", str(house.dir / "allow"), f"hostile-{role}")
    for endpoint, peer in hostile.items():
        check(f"{endpoint}: a revoked key's connection is closed although it is idle", ends(peer, lambda _: None, 20))
    check("connections of other keys stay open", not honest["ask"].closed(0.5) and not honest["feed"].closed(2))
    for endpoint, role, kind in siege.FRONTS:
        try:
            siege.peer(endpoint, role, kind).close()
            check(f"{endpoint}: a revoked key cannot reconnect", False)
        except zmtp.Refused:
            check(f"{endpoint}: a revoked key cannot reconnect", True)


def main():
    with House(binaries_from(sys.argv)) as house:
        siege = Siege(house)
        house.start_controller()
        house.start_agent()
        wait_until("the agent is connected", house.connected)
        for attack in (unfinished_messages, broken_frames, strangers, routing_ids, many_connections, subscriptions, replays, other_names, skewed_clocks, revoked_keys):
            attack(siege)
            check(f"the controller runs ({attack.__name__})", house.processes["controller"].poll() is None, house.log("controller")[-1000:])
        page = fetch(f"{house.api()}/metrics")[1]
        check("the honest agent misses no record", bool(house.connected()) and "wattle_controller_records_missing_total 0\n" in page)
        check("the honest agent stayed connected", page.count("wattle_controller_sessions 1\n") == 1 and "controller.lost" not in house.log("agent"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
