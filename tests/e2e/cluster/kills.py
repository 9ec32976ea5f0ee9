"""kills: kill -9 or Ctrl-C ends `scripts/demo cluster` at random moments, before its images exist, during its start, or
while it runs.

Kills    the script; its guard; or both at once, after which the next start or `--clean` removes the rest. Ctrl-C sends
         SIGINT to the process group, as a terminal does
Moments  over the start and half as long again, as long as the first cluster took until it was ready; that one is killed
         while it runs
Claims   no process, namespace, cgroup, mount or folder of the cluster is left, and the machine's bridges and nftables
         rules are unchanged. A process of a namespace is found by the namespace's number in /proc
Beside   other clusters of the same cache may run: resources that a guard of another start holds do not count
"""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time

import real_cluster
import guard
from demo_run import Demo
from house import HouseError, wait_until
from patience import AGES_S, LATE_S, SOON_S, pace

RUN_RATIO = 0.5  # observed time after `ready`, in durations of a start
CTRL_C = "Ctrl-C"
VICTIMS = ("the demo", "the demo", "its guard", "both", CTRL_C)
SPACES = ("net", "mnt", "pid", "uts", "ipc", "cgroup")


def spaces(pid):
    """Returns (kind, number) of the namespaces of a process that differ from this one's."""
    found = set()
    for kind in SPACES:
        with contextlib.suppress(OSError):
            found.add((kind, os.readlink(f"/proc/{pid}/ns/{kind}")))
    return found - {(kind, os.readlink(f"/proc/self/ns/{kind}")) for kind in SPACES}


def processes():
    """Returns {pid: command line} of all other processes."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found[int(path.parent.name)] = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    found.pop(os.getpid())
    return found


def below(pid):
    """Returns the process and all of its descendants."""
    found = [pid]
    with contextlib.suppress(OSError):
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split():
            found += below(int(child))
    return found


def network():
    """Returns bridges and rules of this machine's own network."""
    found = []
    for words in (["ip", "-oneline", "link", "show", "type", "bridge"], ["nft", "list", "ruleset"]):
        found += subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return found


class Killed:
    """One cluster, and its resources at the moment of the kill."""

    def __init__(self, demo):
        self.demo, self.before = demo, network()
        self.traces, self.pids = set(), []

    def guard(self):
        mine = below(self.demo.process.pid)
        return [pid for pid, words in processes().items() if pid in mine and "/guard.py " in words]

    def kill(self, victim):
        guards = self.guard()
        self.pids = below(self.demo.process.pid)
        for pid in self.pids:
            self.traces |= spaces(pid)
        demo = self.demo.process.pid
        if victim == CTRL_C:
            os.killpg(demo, signal.SIGINT)
            self.demo.end()
            return True
        victims = {"the demo": [demo], "its guard": guards, "both": [demo, *guards]}[victim]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        if demo in victims:
            self.demo.process.wait()
        return bool(victims)

    def others(self):
        """Returns folder names of clusters whose guards belong to other starts. A guard holds its folder's lock
        open."""
        found = set()
        for pid, words in processes().items():
            if "/guard.py " in words and pid not in self.pids:
                with contextlib.suppress(OSError):
                    found |= {pathlib.Path(os.readlink(file)).parent.name for file in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
        return {name for name in found if name.startswith("run-")}

    def left(self):
        cache = real_cluster.CACHE
        # A zombie has no command line.
        mine = [(pid, words[:150]) for pid, words in processes().items()
                if pid in self.pids and words or spaces(pid) & self.traces]
        mounts = [line for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
                  if f"{cache}/run-" in line]
        groups = [str(path) for each in guard.hierarchies()
                  for path in each.point.glob(f"{guard.PREFIX}{guard.mark(cache)}*")]
        traces = [*mounts, *groups, *map(str, cache.glob("run-*"))]
        others = [name[4:] for name in self.others()]
        return [*mine, *(each for each in traces if not any(name in each for name in others)),
                *(set(network()) - set(self.before))]


def check_one(claims, binaries, what, moment, victim, ready=False):
    """Kills after `moment` seconds; with `ready`, that long after the cluster is ready. Returns the seconds until then."""
    with Demo(binaries, 0, "cluster", str(real_cluster.NODES)) as demo:
        begun = time.monotonic()
        killed = Killed(demo)
        if ready:
            demo.wait_for(r"s: ready\b", AGES_S)
        rise_s = time.monotonic() - begun
        pace(moment)
        if not killed.kill(victim):
            victim = "the demo (no guard yet)"
            killed.kill("the demo")
        ended = (demo.lines or ["nothing yet"])[-1]
        if victim == "both":
            subprocess.run([str(real_cluster.ROOT / "scripts/demo"), "cluster", "--clean"], check=True,
                           capture_output=True, timeout=LATE_S)
        what = f"{what}, {victim} after {time.monotonic() - begun:.1f} s ({ended[:60].strip()})"
        try:
            wait_until("all resources are released", lambda: not killed.left())
            traces = f"{len(killed.pids)} processes and {len(killed.traces)} namespaces"
            claims.check(f"{what}: nothing is left of {traces}", True)
        except HouseError:
            claims.check(f"{what}: nothing is left", False, killed.left())
        if victim == "its guard":
            claims.check(f"{what}: the demo exits with an error", demo.end() != 0)
    return rise_s


def check(claims, binaries, count, seed):
    moments, whole_s = random.Random(seed), 0.0
    for number in range(count):
        what, victim = f"kill {number + 1} of {count} (seed {seed})", moments.choice(VICTIMS)
        if number == 0:
            whole_s = (1 + RUN_RATIO) * check_one(claims, binaries, what, moments.random() * SOON_S / 3, victim, ready=True)
        else:  # each phase of a start gets its share of the kills
            check_one(claims, binaries, what, (number - 1 + moments.random()) * whole_s / (count - 1), victim)
