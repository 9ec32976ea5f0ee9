#!/usr/bin/env python3
"""bad_input_test: bad input gets a clear answer and has no effect: wrong configuration keys, wrong keys, malformed
messages on every socket, invalid HTTP, no, one, unknown or only masked candidates, and malformed annotations. All parts
work after each.
"""
import collections
import json
import pathlib
import random
import re
import shutil
import socket
import sys
import urllib.parse

from house import House, binaries_from, extender_args, fetch, wait_until
from patience import MOMENT_S, SOON_S

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def raw(port, data, read=True, patience=SOON_S):
    """Returns the answer, or "" if the other side closes or stays silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as s:
        try:
            s.sendall(data)
            s.settimeout(patience)
            return s.recv(65536).decode(errors="replace") if read else ""
        except OSError:
            return ""


def scores(answer):
    """Returns the score of each node; a node that is not in the answer has 0."""
    status, body = answer
    assert status == 200, (status, body)
    return collections.Counter({row["Host"]: row["Score"] for row in json.loads(body)})


def samples(house):
    return house.query("status")["samples"]


def configuration(house):
    binaries = {
        "wattle-agent": ("agent.yaml", ["run"]),
        "wattle-controller": ("controller.yaml", []),
        "wattle-shim": ("shim.yaml", []),
    }
    for binary, (name, verb) in binaries.items():
        good = house.run(house.binary(binary), *verb, "--config", str(house.dir / name), "--check-config")
        check(f"{binary} accepts its configuration", good.returncode == 0, good.stderr)
        bad = house.dir / f"bad-{name}"
        bad.write_text((house.dir / name).read_text() + "no_such_key: 1\nlog: {level: loud}\n")
        done = house.run(house.binary(binary), *verb, "--config", str(bad), "--check-config")
        check(f"{binary} reports an unknown key and a wrong value at once, with file and line",
              done.returncode == 2 and "no_such_key" in done.stderr and "loud" in done.stderr and f"bad-{name}:" in done.stderr,
              f"exit {done.returncode}: {done.stderr}")
        missing = house.run(house.binary(binary), *verb, "--config", str(house.dir / "absent.yaml"))
        check(f"{binary} names a configuration file that does not exist", missing.returncode == 2 and "absent.yaml" in missing.stderr, missing.stderr)


def keys(house):
    done = house.cli("nodes", key="stranger", check=False)
    check("a key that is not allowed is refused, with a message that says so",
          done.returncode == 1 and ("refused" in done.stderr or "allow" in done.stderr), f"{done.returncode}: {done.stderr}")
    wrong = house.wattle("--server", f"tcp://127.0.0.1:{house.ask}", "--key", str(house.dir / "reader.key"),
                         "--server-key", str(house.dir / "stranger.key.pub"), "nodes", check=False)
    check("a wrong server key is reported", wrong.returncode == 1 and "key" in wrong.stderr, f"{wrong.returncode}: {wrong.stderr}")
    open_key = house.dir / "open.key"
    shutil.copy(house.dir / "reader.key", open_key)
    open_key.chmod(0o444)
    done = house.wattle("--server", f"tcp://127.0.0.1:{house.ask}", "--key", str(open_key),
                        "--server-key", str(house.dir / "controller.key.pub"), "nodes", check=False)
    check("an error names a secret file that others may read", done.returncode != 0 and "open.key" in done.stderr, done.stderr)


def garbage(house):
    random.seed(1)
    for port in (house.telemetry, house.feed, house.ask):
        for _ in range(20):
            raw(port, random.randbytes(random.randrange(1, 2000)), read=False)
        raw(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", read=False)
        raw(port, b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01NULL" + bytes(100), read=False)
    for name, port in (("controller", house.http), ("shim", house.shim_port), ("agent", house.agent_http)):
        answers = [raw(port, random.randbytes(500) + b"\r\n\r\n", patience=MOMENT_S) for _ in range(5)]
        check(f"{name}: a malformed request gets 400 or a closed connection", all(a == "" or " 400 " in a for a in answers), answers)
        check(f"{name}: an unknown path is 404", fetch(f"http://127.0.0.1:{port}/no/such/path")[0] == 404)
        check(f"{name}: a wrong method is 405", " 405 " in raw(port, b"DELETE /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
        check(f"{name}: a huge header is refused", " 431 " in raw(port, b"GET /livez HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"))
        check(f"{name}: a body beyond the limit is refused",
              " 413 " in raw(port, b"POST /prioritize HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"))
    status, body = fetch(f"{house.api()}/api/v1/node?name=" + urllib.parse.quote("no-such-node"))
    check("the API names a node that does not exist", status == 404 and "no-such-node" in body, body)
    status, body = fetch(f"{house.api()}/api/v1/decisions?limit=many")
    check("the API names an argument that is not a number", status == 400 and "limit" in body, body)


def dribble(house):
    """Opens clients that send incomplete requests slowly, more of them than a port has connections, while probes and a
    scheduler send normal requests."""
    for name, port in (("controller", house.http), ("shim", house.shim_port), ("agent", house.agent_http)):
        hostile = []
        for _ in range(300):
            s = socket.create_connection(("127.0.0.1", port), timeout=SOON_S)
            s.sendall(b"GET /livez HTTP/1.1\r\nX-Slow: a")
            hostile.append(s)
            if len(hostile) % 50 == 0:
                answers = [fetch(f"http://127.0.0.1:{port}/livez", timeout=SOON_S)[0] for _ in range(3)]
                check(f"{name}: the probe is answered beside {len(hostile)} slow clients", answers == [200] * 3, answers)
        for s in hostile:
            s.close()
        hidden = b"GET /no/such/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        for what, head in (("an unknown Transfer-Encoding", b"Host: x\r\nTransfer-Encoding: xchunked\r\n"), ("TE: xchunked", b"Host: x\r\nTE: xchunked\r\n"),
                           ("a folded field", b"Host: x\r\nX: a\r\n b\r\n"), ("no Host", b"")):
            answer = raw(port, b"GET /livez HTTP/1.1\r\n" + head + b"\r\n" + hidden)
            check(f"{name}: {what} is refused, and the rest of the bytes is not treated as a request", " 400 " in answer and "hidden" not in answer, answer)


def memory(house):
    """Checks that a process that holds keys leaves no core file."""
    for name, process in house.processes.items():
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text(encoding="utf-8")
        core = re.search(r"Max core file size\s+(\S+)\s+(\S+)", limits)
        check(f"{name} leaves no core file", core and core.groups() == ("0", "0"), core)


def extender(house):
    url = f"{house.shim()}/prioritize"
    for body in (b"", b"{", b"[]", b'{"Pod": 5}', b'{"Pod": {}, "Nodes": null, "NodeNames": [1, 2]}', b"\xff\xfe", b"[" * 100_000):
        status, text = fetch(url, body)
        check(f"extender JSON {body[:24]!r} is 400 with a reason", status == 400 and len(text) > 5, (status, text))
    check("no candidates: an empty list", fetch(url, extender_args("u0", [])) == (200, "[]"))
    check("one candidate: one integer", list(scores(fetch(url, extender_args("u1", [house.node])))) == [house.node])
    got = scores(house.decided("u2", ["ghost-1", house.node, "ghost-2"]))
    check("unknown nodes get 0, and the known one more", got["ghost-1"] == 0 and got["ghost-2"] == 0 and got[house.node] == 10, got)
    got = scores(house.decided("u3", ["ghost-1", "ghost-2"]))
    check("all masked: neutral", not got, got)
    got = scores(house.decided("u4", [house.node], cpu="1000"))
    check("a pod that fits nowhere: neutral", not got, got)
    got = scores(house.decided("u5", [house.node], annotations={"wattle.dev/latency-soft-ms": "fast", "wattle.dev/latency-hard-ms": "1e999"}))
    check("malformed annotations are ignored", got[house.node] == 10, got)
    reported = house.query("explain", "u5")
    check("malformed annotations are reported on the decision", "latency-soft-ms" in json.dumps(reported) and "latency-hard-ms" in json.dumps(reported), reported)
    got = scores(house.decided("u6", [house.node], annotations={"wattle.dev/latency-hard-ms": "0.000001"}))
    check("a hard limit that no node meets: neutral", got[house.node] == 0, got)
    check("explain names the mask's reason", "latency" in json.dumps(house.query("explain", "u6")))
    done = house.cli("explain", "no-such-node", check=False)
    check("explain of an unknown pod exits with 1 and names the pod", done.returncode == 1 and "no-such-node" in done.stderr, done.stderr)


def main():
    with House(binaries_from(sys.argv)) as house:
        configuration(house)
        house.start_controller()
        house.start_agent()
        house.start_shim()
        wait_until("the agent is connected", house.connected)
        for part in (keys, garbage, dribble, memory, extender):
            part(house)
            for name in ("controller", "agent", "shim"):
                house.alive(name)
            since = samples(house)
            wait_until("the node sends samples", lambda: samples(house) > since + 1)
            check(f"after {part.__name__} every process runs and the node is live", bool(house.connected()))
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
