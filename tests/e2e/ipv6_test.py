#!/usr/bin/env python3
"""ipv6_test: a control plane on IPv6 only, and names with unreachable addresses, in private network and mount
namespaces.

Given    a host with only IPv6 addresses; a hosts file in which the controller's name has no IPv4 address; endpoints in
         the form of the packages and the chart (`tcp://*:PORT`, `::`)
         DNS: a short name that a search domain completes, with only AAAA records, and with unreachable addresses before
         the reachable one
Claims   agent, shim, command line, wattle-load and curl reach the controller by its name; `wattle-agent doctor` reports
         a link only if it works; if the first address of a name is unreachable, the next is used, over ZeroMQ and HTTP;
         without IPv6 the same endpoints serve IPv4
Skips    if this user may not create namespaces
"""
import contextlib
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

from house import CLI_TIMEOUT, SKIPPED, HouseError, binaries_from, extender_args, fetch, wait_until
from patience import LATE_S

NAME = "wattle-controller.wattle.svc"
ADDRESS = "fd00:10:96::1"
SHORT, SEARCH = "wattle-controller", "wattle.svc.cluster.local"
A, AAAA = 1, 28  # DNS record types
SILENT = "fd00:10:96::5"  # neither accepts nor refuses connections
DEAD = (SILENT, "fd00:dead::9", "192.0.2.9")  # no host has the other addresses


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Api(http.server.BaseHTTPRequestHandler):
    """An API server without nodes and pods, which records its requests."""
    asked = []

    def do_GET(self):  # pylint: disable=invalid-name
        path = self.path.partition("?")[0]
        self.asked.append(path)
        kind = {"/api/v1/nodes": "NodeList", "/api/v1/pods": "PodList"}.get(path)
        text = json.dumps({"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}).encode()
        self.send_response(200 if kind and "watch=" not in self.path else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Names(threading.Thread):
    """A DNS server on ::1. records: name -> type -> addresses; for other names it answers NXDOMAIN."""

    def __init__(self, records):
        super().__init__(daemon=True)
        self.records = records
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.bind(("::1", 53))

    def run(self):
        while True:
            query, peer = self.socket.recvfrom(4096)
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
                at += 1 + query[at]
            kind, question = int.from_bytes(query[at + 1:at + 3], "big"), query[12:at + 5]
            known = self.records.get(".".join(labels))
            data = [socket.inet_pton(socket.AF_INET6 if kind == AAAA else socket.AF_INET, one) for one in (known or {}).get(kind, [])]
            flags = b"\x85\x80" if known is not None else b"\x85\x83"
            answers = b"".join(b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\x00\x01" + bytes(4) + len(one).to_bytes(2, "big") + one for one in data)
            self.socket.sendto(query[:2] + flags + b"\x00\x01" + len(data).to_bytes(2, "big") + bytes(4) + question + answers, peer)


@contextlib.contextmanager
def api_at(address):
    """Yields the port of an API server that listens only on this address."""
    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
    Api.asked.clear()
    with Server((address, 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def resolve_to(*addresses):
    pathlib.Path("/etc/hosts").write_text("::1 localhost\n" + "".join(f"{one} {NAME}\n" for one in addresses))


class Place:
    """A folder with keys, and processes that end with the `with` block."""

    def __init__(self, binaries, folder, name=NAME):
        self.binaries, self.dir, self.processes, self.name = pathlib.Path(binaries).resolve(), folder, {}, name
        folder.mkdir()
        for name in ("controller", "agent", "shim", "operator"):
            self.run("wattle", "keys", "new", f"{folder}/{name}.key")
        for name in ("agent", "shim", "operator"):
            self.run("wattle", "keys", "allow", "--allow-list", f"{folder}/allow", f"{folder}/{name}.key.pub", name, name)

    def run(self, program, *words, check=True, timeout=LATE_S):
        done = subprocess.run([self.binaries / program, *words], capture_output=True, text=True, timeout=timeout, check=False)
        if check and done.returncode != 0:
            raise HouseError(f"{program} {' '.join(words)}: exit {done.returncode}: {done.stderr}")
        return done

    def start(self, name, program, *words):
        with open(self.dir / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen([self.binaries / program, *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def log(self, name):
        return (self.dir / f"{name}.log").read_text(errors="replace")

    def controller(self, api_port=None):
        d = self.dir
        (d / "c.yaml").write_text(
            f"data_dir: {d}/c\nkey: {d}/controller.key\nallow_list: {d}/allow\nmode: live\n"
            'telemetry: {endpoint: "tcp://*:7460"}\nfeed: {endpoint: "tcp://*:7461"}\nask: {endpoint: "tcp://*:7462"}\n'
            'http: {address: "::", port: 8050, insecure: true}\n' +
            (f"kubernetes: {{server: 'http://{self.name}:{api_port}'}}\n" if api_port else ""))
        self.start("controller", "wattle-controller", "--config", f"{d}/c.yaml")

    def agent_config(self, port=7460):
        d = self.dir
        (d / "a.yaml").write_text(
            f'node: agent\ntick: 500ms\nstate_dir: {d}/a\ncontroller: {{endpoint: "tcp://{self.name}:{port}", server_key: {d}/controller.key.pub, '
            f'key: {d}/agent.key}}\nhttp: {{address: "::1", port: 9460}}\nbpf: {{enabled: false}}\n'
            f"probes: [{{name: page, url: \"tcp://{self.name}:8050\", interval: 1s}}]\n")
        return str(d / "a.yaml")

    def agent(self):
        self.start("agent", "wattle-agent", "run", "--config", self.agent_config())

    def shim(self):
        d = self.dir
        (d / "s.yaml").write_text(
            f'listen: {{address: "::1", port: 8888}}\ncontroller: {{ask: "tcp://{self.name}:7462", feed: "tcp://{self.name}:7461", key: {d}/shim.key, '
            f"server_key: {d}/controller.key.pub}}\n")
        self.start("shim", "wattle-shim", "--config", f"{d}/s.yaml")

    def cli(self, *words, check=True):
        return self.run("wattle", "--server", f"tcp://{self.name}:7462", "--key", f"{self.dir}/operator.key", "--server-key",
                        f"{self.dir}/controller.key.pub", "--timeout", CLI_TIMEOUT, *words, check=check)

    def doctor(self, config):
        report = self.run("wattle-agent", "doctor", "--config", config, "-o", "json", check=False)
        return next(one for one in json.loads(report.stdout)["findings"] if one["source"] == "controller")

    def load_answered(self):
        return self.run("wattle-load", "http", f"http://{NAME}:8050/livez", "--users", "1", "--for", "1s", check=False).returncode == 0

    def connected(self):
        nodes = json.loads(self.cli("nodes", "-o", "json").stdout)["nodes"]
        return [node for node in nodes if node["name"] == "agent" and node["connected"]]

    def stop(self, *names):
        for name in names or list(self.processes):
            process = self.processes.pop(name)
            process.kill()
            process.wait()


def check(what, fine, detail=""):
    if not fine:
        raise HouseError(f"not so: {what}\n{detail}")
    print(f"  {what}", flush=True)


def reached(finding):
    return finding["state"] == "ok"


def curl(url, *words):
    return subprocess.run(["curl", "-gs", *words, url], capture_output=True, text=True, timeout=LATE_S, check=False).stdout


def probe_count():
    page = curl("http://[::1]:9460/metrics")
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith("wattle_probe_results_total{") and 'end="answered"' in line)


def probe_answers():
    return probe_count() > 0


def ipv6_alone(binaries, folder):
    print("a control plane on IPv6 only")
    ip("-4", "addr", "flush", "dev", "lo")
    ip("-6", "addr", "add", f"{ADDRESS}/64", "dev", "lo", "nodad")
    resolve_to(ADDRESS)
    place = Place(binaries, folder)
    try:
        finding = place.doctor(place.agent_config())
        check("doctor: no controller, no link", not reached(finding), finding)
        with api_at(ADDRESS) as port:
            place.controller(port)
            check("the controller reaches an API server by a name, over HTTP", wait_until("the API server is asked for nodes", lambda: "/api/v1/nodes" in Api.asked))
        place.stop("controller")
        place.controller()
        wait_until("curl reaches the controller by its name", lambda: curl(f"http://{NAME}:8050/livez"))
        place.agent()
        place.shim()
        check("the agent connects", wait_until("the node is connected", place.connected))
        check("doctor reaches the controller by the same path", wait_until("doctor reaches the controller", lambda: reached(place.doctor(place.agent_config()))))
        finding = place.doctor(place.agent_config(port=8050))
        check("doctor rejects a port that accepts connections but no link", not reached(finding), finding)

        def by_controller():
            status, body = fetch("http://[::1]:8888/prioritize", extender_args("six", ["agent"]))
            return status == 200 and json.loads(body) and place.cli("explain", "six", check=False).returncode == 0
        check("the controller answers the shim", wait_until("the shim's ask is decided", by_controller))
        check("a probe of the name is answered", wait_until("the probe is answered", probe_answers))
        check("wattle-load reaches the name", wait_until("wattle-load gets an answer within a second", place.load_answered))
    except Exception:
        for name in place.processes:
            print(f"--- {name}\n{place.log(name)[-1500:]}")
        raise
    finally:
        place.stop()


def first_address_dead(binaries, folder):
    print("a name whose first address is unreachable")
    ip("-4", "addr", "add", "127.0.0.1/8", "dev", "lo")
    ip("-4", "addr", "add", "10.96.0.1/32", "dev", "lo")
    ip("-6", "addr", "add", f"{SILENT}/64", "dev", "lo", "nodad")
    for rule in ("add table inet t", "add chain inet t in { type filter hook input priority 0 ; }", f"add rule inet t in ip6 daddr {SILENT} drop"):
        subprocess.run(["nft", rule], check=True)
    resolve_to(*DEAD, "10.96.0.1")
    found = [one[4][0] for one in socket.getaddrinfo(NAME, 80, type=socket.SOCK_STREAM)]
    check(f"the resolver prefers an unreachable address: {', '.join(found)}", found[0] != "10.96.0.1" and "10.96.0.1" in found)
    place = Place(binaries, folder)
    try:
        with api_at("10.96.0.1") as port:
            place.controller(port)
            check("the controller reaches an API server by the last address of a name, over HTTP",
                  wait_until("the API server is asked for nodes and pods", lambda: {"/api/v1/nodes", "/api/v1/pods"} <= set(Api.asked)))
        place.stop("controller")
        place.controller()
        place.agent()
        place.shim()
        check("the agent connects", wait_until("the node is connected", place.connected))
        check("doctor reaches the controller", wait_until("doctor reaches the controller by its name", lambda: reached(place.doctor(place.agent_config()))))
        check("a probe of the name is answered", wait_until("the probe is answered", probe_answers))
        check("wattle-load reaches the name", wait_until("wattle-load gets an answer within a second", place.load_answered))
        # The name's address changes while all peers are connected: they find it without a restart.
        ip("-6", "addr", "add", "fd00:10:96::2/64", "dev", "lo", "nodad")
        place.stop("controller")
        ip("-4", "addr", "del", "10.96.0.1/32", "dev", "lo")
        resolve_to("fd00:10:96::2")
        place.controller()
        check("the agent finds the name's new address", wait_until("the node is connected again", place.connected))
    except Exception:
        for name in place.processes:
            print(f"--- {name}\n{place.log(name)[-1500:]}")
        raise
    finally:
        place.stop()


def by_search_domain(binaries, folder):
    print("a short name that a search domain completes")
    live = "fd00:10:96::2"
    names = {f"{SHORT}.{SEARCH}": {AAAA: [live]}}
    Names(names).start()
    resolve_to()
    pathlib.Path("/etc/resolv.conf").write_text(f"nameserver ::1\nsearch {SEARCH} svc.cluster.local\noptions ndots:5 timeout:1\n")
    place = Place(binaries, folder, SHORT)
    try:
        found = [one[4][0] for one in socket.getaddrinfo(SHORT, 80, type=socket.SOCK_STREAM)]
        check("the resolver returns only an AAAA record", found == [live], found)
        place.controller()
        place.agent()
        place.shim()
        check("the agent connects", wait_until("the node is connected", place.connected))
        check("doctor reaches the controller", reached(place.doctor(place.agent_config())))
        check("a probe of the name is answered", wait_until("the probe is answered", probe_answers))
        load = place.run("wattle-load", "http", f"http://{SHORT}:8050/livez", "--users", "1", "--for", "1s", check=False)
        check("wattle-load reaches the name", load.returncode == 0, load.stdout + load.stderr)
        # The controller moves to the last of several addresses, and the name gets records of both families.
        place.stop("controller")
        ip("-6", "addr", "del", f"{live}/64", "dev", "lo")
        ip("-4", "addr", "add", "10.96.0.3/32", "dev", "lo")
        names[f"{SHORT}.{SEARCH}"] = {AAAA: [SILENT, "fd00:dead::9"], A: ["192.0.2.9", "10.96.0.3"]}
        place.controller()
        check("the agent finds the one reachable address of four", wait_until("the node is connected again", place.connected))
        check("doctor finds the reachable address", reached(place.doctor(place.agent_config())))
        before = probe_count()
        check("a probe finds the reachable address", wait_until("the probe is answered again", lambda: probe_count() > before))
    except Exception:
        for name in place.processes:
            print(f"--- {name}\n{place.log(name)[-1500:]}")
        raise
    finally:
        place.stop()


def no_ipv6(binaries, folder):
    print("the same endpoints without IPv6")
    pathlib.Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1\n")
    resolve_to("127.0.0.1")
    place = Place(binaries, folder)
    try:
        place.controller()
        wait_until("curl reaches the controller over IPv4", lambda: curl("http://127.0.0.1:8050/livez"))
        check("the command line reaches the controller over IPv4", wait_until("an answer", lambda: place.cli("nodes", check=False).returncode == 0))
    finally:
        place.stop()


def inside(binaries, folder):
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    hosts = folder / "hosts"
    hosts.write_text("")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
    resolv = folder / "resolv.conf"
    resolv.write_text("")
    subprocess.run(["mount", "--bind", str(resolv), "/etc/resolv.conf"], check=True)
    ip("link", "set", "lo", "up")
    ipv6_alone(binaries, folder / "six")
    first_address_dead(binaries, folder / "dead")
    by_search_domain(binaries, folder / "search")
    no_ipv6(binaries, folder / "four")


def main():
    binaries = binaries_from(sys.argv)
    if len(sys.argv) > 2:
        inside(binaries, pathlib.Path(sys.argv[2]))
        return 0
    unshare = ["unshare", "--net", "--mount"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: this user may not create namespaces")
        return SKIPPED
    import tempfile
    with tempfile.TemporaryDirectory(prefix="wattle-ipv6-") as folder:
        return subprocess.run([*unshare, sys.executable, __file__, binaries, folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
