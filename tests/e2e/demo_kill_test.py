#!/usr/bin/env python3
"""demo_kill_test: after kill -9 of each part in turn the loop continues, and the shim answers while it runs, at worst
neutrally.

Usage    demo_kill_test.py FOLDER-OF-BINARIES
"""
import json
import os
import signal
import sys
import threading
import urllib.error

from demo_run import Claims, Demo
from house import binaries_from, extender_args, fetch, wait_until
from patience import SOON_S


class Asker:
    """Asks the shim continuously and keeps every answer."""

    def __init__(self, url, nodes):
        self.url, self.nodes, self.answers, self.failures = url, nodes, [], []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.ask, daemon=True)
        self.thread.start()

    def ask(self):
        turn = 0
        while not self.ending.wait(0.2):
            turn += 1
            try:
                status, body = fetch(f"{self.url}/prioritize", extender_args(f"asker-{turn}", self.nodes), timeout=SOON_S)
                scores = json.loads(body)
                good = status == 200 and set(s["Host"] for s in scores) <= set(self.nodes) and all(
                    isinstance(s["Score"], int) and 0 < s["Score"] <= 10 for s in scores)
                (self.answers if good else self.failures).append(f"{status} {body[:200]}")
            except (OSError, urllib.error.URLError, ValueError) as error:
                self.failures.append(str(error))

    def end(self):
        self.ending.set()
        self.thread.join()


def kill_and_wait(demo, part):
    before = demo.pid(part)
    os.kill(before, signal.SIGKILL)
    demo.wait_for(rf"{part} has exited \(status 137\); restarting it")
    wait_until(f"{part} has a new process", lambda: demo.pid(part) != before)


def placed(demo):
    lines = demo.find(r"placed=(\d+)")
    return int(lines[-1]) if lines else 0


def main():
    binaries = binaries_from(sys.argv)
    claims = Claims()
    # Longer than all waits below; the test ends the demo early.
    with Demo(binaries, seconds=200, DEMO_PERIOD="0.4") as demo:
        demo.wait_for("each simulated node first sleeps and wakes once")
        kill_and_wait(demo, "twin_controller")
        claims.check("the demo survives a crash before the first pod", True)
        nodes = sorted(wait_until("eight nodes are connected", demo.all_connected))
        wait_until("outcomes are learned from", lambda: demo.get("controller", "/api/v1/status")["outcomes"] > 5)
        asker = Asker(demo.url("shim"), nodes)

        kill_and_wait(demo, "controller")
        wait_until("eight nodes are connected to the new controller", demo.all_connected)
        wait_until("the new controller joins outcomes", lambda: demo.get("controller", "/api/v1/status")["outcomes"] > 0)
        claims.check("the demo survives the controller's crash", True)

        kill_and_wait(demo, "agent")
        here = os.uname().nodename
        wait_until("the agent is connected again", lambda: demo.nodes()[here]["connected"] and demo.nodes()[here]["age_ms"] < 3000)
        claims.check("the demo survives the agent's crash", True)

        kill_and_wait(demo, "swarm")
        wait_until("eight nodes are connected again", demo.all_connected)
        wait_until("the pods run again", lambda: len(demo.get("swarm", "/pods")["pods"]) > 10)
        claims.check("the demo survives the swarm's crash", True)

        wait_until("the new controller learns", lambda: demo.get("controller", "/api/v1/status")["gradient_steps"] > 0)
        claims.check("learning continues after the controller's crash", True)

        asker.end()
        claims.check("the shim answered every request during other crashes", len(asker.answers) > 20 and not asker.failures, asker.failures[:3])

        kill_and_wait(demo, "shim")
        asker = Asker(demo.url("shim"), nodes)
        wait_until("the new shim answers", lambda: len(asker.answers) > 10)
        asker.end()
        claims.check("the demo survives the shim's crash", True)

        kill_and_wait(demo, "drive")
        wait_until("pods are placed again", lambda: placed(demo) > 5)
        claims.check("the demo survives the driver's crash", True)

        before = placed(demo)
        wait_until("the loop continues", lambda: placed(demo) > before + 5)
        demo.process.send_signal(signal.SIGTERM)
        code = demo.end()
        claims.check("the demo ends with 0", code == 0, code)
        claims.check("the demo prints its summary after all crashes", "Summary:" in demo.output())
        summary = demo.kept("summary.json")
        claims.check("no answer was malformed", summary["answers"]["malformed"] == 0, summary["answers"])
        claims.nothing_left(demo)
        if claims.failed:
            print(demo.output()[-8000:])
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
