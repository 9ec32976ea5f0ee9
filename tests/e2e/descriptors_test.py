#!/usr/bin/env python3
"""Limits of open files: programs raise their soft limit, a controller says when the hard one is too low, and a full table keeps nothing busy.

Given    a controller and a shim with the soft limit that containerd 2 gives to pods, and a controller whose hard limit is low
Claims   the soft limit becomes the hard one; the log names the number that is needed; while strangers hold every descriptor that peers may
         have, the page and the command line are answered, the process does not spin, and the agent is taken once they are gone
"""
import contextlib
import json
import os
import resource
import socket
import sys

from house import House, binaries_from, fetch, wait_until
from patience import LATE_S

LOW = 256
OWN = 1024  # controller/descriptors.hpp: kOwnDescriptors
FETCHES = 40


def check(what, fine, detail=""):
    if not fine:
        raise AssertionError(f"not so: {what}: {detail}")
    print(f"  {what}", flush=True)


def limits_of(process):
    return resource.prlimit(process.pid, resource.RLIMIT_NOFILE)


def cpu_s(process):
    words = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def start_limited(house, name, soft, hard, *command):
    house.start(name, "prlimit", f"--nofile={soft}:{hard}", *command)


def controller(house):
    return house.binary("wattle-controller"), "--config", str(house.dir / "controller.yaml")


def cost_of_fetches(house, process):
    """CPU seconds of the process while its page is fetched so many times, one after the other."""
    before = cpu_s(process)
    for _ in range(FETCHES):
        wait_until("the page answers", lambda: fetch(f"{house.api()}/livez")[0] == 200)
        house.cli("status")
    return cpu_s(process) - before


def refused(house):
    page = fetch(f"{house.api()}/metrics")[1]
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
               if line.startswith("wattle_controller_refused_total{") and 'reason="descriptors"' in line)


def raises(binaries):
    print("a soft limit of 1,024 is raised")
    hard = min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    with House(binaries) as house:
        start_limited(house, "controller", 1024, hard, *controller(house))
        wait_until("the controller is ready", lambda: house.alive("controller") and fetch(f"{house.api()}/livez")[0] == 200)
        check("the controller's soft limit is its hard one", limits_of(house.processes["controller"]) == (hard, hard))
        check("a limit that suffices is no warning", "few_descriptors" not in house.log("controller"))
        start_limited(house, "shim", 1024, hard, house.binary("wattle-shim"), "--config", str(house.dir / "shim.yaml"))
        wait_until("the shim is ready", lambda: house.alive("shim") and fetch(f"{house.shim()}/livez")[0] == 200)
        check("and so is the shim's", limits_of(house.processes["shim"]) == (hard, hard))


def full(binaries):
    print(f"a hard limit of {LOW}, and more connections than that")
    with House(binaries) as house:
        start_limited(house, "controller", 128, LOW, *controller(house))
        wait_until("the controller is ready", lambda: house.alive("controller") and fetch(f"{house.api()}/livez")[0] == 200)
        process = house.processes["controller"]
        # One agent and an eighth more, a shim, a reader and an operator.
        needed = OWN + 2 + 65 + 2 * 4
        line = next(json.loads(one) if one.startswith("{") else one for one in house.log("controller").splitlines() if "few_descriptors" in one)
        check("the log says how many are needed", str(needed) in str(line), line)
        quiet = cost_of_fetches(house, process)
        with contextlib.ExitStack() as strangers:
            for _ in range(2 * LOW):
                strangers.enter_context(socket.create_connection(("127.0.0.1", house.telemetry), timeout=LATE_S))
            wait_until("connections are refused for want of descriptors", lambda: refused(house) > 0)
            loud = cost_of_fetches(house, process)
            check("the process does not spin", loud < 3 * quiet + 1, f"{loud:.2f} s of CPU, {quiet:.2f} s without them")
            check("some descriptors are left", len(os.listdir(f"/proc/{process.pid}/fd")) < LOW)
            house.start_agent()
        check("the agent is taken when descriptors are free", wait_until("the node is connected", house.connected))


def main():
    binaries = binaries_from(sys.argv)
    raises(binaries)
    full(binaries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
