#!/usr/bin/env python3
"""watch_test: `wattle nodes -w` and `wattle decisions -w`. Decisions arrive over the feed, nodes are redrawn when they
change, Ctrl-C ends the command with 0, and a key without permission is reported."""
import json
import signal
import sys

from house import House, binaries_from, extender_args, fetch, wait_until
from patience import pace, SOON_S

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def watching(house, name, *words, key="reader"):
    house.start(name, house.binary("wattle"), "--server", f"tcp://127.0.0.1:{house.ask}", "--feed", f"tcp://127.0.0.1:{house.feed}",
                "--key", str(house.dir / f"{key}.key"), "--server-key", str(house.dir / "controller.key.pub"), *words, "-w")


def main():
    binaries = binaries_from(sys.argv)
    with House(binaries) as house:
        house.start_controller()
        house.start_agent()
        house.start_shim()
        wait_until("the agent has connected", house.connected)
        watching(house, "decisions", "decisions")
        watching(house, "json", "decisions", "-o", "json")
        watching(house, "nodes", "nodes")
        watching(house, "stranger", "nodes", key="stranger")
        asked = 0

        def both_received():  # earlier decisions are not printed
            nonlocal asked
            asked += 1
            fetch(f"{house.shim()}/prioritize", extender_args(f"uid-{asked}", [house.node], name=f"web-{asked}"))
            pace(0.2)
            return house.log("decisions") and house.log("json")
        wait_until("decisions are reported", both_received)
        line = house.log("decisions").splitlines()[0]
        check("one line per decision: pod, node, added watts, policy", f"-> {house.node}, adds " in line and " W est (" in line and "default/web-" in line, line)
        reported = json.loads(house.log("json").splitlines()[0])
        check("JSON has the ID for `wattle explain`", house.query("explain", str(reported["id"]))["decision"]["pod_uid"] == reported["pod_uid"])
        uid = reported["pod_uid"]
        house.cli("confirm", uid, house.node, key="operator")
        wait_until("the placement is recorded", lambda: house.query("explain", uid)["decision"]["placed_on"] == house.node)
        asked += 1
        fetch(f"{house.shim()}/prioritize", extender_args(f"uid-{asked}", [house.node], name=f"web-{asked}"))
        last = f"uid-{asked}"
        wait_until("a later decision is printed", lambda: last in house.log("json") and f"web-{asked} " in house.log("decisions"))
        uids = [json.loads(line)["pod_uid"] for line in house.log("json").splitlines()]
        check("each decision is printed once, although the feed repeats it after the placement", len(uids) == len(set(uids)), uids)
        lines = house.log("decisions").splitlines()
        check("each line is printed once", len(lines) == len(set(lines)), lines)
        wait_until("nodes are redrawn", lambda: house.log("nodes").count("NODE ") >= 3)
        check("the redrawn nodes include this machine", house.node in house.log("nodes"))
        code = house.processes["stranger"].wait(timeout=SOON_S)
        del house.processes["stranger"]
        check("a key that is not on the allow list is reported with exit code 1", code == 1 and "does not allow your key" in house.log("stranger"), house.log("stranger"))
        for name in ("decisions", "json", "nodes"):
            check(f"Ctrl-C ends `watch` ({name}) with 0", house.kill(name, signal.SIGINT) == 0, house.log(name)[-300:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
