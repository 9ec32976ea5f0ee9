"""clocks: moves wall clocks by minutes and hours, forward and back, while programs run and between their starts.

Law      only times shown to people depend on the wall clock: samples, marks, retention and sessions are unaffected
How      libfaketime, configured to leave CLOCK_MONOTONIC alone and to read the offset at each call; the times that the
         programs write prove that it works
"""
import pathlib
import time

from cluster import AGENTS, SHIM
from house import wait_until
from patience import pace

LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
JUMPS_S = (7200, -3600, 600, -86400, 30 * 86400, 0)


class Clock:
    """The wall clock offset of some of the cluster's programs; 0 is the real time."""

    def __init__(self, cluster, name):
        self.file = cluster.dir / f"{name}.clock"
        self.set(0)
        cluster.environment[name] = {"LD_PRELOAD": str(LIBRARIES[0]), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
                                     "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}

    def set(self, offset_s):
        new = self.file.with_suffix(".new")
        new.write_text(f"{offset_s:+d}\n")
        new.rename(self.file)
        self.offset_s = offset_s


def incarnation(cluster, agent):
    return int((cluster.dir / agent / "incarnation").read_text())


def jumping_clocks(cluster, report, dice, kills):
    if not LIBRARIES:
        print("[skipped] clocks: libfaketime is not installed (scripts/setup installs it)")
        return
    cluster.stop_all()
    clocks = {name: Clock(cluster, name) for name in ("controller", "shim", *AGENTS)}
    cluster.start_all()
    jumps = list(JUMPS_S) + [dice.choice((-1, 1)) * dice.randrange(60, 90 * 86400) for _ in range(kills // 20)]
    for number, jump in enumerate(jumps):
        for name in ("controller", "shim", *AGENTS):
            # Move some clocks together and some alone.
            if number % 2 == 0 or dice.random() < 0.5:
                clocks[name].set(jump)
        report.recovered("wall clocks jumped, every agent's samples accepted after", cluster.wait_ingesting())
        for name in clocks:
            cluster.alive(name)
        if number % 3 == 2:
            # The agent must notice a jump before it exits, because after a start only the wall clock shows the age of
            # its records.
            clocks["controller"].set(dice.choice((-900, 0, 900)))
            cluster.wait_ingesting()
            agent = dice.choice(AGENTS)
            for name in (agent, "controller", "shim"):
                cluster.kill(name)
                cluster.start(name)
            report.recovered("wall clocks jumped and programs killed, every agent's samples accepted after", cluster.wait_ingesting())
            wait_until("the shim has the new controller's board",
                       lambda: any(state in (cluster.net.fetch("shim", f"http://127.0.0.1:{SHIM}/readyz") or "")
                                   for state in ("board_fresh", "board_neutral")))
    # The controller does not restart here, because after a start only the wall clock shows the age of its records.
    far = 400 * 86400
    clocks["controller"].set(far)
    clocks["a1"].set(far)
    pace(1.1)  # an agent that reconnects within a second is welcomed without a log line
    cluster.kill("a1")
    cluster.start("a1")
    cluster.wait_ingesting(("a1",))
    report.check("the agent uses the changed clock", incarnation(cluster, "a1") > time.time() + far - 3600, incarnation(cluster, "a1"))
    year = time.gmtime(time.time() + far - 3600).tm_year
    line = [line for line in cluster.log("controller").splitlines() if "agent.welcomed" in line][-1]
    report.check("the controller uses the changed clock", f'"time":"{year}-' in line, line)
    cluster.stop_all()
    for name in clocks:
        del cluster.environment[name]
    books = cluster.books()
    report.audited(cluster, "wall clocks that jump", books)
    cluster.start_all()
