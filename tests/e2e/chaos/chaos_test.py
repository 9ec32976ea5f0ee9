#!/usr/bin/env python3
"""Whatever is killed, cut, slowed or filled up: no acknowledged sample is lost, none is in the store twice, and what was
dropped is counted exactly. Recovery times are printed, with their median and the longest.

Usage: chaos_test.py FOLDER-OF-BINARIES [SCENARIO...]
Environment: WATTLE_CHAOS_KILLS kills of each part (default 2; the other scenarios grow with it), WATTLE_CHAOS_SEED (default: of the
clock, and printed)
Needs root, iproute2 and nftables; skips (77) with the reason otherwise."""
import os
import random
import statistics
import subprocess
import sys
import time

from checkpoints import damaged_checkpoint, killed_while_saving, old_checkpoint_restored
from clocks import jumping_clocks
from cluster import AGENTS, SHIM, Cluster, wait_until
from house import HouseError
from lies import lying_agent
from net import missing
from overflow import spool_overflow
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import LATE_S, pace  # noqa: E402

SKIPPED = 77
SHORT = 5  # kills of each part
WANTED = {"controller killed": 5, "agent killed": 2, "shim killed": 1}  # seconds; reported, never asserted
KILLS = int(os.environ.get("WATTLE_CHAOS_KILLS", "2"))
SEED = int(os.environ.get("WATTLE_CHAOS_SEED", time.time_ns() % 1_000_000))


class Report:
    def __init__(self):
        self.failures = 0
        self.recoveries = {}

    def check(self, claim, truth, detail=""):
        print(("ok   " if truth else "FAIL ") + claim + ("" if truth else f": {detail}"), flush=True)
        self.failures += not truth

    def recovered(self, what, seconds):
        self.recoveries.setdefault(what, []).append(seconds)

    def audited(self, cluster, after, books=None):
        """Kills everything, reads what is left on disk, and starts all again; `books` are those that were read before."""
        if books is None:
            cluster.stop_all()
        kept, dropped, wrong = cluster.audit(books)
        self.check(f"{after}: {kept} samples are in the store once, {dropped} are reported as dropped, none is lost", kept > 0 and not wrong, wrong)
        if books is None:
            cluster.start_all()

    def summary(self):
        for what, seconds in self.recoveries.items():
            wanted = next((limit for begin, limit in WANTED.items() if what.startswith(begin)), None)
            late = f", {sum(s >= wanted for s in seconds)} not below the {wanted} s that are wanted" if wanted else ""
            print(f"{what}: {len(seconds)} times, median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s{late}")


def killed_controller(cluster, report, dice):
    for _ in range(KILLS):
        pace(dice.uniform(0.1, 1.5))
        cluster.kill("controller")
        cluster.start("controller")
        report.recovered("controller killed, every agent's samples taken again after", cluster.wait_ingesting())
    report.audited(cluster, "controller killed")


def killed_agent(cluster, report, dice):
    for _ in range(KILLS):
        agent = dice.choice(AGENTS)
        pace(dice.uniform(0.05, 1.0))
        cluster.kill(agent)
        cluster.start(agent)
        report.recovered("agent killed, its samples taken again after", cluster.wait_ingesting((agent,)))
    report.audited(cluster, "agents killed")


def killed_shim(cluster, report, dice):
    for _ in range(KILLS):
        pace(dice.uniform(0.05, 0.5))
        cluster.kill("shim")
        begun = time.monotonic()
        cluster.start("shim")
        pods = '{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u-%d"},"spec":{"containers":[]}},"NodeNames":["a1","a2","a3"]}' % dice.randrange(10**9)
        wait_until("the shim answers", lambda: cluster.net.fetch("shim", f"http://127.0.0.1:{SHIM}/prioritize", "-d", pods))
        report.recovered("shim killed, it answers again after", time.monotonic() - begun)


def killed_everywhere(cluster, report, dice):
    """Any part at any time, without waiting for the last one to come back."""
    for _ in range(2 * KILLS):
        name = dice.choice(("controller", "shim", *AGENTS))
        cluster.kill(name)
        pace(dice.uniform(0, 0.8))
        cluster.start(name)
        pace(dice.uniform(0, 0.8))
    report.recovered("several killed, every agent's samples taken again after", cluster.wait_ingesting())
    report.audited(cluster, "any part killed")


def partition(cluster, report, dice):
    for host in ("a1", "controller"):
        cluster.net.cut(host)
        pace(dice.uniform(6, 8))  # longer than the silence after which a peer is dead
        for name in ("controller", *AGENTS):
            cluster.alive(name)
        cluster.net.heal(host)
        report.recovered("partition healed, every agent's samples taken again after", cluster.wait_ingesting())
    report.audited(cluster, "partitions")


def bad_network(cluster, report, _):
    for agent in AGENTS:
        cluster.net.loss(agent, 5)
    cluster.net.rate("a2", "1mbit")
    cluster.kill("a3")
    cluster.start_proxy(200)
    cluster.configure("a3", via="proxy")
    cluster.start("a3")
    # Lost segments come again after seconds now and then: what must hold is that samples of all of them come.
    wait_until("with 5% loss, one at 1 Mbit/s and one 200 ms away, every agent's samples come",
               lambda: all(cluster.ages().get(a, 99) < 5 for a in AGENTS))
    for agent in AGENTS:
        cluster.net.heal(agent)
    cluster.kill("a3")
    cluster.kill("proxy")
    cluster.configure("a3")
    cluster.start("a3")
    cluster.wait_ingesting()
    report.audited(cluster, "a bad network")


def small_disk(cluster, folder, size):
    folder.mkdir(exist_ok=True)
    kept = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder], check=True)
    cluster.mounts.append(folder)
    for name, data in kept.items():
        (folder / name).write_bytes(data)


def full_disk(cluster, report, _):
    """The agent's disk, then the controller's: filled to the last byte while it runs, and freed again."""
    cluster.kill("a1")
    cluster.kill("controller")
    small_disk(cluster, cluster.dir / "a1", "8m")
    cluster.kill("a2")
    cluster.kill("a3")
    data = cluster.dir / "controller"
    kept = {file.name: file.read_bytes() for file in data.iterdir() if file.name.startswith("store")}
    small_disk(cluster, data, "64m")
    for name, content in kept.items():
        (data / name).write_bytes(content)
    for name in ("controller", *AGENTS):
        cluster.start(name)
    cluster.wait_ingesting()
    for name, folder in (("a1", cluster.dir / "a1"), ("controller", data)):
        filler = folder / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 65536)
            except OSError:
                pass
        pace(4)
        cluster.alive(name)
        filler.unlink()
        report.recovered(f"full disk of {'the controller' if name == 'controller' else 'an agent'} freed, samples taken again after", cluster.wait_ingesting())
        pace(6)  # a disk that refused is tried again every 5 s
    report.audited(cluster, "full disks")


def one_identity_twice(cluster, report, _):
    """A second agent with the key of the first: the one started later reports, it is reported, and when it is gone the first goes on."""
    cluster.configure("a1", file="twin")
    # An incarnation counts seconds: two agents that start within one second would have the same, and both would be cut off.
    wait_until("the first agent's second is over", lambda: time.time() >= int((cluster.dir / "a1/incarnation").read_text()) + 1)
    cluster.start("twin", host="a2")
    wait_until("the controller tells of two agents with one key", lambda: "agent.duplicate" in cluster.log("controller"))
    cluster.kill("twin")
    report.recovered("a twin gone, samples of the first taken again after", cluster.wait_ingesting(seconds=LATE_S))
    cluster.stop_all()
    kept, _, wrong = cluster.audit()
    wrong = [w for w in wrong if not w.startswith("a1/")]  # the twin's own spool is not one of those that are audited
    report.check(f"one identity twice: {kept} samples are in the store once", not wrong, wrong)
    cluster.start_all()


def of_files(scenario):
    """A scenario of another file, which is given the number of kills too."""
    def run(cluster, report, dice):
        scenario(cluster, report, dice, KILLS)
    run.__name__ = scenario.__name__
    return run


OF_HOSTS = (killed_controller, killed_agent, killed_shim, killed_everywhere, partition, bad_network, full_disk, one_identity_twice)
OF_FILES = tuple(map(of_files, (killed_while_saving, damaged_checkpoint, old_checkpoint_restored, lying_agent, spool_overflow, jumping_clocks)))
SCENARIOS = OF_HOSTS + OF_FILES


def both_halves():
    """They wait most of the time, so the short share runs as two clusters side by side."""
    halves = [subprocess.Popen([sys.executable, __file__, sys.argv[1], *(s.__name__ for s in half)], stdout=subprocess.PIPE, text=True,
                               env=os.environ | {"WATTLE_CHAOS_SEED": str(SEED)}) for half in (OF_HOSTS, OF_FILES)]
    for half in halves:
        print(half.communicate()[0], flush=True)
    return max(half.returncode for half in halves)


def main():
    why = missing()
    if why:
        print(f"[skipped] {why}")
        return SKIPPED
    if not sys.argv[2:] and KILLS <= SHORT:
        return both_halves()
    wanted = sys.argv[2:] or [s.__name__ for s in SCENARIOS]
    report, dice = Report(), random.Random(SEED)
    print(f"seed {SEED}")
    with Cluster(sys.argv[1]) as cluster:
        cluster.start_all()
        for scenario in SCENARIOS:
            if scenario.__name__ not in wanted:
                continue
            begun = time.monotonic()
            try:
                scenario(cluster, report, dice)
            except HouseError as error:
                report.check(scenario.__name__, False, error)
                for name, process in cluster.processes.items():
                    print(f"== {name}: {'runs' if process.poll() is None else f'ended with {process.poll()}'}\n{cluster.log(name)[-2000:]}")
                break
            print(f"-- {scenario.__name__}: {time.monotonic() - begun:.0f} s", flush=True)
    report.summary()
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
