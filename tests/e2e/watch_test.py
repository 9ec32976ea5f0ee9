#!/usr/bin/env python3
"""`wattle nodes -w`, `wattle decisions -w`: decisions come over the feed as they are made, nodes are drawn again when they change; Ctrl-C ends it well, and who may not
listen is reported so."""
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
        wait_until("this machine is a node", house.connected)
        watching(house, "decisions", "decisions")
        watching(house, "json", "decisions", "-o", "json")
        watching(house, "nodes", "nodes")
        watching(house, "stranger", "nodes", key="stranger")
        asked = 0

        def both_heard():  # what was decided before somebody listened is not reported
            nonlocal asked
            asked += 1
            fetch(f"{house.shim()}/prioritize", extender_args(f"uid-{asked}", [house.node], name=f"web-{asked}"))
            pace(0.2)
            return house.log("decisions") and house.log("json")
        wait_until("decisions are reported", both_heard)
        line = house.log("decisions").splitlines()[0]
        check("a line a decision: pod, node, what it adds, who chose", f"-> {house.node}, adds " in line and " W est (" in line and "default/web-" in line, line)
        reported = json.loads(house.log("json").splitlines()[0])
        check("as JSON with its id, to explain it by", house.query("explain", str(reported["id"]))["decision"]["pod_uid"] == reported["pod_uid"])
        uid = reported["pod_uid"]
        house.cli("confirm", uid, house.node, key="operator")
        wait_until("the placement is known", lambda: house.query("explain", uid)["decision"]["placed_on"] == house.node)
        asked += 1
        fetch(f"{house.shim()}/prioritize", extender_args(f"uid-{asked}", [house.node], name=f"web-{asked}"))
        last = f"uid-{asked}"
        wait_until("a later decision is printed", lambda: last in house.log("json") and f"web-{asked} " in house.log("decisions"))
        uids = [json.loads(line)["pod_uid"] for line in house.log("json").splitlines()]
        check("each decision is printed once, though the feed sends it again once it is placed", len(uids) == len(set(uids)), uids)
        lines = house.log("decisions").splitlines()
        check("so is each line", len(lines) == len(set(lines)), lines)
        wait_until("nodes are drawn again and again", lambda: house.log("nodes").count("NODE ") >= 3)
        check("with this machine", house.node in house.log("nodes"))
        code = house.processes["stranger"].wait(timeout=SOON_S)
        del house.processes["stranger"]
        check("who is not on the allow list is reported so, exit 1", code == 1 and "does not allow your key" in house.log("stranger"), house.log("stranger"))
        for name in ("decisions", "json", "nodes"):
            check(f"Ctrl-C ends `watch` ({name}) well", house.kill(name, signal.SIGINT) == 0, house.log(name)[-300:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
