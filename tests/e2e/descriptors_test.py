#!/usr/bin/env python3
"""descriptors_test: programs raise their soft limit of open files, a controller warns when the hard limit is too low,
and a full descriptor table causes no busy loop.

Given    a controller and a shim with the soft limit that containerd 2 gives to pods, and a controller with a low hard
         limit
Claims   the soft limit becomes the hard one; the log names the required number; while other clients hold every
         descriptor for peers, page and command line are answered, the process does not spin, and the agent is accepted
         once they are gone. While a process can open no descriptor, its open HTTP connections are answered, and it
         neither spins nor exits; once it can again, the waiting connections are answered and probes continue
"""
import contextlib
import http.client
import json
import os
import resource
import socket
import sys

from house import House, ProcessEnded, binaries_from, fetch, wait_until
from patience import LATE_S, pace

LOW = 256
OWN = 1024  # controller/descriptors.hpp: kOwnDescriptors
FETCHES = 10
ALIVE = (200, 503)  # 503: the loop is late, for example on a busy machine


def check(what, fine, detail="", quietly=False):
    if not fine:
        raise AssertionError(f"not so: {what}: {detail}")
    if not quietly:
        print(f"  {what}", flush=True)


def limits_of(process):
    return resource.prlimit(process.pid, resource.RLIMIT_NOFILE)


def turns_of(process):
    """Returns {thread: number of context switches}, or None if a thread runs or is runnable."""
    if process.poll() is not None:
        raise ProcessEnded(f"ended with {process.returncode}: {process.args}")
    turns = {}
    for task in os.listdir(f"/proc/{process.pid}/task"):
        status = dict(line.split(":", 1) for line in open(f"/proc/{process.pid}/task/{task}/status", encoding="ascii", errors="replace"))
        if status["State"].split()[0] not in "SD":
            return None
        turns[task] = int(status["voluntary_ctxt_switches"]) + int(status["nonvoluntary_ctxt_switches"])
    return turns


def rests(process):
    """Waits for a moment in which no thread of the process runs. A thread that retries without waiting never lets that
    happen, however busy the machine is."""
    before = turns_of(process)
    pace(0.003)
    return before is not None and before == turns_of(process)


def start_limited(house, name, soft, hard, *command):
    house.start(name, "prlimit", f"--nofile={soft}:{hard}", *command)


def controller(house):
    return house.binary("wattle-controller"), "--config", str(house.dir / "controller.yaml")


def answers_and_rests(what, process, ask):
    """Checks that the process sleeps between requests."""
    for _ in range(FETCHES):
        ask()
        wait_until(f"{what} rests", lambda: rests(process))
    check(f"{what} does not spin", True)


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
        check("a sufficient limit causes no warning", "few_descriptors" not in house.log("controller"))
        start_limited(house, "shim", 1024, hard, house.binary("wattle-shim"), "--config", str(house.dir / "shim.yaml"))
        wait_until("the shim is ready", lambda: house.alive("shim") and fetch(f"{house.shim()}/livez")[0] == 200)
        check("the shim's soft limit is its hard one", limits_of(house.processes["shim"]) == (hard, hard))


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

        def ask():
            wait_until("the page answers", lambda: fetch(f"{house.api()}/livez")[0] == 200)
            house.cli("status")
        with contextlib.ExitStack() as strangers:
            for _ in range(2 * LOW):
                strangers.enter_context(socket.create_connection(("127.0.0.1", house.telemetry), timeout=LATE_S))
            wait_until("connections are refused because of missing descriptors", lambda: refused(house) > 0)
            answers_and_rests("the controller", process, ask)
            check("some descriptors are left", len(os.listdir(f"/proc/{process.pid}/fd")) < LOW)
            house.start_agent()
        check("the agent is accepted when descriptors are free", wait_until("the node is connected", house.connected))


class FullTable:
    """Fills the process's descriptor table: every number below its limit is in use. poll() refuses more entries than
    the limit, so the limit stays."""

    def __init__(self, process):
        self.process, self.before = process, limits_of(process)

    def fill(self):
        """Sets the limit to the lowest number that is always in use. A descriptor that closes later frees a slot, so
        this is called again."""
        always = set.intersection(*[self.open_now() for _ in range(20)])
        limit = next(number for number in range(self.before[0]) if number not in always)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (limit, self.before[1]))

    def open_now(self):
        pace(0.05)
        return {int(name) for name in os.listdir(f"/proc/{self.process.pid}/fd")}

    def __enter__(self):
        self.fill()
        return self

    def __exit__(self, *_):
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, self.before)


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
            with FullTable(process) as table:
                waiting = [socket.create_connection(("127.0.0.1", port), timeout=LATE_S) for _ in range(8)]
                for one in waiting:
                    links.callback(one.close)
                    one.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                if name == "agent":
                    # Sends requests meanwhile, because idle connections are closed.
                    wait_until("the agent logs that it cannot probe", lambda link=kept: get(link, "/livez") and "Too many open files" in house.log("agent") or table.fill())
                answers_and_rests(f"the {name}", process, lambda link=kept: check(f"the {name}'s open connection is answered", get(link, "/livez")[0] in ALIVE, quietly=True))
                house.alive(name)
            said = [one.recv(4096).decode() for one in waiting]
            check(f"the {name} answers the waiting connections", all(int(one.split()[1]) in ALIVE for one in said), said)
        before = answered(fetch(agent_page)[1])
        check("probes continue", wait_until("more probes are answered", lambda: answered(fetch(agent_page)[1]) >= before + 2))


def main():
    binaries = binaries_from(sys.argv)
    raises(binaries)
    full(binaries)
    table_full(binaries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
