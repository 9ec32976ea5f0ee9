#!/usr/bin/env python3
"""answers_test: compares the latency of accepted TCP connections as the agent's BPF program measures it with that of
wattle-load and the server.

Uses the real kernel and agent, a server with a known delay in a cgroup below the workload's, and servers that must not
count.
Usage    answers_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: a cgroup cannot be created or BPF cannot be loaded
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "actuator")]
sys.dont_write_bytecode = True
from cgroups import mounts, until  # noqa: E402
from kernel_test import FAILED, claim  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import pace, SOON_S  # noqa: E402

SHORT_S, LONG_S, EVERY, TARGET_S = 0.02, 0.2, 20, 0.1
BUCKET = 1.07  # a bucket's middle is within 6% of its values; wattle-load's own buckets are within 1%
# Every twentieth request is slow. The socket is IPv6 and accepts IPv4 too. Prints a line per listening port.
SERVER = f"""
import itertools, socket, threading, time
numbers = itertools.count(1)
def answer(peer):
    with peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or the second part waits for an acknowledgement, which is not measured
        while data := peer.recv(65536):
            if data.startswith((b'GET ', b'PRI ', b'\\x16\\x03')):
                time.sleep({LONG_S} if next(numbers) % {EVERY} == 0 else {SHORT_S})
                peer.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n')
                peer.sendall(b'ok')
listening = socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256)
print(listening.getsockname()[1], flush=True)
while True:
    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
"""


class Server:
    def __init__(self, folder=None):
        def enter():
            if folder:
                (folder / "cgroup.procs").write_text("0", encoding="utf-8")
        self.process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, preexec_fn=enter)
        self.port = int(self.process.stdout.readline())

    def ask(self, *said, address="127.0.0.1"):
        """Sends the requests one after the other on the same connection."""
        with socket.create_connection((address, self.port)) as peer:
            for text in said:
                peer.sendall(text)
                got = b""
                while not got.endswith(b"ok"):
                    got += peer.recv(4096)

    def end(self):
        self.process.kill()
        self.process.wait()


class Agent:
    def __init__(self, binaries, folder, provisioning):
        self.log = folder / "agent.log"
        config = folder / "agent.yaml"
        config.write_text(f"{{state_dir: {folder}/agent, tick: 200ms, spool: {{max_bytes: 0}}, http: {{port: 0}}, provisioning: {provisioning}}}\n", encoding="utf-8")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([os.path.join(binaries, "wattle-agent"), "run", "--config", config], stdout=log, stderr=log)
        until(lambda: '"agent.started"' in self.said() or self.process.poll() is not None)

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def page(self):
        port = re.search(r'"http_port":(\d+)', self.said()).group(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SOON_S) as answer:
            lines = [line for line in answer.read().decode().splitlines() if line and not line.startswith("#")]
        return {name.partition("{")[0] if name.startswith("wattle_agent_answer") else name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def answers(self):
        page = self.page()
        names = ("wattle_agent_answer_seconds_count", "wattle_agent_answers_over_total", "wattle_agent_answers_guessed_total")
        return [int(page.get(name, -1)) for name in names]

    def quantile(self, share):
        """Returns (low, high) in seconds of the histogram bucket that contains the quantile."""
        port = re.search(r'"http_port":(\d+)', self.said()).group(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SOON_S) as answer:
            found = re.findall(r'^wattle_agent_answer_seconds_bucket\{.*le="([^"]+)"\} (\S+)$', answer.read().decode(), re.M)
        buckets = sorted((float(le), float(count)) for le, count in found)
        low = 0.0
        for high, count in buckets:
            if count >= share * buckets[-1][1]:
                return low, high
            low = high
        return low, float("inf")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SOON_S)


def walk(binaries, agent, followed, other):
    claim("the programs are loaded", agent.page().get('wattle_agent_source_ok{source="bpf-answers"}') == 1, agent.page())
    claim("the latency is unknown before the first answer", agent.page()["wattle_agent_latency_known"] == 0, agent.page())
    other.ask(b"GET / HTTP/1.1\r\n\r\n")
    load = subprocess.run([os.path.join(binaries, "wattle-load"), "http", f"http://127.0.0.1:{followed.port}/", "--rate", "60", "--for", "15s", "-o", "json"],
                          capture_output=True, text=True, check=True)
    reported = json.loads(load.stdout)
    answered = reported["answered"]
    claim("each answer of the workload is counted, and none of another workload's server", until(lambda: agent.answers()[0] == answered), (agent.answers(), reported))
    count, over, guessed = agent.answers()
    page = agent.page()
    claim("the answers over the target are the delayed ones, plus those that the load measured as late", count // EVERY <= over <= count // EVERY + count // 10, (count, over))
    claim("plain HTTP answers are not marked as guesses", guessed == 0, guessed)
    for name, share, least_s in (("p50", 0.5, SHORT_S), ("p99", 0.99, LONG_S)):
        (low, high), load_s = agent.quantile(share), reported["latency_ms"][name] / 1e3
        print(f"     {name}: connections {low * 1e3:.1f} to {high * 1e3:.1f} ms, wattle-load {load_s * 1e3:.1f} ms, the server's delay {least_s * 1e3:.0f} ms", flush=True)
        claim(f"{name} is between the server's delay and what wattle-load saw", high >= least_s / BUCKET and low <= load_s * BUCKET, (low, high, load_s))
    claim("the latency is known after the first answer", page["wattle_agent_latency_known"] == 1, page)

    followed.ask(*[b"GET / HTTP/1.1\r\n\r\n"] * 3, address="::1")
    claim("each request of a connection over IPv6 is counted", until(lambda: agent.answers()[0] == count + 3), agent.answers())
    followed.ask(b"\x16\x03\x01\x00\x05hello", b"GET / HTTP/1.1\r\n\r\n")
    followed.ask(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    claim("TLS and HTTP/2 answers are counted as guesses", until(lambda: agent.answers()[0] == count + 6 and agent.answers()[2] == 3), agent.answers())
    with socket.create_connection(("127.0.0.1", followed.port)) as peer:  # a request in two parts counts from its first byte
        peer.sendall(b"GE")
        pace(0.3)
        peer.sendall(b"T / HTTP/1.1\r\n\r\n")
    claim("a request without an answer is not counted", agent.answers()[0] == count + 6, agent.answers())


def main():
    binaries = sys.argv[1]
    base = next(mounts("cgroup2"), None)
    if base is None or os.geteuid() != 0:
        print("[skipped] only root may create cgroups, and a v2 tree is required")
        return 77
    workload = base / f"wattle-answers-{os.getpid()}.service"
    folders, servers, agent = [workload, workload / "worker"], [], None
    with tempfile.TemporaryDirectory(prefix="wattle-answers-") as there:
        folder = pathlib.Path(there)
        try:
            for each in folders:
                each.mkdir()
            servers = [Server(folders[1]), Server()]
            socket_at = f"socket: {folder}/nobody"
            agent = Agent(binaries, folder, f"{{{socket_at}, connections: [{{workload: {workload.name}, target: {TARGET_S * 1e3:.0f}ms}}]}}")
            if re.search(r'"source.lost".*bpf-answers', agent.said()):
                print(f"[skipped] {agent.said()}")
                return 77
            walk(binaries, agent, *servers)
            agent.end()
            agent = Agent(binaries, folder, f"{{{socket_at}}}")
            page = agent.page()
            claim("without configured connections no answer program is loaded or shown", not any("answer" in name for name in page), page)
        except OSError as error:
            print(f"[skipped] {error}")
            return 77
        finally:
            if agent:
                agent.end()
            for server in servers:
                server.end()
            for each in reversed(folders):
                until(lambda at=each: not at.exists() or not (at / "cgroup.procs").read_text(encoding="utf-8").strip())
                if each.exists():
                    each.rmdir()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
