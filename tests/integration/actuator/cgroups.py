"""cgroups: creates a cgroup with a CPU quota on this machine's kernel, v2 or v1, for a test.

Errors   OSError if none can be created
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import holds, LATE_S  # noqa: E402

PATIENCE_S = LATE_S
# The leak check of a sanitizer needs system calls that the actuator's filter blocks.
ENVIRONMENT = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def until(condition):
    return bool(holds(condition, PATIENCE_S))


def mounts(kind, controller=None):
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        left, right = line.split(" - ")
        if right.split()[0] == kind and (controller is None or controller in right.split()[2].split(",")):
            yield pathlib.Path(left.split()[4])


def cpu_of_v2():
    """Returns the v2 mount that has the CPU controller, or None."""
    return next((base for base in mounts("cgroup2") if "cpu" in (base / "cgroup.subtree_control").read_text(encoding="utf-8").split()), None)


def quota_files(version_2):
    """Returns the file names of quota and burst, and a function that formats a quota in us per 100 ms."""
    if version_2:
        return "cpu.max", "cpu.max.burst", lambda quota: f"{'max' if quota < 0 else quota} 100000"
    return "cpu.cfs_quota_us", "cpu.cfs_burst_us", str


class Cgroup:
    """A cgroup with a CPU quota on v2 or v1, and the file that accounts its CPU time."""

    def __init__(self, name):
        self.folders = []
        version_2 = cpu_of_v2()
        self.quota, self.burst, self.plain = quota_files(version_2)
        if version_2:
            self.make(version_2 / name)
            return
        for controller in ("cpu", "cpuacct"):
            base = next(mounts("cgroup", controller), None)
            if base is None:
                raise OSError(f"no hierarchy with {controller}")
            if base / name not in self.folders:
                self.make(base / name)
        for base in mounts("cgroup2"):  # the agent sees this cgroup even without controllers
            self.make(base / name)

    def make(self, folder):
        folder.mkdir()
        self.folders.append(folder)

    def path(self, file):
        return self.folders[0] / file

    def get(self, file):
        return self.path(file).read_text(encoding="utf-8").strip()

    def put(self, file, value):
        self.path(file).write_text(str(value), encoding="utf-8")

    def state(self):
        return self.get(self.quota), self.get(self.burst) if self.path(self.burst).exists() else ""

    def take(self, pid):
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid), encoding="utf-8")

    def remove(self):
        for folder in reversed(self.folders):
            until(lambda at=folder: not (at / "cgroup.procs").read_text(encoding="utf-8").strip())
            folder.rmdir()
