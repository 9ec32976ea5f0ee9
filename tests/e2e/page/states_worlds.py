"""states_worlds: the controllers for states_test.py: an empty one, and one with a fleet.

Source   house.py, page_world.py; `actions()` maps names to changes of the world that a browser script can request
Ends     all parts when the `with` block ends
"""
import contextlib
import json
import pathlib
import signal
import socket
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from captured_agent import start_captured  # noqa: E402
from house import House, HouseError, extender_args, fetch, wait_until  # noqa: E402
from patience import SOON_S  # noqa: E402
from page_world import TOKEN, PageWorld  # noqa: E402
from provision_test import Answer, Api  # noqa: E402


class Bare(House):
    """A single controller in mode off, without a store, without learning, and at first without a token."""

    def __init__(self, binaries):
        super().__init__(binaries, mode="off", controller_extra="learn: {enabled: false}")
        self.listeners = []

    def begin(self):
        self.start_controller()

    def grow(self):
        """Enables the store and learning."""
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text().replace("learn: {enabled: false}", f"store: {{path: {self.dir}/store.db}}"))
        self.kill("controller")
        self.start_controller()

    def actions(self):
        return {"kill": lambda: self.kill("controller"), "start": self.start_controller, "hang": lambda: self.send(signal.SIGSTOP),
                "wake": lambda: self.send(signal.SIGCONT), "listen": self.listen, "leave": self.leave, "guard": self.guard, "grow": self.grow,
                "keep": lambda: self.cli("model", "save", "kept", key="operator").returncode,
                "spoil": lambda: self.write("allow", "no key at all") and None}

    def send(self, what):
        self.processes["controller"].send_signal(what)

    def listen(self, count):
        """Opens the maximum number of other viewers, once earlier viewers are disconnected."""
        def heard():
            stream = socket.create_connection(("127.0.0.1", self.http), timeout=SOON_S)
            stream.sendall(b"GET /api/v1/live HTTP/1.1\r\nHost: x\r\n\r\n")
            if b" 200 " in stream.recv(64):
                return stream
            stream.close()
            return None

        for number in range(count):
            self.listeners.append(wait_until(f"{number + 1} may listen", heard))

    def leave(self):
        while self.listeners:
            self.listeners.pop().close()

    def guard(self):
        """Requires a token from now on."""
        token = self.write("token", TOKEN)
        token.chmod(0o400)
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text().replace(f"http: {{port: {self.http}}}", f"http: {{port: {self.http}, token_file: {token}}}"))
        self.kill("controller")
        self.start_controller()


class Events(Answer):
    """A fake API server that also reports `events`."""
    def do_GET(self):
        if "watch=1" not in self.path or "/nodes" not in self.path:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        # Every watch receives all events, so an abandoned watch takes none from the others.
        reported = 0
        with contextlib.suppress(OSError):
            while True:
                with self.server.reported:
                    self.server.reported.wait_for(lambda: len(self.server.events) > reported)
                    event = self.server.events[reported]
                self.wfile.write(json.dumps(event).encode() + b"\n")
                self.wfile.flush()
                reported += 1


class Fleet(PageWorld):
    """Simulated nodes and this machine, a store, a token, in mode shadow; pods start and end. Blocks are short, so that
    figures are available within the test."""

    def __init__(self, binaries):
        super().__init__(binaries, 8, mode="shadow")
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text().replace(
            "decide: {settle_window: 2s}",
            "decide: {settle_window: 2s, epsilon: 0.6, measure_candidates: false, start_cap: {per_core: 0, least: 80, window: 600s}}\n"
            "learn: {pretrained: none, warmup: 8}\nshadow: {block: 10s}\ncanary: {block: 2s}\n"
            "tariff: {price_per_kwh: 0.3, currency: EUR, co2_g_per_kwh: 380}"))
        self.plain = config.read_text()
        self.over = threading.Event()

    def begin(self):
        self.names = [name for name in super().begin() if name != self.node]
        self.start_metered()

    def start_metered(self):
        """A captured server, whose meters advance by 50 W each."""
        start_captured(self)

        def draw():
            while not self.over.wait(0.1):
                for meter in (self.dir / "captured").rglob("energy_uj"):
                    meter.write_text(f"{int(meter.read_text()) + 5_000_000}\n")
        threading.Thread(target=draw, daemon=True).start()

    def __exit__(self, *what):
        self.over.set()
        super().__exit__(*what)

    def actions(self):
        return {"drive": self.drive, "rest": self.rest, "resume": lambda: self.processes["drive"].send_signal(signal.SIGCONT), "ask": self.ask_for, "run": self.run_pod, "crowd": self.crowd, "ended": self.ended, "policy": self.policy, "silence": lambda: self.kill("agent"), "speak": self.speak,
                "follow": self.follow, "delete": self.delete, "mode": lambda: self.query("policy", "get")["mode"], "limit": lambda: self.query("policy", "get")["cpu_wait"]["limit"],
                "late": lambda: self.query("policy", "get")["late"]["limit"],
                "changes": lambda: self.query("policy", "get")["changes"]}

    def drive(self):
        """Starts and ends pods, half of them without advice in control blocks of the canary."""
        self.start("drive", self.binary("wattle-sim-live"), "drive", "--shim", self.shim(), "--swarm", f"http://127.0.0.1:{self.swarm_port}", "--controller", self.api(),
                   "--pods", "12", "--period", "1", "--seconds", "600")

    def rest(self):
        """Closes the gate to canary: no pods start, and a changed and reverted setting restarts the count of
        decisions."""
        self.processes["drive"].send_signal(signal.SIGSTOP)
        for limit in ("50%", "default"):
            self.policy("set", "--cpu-wait", limit, "--why", "the count of decisions restarts")

    def ask_for(self, uid, candidates=None, cpu="250m", run_on=None, annotations=None):
        """Sends an ask like kube-scheduler. `run_on`: "advised" or a node, on which the pod then runs. Returns the
        decision."""
        nodes = self.names[:candidates] if isinstance(candidates, int) else candidates or self.names
        status, reported = self.decided(uid, nodes, cpu=cpu, name=f"shop-{uid}", annotations={f"wattle.dev/{k}": v for k, v in (annotations or {}).items()})
        if status != 200:
            raise HouseError(f"prioritize: HTTP {status}: {reported}")
        decision = self.query("explain", uid)["decision"]
        if run_on:
            others = [node for node in nodes if node != decision["advice"]]
            self.run_pod(uid, {"advised": decision["advice"], "other": others[0]}.get(run_on, run_on))
        return decision

    def run_pod(self, uid, node=None, lifetime=600):
        pod = {"uid": uid, "name": f"shop-{uid}", "node": node or self.names[0], "cpu_request_cores": 0.25, "demand_cores": 0.2, "lifetime": lifetime}
        status, reported = fetch(f"http://127.0.0.1:{self.swarm_port}/pods", json.dumps(pod).encode())
        if status >= 300:
            raise HouseError(f"the swarm does not run {uid}: HTTP {status}: {reported}")

    def speak(self):
        self.start_agent()
        wait_until("this machine sends reports again", self.connected)

    def crowd(self, node, count):
        for number in range(count):
            self.run_pod(f"crowd-{number}", node)

    def ended(self, uid):
        wait_until(f"{uid} has ended", lambda: all(pod["uid"] != uid for pod in self.query("pods")["pods"]))

    def policy(self, *words):
        self.cli("policy", *words, key="operator")

    def delete(self, name):
        """The API server reports the pod's deletion."""
        node = next(each for each in self.api_server.objects["nodes"] if each["metadata"]["name"] == name)
        node["metadata"]["resourceVersion"] = "8"
        with self.api_server.reported:
            self.api_server.objects["nodes"].remove(node)
            self.api_server.events.append({"type": "DELETED", "object": node})
            self.api_server.reported.notify_all()

    def follow(self):
        """From now on an API server reports nodes: one is not ready, one is cordoned, the others are unknown."""
        self.api_server = Api()
        self.api_server.RequestHandlerClass, self.api_server.events, self.api_server.reported = Events, [], threading.Condition()
        ready = [{"type": "Ready", "status": "True"}]
        for name, conditions, spec in ((self.names[0], [{"type": "Ready", "status": "False"}], {}), (self.names[1], ready, {"unschedulable": True}), (self.names[2], ready, {})):
            self.api_server.objects["nodes"].append({"metadata": {"name": name, "uid": f"node-{name}", "labels": {}}, "spec": spec,
                                                     "status": {"conditions": conditions, "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}}})
        config = self.dir / "controller.yaml"
        config.write_text(self.plain + f"kubernetes: {{watch: on, server: \"{self.api_server.url()}\"}}\n")
        self.kill("controller")
        self.start_controller()
