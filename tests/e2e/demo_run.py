"""demo_run: runs scripts/demo on built programs and reads its output while it runs.

Source   scripts/demo of this tree with DEMO_BIN; its lines, the HTTP ports they name, and what DEMO_LOGS keeps
Ends     the `with` block ends the demo with SIGTERM, waits for it and removes its logs
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from house import HouseError, ProcessEnded, fetch, wait_until
from patience import LATE_S, SOON_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKER = "kubepods-burstable-pod77617474_6c65_"  # in cgroup names of pods that drive creates


RESTING = ("suspending", "asleep", "waking")


def state_of(node):
    """Returns its power state; None if Wattle does not control its power."""
    return (node["power"] or {}).get("state")


def cgroup2_mount():
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        columns = line.split()
        if columns[2] == "cgroup2":
            return pathlib.Path(columns[1])
    return None


def pods_of(pids):
    """Returns cgroups of pods that one of these processes created: the last part of the name has the PID."""
    mount = cgroup2_mount()
    folder = mount / "kubepods.slice" / "kubepods-burstable.slice" if mount else None
    if not folder or not folder.exists():
        return []
    return [p for p in folder.iterdir() if p.name.startswith(MARKER) and int(p.name.rpartition("_")[2][:8], 16) in pids]


class Demo:
    """scripts/demo with these built programs, or with those that its arguments name if `binaries` is None. It has its own
    process group, like a command that a user starts in a terminal."""

    def __init__(self, binaries, seconds, *arguments, **environment):
        self.logs = pathlib.Path(tempfile.mkdtemp(prefix="wattle-demo-test-"))
        self.temporary = self.logs / "tmp"
        self.temporary.mkdir()
        self.lines = []
        self.process = subprocess.Popen(
            [str(ROOT / "scripts" / "demo"), *arguments], cwd="/", process_group=0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "DEMO_BIN": str(binaries or ""), "DEMO_SECONDS": str(seconds), "DEMO_LOGS": str(self.logs / "kept"),
                 "TMPDIR": str(self.temporary), **environment})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def output(self):
        return "\n".join(self.lines)

    def find(self, pattern):
        return re.findall(pattern, self.output())

    def wait_for(self, pattern, seconds=LATE_S):
        def look():
            found = self.find(pattern)
            if not found and self.process.poll() is not None:
                raise ProcessEnded(f"the demo ended with {self.process.returncode}:\n{self.output()[-3000:]}")
            return found
        return wait_until(f"the demo prints '{pattern}'", look, seconds)

    def pid(self, part):
        return int(self.wait_for(rf"started {part} \(pid (\d+)\)")[-1])

    def pids(self):
        return [int(pid) for pid in self.find(r"started \w+ \(pid (\d+)\)")]

    def url(self, part):
        return self.wait_for({"controller": r"controller (http://[\d.:]+)", "shim": r"shim (http://[\d.:]+)",
                              "swarm": r"simulated nodes (http://[\d.:]+)"}[part])[0]

    def get(self, part, path):
        status, body = fetch(self.url(part) + path)
        if status != 200:
            raise HouseError(f"{part}{path}: status {status}: {body}")
        return json.loads(body)

    def nodes(self):
        return {node["name"]: node for node in self.get("controller", "/api/v1/nodes")["nodes"]}

    def all_connected(self):
        """Returns all nodes once each is connected or was put to sleep by Wattle."""
        nodes = self.nodes()
        return nodes if len(nodes) == 8 and all(n["connected"] or state_of(n) in RESTING for n in nodes.values()) else None

    def kept(self, name):
        return json.loads((self.logs / "kept" / name).read_text())

    def end(self, seconds=LATE_S):
        code = self.process.wait(timeout=seconds)
        self.reader.join(timeout=SOON_S)
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.end(SOON_S)
            self.process.kill()
        if kind is not None:
            print(self.output()[-6000:])
        shutil.rmtree(self.logs, ignore_errors=True)


class Claims:
    def __init__(self):
        self.failed = 0

    def check(self, claim, truth, reported=""):
        print(("ok   " if truth else "FAIL ") + claim + (f": {reported}" if reported != "" and not truth else ""), flush=True)
        self.failed += not truth

    def nothing_left(self, demo):
        self.check("the demo prints that it removed everything", "nothing is left behind" in demo.output())
        self.check("no process of the demo is left", not [p for p in demo.pids() if pathlib.Path(f"/proc/{p}").exists()])
        left = [str(path) for path in pods_of(demo.pids())]
        self.check("no cgroup of its pods is left", not left, left)
        self.check("no temporary file is left", not list(demo.temporary.iterdir()), list(demo.temporary.iterdir()))
