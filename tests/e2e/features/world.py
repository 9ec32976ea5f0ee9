"""world: one controller with a shim, six simulated nodes, this machine's agent, and the agent of a captured server,
while pods start and end; for features_test.py.

Ends     with the `with` block: every process is killed and the directory removed
"""
import contextlib
import http.server
import json
import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from captured_agent import NODE as CAPTURED, captured_tree, start_captured  # noqa: E402
from house import House, extender_args, fetch, free_ports, wait_until  # noqa: E402
from patience import SOON_S, pace  # noqa: E402
from walk import Shell, claim  # noqa: E402

NODES = 6
PRICE, CO2_G = 0.30, 380  # per kWh, in the controller's tariff
SIMULATIONS = {
    "shadow": "wattle-lab shadow consolidation_churn --seeds 5 --nodes 4",
    "bench": "wattle-lab bench consolidation_fill --policies kube-default,round-robin,random,empty-node,most-allocated,fewest-pods,planner --nodes 4 --seeds 5 --moves 0",
    "again": "wattle-lab bench consolidation_fill --policies kube-default,round-robin,random,empty-node,most-allocated,fewest-pods,planner --nodes 4 --seeds 5 --moves 0",
    "train": "wattle-sim train --scenario churn_sleep --steps 200 --out network.safetensors --keep checkpoints --name office && wattle-sim train --scenario churn_sleep "
             "--steps 300 --out network.safetensors --keep checkpoints --name office --resume",
    "shift": "wattle-lab bench --scenarios latency_shift --seeds 5 --json shift.json",
    "thesis": "wattle-lab bench --scenarios thesis_test1,thesis_test2 --seeds 5 --json thesis.json",
    "student": "wattle-sim teach --hours 0 --labels rule --rounds 1 --memory 0 --memory-per-rate 0 --minutes 10 --seeds 5 --student-out student.safetensors",
    "sleep": "wattle-lab bench consolidation_churn --sleep --policies kube-default,planner --nodes 4 --seeds 5 --moves 0",
    "provision": "wattle-lab provision --minutes 5 --seeds 5 --contestants wattle,captain,k8s-cpu-fast --json provision.json",
}


class Service(http.server.BaseHTTPRequestHandler):
    """An HTTP service for users, and for probes."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Ignores errors of a probe that closes its connection."""


class World:
    def __init__(self, binaries):
        self.swarm_port, = free_ports(1)
        self.service = Server(("127.0.0.1", 0), Service)
        threading.Thread(target=self.service.serve_forever, daemon=True).start()
        self.house = House(
            binaries,
            controller_extra="decide: {settle_window: 1s}\n            learn: {warmup: 16, checkpoint_every: 5s}",
            agent_extra=f"  - {{name: users, url: \"http://127.0.0.1:{self.service.server_port}/\"}}\n"
                        "              - {name: closed, url: \"tcp://127.0.0.1:1\"}")
        house = self.house
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text() + f"store: {{path: {house.dir}/controller/store.db}}\n"
                          f"tariff: {{price_per_kwh: {PRICE}, currency: EUR, co2_g_per_kwh: {CO2_G}}}\n")
        shim = house.dir / "shim.yaml"
        shim.write_text(shim.read_text() + "filter: true\ndeadline: 500ms\n")
        self.config = house.write("cli.yaml", f"""
            server: "tcp://127.0.0.1:{house.ask}"
            feed: "tcp://127.0.0.1:{house.feed}"
            key: {house.dir}/operator.key
            server_key: {house.dir}/controller.key.pub
            """)
        self.shell = Shell(house.dir, house.binaries, WATTLE_CONFIG=str(self.config), HOME=str(house.dir))
        self.asked = 0

    def __enter__(self):
        house = self.house
        (house.dir / "nodes").mkdir(mode=0o700)
        house.write("swarm.yaml", f"""
            nodes: {NODES}
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {house.dir}/nodes
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{self.swarm_port}
            seed: 3
            """)
        swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
        claim("the simulated nodes have keys", house.run(*swarm, "--make-keys", str(house.dir / "allow")).returncode == 0)
        house.start_controller()
        house.start("swarm", *swarm)
        house.start_agent()
        start_captured(house)
        house.start_shim()
        wait_until("all nodes are connected", lambda: house.query("status")["nodes_connected"] == NODES + 2)
        self.nodes = sorted(node["name"] for node in house.query("nodes")["nodes"])
        self.simulated = [name for name in self.nodes if name not in (house.node, CAPTURED)]
        self.drive("drive", 30, "--summary-file", str(house.dir / "summary.json"))
        return self

    def drive(self, name, seconds, *more):
        """Starts and ends pods for a while, each placed through the shim."""
        house = self.house
        house.start(name, house.binary("wattle-sim"), "drive", "--shim", house.shim(), "--swarm", f"http://127.0.0.1:{self.swarm_port}", "--controller", house.api(),
                    "--period", "0.25", "--seed", str(len(house.processes)), "--seconds", str(seconds), *more)

    def begin_simulations(self):
        """Runs long commands in sequence beside the rows that use little CPU; each row waits for its own."""
        for name, text in SIMULATIONS.items():
            self.shell.ahead(name, text)

    def simulated_by(self, name):
        """Returns the output of this command."""
        return self.shell.later(name, SIMULATIONS[name])

    def __exit__(self, *all_of_it):
        self.shell.close()
        with contextlib.suppress(OSError):
            self.service.shutdown()
        self.house.__exit__(*all_of_it)

    def url(self):
        return f"http://127.0.0.1:{self.service.server_port}/"

    def uid(self, stem):
        self.asked += 1
        return f"{stem}-{self.asked}"

    def ask(self, verb, nodes, uid=None, **more):
        """Returns the shim's answer to a request of kube-scheduler, sent by curl."""
        uid = uid or self.uid("walk")
        body = json.loads(extender_args(uid, nodes, **{key: value for key, value in more.items() if key in ("cpu", "memory", "annotations", "name")}))
        for key, value in more.get("spec", {}).items():
            body["Pod"]["spec"][key] = value
        for key, value in more.get("metadata", {}).items():
            body["Pod"]["metadata"][key] = value
        body.update(more.get("body", {}))
        name = f"ask-{uid}.json"
        (self.house.dir / name).write_text(json.dumps(body))
        return self.shell.json(f"curl -sS --fail -H 'Content-Type: application/json' --data @{name} {self.house.shim()}/{verb}")

    def scores(self, nodes, uid=None, **more):
        """Returns all scores; the shim omits those of 0."""
        return dict.fromkeys(nodes, 0) | {one["Host"]: one["Score"] for one in self.ask("prioritize", nodes, uid, **more)}

    def decided(self, nodes, uid=None, **more):
        """Returns scores of a pod that the controller, not only the shim, decided about."""
        uid = uid or self.uid("walk")
        return uid, self.house.from_controller(uid, lambda: self.scores(nodes, uid, **more))

    def decision(self, uid):
        return self.house.query("explain", uid)["decision"]

    def metric(self, page, name):
        return [line for line in page.splitlines() if line.startswith((name + " ", name + "{"))]

    def page(self, url):
        status, text = fetch(url)
        claim(f"{url} answers", status == 200, status)
        return text

    def tree(self, name):
        """Returns another copy of the captured server for changes."""
        return captured_tree(self.house, name)


class Env:
    """Exchanges JSON lines with an environment of wattle-sim."""

    def __init__(self, world, *words):
        self.words = words
        world.shell.typed.append(" ".join(words))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=world.shell.environment, cwd=world.house.dir)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ask(op="close")
        self.process.communicate()


class Recording:
    """Runs `wattle-agent sample` on a tree of files that the test changes. Sums over all samples, so that it does not
    matter between which two samples a change falls."""

    def __init__(self, world, root, name, *more):
        self.world, self.root, self.more = world, root, more
        self.out = world.house.dir / f"{name}.jsonl"
        self.name = name
        self.read, self.kept = 0, []
        self.command = " ".join(("wattle-agent sample --root", root.name, "--count 100000 --interval 100ms", *more))

    def __enter__(self):
        house = self.world.house
        self.world.shell.typed.append(self.command)
        house.start(self.name, house.binary("wattle-agent"), "sample", "--root", str(self.root), "--count", "100000", "--interval", "100ms",
                    "--output-file", str(self.out), *self.more)
        wait_until("samples exist", lambda: len(self.samples()) >= 2)
        return self

    def __exit__(self, *_):
        self.world.house.kill(self.name)

    def samples(self):
        if self.out.exists():
            with open(self.out, encoding="utf-8") as lines:
                lines.seek(self.read)
                new = lines.read()
            whole = new[:new.rfind("\n") + 1]
            self.read += len(whole.encode())
            self.kept += [json.loads(line) for line in whole.splitlines()]
        return self.kept

    def sum_of(self, value):
        return sum(value(sample) or 0 for sample in self.samples())

    def until(self, what, value, wanted, near=0.0):
        """Waits until the sum reaches `wanted`, and returns it; a larger sum is an error too."""
        wait_until(what, lambda: self.sum_of(value) >= wanted - near, SOON_S)
        pace(0.4)  # one or two more samples, in which the sum must not grow
        total = self.sum_of(value)
        claim(f"{what}: {wanted}", abs(total - wanted) <= near, total)
        return total


def rate(key):
    return lambda sample: (sample["node"].get(key) or 0) * sample["interval_ns"] / 1e9


def node_value(key):
    return lambda sample: sample["node"].get(key)


def of_workload(name, key):
    return lambda sample: sum(one.get(key) or 0 for one in sample["workloads"] if one["name"] == name)
