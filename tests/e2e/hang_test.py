#!/usr/bin/env python3
"""hang_test: parts that hang instead of exiting are detected.

Usage    hang_test.py BIN_DIR
Does     runs agent, controller and shim as systemd would (with its own notification socket and watchdog); stops each
         with SIGSTOP; stops only the controller's loop; asks for scores while the shim or the controller is
         stopped
Exit     0 success, 1 a claim is wrong
"""
import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import time

from house import House, binaries_from, extender_args, fetch, wait_until
from patience import let_a_moment_pass

WATCHDOG_US = 1_500_000
SILENCE_S = 3  # twice the watchdog interval
FAILED = []


def check(what, fine):
    print(("ok      " if fine else "FAILED  ") + what, flush=True)
    if not fine:
        FAILED.append(what)


class Watched(House):
    """Receives systemd notifications of each program."""

    def __init__(self, binaries):
        super().__init__(binaries)
        self.sockets = {}

    def start(self, name, *command):
        path = str(self.dir / f"{name}.notify")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.sockets[name] = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sockets[name].bind(path)
        self.sockets[name].setblocking(False)
        super().start(name, "env", f"NOTIFY_SOCKET={path}", f"WATCHDOG_USEC={WATCHDOG_US}", *command)

    def heard(self, name):
        out = []
        with contextlib.suppress(BlockingIOError):
            while True:
                out.append(self.sockets[name].recv(512).decode())
        return out

    def pings(self, name):
        return wait_until(f"{name} sends a watchdog notification", lambda: "WATCHDOG=1" in self.heard(name))

    def silent(self, name):
        self.heard(name)
        let_a_moment_pass(SILENCE_S)
        return not self.heard(name)

    def signal(self, name, number):
        self.processes[name].send_signal(number)

    def stop(self, name):
        """Returns once all of its threads are stopped."""
        self.signal(name, signal.SIGSTOP)
        tasks = f"/proc/{self.processes[name].pid}/task"
        wait_until(f"{name} is stopped", lambda: all(state_of(f"{tasks}/{task}/stat") == "T" for task in os.listdir(tasks)))


def state_of(stat):
    with contextlib.suppress(OSError), open(stat, encoding="ascii", errors="replace") as reported:
        return reported.read().rpartition(")")[2].split()[0]
    return "gone"


def prioritize(house, uid):
    status, body = fetch(f"{house.shim()}/prioritize", extender_args(uid, [house.node, "other"]))
    return status, json.loads(body)


def metric(house, line):
    return next((float(found.rsplit(" ", 1)[1]) for found in fetch(f"{house.shim()}/metrics")[1].splitlines() if found.startswith(line)), None)


def standby_answers(house):
    check("the standby of a stopped shim answers, and scores no node", prioritize(house, "hung") == (200, []))
    check("/livez is 503 while the standby answers", fetch(f"{house.shim()}/livez")[0] == 503)
    check("the log reports the hang", "standby.took_over" in house.log("shim"))


def killed_while_stopped(house):
    house.stop("shim")
    wait_until("the standby answers", lambda: fetch(f"{house.shim()}/livez")[0] == 503)
    house.kill("shim")
    house.start_shim()
    check("a shim that is killed while its standby answers starts again on its port", fetch(f"{house.shim()}/livez")[0] == 200)


def stopped_parts(house):
    for name in ("agent", "controller", "shim"):
        house.stop(name)
        check(f"a stopped {name} sends no notification", house.silent(name))
        if name == "shim":
            standby_answers(house)
        house.signal(name, signal.SIGCONT)
        check(f"the continued {name} sends notifications again", house.pings(name))


class HeldThread:
    """Stops one thread of a process while the others run. Yields None if the kernel does not permit it."""

    SEIZE, INTERRUPT, DETACH, ALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, thread):
        self.thread = thread
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.held = self.libc.ptrace(self.SEIZE, thread, None, None) == 0 and self.libc.ptrace(self.INTERRUPT, thread, None, None) == 0
        if self.held:
            os.waitpid(thread, self.ALL)

    def release(self):
        self.libc.ptrace(self.DETACH, self.thread, None, None)


def hung_loop(house):
    """Stops the loop's thread, which the controller starts last. HTTP workers continue."""
    wait_until("livez", lambda: fetch(f"{house.api()}/livez")[0] == 200)
    loop = HeldThread(max(map(int, os.listdir(f"/proc/{house.processes['controller'].pid}/task"))))
    if not loop.held:
        return print("        a single thread cannot be stopped here: skipped", flush=True)
    wait_until("the loop hangs: /livez is 503", lambda: fetch(f"{house.api()}/livez")[0] == 503)
    check("/livez of a hung loop says so", "the main loop has been stuck for " in fetch(f"{house.api()}/livez")[1])
    check("/readyz of a hung loop is 503", fetch(f"{house.api()}/readyz")[0] == 503)
    check("a hung loop sends no notification although other threads run", house.silent("controller"))
    loop.release()
    wait_until("the loop runs again", lambda: fetch(f"{house.api()}/livez")[0] == 200)
    return check("a resumed loop sends notifications", house.pings("controller"))


def breaker(house):
    wait_until("the controller scores", lambda: metric(house, 'wattle_shim_answers_total{reason="scored",source="controller"}') or not prioritize(house, f"w{time.monotonic()}"))
    wait_until("the breaker is closed", lambda: metric(house, 'wattle_shim_breaker_state{state="closed"}') == 1)
    house.stop("controller")
    asked = 0

    def open_():
        nonlocal asked
        asked += 1
        check("an ask while the controller is stopped is answered", prioritize(house, f"stopped-{asked}")[0] == 200)
        return metric(house, 'wattle_shim_breaker_state{state="closed"}') == 0
    wait_until("the breaker opens", open_)
    check(f"the breaker opened after at most four asks ({asked})", asked <= 4)
    timed_out = [metric(house, f'wattle_shim_request_duration_seconds_count{{verb="prioritize"}}')]
    began = time.monotonic()
    for pod in range(100):
        prioritize(house, f"open-{pod}")
    print(f"        100 answers while it is open took {time.monotonic() - began:.3f} s (each would wait 0.500 s)", flush=True)
    check("all hundred were counted", metric(house, f'wattle_shim_request_duration_seconds_count{{verb="prioritize"}}') == timed_out[0] + 100)
    check("/readyz of the shim stays 200 and shows the open breaker", fetch(f"{house.shim()}/readyz") [0] == 200 and "breaker: " in fetch(f"{house.shim()}/readyz")[1])
    house.signal("controller", signal.SIGCONT)
    wait_until("the breaker closes", lambda: metric(house, 'wattle_shim_breaker_state{state="closed"}') == 1)
    # The log reports it at most once a minute, not for each of a hundred answers.
    check("the shim logs it at most once a minute", 1 <= house.log("shim").count("breaker.opened") < 10)


def shims_known(house):
    shims = house.query("status")["shims"]
    check("the shim is registered at the controller", len(shims) == 1 and shims[0]["connected"] and shims[0]["asked"] > 0)
    check("status prints the shim", "1 of 1 shims" in house.cli("status").stdout)
    check("a path that the shim does not have is 404", fetch(f"{house.shim()}/prioritise", b"{}")[0] == 404)
    check("the unknown path is logged", "/prioritise" in house.log("shim"))
    house.heard("shim")  # so that its last messages fit
    house.kill("shim", signal.SIGTERM)
    finding = wait_until("doctor reports the missing shim", lambda: [f for f in json.loads(house.cli("doctor", "-o", "json", check=False).stdout)["controller"]["findings"]
                                                            if f["name"] == "shims" and f["state"] == "failed"])
    check("doctor names the missing shim", "is silent" in finding[0]["detail"])
    check("doctor exits with 1", house.cli("doctor", check=False).returncode == 1)
    check("each program notified systemd that it stops", "STOPPING=1" in house.heard("shim"))


def main():
    with Watched(binaries_from(sys.argv)) as house:
        with open(house.dir / "shim.yaml", "a", encoding="utf-8") as shim:
            shim.write("deadline: 500ms\n")  # a controller that only is slow must not open the breaker
        for name in ("controller", "agent", "shim"):
            getattr(house, f"start_{name}")()
            ready = wait_until(f"{name} sends READY", lambda n=name: [m for m in house.heard(n) if m.startswith("READY=1")])
            check(f"{name} is ready once: {ready[0]!r}", len(ready) == 1)
            house.pings(name)
        wait_until("the agent is connected", house.connected)
        stopped_parts(house)
        killed_while_stopped(house)
        wait_until("the agent is connected again", house.connected)
        breaker(house)
        hung_loop(house)
        shims_known(house)
    print(f"{len(FAILED)} failed" if FAILED else "all fine")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
