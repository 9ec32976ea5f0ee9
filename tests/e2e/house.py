"""house: starts Wattle's real processes in a private directory with their own keys, for end-to-end tests.

Source   the built binaries; WATTLE_BIN or the first argument of a test names their folder
Ports    random free ones
Errors   HouseError with the tail of the process's log
Ends     every process is killed and the directory removed when the `with` block ends
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from patience import LATE_S, pace, SOON_S
import urllib.error
import urllib.request

SKIPPED = 77  # ctest shows it as skipped
CLI_TIMEOUT = f"{SOON_S:.0f}s"  # the command line's own limit, 5 s, is too short for a machine that runs other tests


class HouseError(Exception):
    pass


class ProcessEnded(HouseError):
    """A process that the test needs has ended, so no wait can succeed."""


CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL}
STARTED = []  # the processes of each House, by name
RESERVED = []  # sockets whose abstract names reserve ports for this process, in its network namespace


def free_ports(count):
    """Returns ports below the range of outgoing connections, because one of those could take a port while its server is
    down. Each is reserved until this process ends by an abstract name that all tests use, so no concurrent test draws
    it."""
    ports = []
    while len(ports) < count:
        port = random.randrange(10000, 32000)
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0wattle-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        RESERVED.append(name)
        ports.append(port)
    return ports


def check_crashes():
    """Raises ProcessEnded if a process of any House has crashed, because the condition that a test waits for may then
    never become true."""
    for name, process in [each for processes in STARTED for each in processes.items()]:
        if process.poll() in CRASHES:
            raise ProcessEnded(f"{name} crashed with signal {-process.returncode}")


def wait_until(what, condition, seconds=LATE_S):
    """Polls until `condition` returns a true value, and returns it. Errors other than ProcessEnded count as "not
    yet"."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = condition()
            if last:
                return last
        except ProcessEnded:
            raise
        except (OSError, urllib.error.URLError, HouseError, ValueError, KeyError) as error:
            last = error
        check_crashes()
        pace(0.1)
    raise HouseError(f"not within {seconds} s: {what} (last: {last})")


def fetch(url, data=None, timeout=SOON_S):
    """Returns (status, body). An error status is an answer, not an exception."""
    request = urllib.request.Request(url, data=data, method="POST" if data is not None else "GET")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class House:
    def __init__(self, binaries, mode="live", agent_extra="", controller_extra="", node="this-machine"):
        self.binaries = pathlib.Path(binaries).resolve()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wattle-e2e-"))
        self.processes = {}
        STARTED.append(self.processes)
        self.telemetry, self.feed, self.ask, self.http, self.shim_port, self.agent_http = free_ports(6)
        self.node = node
        for name in ("controller", "agent", "shim", "reader", "operator", "stranger"):
            self.wattle("keys", "new", str(self.dir / f"{name}.key"))
        for name, role, who in (
            ("agent", "agent", self.node),
            ("shim", "shim", "shim"),
            ("reader", "reader", "cli"),
            ("operator", "operator", "admin"),
        ):
            self.wattle("keys", "allow", "--allow-list", str(self.dir / "allow"), str(self.dir / f"{name}.key.pub"), role, who)
        self.write("controller.yaml", f"""
            mode: {mode}
            data_dir: {self.dir}/controller
            key: {self.dir}/controller.key
            allow_list: {self.dir}/allow
            telemetry: {{endpoint: "tcp://127.0.0.1:{self.telemetry}"}}
            feed: {{endpoint: "tcp://127.0.0.1:{self.feed}"}}
            ask: {{endpoint: "tcp://127.0.0.1:{self.ask}"}}
            http: {{port: {self.http}}}
            {controller_extra}
            """)
        self.write("agent.yaml", f"""
            node: {self.node}
            tick: 500ms
            state_dir: {self.dir}/agent
            controller: {{endpoint: "tcp://127.0.0.1:{self.telemetry}", key: {self.dir}/agent.key, server_key: {self.dir}/controller.key.pub}}
            http: {{port: {self.agent_http}}}
            probes:
              - {{name: default, url: "tcp://127.0.0.1:{self.http}"}}
            {agent_extra}
            """)
        self.write("shim.yaml", f"""
            listen: {{port: {self.shim_port}}}
            controller: {{ask: "tcp://127.0.0.1:{self.ask}", feed: "tcp://127.0.0.1:{self.feed}", key: {self.dir}/shim.key, server_key: {self.dir}/controller.key.pub}}
            """)

    def write(self, name, text):
        lines = [line[12:] if line.startswith(" " * 12) else line for line in text.strip("\n").split("\n")]
        path = self.dir / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def binary(self, name):
        return str(self.binaries / name)

    def run(self, *command, timeout=LATE_S):
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    def wattle(self, *arguments, check=True):
        done = self.run(self.binary("wattle"), *arguments)
        if check and done.returncode != 0:
            raise HouseError(f"wattle {' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
        return done

    def cli(self, *arguments, key="reader", check=True):
        return self.wattle("--server", f"tcp://127.0.0.1:{self.ask}", "--key", str(self.dir / f"{key}.key"),
                           "--server-key", str(self.dir / "controller.key.pub"), "--timeout", CLI_TIMEOUT, *arguments, check=check)

    def query(self, *arguments):
        return json.loads(self.cli(*arguments, "-o", "json").stdout)

    def start(self, name, *command):
        log = open(self.dir / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()

    def start_controller(self):
        self.start("controller", self.binary("wattle-controller"), "--config", str(self.dir / "controller.yaml"))
        wait_until("the controller is ready", lambda: self.alive("controller") and fetch(f"{self.api()}/livez")[0] == 200)

    def start_agent(self):
        self.start("agent", self.binary("wattle-agent"), "run", "--config", str(self.dir / "agent.yaml"))

    def start_shim(self):
        self.start("shim", self.binary("wattle-shim"), "--config", str(self.dir / "shim.yaml"))
        wait_until("the shim is ready", lambda: self.alive("shim") and fetch(f"{self.shim()}/livez")[0] == 200)

    def api(self):
        return f"http://127.0.0.1:{self.http}"

    def shim(self):
        return f"http://127.0.0.1:{self.shim_port}"

    def alive(self, name):
        if self.processes[name].poll() is not None:
            raise ProcessEnded(f"{name} ended with {self.processes[name].returncode}:\n{self.log(name)[-2000:]}")
        return True

    def log(self, name):
        return (self.dir / f"{name}.log").read_text(errors="replace")

    def kill(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(how)
        return process.wait(timeout=LATE_S)

    def connected(self):
        return [n for n in self.query("nodes")["nodes"] if n["name"] == self.node and n["connected"] and n["cpu_used_cores"] is not None]

    def decided(self, uid, *args, **more):
        """Returns the shim's answer for a pod from the controller."""
        return self.from_controller(uid, lambda: fetch(f"{self.shim()}/prioritize", extender_args(uid, *args, **more)))

    def from_controller(self, uid, ask):
        """Returns the first answer of ask() that came from the controller. On a busy machine the controller can answer
        after the shim's deadline; the shim then answers itself, and after several misses stops asking for a while."""
        def answers():
            found = re.findall(r'^wattle_shim_answers_total\{.*source="(?:controller|repeated)".*\} (\S+)$', fetch(f"{self.shim()}/metrics")[1], re.M)
            return sum(float(value) for value in found)

        def asked():
            before = answers()
            answer = ask()
            return answer if answers() > before and self.cli("explain", uid, check=False).returncode == 0 else None
        return wait_until(f"{uid} is decided", asked)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in list(self.processes):
            self.kill(name)
        shutil.rmtree(self.dir, ignore_errors=True)


def extender_args(uid, nodes, cpu="250m", memory="64Mi", annotations=None, name=None):
    return json.dumps({
        "Pod": {
            "metadata": {
                "name": name or f"pod-{uid}", "namespace": "default", "uid": uid, "annotations": annotations or {},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}],
            },
            "spec": {"containers": [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]},
        },
        "Nodes": None,
        "NodeNames": nodes,
    }).encode()


def binaries_from(argv):
    folder = argv[1] if len(argv) > 1 else os.environ.get("WATTLE_BIN", "")
    if not folder or not pathlib.Path(folder, "wattle").exists():
        raise SystemExit(f"usage: {argv[0]} FOLDER-OF-BINARIES")
    return folder
