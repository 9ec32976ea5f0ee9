#!/usr/bin/env python3
"""Limits of open files: programs raise their soft limit, a controller says when the hard one is too low, and a full table keeps nothing busy.

Given    a controller and a shim with the soft limit that containerd 2 gives to pods, and a controller whose hard limit is low
Claims   the soft limit becomes the hard one; the log names the number that is needed; while strangers hold every descriptor that peers may
         have, the page and the command line are answered, the process does not spin, and the agent is taken once they are gone
         while a process can open no descriptor at all, its open HTTP connections are answered, it does not spin and does not end, and once it
         can again, the connections that waited are answered and probes go on
"""
import contextlib
import http.client
import json
import os
import resource
import socket
import sys

from house import House, binaries_from, fetch, wait_until
from patience import LATE_S, pace

LOW = 256
OWN = 1024  # controller/descriptors.hpp: kOwnDescriptors
FETCHES = 40


def check(what, fine, detail="", quietly=False):
    if not fine:
        raise AssertionError(f"not so: {what}: {detail}")
    if not quietly:
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


def cost_of(process, ask):
    """CPU seconds of the process while it is asked so many times, one after the other."""
    before = cpu_s(process)
    for _ in range(FETCHES):
        ask()
        pace(0.05)
    return cpu_s(process) - before


def cost_of_fetches(house, process):
    def ask():
        wait_until("the page answers", lambda: fetch(f"{house.api()}/livez")[0] == 200)
        house.cli("status")
    return cost_of(process, ask)


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


def open_now(process):
    pace(0.05)
    return {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}


@contextlib.contextmanager
def full_table(process):
    """The process can open no descriptor: every number below its limit is taken. poll() refuses more entries than the limit, so it is no lower."""
    before = limits_of(process)
    lasting = set.intersection(*[open_now(process) for _ in range(20)])
    limit = next(number for number in range(before[0]) if number not in lasting)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)


def get(link, path):
    link.request("GET", path)
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def answered(page):
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
               if line.startswith("wattle_probe_results_total{") and 'end="answered"' in line)


def table_full(binaries):
    print("no descriptor is left at all")
    with House(binaries) as house, contextlib.ExitStack() as links:
        house.start_controller()
        house.start_shim()
        house.start_agent()
        agent_page = f"http://127.0.0.1:{house.agent_http}/metrics"
        wait_until("probes are answered", lambda: answered(fetch(agent_page)[1]) >= 2)
        wait_until("the node is connected", house.connected)
        for name, port in (("controller", house.http), ("shim", house.shim_port), ("agent", house.agent_http)):
            process = house.processes[name]
            kept = http.client.HTTPConnection("127.0.0.1", port, timeout=LATE_S)
            links.callback(kept.close)
            get(kept, "/livez")
            quiet = cost_of(process, lambda link=kept: get(link, "/livez"))
            with full_table(process):
                waiting = [socket.create_connection(("127.0.0.1", port), timeout=LATE_S) for _ in range(8)]
                for one in waiting:
                    links.callback(one.close)
                    one.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                if name == "agent":
                    wait_until("the agent says that it cannot probe", lambda: "Too many open files" in house.log("agent"))
                loud = cost_of(process, lambda link=kept: check(f"the {name}'s open connection is answered", get(link, "/livez")[0] == 200, quietly=True))
                check(f"the {name} does not spin", loud < 3 * quiet + 1, f"{loud:.2f} s of CPU, {quiet:.2f} s without them")
                house.alive(name)
            said = [one.recv(4096).decode() for one in waiting]
            check(f"the {name} answers those that waited", all(one.startswith("HTTP/1.1 200 ") for one in said), said)
        before = answered(fetch(agent_page)[1])
        check("probes go on", wait_until("more probes are answered", lambda: answered(fetch(agent_page)[1]) >= before + 2))


def main():
    binaries = binaries_from(sys.argv)
    raises(binaries)
    full(binaries)
    table_full(binaries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
