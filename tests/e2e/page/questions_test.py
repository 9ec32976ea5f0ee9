#!/usr/bin/env python3
"""questions_test: seven questions of a new user, each answered on the page's first view or by one click, in Chromium.

Asked in mode shadow, where Wattle only records decisions, and in mode live, where it acts.

1. What does it save?  2. What does it cost?  3. Is anything wrong?  4. Which node draws most, and why?  5. What did
namespace X cost?  6. Why is this pod there?  7. Does learning help?

See also  terminal_questions_test.py: the same, by one command each
Usage    questions_test.py FOLDER-OF-BINARIES FOLDER-OF-scripts/web
Needs    node, chromium (scripts/setup); skips (77) with the reason without them
"""
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from house import SKIPPED, binaries_from, wait_until  # noqa: E402
from patience import AGES_S  # noqa: E402
from page_world import TOKEN, missing, page_world  # noqa: E402

NODES = 12
BUSY = 6  # pods on the node with the highest power
MOST_CLICKS = 1
MODES = ("shadow", "live")


def joules_of_default(house):
    rows = house.query("report", "--since", "7d", "--by", "namespace")["rows"]
    return next((row for row in rows if row["key"] == "default" and row["measured_j"] + row["estimated_j"] > 0), None)


def known(saving):
    return None not in (saving[key] for key in ("saved_w", "saved_low_w", "saved_high_w", "saving_ratio"))


@contextlib.contextmanager
def questioned_world(binaries, mode):
    """Creates a fleet in this mode with an answer to each question, and with one silent node. Yields (house, name of the node with the highest power)."""
    with page_world(binaries, NODES, mode=mode, more="shadow: {block: 1s}") as (house, nodes):
        simulated = [name for name in nodes if name != house.node]
        busy = max((n for n in house.query("nodes")["nodes"] if n["name"] in simulated), key=lambda n: n["power_w"] or 0)["name"]
        for number in range(BUSY):
            house.place(f"q-{number}", f"shop-{number}", busy, simulated, demand_cores=2)
        house.settled()
        most = wait_until("one node clearly has the highest power", lambda: max(house.query("nodes")["nodes"], key=lambda n: n["power_w"] or 0)["name"])
        wait_until("the namespace's usage is in the store", lambda: joules_of_default(house))
        wait_until("the saving has a figure with an interval", lambda: known(house.query("status")["modelled"]))
        house.kill("agent")
        wait_until("the node of the ended agent is silent", lambda: any(each["what"] == "nodes" for each in house.query("status")["alarms"]))
        yield house, most


def main():
    binaries, web = binaries_from(sys.argv), pathlib.Path(sys.argv[2])
    if lacking := missing(web):
        print(f"skipped: {lacking}")
        return SKIPPED
    failed = 0
    for mode in MODES:
        print(f"mode {mode}:", flush=True)
        with questioned_world(binaries, mode) as (house, most):
            facts = {"node": most, "pod": "q-0", "name": "shop-0", "silent": house.node, "acting": mode == "live", "clicks": MOST_CLICKS}
            done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("questions.mjs")), house.api(), TOKEN, shutil.which("chromium"), str(web), json.dumps(facts)],
                                  timeout=AGES_S, check=False)
            failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
