"""power_switch: the power of a real cluster's nodes, for the controller's `exec` driver and for tests.

Usage    with PowerSwitch(cluster, folder) as power: ...    `folder`: where the controller's pod finds its volume
Off      the node's processes are killed, all at once (scripts/cluster/cluster.py); on: the node starts as after a power cut
Source   node-1's /var/lib/wattle-volume, which is the controller's volume: program, drivers.yaml and socket are in it
Faults   `faults[node]`: refuse (no order is taken), deaf (orders are taken without effect), lie (a node that is on is
         observed as off); each until it is removed
Threads  one per request
"""
import contextlib
import json
import pathlib
import shutil
import socketserver
import subprocess
import threading

from house import HouseError

HERE = pathlib.Path(__file__).resolve().parent
VOLUME = "/var/lib/wattle-volume"  # the volume's folder on node-1
PLACE = "/var/lib/wattle-controller/power"  # the same folder in the controller's pod
CONFLICT, UNSUPPORTED = 75, 64


def build(folder):
    """Builds the program statically, because the controller's image has no shell or libraries."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise HouseError("no C compiler")
    program = folder / "node-power"
    subprocess.run([compiler, "-static", "-O1", "-o", str(program), str(HERE / "power_switch.c")], check=True)
    return program


class PowerSwitch:
    def __init__(self, cluster):
        self.cluster = cluster
        self.faults, self.calls = {}, []
        self.server = None

    def __enter__(self):
        folder = pathlib.Path(f"/proc/{self.cluster.first(self.cluster.names[0])}/root{VOLUME}") / "power"
        folder.mkdir(exist_ok=True)
        build(folder).chmod(0o755)
        (folder / "drivers.yaml").write_text(f'nodes:\n  - node: "node-*"\n    exec: {{command: [{PLACE}/node-power, {PLACE}/socket]}}\n', encoding="utf-8")
        (folder / "socket").unlink(missing_ok=True)
        outer = self

        class Request(socketserver.StreamRequestHandler):
            def handle(self):
                request = json.loads(self.rfile.read())
                status, answer = outer.answer(request)
                outer.calls.append((request["request"], request["node"], status))
                with contextlib.suppress(OSError):
                    self.wfile.write(f"{status}\n{json.dumps(answer) if answer else ''}".encode())

        self.server = socketserver.ThreadingUnixStreamServer(str(folder / "socket"), Request)
        self.server.daemon_threads = True
        (folder / "socket").chmod(0o666)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        what, node = request["request"], request["node"]
        fault = self.faults.get(node)
        if what == "probe":
            return 0, {"depths": ["off"]}
        if what == "observe":
            return 0, {"state": "on" if self.is_on(node) and fault != "lie" else "off"}
        if fault == "refuse":
            return CONFLICT, None
        if what not in ("sleep", "wake"):
            return UNSUPPORTED, None
        if fault != "deaf":
            self.turn(node, what == "wake")
        return 0, None

    # ---- the switch itself

    def turn(self, node, on):
        file = self.cluster.run_folder / node / "off"
        if on:
            file.unlink(missing_ok=True)
        else:
            file.touch()

    def is_on(self, node):
        """Returns whether the node has processes."""
        for file in self.cluster.cgroup(node).rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                if file.read_text(encoding="utf-8").strip():
                    return True
        return False
