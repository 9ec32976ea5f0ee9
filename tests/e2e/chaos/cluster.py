"""cluster: controller, shim and agents with real programs and keys, each on its own host (net.py).

Ends     every process is killed, every host and the directory removed when the `with` block ends
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from house import ProcessEnded, wait_until  # noqa: E402
from patience import LATE_S, SOON_S  # noqa: E402

from audit import Spool, Store, audit  # noqa: E402
from net import Net  # noqa: E402

TELEMETRY, FEED, ASK, HTTP, SHIM, DELAYED, AGENT_HTTP, SWARM = 7460, 7461, 7462, 8050, 8888, 7470, 9460, 8060
AGENTS = ("a1", "a2", "a3")
SIMULATED = 3


class Cluster:
    def __init__(self, binaries):
        self.binaries = pathlib.Path(binaries).resolve()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wattle-chaos-"))
        self.net = Net(("controller", "shim", "proxy", "other", *AGENTS))
        self.processes = {}
        self.mounts = []
        self.environment = {}

    def __enter__(self):
        try:
            self.net.__enter__()
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in list(self.processes):
            self.kill(name)
        for folder in reversed(self.mounts):
            subprocess.run(["umount", "-l", folder], check=False)
        self.net.__exit__()
        shutil.rmtree(self.dir, ignore_errors=True)

    def wattle(self, *arguments):
        subprocess.run([self.binaries / "wattle", *arguments], check=True, capture_output=True)

    def prepare(self):
        at = self.net.hosts["controller"]
        for name in ("controller", "shim", "liar", "reader", *AGENTS):
            self.wattle("keys", "new", self.dir / f"{name}.key")
            if name != "controller":
                role = name if name in ("shim", "reader") else "agent"
                self.wattle("keys", "allow", "--allow-list", self.dir / "allow", self.dir / f"{name}.key.pub", role, name)
        (self.dir / "controller.yaml").write_text(f"""mode: live
data_dir: {self.dir}/controller
key: {self.dir}/controller.key
allow_list: {self.dir}/allow
telemetry: {{endpoint: "tcp://{at}:{TELEMETRY}"}}
feed: {{endpoint: "tcp://{at}:{FEED}"}}
ask: {{endpoint: "tcp://{at}:{ASK}"}}
http: {{port: {HTTP}}}
decide: {{settle_window: 1s}}
learn: {{checkpoint_every: 1s, warmup: 4}}
store: {{path: {self.dir}/controller/store.db}}
""")
        (self.dir / "shim.yaml").write_text(f"""listen: {{port: {SHIM}}}
controller: {{ask: "tcp://{at}:{ASK}", feed: "tcp://{at}:{FEED}", key: {self.dir}/shim.key, server_key: {self.dir}/controller.key.pub}}
""")
        (self.dir / "swarm.yaml").write_text(f"""nodes: {SIMULATED}
tick: 250ms
endpoint: "tcp://{at}:{TELEMETRY}"
keys: {self.dir}
server_key: {self.dir}/controller.key.pub
listen: "127.0.0.1:{SWARM}"
""")
        subprocess.run([self.binaries / "wattle-sim", "swarm", "--config", self.dir / "swarm.yaml", "--make-keys", self.dir / "allow"],
                       check=True, capture_output=True)
        for agent in AGENTS:
            self.configure(agent)

    def configure(self, agent, via="controller", more="", file=None, tick="200ms"):
        """`via`: the controller, or the proxy that delays answers."""
        endpoint = f"tcp://{self.net.hosts[via]}:{DELAYED if via == 'proxy' else TELEMETRY}"
        (self.dir / f"{file or agent}.yaml").write_text(f"""node: {agent}
tick: {tick}
state_dir: {self.dir}/{file or agent}
http: {{port: {AGENT_HTTP + (file is not None)}}}
controller: {{endpoint: "{endpoint}", key: {self.dir}/{agent}.key, server_key: {self.dir}/controller.key.pub}}
{more}
""")

    def start(self, name, host=None):
        program = {"controller": "wattle-controller", "shim": "wattle-shim"}.get(name, "wattle-agent")
        self.launch(name, host or name, program, *(["run"] if program == "wattle-agent" else []), "--config", self.dir / f"{name}.yaml")

    def launch(self, name, host, program, *arguments):
        command = self.net.on(host, str(self.binaries / program), *map(str, arguments))
        with open(self.dir / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                    env=os.environ | self.environment.get(name, {}))

    def start_pods(self):
        """Starts simulated nodes and a driver that places pods through the shim, so that the controller learns."""
        self.launch("swarm", "shim", "wattle-sim", "swarm", "--config", self.dir / "swarm.yaml")
        self.launch("drive", "shim", "wattle-sim", "drive", "--shim", f"http://127.0.0.1:{SHIM}", "--swarm", f"http://127.0.0.1:{SWARM}",
                    "--controller", f"http://127.0.0.1:{HTTP}", "--seconds", 100_000, "--pods", 12, "--period", "0.1", "-o", "line")

    def start_proxy(self, milliseconds):
        proxy = pathlib.Path(__file__).resolve().parent / "delay_proxy.py"
        self.processes["proxy"] = subprocess.Popen(
            self.net.on("proxy", sys.executable, str(proxy), str(DELAYED), self.net.hosts["controller"], str(TELEMETRY), str(milliseconds)))

    def start_all(self):
        for name in ("controller", "shim", *AGENTS):
            self.start(name)
        self.wait_ingesting()

    def kill(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(how)
        return process.wait(timeout=LATE_S)

    def alive(self, name):
        process = self.processes[name]
        if process.poll() is not None:
            raise ProcessEnded(f"{name} exited with {process.returncode}:\n{self.log(name)[-2000:]}")
        return True

    def log(self, name):
        path = self.dir / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def metrics(self, host="controller"):
        """Returns {name with labels: value} of that host's metrics page; empty without a page."""
        port = HTTP if host == "controller" else AGENT_HTTP
        page = self.net.fetch(host, f"http://127.0.0.1:{port}/metrics") or ""
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line and not line.startswith("#")}

    def page(self, host="controller"):
        """Returns the metrics once the page answers, because a busy machine may answer late."""
        return wait_until(f"the page of {host}", lambda: self.metrics(host))

    def document(self, what):
        return json.loads(self.net.fetch("controller", f"http://127.0.0.1:{HTTP}/api/v1/{what}") or "{}")

    def ages(self):
        """Returns seconds by node, only of nodes whose records reach up to the values that the controller shows."""
        found = {"wattle_controller_node_telemetry_age_seconds": {}, "wattle_controller_node_catching_up": {}}
        for name, value in self.metrics().items():
            if name.split("{")[0] in found:
                found[name.split("{")[0]][name.split('node="')[1].split('"')[0]] = value
        return {node: age for node, age in found["wattle_controller_node_telemetry_age_seconds"].items() if found["wattle_controller_node_catching_up"][node] == 0}

    def wait_ingesting(self, agents=AGENTS, seconds=SOON_S):
        """Waits until the controller has a sample of every agent that was measured after this call, and all before it.
        Returns the duration."""
        begun = time.monotonic()

        def fresh():
            asked = time.monotonic()
            ages = self.ages()
            return all(ages.get(agent, 1e9) < asked - begun for agent in agents)

        wait_until(f"fresh samples of {', '.join(agents)}", fresh, seconds)
        return time.monotonic() - begun

    def stop_all(self, how=signal.SIGKILL):
        for name in list(self.processes):
            if name != "proxy":
                self.kill(name, how)

    def spool(self, agent):
        return self.dir / agent / "spool.db"

    def books(self):
        return (Store(self.dir / "controller" / "store.db"),
                {agent: Spool(self.spool(agent)) for agent in AGENTS if self.spool(agent).exists()})

    def audit(self, books=None):
        return audit(*(books or self.books()))
