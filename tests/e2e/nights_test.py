#!/usr/bin/env python3
"""nights_test: three nights of the example in docs/how-to/place-without-kubernetes.md with this machine's agent. The
workload uses capacity while its unit runs, its joules are reported for its owner, and a killed controller forgets none
of it.

`ssh` and `systemd-run` are stand-ins on the PATH: the first runs the command locally, the second runs it in a cgroup
with the unit's name, which is removed when the process ends, like a transient unit's. Cgroups, processes, agent and
controller are real.

Needs    root and a cgroup2 mount; skips (77) with the reason otherwise
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "docs"))
from documented import blocks_below  # noqa: E402
from house import CLI_TIMEOUT, SKIPPED, House, binaries_from, wait_until  # noqa: E402
from live_state_test import cgroup2_mount  # noqa: E402
from patience import LATE_S, SOON_S  # noqa: E402

PAGE = "docs/how-to/place-without-kubernetes.md"
failures = 0

SSH = """#!/bin/sh
shift
exec "$@"
"""
# The page's program becomes a loop that ends when the night is over.
SYSTEMD_RUN = """#!PYTHON
import pathlib, subprocess, sys
assert sys.argv[1] == "--unit"
at = pathlib.Path("SLICE") / (sys.argv[2] + ".service")
at.mkdir()
subprocess.Popen(["sh", "-c", 'echo $$ >$0/cgroup.procs; while [ -e HOUSE/night ]; do i=$((i+1)); done; exec REAP $0', str(at)],
                 start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not (at / "cgroup.procs").read_text(): pass
"""
# Leaves the cgroup first, so that it can be removed.
REAP = """#!/bin/sh
echo $$ >"$1/../../cgroup.procs"
exec rmdir "$1"
"""


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"), flush=True)
    failures += 0 if truth else 1


class Fleet:
    """The page's world with one machine: this one."""

    def __init__(self, house, mount):
        self.house = house
        self.slice = mount / f"wattle-nights-{os.getpid()}.slice"
        self.night = house.dir / "night"
        self.slice.mkdir()
        (house.dir / "bin").mkdir()
        for name, text in (("ssh", SSH), ("systemd-run", SYSTEMD_RUN), ("reap", REAP)):
            path = house.dir / "bin" / name
            for word, means in (("PYTHON", sys.executable), ("SLICE", self.slice), ("HOUSE", house.dir), ("REAP", house.dir / "bin" / "reap")):
                text = text.replace(word, str(means))
            path.write_text(text)
            path.chmod(0o755)
        self.config = house.write("cli.yaml", f"""
            server: "tcp://127.0.0.1:{house.ask}"
            key: {house.dir}/operator.key
            server_key: {house.dir}/controller.key.pub
            timeout: {CLI_TIMEOUT}
            """)

    def sh(self, text):
        return subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=LATE_S, check=False,
                              env=os.environ | {"WATTLE_CONFIG": str(self.config),
                                                "PATH": f"{self.house.dir}/bin:{self.house.binaries}:{os.environ['PATH']}"})

    def requested(self):
        return self.house.connected()[0]["cpu_requested_cores"]

    def pods(self):
        return self.house.query("pods")["pods"]

    def report(self):
        rows = self.house.query("report", "--by", "owner")["rows"]
        return next((row for row in rows if row["key"] == "nightly-report"), None)

    def over(self):
        self.night.unlink()
        wait_until("the unit has ended", lambda: not any(self.slice.glob("*.service")))

    def end(self):
        with contextlib.suppress(FileNotFoundError):
            self.night.unlink()
        wait_until("its cgroups are removed", lambda: not any(self.slice.glob("*.service")))
        self.slice.rmdir()


def restart(house):
    house.kill("controller")
    house.start_controller()
    wait_until("the machine is connected again", house.connected)


def nights(house, fleet, example):
    for night in (1, 2, 3):
        fleet.night.touch()
        done = fleet.sh(example)
        check(f"night {night}: the page's example exits with 0", done.returncode == 0, done.stdout + done.stderr)
        check(f"night {night}: the example names the workload", "as nightly-report.service" in done.stdout or "runs on this-machine" in done.stdout, done.stdout)
        runs = wait_until("the workload is reported", lambda: [pod for pod in fleet.pods() if pod["unit"] == "nightly-report.service"])
        check(f"night {night}: its unit is the workload, with its name and decision", runs[0]["name"] == "nightly-report" and runs[0]["decision_id"] is not None, runs)
        check(f"night {night}: the workload requests its resources once", fleet.requested() == 0.5, fleet.requested())
        wait_until("the workload's outcome is measured", lambda: house.query("explain", "nightly-report")["decision"]["outcome"])
        fleet.over()
        wait_until(f"night {night}: the capacity is released", lambda: fleet.requested() == 0)
        check(f"night {night}: the capacity is released when the unit ends", True)
    row = wait_until("the nights are in the report", lambda: (row := fleet.report()) and row["workloads"] == 3 and row)
    check("the joules of three nights are reported for the owner", row["measured_j"] + row["estimated_j"] > 0 and row["core_h"] > 0, row)


def restarts(house, fleet, example):
    fleet.night.touch()
    done = fleet.sh(example)
    check("a fourth night begins", done.returncode == 0, done.stdout + done.stderr)
    by_hand = fleet.sh("wattle place by-hand --cpu 250m -o name")
    check("-o name prints only the node", (by_hand.returncode, by_hand.stdout, by_hand.stderr) == (0, "this-machine\n", ""), by_hand)
    reported = json.loads(fleet.sh("wattle confirm by-hand this-machine --time-limit 8h -o json").stdout)
    check("a workload without a unit has a time limit", reported["unit"] is None and reported["limit_s"] > 0, reported)
    wait_until("both workloads are requested", lambda: fleet.requested() == 0.75)
    seen = wait_until("the workload is reported", lambda: [pod for pod in fleet.pods() if pod["unit"] == "nightly-report.service"])
    uid = seen[0]["uid"]
    restart(house)
    wait_until("a restarted controller counts both requests", lambda: fleet.requested() == 0.75)
    again = wait_until("the workload is reported again", lambda: [pod for pod in fleet.pods() if pod["unit"] == "nightly-report.service"])
    check("after the restart the workload keeps its name and decision",
          again[0]["uid"] == uid and again[0]["name"] == "nightly-report" and again[0]["decision_id"] is not None, again)
    fleet.over()
    wait_until("the unit's end releases its capacity", lambda: fleet.requested() == 0.25)
    done = fleet.sh("wattle done by-hand")
    check("done ends a workload without a unit", done.returncode == 0 and fleet.requested() == 0, done.stdout + done.stderr)
    restart(house)
    check("ended workloads stay ended after a restart", fleet.requested() == 0, fleet.requested())
    wait_until("four nights are in the report", lambda: (row := fleet.report()) and row["workloads"] == 4)


def exit_codes(fleet):
    done = fleet.sh("NODE=$(wattle place huge --cpu 100000 -o name) || exit\necho started on $NODE")
    check("place without a feasible node exits with an error code and the reason",
          done.returncode == 1 and done.stdout == "" and "cpu does not fit" in done.stderr, done)
    other = fleet.sh("wattle status -o name")
    check("commands without a list refuse -o name", other.returncode == 2 and "status" in other.stderr, other)


def main():
    mount = cgroup2_mount()
    if os.geteuid() != 0 or mount is None:
        print("skipped: needs root and a cgroup2 mount")
        return SKIPPED
    example = blocks_below(PAGE, "Place without Kubernetes")[0].text
    with House(binaries_from(sys.argv)) as house:
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text() + f"store: {{path: {house.dir}/store.db}}\ndecide: {{settle_window: 1s, start_cap: {{least: 1000}}}}\n")
        fleet = Fleet(house, mount)
        try:
            house.start_controller()
            house.start_agent()
            wait_until("the agent is connected", house.connected)
            nights(house, fleet, example)
            restarts(house, fleet, example)
            exit_codes(fleet)
        finally:
            fleet.end()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
