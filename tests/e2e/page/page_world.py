"""page_world: runs a controller with its page, and simulated nodes with pods, for tests that use the page like people.

Source   house.py; nodes of a swarm; pods requested through the shim and run on the chosen nodes
Ends     all parts when the `with` block ends
"""
import contextlib
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from house import House, HouseError, extender_args, fetch, free_ports, wait_until  # noqa: E402

TOKEN = "a-word-for-this-test-alone"
OPERATOR_TOKEN = "another-word-for-who-may-change"


def missing(web):
    """Returns what a browser test lacks here, as a sentence; empty if nothing."""
    if shutil.which("chromium") is None or shutil.which("node") is None or not (pathlib.Path(web) / "node_modules/playwright-core").exists():
        return "chromium, node or playwright-core is missing (scripts/setup installs them)"
    return ""


class PageWorld(House):
    """A House with `nodes` simulated nodes and this machine, a token for the page, a store."""

    def __init__(self, binaries, nodes, mode="live", more=""):
        super().__init__(binaries, mode=mode)
        self.count = nodes
        self.swarm_port, = free_ports(1)
        token = self.write("token", TOKEN)
        token.chmod(0o400)
        operators = self.write("operator.token", OPERATOR_TOKEN)
        operators.chmod(0o400)
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text().replace(f"http: {{port: {self.http}}}", f"http: {{port: {self.http}, token_file: {token}, operator_token_file: {operators}}}\n"
                                                     f"decide: {{settle_window: 2s}}\nstore: {{path: {self.dir}/store.db}}\n{more}"))
        keys = self.dir / "nodes"
        keys.mkdir(mode=0o700)
        self.write("swarm.yaml", f"""
            nodes: {nodes}
            endpoint: "tcp://127.0.0.1:{self.telemetry}"
            keys: {keys}
            server_key: {self.dir}/controller.key.pub
            listen: 127.0.0.1:{self.swarm_port}
            seed: 7
            """)

    def begin(self):
        swarm = (self.binary("wattle-sim"), "swarm", "--config", str(self.dir / "swarm.yaml"))
        made = self.run(*swarm, "--make-keys", str(self.dir / "allow"))
        if made.returncode != 0:
            raise HouseError(made.stderr)
        self.start_controller()
        self.start("swarm", *swarm)
        self.start_agent()
        self.start_shim()
        wait_until("all nodes report", lambda: self.query("status")["nodes_connected"] == self.count + 1)
        # Pods in a node's first record may have run for long, so they do not count as placements.
        wait_until("all nodes have reported several seconds", lambda: self.query("status")["samples"] >= 4 * (self.count + 1))
        return [node["name"] for node in self.query("nodes")["nodes"]]

    def place(self, uid, name, node, candidates, demand_cores=0.2):
        """Sends an ask like kube-scheduler, and runs the pod on the given node regardless of the advice."""
        status, reported = self.decided(uid, candidates, name=name)
        if status != 200:
            raise HouseError(f"prioritize: HTTP {status}: {reported}")
        pod = {"uid": uid, "name": name, "node": node, "cpu_request_cores": 0.25, "demand_cores": demand_cores, "lifetime": 600}
        status, reported = fetch(f"http://127.0.0.1:{self.swarm_port}/pods", json.dumps(pod).encode())
        if status >= 300:
            raise HouseError(f"the swarm does not run {uid}: HTTP {status}: {reported}")

    def settled(self):
        wait_until("a decision has an outcome", lambda: any(d["outcome"] for d in self.query("decisions")["decisions"]))


@contextlib.contextmanager
def page_world(binaries, nodes, mode="live", more=""):
    with PageWorld(binaries, nodes, mode, more) as house:
        yield house, house.begin()
