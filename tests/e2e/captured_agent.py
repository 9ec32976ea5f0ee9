"""captured_agent: an agent that reads a captured server, which has pods and energy counters on any test machine."""
import pathlib
import shutil

from house import free_ports

CAPTURED = pathlib.Path(__file__).resolve().parents[1] / "fixtures/agent/two-socket-server"
# Files of cgroup v2 with all controllers; the test machine's kernel may have them in v1.
CGROUP = {"cpu.stat": "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\nnr_periods 10\nnr_throttled 2\nthrottled_usec 5000\n",
          "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
          "memory.current": "1048576\n", "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n", "pids.current": "3\n",
          "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"}
NODE = "captured"


def captured_tree(house, name=NODE):
    """Writes the captured roots to the house's folder."""
    root = house.dir / name
    shutil.copytree(CAPTURED, root)
    for pod in root.rglob("*pod1111*.slice"):
        for name, text in CGROUP.items():
            (pod / name).write_text(text)
    return root


def start_captured(house):
    """Starts the agent of node `captured` for the house's controller."""
    root = captured_tree(house)
    house.wattle("keys", "new", str(house.dir / "captured.key"))
    house.wattle("keys", "allow", "--allow-list", str(house.dir / "allow"), str(house.dir / "captured.key.pub"), "agent", NODE)
    house.write("captured.yaml", f"""
        node: {NODE}
        tick: 500ms
        state_dir: {house.dir}/captured-state
        root: {root}
        controller: {{endpoint: "tcp://127.0.0.1:{house.telemetry}", key: {house.dir}/captured.key, server_key: {house.dir}/controller.key.pub}}
        http: {{port: {free_ports(1)[0]}}}
        """)
    house.start(NODE, house.binary("wattle-agent"), "run", "--config", str(house.dir / "captured.yaml"))
