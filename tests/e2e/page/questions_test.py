#!/usr/bin/env python3
"""Five questions of a new user, each answered by one command, and by two clicks on the page in real Chromium.

1. Which node draws most, and why?  2. What did namespace X cost last week?  3. Why is this pod there?  4. Is the
network any good? 5. What would going live change?

Usage: questions_test.py FOLDER-OF-BINARIES FOLDER-OF-scripts/web
Needs    node, chromium (scripts/setup); skips (77) with the reason without them"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from house import SKIPPED, binaries_from, wait_until  # noqa: E402
from patience import AGES_S  # noqa: E402
from page_world import TOKEN, missing, page_world  # noqa: E402

NODES = 12
BUSY = 6  # pods on the node that is to draw most
MOST_CLICKS = 2


def joules_of_default(house):
    rows = house.query("report", "--since", "7d", "--by", "namespace")["rows"]
    return next((row for row in rows if row["key"] == "default" and row["measured_j"] + row["estimated_j"] > 0), None)


def by_command(house, most, pod):
    """(question, what was typed, what the answer must say)"""
    name = house.query("explain", pod)["decision"]["pod_name"]
    asked = [
        ("which node draws most and why", ("top",), [rf"(?m)^NODE.*\n{re.escape(most)} .* W", rf"(?m)^default/{re.escape(name)} .*{re.escape(most)}"]),
        ("what did namespace X cost last week", ("report", "--since", "7d", "--by", "namespace"), [r"(?m)^default .* J"]),
        ("why is this pod there", ("explain", pod), [rf"default/{re.escape(name)}: \S+ was advised", r"By the model, the pod adds [0-9.]+ W there"]),
        ("is the network any good", ("status",), [r"(?m)^in use .*(in use|the plan)"]),
        ("what would going live change", ("policy", "get"), [r"(?m)^saving .*(would save|not known yet: needs)", r"(?m)^promotion .*canary"]),
    ]
    failed = 0
    for question, command, wanted in asked:
        reported = house.cli(*command).stdout
        lacking = [pattern for pattern in wanted if not re.search(pattern, reported)]
        failed += bool(lacking)
        print(f"{'FAIL ' if lacking else 'ok   '}{question}? wattle {' '.join(command)}" + (f": nothing like {lacking} in\n{reported}" if lacking else ""))
    return failed


def main():
    binaries, web = binaries_from(sys.argv), pathlib.Path(sys.argv[2])
    if lacking := missing(web):
        print(f"skipped: {lacking}")
        return SKIPPED
    with page_world(binaries, NODES, mode="shadow") as (house, nodes):
        simulated = [name for name in nodes if name != house.node]
        busy = max((n for n in house.query("nodes")["nodes"] if n["name"] in simulated), key=lambda n: n["power_w"] or 0)["name"]
        for number in range(BUSY):
            house.place(f"q-{number}", f"shop-{number}", busy, simulated, demand_cores=2)
        house.settled()
        most = wait_until("a node draws most for certain", lambda: max(house.query("nodes")["nodes"], key=lambda n: n["power_w"] or 0)["name"])
        wait_until("what the namespace used is in the store", lambda: joules_of_default(house))
        failed = by_command(house, most, "q-0")
        facts = {"node": most, "pod": "q-0", "name": "shop-0", "clicks": MOST_CLICKS}
        done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("questions.mjs")), house.api(), TOKEN, shutil.which("chromium"), str(web), json.dumps(facts)],
                              timeout=AGES_S, check=False)
        return 1 if failed or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
