#!/usr/bin/env python3
"""http_strangers_test: HTTP clients without a token, or with a wrong one, against the real controller, shim and agent.

Claims   a request with a foreign Host reads no data; a route without a token reads no large body; slow bodies displace
         no valid request; a token file that others may write admits no agent; wrong tokens lock no operator out
Clients  Python's sockets and http.client
"""
import concurrent.futures
import http.client
import json
import socket
import sys

from house import House, binaries_from, extender_args, fetch, free_ports, wait_until
from patience import LATE_S

TOKEN = "correct-horse-battery-staple"
HOSTILE = 300  # more than a port's 256 connections
CROWD = 16
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def ask(port, method, path, body=None, headers=None):
    """Returns (status, body) of one request on a new connection; (0, reason) without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LATE_S)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, repr(error)
    finally:
        connection.close()


def answered(port, text):
    """Returns the first line of the answer to an incomplete request."""
    with socket.create_connection(("127.0.0.1", port), timeout=LATE_S) as s:
        s.sendall(text)
        return s.makefile("rb").readline().decode(errors="replace").strip()


def foreign_hosts(house):
    own = {"Authorization": f"Bearer {TOKEN}"}
    for name, port, path in (("controller", house.http, "/api/v1/status"), ("controller", house.http, "/"), ("controller", house.http, "/metrics"),
                             ("shim", house.shim_port, "/metrics"), ("agent", house.agent_http, "/metrics")):
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "svc.evil.example", "localhost.evil.example.", "EVIL.example", "[::1].evil.example"):
            status, text = ask(port, "GET", path, headers=own | {"Host": host})
            check(f"{name}: {path} with Host {host} is refused", status == 421 and "Host" in text, f"{status} {text[:200]}")
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
            status, _ = ask(port, "GET", path, headers=own | {"Host": host, "Accept-Encoding": "gzip"})
            check(f"{name}: {path} with Host {host} is answered", status == 200, status)
    status, _ = ask(house.http, "GET", "/api/v1/status", headers=own | {"Host": "wattle.example.org"})
    check("controller: a Host of http.hosts is answered", status == 200, status)
    status, text = ask(house.http, "GET", "/metrics", headers=own)
    check("refusals by Host are counted", 'wattle_controller_refused_total{socket="http",reason="host"} 21' in text)


def large_bodies(house, enrol_port):
    page = b"Host: localhost\r\nX-Wattle: page\r\nContent-Type: application/json\r\n"
    for name, port, path in (("page", house.http, b"/page/pass"), ("change", house.http, b"/page/change"), ("enrolment", enrol_port, b"/api/v1/enrol"),
                             ("controller", house.http, b"/nothing"), ("agent", house.agent_http, b"/metrics"), ("echo", house.agent_http, b"/echo"),
                             ("readiness", house.http, b"/readyz"), ("liveness", house.shim_port, b"/livez")):
        line = answered(port, b"POST " + path + b" HTTP/1.1\r\n" + page + b"Content-Length: 8000000\r\n\r\n")
        check(f"{name}: 8 MB are refused before the body is sent", " 413 " in line, line)
    chunks = b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + bytes(0x1000) + b"\r\n"
    line = answered(house.http, b"POST /page/pass HTTP/1.1\r\n" + page + chunks)
    check("page: chunks over the limit are refused during transfer", " 413 " in line, line)
    line = answered(house.http, b"POST /page/change HTTP/1.1\r\n" + page + b"Authorization: Bearer wrong\r\nContent-Length: 4000\r\n\r\n")
    check("page: a change with a wrong token is refused before its body is sent", " 401 " in line, line)
    line = answered(house.http, b"POST /page/pass HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
    check("page: a cross-origin request is refused before its body is sent", " 403 " in line, line)
    status, text = ask(house.http, "POST", "/page/pass", json.dumps({"token": TOKEN}), {"X-Wattle": "page"})
    check("page: the right token is accepted", status == 200 and json.loads(text)["open"], f"{status} {text}")


def slow_bodies(port, path, length, body, good, name):
    """Opens several connections before sending on any of them, like many starting nodes."""
    hostile = []
    for _ in range(HOSTILE):
        s = socket.create_connection(("127.0.0.1", port), timeout=LATE_S)
        s.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n{{".encode())
        hostile.append(s)
    answers = []
    for _ in range(4):
        crowd = [http.client.HTTPConnection("127.0.0.1", port, timeout=LATE_S) for _ in range(CROWD)]
        for honest in crowd:
            honest.connect()
        for i, honest in enumerate(crowd):
            try:
                honest.request("POST", path, body(i), {"Authorization": f"Bearer {TOKEN}", "Connection": "close"})
                answers.append(honest.getresponse().status)
            except (OSError, http.client.HTTPException) as error:
                answers.append(repr(error))
            honest.close()
    lost = [answer for answer in answers if answer not in good]
    check(f"{name}: {len(answers)} requests are answered beside {HOSTILE} slow bodies", not lost, f"{len(lost)} lost: {lost[:3]}")
    for s in hostile:
        s.close()


def token_file(house, enrol_port, tokens):
    house.wattle("keys", "token", "new", "n1", str(house.dir / "n1.token"), "--tokens", str(tokens))
    token = (house.dir / "n1.token").read_text().strip()
    house.wattle("keys", "new", str(house.dir / "n1.key"))
    body = json.dumps({"public_key": (house.dir / "n1.key.pub").read_text().strip()})

    def enrol():
        return ask(enrol_port, "POST", "/api/v1/enrol", body, {"Authorization": f"Bearer {token}"})
    for mode in (0o666, 0o664):
        tokens.chmod(mode)
        status, text = enrol()
        check(f"enrolment: a token file of mode {mode:o} admits no agent", status == 503 and "write" in text, f"{status} {text}")
    tokens.chmod(0o644)
    status, text = enrol()
    check("enrolment: the same token is accepted once only the owner may write the file", status == 200, f"{status} {text}")


def wrong_tokens(house):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        guesses = [pool.submit(ask, house.http, "GET", "/api/v1/status", None, {"Authorization": f"Bearer guess-{i}"}) for i in range(48)]
        right = [ask(house.http, "GET", "/api/v1/status", headers={"Authorization": f"Bearer {TOKEN}"})[0] for _ in range(16)]
        check("the right token is accepted despite wrong ones from the same address", right == [200] * 16, right)
        wrong = [guess.result()[0] for guess in guesses]
    check("each wrong token is refused", wrong == [401] * 48, wrong)


def main():
    enrol_port, = free_ports(1)
    with House(binaries_from(sys.argv), mode="shadow") as house:
        tokens = house.dir / "tokens"
        tokens.write_text("")
        for name, word in (("page.token", TOKEN), ("operator.token", "another-horse-battery")):
            house.write(name, word).chmod(0o400)
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text().replace(
            f"http: {{port: {house.http}}}",
            f"http: {{port: {house.http}, token_file: {house.dir}/page.token, operator_token_file: {house.dir}/operator.token, hosts: [wattle.example.org]}}")
            + f"enrol: {{tokens: {tokens}, port: {enrol_port}}}\n")
        house.start_controller()
        house.start_agent()
        house.start_shim()
        wait_until("the agent serves its page", lambda: fetch(f"http://127.0.0.1:{house.agent_http}/livez")[0] == 200)
        foreign_hosts(house)
        large_bodies(house, enrol_port)
        slow_bodies(house.shim_port, "/prioritize", 100_000, lambda i: extender_args(f"uid-{i}", [house.node]), (200,), "shim")
        slow_bodies(enrol_port, "/api/v1/enrol", 400, lambda i: json.dumps({"public_key": "no key"}), (400,), "enrolment")
        token_file(house, enrol_port, tokens)
        wrong_tokens(house)
        for name in ("controller", "agent", "shim"):
            house.alive(name)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
