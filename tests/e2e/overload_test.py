#!/usr/bin/env python3
"""overload_test: a controller with less CPU time than its agents need keeps their sessions and all of their records.

Usage    overload_test.py BIN_DIR [--agents N] [--seconds S] [--recovery]
Does     connects N simulated agents at 1 Hz; measures the CPU time that the controller uses for them, and limits it to half
         of that by a cgroup; waits until agents are asked for fewer records; lets S seconds pass, in which it sends asks
         and reads the controller's state; lifts the limit; with --recovery, waits until agents return to their own tick.
         With 200 agents, half of the time is enough: a slower loop reads more records in each turn
Needs    root and a CPU controller of cgroups, v2 or v1
Exit     0 success, 1 a claim is wrong, 77 no cgroup can be created
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import sys
import time

from house import House, HouseError, SKIPPED, fetch, free_ports, wait_until
from patience import pace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration/actuator"))
import cgroups  # noqa: E402  pylint: disable=wrong-import-position

FAILED = []
PERIOD_US = 100_000
MEASURED_S = 3


def check(what, fine, *why):
    print(("ok      " if fine else "FAILED  ") + what, *(() if fine else why), flush=True)
    if not fine:
        FAILED.append(what)


class Swarm:
    """Runs agents in as many processes as descriptor limits require."""

    def __init__(self, house, agents):
        self.house, self.agents = house, agents
        self.ports = free_ports(-(-agents // 2000))
        house.run(house.binary("wattle-sim"), "swarm", "--nodes", str(agents), "--keys", f"{house.dir}/keys", "--make-keys", f"{house.dir}/allow")

    def start(self):
        for at, port in enumerate(self.ports, 1):
            self.house.start(f"swarm{at}", self.house.binary("wattle-sim"), "swarm", "--nodes", str(self.agents), "--part", f"{at}/{len(self.ports)}",
                             "--services", "17", "--keys", f"{self.house.dir}/keys", "--server-key", f"{self.house.dir}/controller.key.pub",
                             "--endpoint", f"tcp://127.0.0.1:{self.house.telemetry}", "--listen", f"127.0.0.1:{port}", "--log-level", "warn")

    def now(self):
        every = [json.loads(fetch(f"http://127.0.0.1:{port}/status")[1]) for port in self.ports]
        return {key: sum(one[key] for one in every) for key in ("welcomed", "samples", "records_waiting", "records_dropped", "reconnects")}

    def end(self):
        for at in range(1, len(self.ports) + 1):
            self.house.kill(f"swarm{at}", signal.SIGTERM)


def asked_s(house):
    """Returns the interval that agents are asked to use; 0 for their own. Each read uses controller time."""
    pace(1)
    status, page = fetch(f"{house.api()}/metrics")
    found = re.search(r"^wattle_controller_overload_tick_seconds (\S+)$", page, re.M)
    if found is None:
        raise HouseError(f"no metric: {status} {page[:200]}")
    return float(found.group(1))


def cpu_s(pid):
    ticks = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def half_of_what_it_uses(house):
    """Returns a quota of half of the CPU time that the controller uses now."""
    pid = house.processes["controller"].pid
    begun, before = time.monotonic(), cpu_s(pid)
    pace(MEASURED_S)
    return max(1000, int(PERIOD_US * (cpu_s(pid) - before) / (time.monotonic() - begun) / 2))


def overloaded(house):
    """Returns doctor's finding about telemetry, if it names the overload."""
    findings = json.loads(house.cli("doctor", "-o", "json", check=False).stdout)["controller"]["findings"]
    return next((one for one in findings if one["name"] == "telemetry" and "overloaded" in one["detail"]), None)


def while_it_lasts(house, swarm, seconds):
    before = swarm.now()
    wait_until("status names the overload", lambda: "overload" in [alarm["what"] for alarm in house.query("status")["alarms"]])
    found = wait_until("doctor names the overload", lambda: overloaded(house))
    check("doctor names a fix", "CPU" in found["fix"], found)
    pace(seconds)
    place = house.cli("place", "pod", "--cpu", "100m", "--uid", "pod", "-o", "json", key="operator", check=False)
    check("an ask is answered", place.returncode in (0, 1) and place.stdout, place)
    after = swarm.now()
    check("no session ended", after["reconnects"] == before["reconnects"] and after["welcomed"] == swarm.agents, before, after)
    check("no agent dropped a record", after["records_dropped"] == 0, after)


def count(house, swarm, acknowledged):
    """Checks that the store has each record once."""
    with contextlib.closing(sqlite3.connect(house.dir / "store.db")) as store:
        nodes = store.execute("SELECT n.name, n.records, n.refused, n.missing, m.seq FROM node n JOIN mark m ON m.node = n.id").fetchall()
    wrong = [node for node in nodes if node[1] != node[4] or node[2] or node[3]]
    check("every agent's records are in the store, each once", len(nodes) == swarm.agents and not wrong, wrong[:3])
    check("the store has all acknowledged records", sum(node[1] for node in nodes) >= acknowledged)


def run(options, cgroup):
    with House(options.bin_dir, mode="shadow") as house:
        with open(house.dir / "controller.yaml", "a", encoding="utf-8") as file:
            file.write(f"store: {{path: {house.dir}/store.db}}\nlog: {{level: warn}}\n")
        swarm = Swarm(house, options.agents)
        house.start_controller()
        swarm.start()
        wait_until("every agent is connected", lambda: swarm.now()["welcomed"] == options.agents)
        quota = half_of_what_it_uses(house)
        cgroup.take(house.processes["controller"].pid)
        cgroup.put(cgroup.quota, cgroup.plain(quota))
        wait_until("agents are asked for fewer records", lambda: asked_s(house) > 0)
        while_it_lasts(house, swarm, options.seconds)
        print(f"        {quota / PERIOD_US:.1%} of a core, agents send every {asked_s(house):.2f} s", flush=True)
        cgroup.put(cgroup.quota, cgroup.plain(-1))
        if options.recovery:
            wait_until("agents return to their own tick", lambda: asked_s(house) == 0)
        wait_until("waiting records are acknowledged", lambda: swarm.now()["records_waiting"] <= options.agents)
        last = swarm.now()
        check("no session ended afterwards", last["welcomed"] == options.agents and last["reconnects"] == 0, last)
        swarm.end()
        house.kill("controller", signal.SIGTERM)
        count(house, swarm, last["samples"] - last["records_waiting"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("--agents", type=int, default=600)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--recovery", action="store_true")
    options = parser.parse_args()
    try:
        cgroup = cgroups.Cgroup(f"wattle-overload-{os.getpid()}")
    except OSError as error:
        print(f"[skipped] no cgroup with a CPU limit can be created here: {error}")
        return SKIPPED
    try:
        run(options, cgroup)
    finally:
        cgroup.remove()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
