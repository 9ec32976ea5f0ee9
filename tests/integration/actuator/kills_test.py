#!/usr/bin/env python3
"""kills_test: kills the working wattle-actuator repeatedly, on real cgroups, while other processes write to them.

After each kill, `restore` or the next start, which may be killed too, restores the limits. A value is left behind if it
is neither the original nor a foreign one. Rigs run concurrently, each with its own workloads, record and actuator.
Foreign values end in 1 or 7, the rule's in 00. For units, foreign values are above 50%, and the rule's below, because
the services are idle.
Usage    kills_test.py FOLDER-OF-BINARIES [--kills 60] [--rigs 3] [--workloads 4] [--units N] [--seed 1]
         as root; units where PID 1 is systemd
Gives    one JSON line: kills, values changed at death, left behind, foreign writes (lost: written between the
         actuator's read and write, because the kernel has no compare-and-swap; refused by the kernel: a quota below the
         current burst), daemon-reloads, exits that left the work to `restore` because systemd did not answer in time,
         seconds of restoring, OOM kills
Exit     0 fine, 1 a value was left behind or a claim failed, 77 skipped: no cgroup with a CPU quota can be created
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cgroups import ENVIRONMENT, Cgroup, cpu_of_v2, mounts, quota_files  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import holds, LATE_S, pace, SOON_S  # noqa: E402

COUNTS = ("kills", "restoring_killed", "changed_at_death", "foreign", "lost", "refused", "reloads", "left_to_restore")
LISTS = ("left_behind", "lost_what", "failed", "restore_s")
WORK = "import time\nwhile True:\n  end = time.monotonic() + 0.004\n  while time.monotonic() < end: pass\n  time.sleep(0.096)\n"


def vmstat(name):
    return int(re.search(rf"^{name} (\d+)$", pathlib.Path("/proc/vmstat").read_text(encoding="utf-8"), re.M).group(1))


class Workload:
    """A cgroup that no service manager owns. `theirs`: foreign values; the last one is the expected value."""

    def __init__(self, name, dice):
        self.group = Cgroup(name)
        self.path, self.order = f"/{name}", f"{{cgroup: /{name}, level: limits}}"
        self.knobs = [self.group.quota] + ([self.group.burst] if self.group.path(self.group.burst).exists() else [])
        self.worker = subprocess.Popen([sys.executable, "-S", "-c", WORK])
        self.group.take(self.worker.pid)
        self.theirs = {}
        for knob in self.knobs:
            self.theirs[knob] = []
            self.write(knob, dice)

    def number(self, knob, dice):
        return self.group.plain(dice.randrange(60_001, 99_000, 10)) if knob == self.group.quota else str(dice.randrange(1_007, 2_000, 10))

    def write(self, knob, dice):
        value = self.number(knob, dice)
        try:
            self.group.put(knob, value)
        except OSError:
            return False
        self.theirs[knob].append(value)
        return True

    def foreign(self, dice):
        return self.write(dice.choice(self.knobs), dice)

    def read(self):
        return {knob: self.group.get(knob) for knob in self.knobs}

    def end(self):
        self.worker.kill()
        self.worker.wait()
        self.group.remove()


class Unit:
    """An idle systemd service. Foreign writes use `systemctl set-property`."""

    def __init__(self, name, dice):
        self.name = f"{name}.service"
        self.order = f"{{unit: {self.name}, level: limits}}"
        first, (self.quota, self.burst, self.plain) = self.number(dice), quota_files(cpu_of_v2())
        run("systemd-run", "--quiet", f"--unit={self.name}", "--property", f"CPUQuota={first}%", "/bin/sleep", "infinity")
        self.theirs = {"said": [self.said_as(first)], "kernel": [self.kernel_as(first)], "burst": ["0"]}
        self.cgroup = (cpu_of_v2() or next(mounts("cgroup", "cpu"))) / self.show("ControlGroup").lstrip("/")

    @staticmethod
    def said_as(percent):
        return f"{percent * 10}ms"

    def kernel_as(self, percent):
        return self.plain(percent * 1000)

    def number(self, dice):
        return dice.randrange(51, 99)

    def show(self, name):
        return run("systemctl", "show", self.name, "-p", name, "--value").strip()

    def foreign(self, dice):
        value = self.number(dice)
        systemctl("set-property", "--runtime", self.name, f"CPUQuota={value}%")
        self.theirs["said"].append(self.said_as(value))
        self.theirs["kernel"].append(self.kernel_as(value))
        return True

    def read(self):
        def file(name):
            return (self.cgroup / name).read_text(encoding="utf-8").strip()

        return {"said": self.show("CPUQuotaPerSecUSec"), "kernel": file(self.quota), "burst": file(self.burst)}

    def end(self):
        systemctl("stop", self.name)


def run(*command):
    """Repeats a command that systemd was too busy to answer. All commands used here are idempotent."""
    for patience in (3, 2, 1, 0):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LATE_S, check=False)
        if done.returncode == 0:
            return done.stdout
        pace(patience)
    raise OSError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")


def systemctl(*words):
    run("systemctl", *words)


class Rig(threading.Thread):
    def __init__(self, options, number):
        super().__init__()
        self.options, self.number, self.dice = options, number, random.Random(options.seed * 1000 + number)
        self.binary = options.binaries / "wattle-actuator"
        # Like /run: the record lasts as long as the limits.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wattle-kills-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.workloads, self.running, self.error = [], None, None
        self.seen = {name: 0 for name in COUNTS} | {name: [] for name in LISTS}

    def start_actuator(self):
        with open(self.folder / "log", "ab") as log:
            self.running = subprocess.Popen([self.binary, "run", "--config", self.folder / "config"], stdout=log, stderr=log, env=ENVIRONMENT)

    def stop_actuator(self, number):
        self.running.send_signal(number)
        return self.running.wait(LATE_S)

    def said(self, event):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace").count(f'"{event}"')

    def restore(self):
        return subprocess.run([self.binary, "restore", "--config", self.folder / "config"], capture_output=True, text=True, timeout=SOON_S, check=False)

    def others(self, dice):
        """Performs one foreign write."""
        if self.options.units and dice.random() < 0.3:
            self.seen["reloads"] += 1
            systemctl("daemon-reload")
        else:
            self.seen["foreign" if dice.choice(self.workloads).foreign(dice) else "refused"] += 1

    def meddle(self, until_s):
        while True:
            pause_s = self.dice.expovariate(1.0)
            if time.monotonic() + pause_s > until_s:
                pace(max(0, until_s - time.monotonic()))
                return
            pace(pause_s)
            self.others(self.dice)

    def compare(self, after):
        for workload in self.workloads:
            for knob, value in workload.read().items():
                theirs = workload.theirs[knob]
                if value == theirs[-1]:
                    continue
                if value in theirs:
                    self.seen["lost"] += 1
                    self.seen["lost_what"].append((self.seen["kills"], after, type(workload).__name__, knob, value, theirs[-2:]))
                    theirs.append(value)
                else:
                    self.seen["left_behind"].append((self.seen["kills"], after, knob, value, theirs[-3:]))

    def changed(self):
        return sum(value != workload.theirs[knob][-1] for workload in self.workloads for knob, value in workload.read().items())

    def put_back(self, way):
        begun_s = time.monotonic()
        if way == "start":
            before = self.said("actuator.started")
            self.start_actuator()
            holds(lambda: self.said("actuator.started") > before, every_s=0.005)
            self.seen["restore_s"].append(time.monotonic() - begun_s)
            if self.stop_actuator(signal.SIGTERM) == 0:
                return
            # The actuator waits half a second for systemd; `restore`, which its unit runs afterwards, waits 25 s.
            self.seen["left_to_restore"] += 1
            if not self.options.units:
                self.fail("start", (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:])
            begun_s = time.monotonic()
        done = self.restore()
        self.seen["restore_s"].append(time.monotonic() - begun_s)
        if done.returncode != 0:
            self.fail(done.stdout, done.stderr)

    def fail(self, *what):
        self.seen["failed"].append((self.seen["kills"], *what))

    def cycle(self):
        dice = self.dice
        self.start_actuator()
        # The actuator sets limits after a second. Most kills hit then or later; some hit a start that restores earlier
        # limits.
        self.meddle(time.monotonic() + (dice.uniform(0.9, 2.6) if dice.random() < 0.85 else dice.uniform(0, 0.06)))
        self.stop_actuator(signal.SIGKILL)
        self.seen["kills"] += 1
        self.seen["changed_at_death"] += self.changed()
        if dice.random() < 0.3:
            self.others(dice)  # while no actuator runs
        if dice.random() < 0.2:
            return  # the next restart restores it
        if dice.random() < 0.2:
            command = [self.binary, "restore", "--config", self.folder / "config"]
            restoring = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pace(dice.uniform(0, 0.02))
            restoring.kill()
            self.seen["restoring_killed"] += restoring.wait() == -signal.SIGKILL
        way = dice.choice(("restore", "start"))
        self.put_back(way)
        self.compare(way)

    def run(self):
        try:
            for i in range(self.options.workloads):
                self.workloads.append(Workload(f"wattle-kills-{os.getpid()}-{self.number}-{i}", self.dice))
            for i in range(self.options.units):
                self.workloads.append(Unit(f"kills-{self.number}-{i}", self.dice))
            orders = ", ".join(workload.order for workload in self.workloads)
            (self.folder / "config").write_text(f'{{state_dir: {self.folder}/state, socket: "", workloads: [{orders}]}}\n', encoding="utf-8")
            while self.seen["kills"] < self.options.kills // self.options.rigs:
                self.cycle()
            self.put_back("restore")
            self.compare("the end")
        except Exception as error:  # pylint: disable=broad-except; reported by the main thread
            self.error = error
        finally:
            if self.running and self.running.poll() is None:
                self.running.kill()
                self.running.wait()
            for workload in self.workloads:
                workload.end()
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--rigs", type=int, default=3)
    parser.add_argument("--workloads", type=int, default=4)
    parser.add_argument("--units", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        Cgroup(f"wattle-kills-{os.getpid()}-probe").remove()
    except OSError as error:
        print(f"skipped: no cgroup with a CPU quota can be created: {error}")
        return 77
    ooms = vmstat("oom_kill")
    rigs = [Rig(options, number) for number in range(options.rigs)]
    for rig in rigs:
        rig.start()
    for rig in rigs:
        rig.join()
    errors = [repr(rig.error) for rig in rigs if rig.error]
    sums = {key: sum(rig.seen[key] for rig in rigs) for key in COUNTS}
    lists = {key: sum((rig.seen[key] for rig in rigs), []) for key in LISTS}
    spans_s = sorted(lists["restore_s"])
    if spans_s:
        sums |= {"restore_median_s": round(statistics.median(spans_s), 4), "restore_slowest_s": round(spans_s[-1], 4)}
    reported = {**sums, "left_behind": len(lists["left_behind"]), "restored": len(spans_s), "oom_kills": vmstat("oom_kill") - ooms, "seed": options.seed}
    for what in lists["lost_what"][:10]:
        print(f"lost {what}")
    for what in lists["left_behind"][:10] + lists["failed"][:3] + errors:
        print(f"FAIL {what}")
    print(json.dumps(reported))
    return 1 if lists["left_behind"] or lists["failed"] or errors or sums["changed_at_death"] < options.kills // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
