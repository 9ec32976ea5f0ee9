#!/usr/bin/env python3
"""hangup_test: programs without a terminal keep running at SIGHUP, and those without standard output write to no socket.

Usage    hangup_test.py BIN_DIR
Exit     0 success, 1 a claim is wrong
"""
import os
import pathlib
import signal
import sys

from house import House, binaries_from, fetch, wait_until
from patience import let_a_moment_pass


def main():
    if os.fork() == 0:  # a process group leader cannot leave its terminal
        os.setsid()
        os._exit(check())
    return os.waitstatus_to_exitcode(os.wait()[1])


def children(pid):
    """Returns the processes of a parent, without those that have ended."""
    fields = {path.parent.name: path.read_text(encoding="utf-8").rpartition(")")[2].split() for path in pathlib.Path("/proc").glob("[0-9]*/stat") if path.exists()}
    return {int(child) for child, words in fields.items() if int(words[1]) == pid and words[0] != "Z"}


def check():
    with House(binaries_from(sys.argv), mode="shadow") as house:
        house.start_controller()
        house.start_agent()
        house.start_shim()
        wait_until("the node reports", house.connected)
        standby = children(house.processes["shim"].pid)
        assert standby, "the shim has no standby process"
        for name in ("controller", "agent", "shim"):
            for _ in range(3):
                house.processes[name].send_signal(signal.SIGHUP)
        for pid in standby:
            os.kill(pid, signal.SIGHUP)
        let_a_moment_pass()
        assert children(house.processes["shim"].pid) == standby, "the shim's standby process ended at SIGHUP"
        for name in ("controller", "agent", "shim"):
            assert house.alive(name)
        assert fetch(f"{house.api()}/livez")[0] == 200
        wait_until("the node still reports", house.connected)
        options = ["--server", f"tcp://127.0.0.1:{house.ask}", "--key", str(house.dir / "reader.key"), "--server-key", str(house.dir / "controller.key.pub")]
        for closed in (">&-", "<&- >&-", "<&- >&- 2>&-"):
            for what in ("nodes", "pods", "status"):
                done = house.run("bash", "-c", f'exec "$0" "$@" {closed}', house.binary("wattle"), *options, what)
                assert done.returncode == 1, f"wattle {what} {closed}: {done}"
        for name in ("shim", "agent", "controller"):
            ended = house.kill(name, signal.SIGTERM)
            assert ended == 0, f"{name} ended with {ended}"
    print("three programs and the shim's standby keep running at SIGHUP and end at SIGTERM; closed descriptors stay closed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
