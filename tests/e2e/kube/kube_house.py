"""kube_house: a real control plane whose KWOK nodes have agents: a swarm that follows its bindings, our controller and
our shim as the extender of a real kube-scheduler.

Schedulers  `wattle` asks the shim (prioritize, and filter for hard latency limits); `plain` has no extender
Ends        everything when the `with` block ends
"""
import contextlib
import json
import pathlib
import resource
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from control_plane import ControlPlane  # noqa: E402
from house import House, HouseError, fetch, wait_until  # noqa: E402
from patience import LATE_S, SOON_S  # noqa: E402

PATIENCE = LATE_S  # a control plane and a fleet on two busy processors
FDS_PER_AGENT = 4
FDS_BESIDE = 200


class KubeHouse(House):
    def __init__(self, binaries, plane: ControlPlane, nodes=6, seed=3, mode="off", controller_extra=""):
        self.plane = plane
        self.token = plane.dir / "wattle.token"
        self.token.write_text(plane.token)
        super().__init__(binaries, mode=mode, controller_extra=f"""kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {self.token}}}
            decide: {{settle_window: 3s, epsilon: 0}}
            {controller_extra}
            """)
        self.swarm_nodes = nodes
        self.swarm_nice = 0
        self.seed = seed
        with open(self.dir / "shim.yaml", "a", encoding="utf-8") as shim:
            shim.write("filter: true\ndeadline: 100ms\n")
        made = self.run(self.binary("wattle-sim"), "swarm", *self.swarm_arguments(), "--make-keys", str(self.dir / "allow"))
        if made.returncode != 0:
            raise HouseError(f"swarm --make-keys: {made.stderr}")

    def run(self, *command, timeout=PATIENCE):
        return super().run(*command, timeout=timeout)

    def swarm_arguments(self):
        return ["--nodes", str(self.swarm_nodes), "--seed", str(self.seed), "--keys", str(self.dir / "swarm")]

    def start_swarm(self, *more):
        """Starts as many swarm processes as the limit of open files requires; the first is "swarm"."""
        most = (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - FDS_BESIDE) // FDS_PER_AGENT
        parts = max(1, -(-self.swarm_nodes // most))
        self.swarm_http = [self.start_part(part, parts, *more) for part in range(1, parts + 1)]

    def start_part(self, part, parts, *more):
        name = "swarm" if part == 1 else f"swarm{part}"
        self.start(name, "nice", "-n", str(self.swarm_nice), self.binary("wattle-sim"), "swarm", *self.swarm_arguments(), "--part", f"{part}/{parts}", "--server-key",
                   str(self.dir / "controller.key.pub"), "--endpoint", f"tcp://127.0.0.1:{self.telemetry}", "--kube", self.plane.url,
                   "--kube-token", str(self.token), "--kube-ca", str(self.plane.ca), *more)

        def port():
            self.alive(name)
            return [line.rsplit(":", 1)[1] for line in self.log(name).splitlines() if line.startswith("swarm: ")]
        return f"http://127.0.0.1:{wait_until('the swarm logs its port', port, PATIENCE)[-1]}"

    def servers(self):
        return [node for part in self.swarm_http for node in json.loads(fetch(f"{part}/nodes")[1])["nodes"]]

    def make_nodes(self, count=None):
        """Creates KWOK nodes of the same size as the swarm's."""
        for server in self.servers()[:count]:
            self.make_one(server)
        self.plane.nodes_ready(count or self.swarm_nodes)

    def make_one(self, server, **more):
        self.plane.add_node(server["name"], cpu=str(int(server["cpu_cores"])), memory=f"{int(server['memory_total_bytes'] // 2**20)}Mi", **more)

    def extender(self, **more):
        return {"urlPrefix": self.shim(), "prioritizeVerb": "prioritize", "filterVerb": "filter", "preemptVerb": "preempt", "weight": 6, "nodeCacheCapable": True,
                "enableHTTPS": False, "httpTimeout": "200ms", "ignorable": True} | more

    def plugin(self, weight=6):
        """Returns arguments of start_scheduler() for the plugin instead of the extender; add_plugin_socket() before
        start_shim()."""
        return {"plugins": {"multiPoint": {"enabled": [{"name": "Wattle", "weight": weight}]}, "postFilter": {"enabled": [{"name": "Wattle"}]}},
                "plugin_config": [{"name": "Wattle", "args": {"socket": f"{self.dir}/plugin.sock", "timeout": "200ms"}}]}

    def add_plugin_socket(self):
        path = self.dir / "shim.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"listen: {{port: {self.shim_port}}}", f"listen: {{port: {self.shim_port}, plugin_socket: {self.dir}/plugin.sock}}"), encoding="utf-8")

    def set_mode(self, mode):
        """Forces a mode past the gates, because these tests do not cover promotion."""
        self.cli("policy", "set", "--mode", mode, "--force", "--why", "a test chooses its mode", key="operator")

    def start_shim(self):
        self.start("shim", self.binary("wattle-shim"), "--config", str(self.dir / "shim.yaml"))
        wait_until("the shim is ready", lambda: self.alive("shim") and fetch(f"{self.shim()}/livez")[0] == 200, PATIENCE)

    def document(self, what):
        """Returns the JSON of `wattle WHAT -o json` without starting a process; None if it is not found."""
        status, body = fetch(f"{self.api()}/api/v1/{what}", timeout=SOON_S)
        if status == 404:
            return None
        if status != 200:
            raise HouseError(f"{what}: HTTP {status}: {body}")
        return json.loads(body)

    def nodes(self):
        return self.document("nodes")["nodes"]

    def node_of(self, name):
        return next((n for n in self.nodes() if n["name"] == name), None)

    def requested_cores(self):
        return sum(n["cpu_requested_cores"] for n in self.nodes())

    def decision(self, pod):
        found = self.document(f"explain?pod={pod}")
        return found["decision"] if found else None

    def start_controller(self):
        self.start("controller", self.binary("wattle-controller"), "--config", str(self.dir / "controller.yaml"))
        wait_until("the controller is ready", lambda: self.alive("controller") and fetch(f"{self.api()}/livez")[0] == 200, PATIENCE)

    def close_down(self):
        for name in list(self.processes):
            with contextlib.suppress(HouseError):
                self.kill(name, signal.SIGTERM)
