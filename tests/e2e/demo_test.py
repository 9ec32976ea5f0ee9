#!/usr/bin/env python3
"""demo_test: the undisturbed loop on eight nodes through scripts/demo: telemetry, decision, placement, outcome,
learning, sleep.

Usage    demo_test.py FOLDER-OF-BINARIES     without root, the test omits pods on this machine and checks the rest
"""
import json
import os
import signal
import sys
import urllib.request

from demo_run import Claims, Demo, pods_of, state_of
from house import binaries_from, extender_args, fetch, wait_until
from patience import SOON_S


def sleeps(claims, demo):
    """Checks that idle nodes are put to sleep, are off, and get no pods; pods that fit on no awake node wake one."""
    def asleep():
        return [name for name, node in demo.nodes().items() if state_of(node) == "asleep"]
    wait_until("idle nodes sleep", asleep)

    def saves():
        watts = demo.find(r"asleep=[1-9].*; phase: idle nodes sleep; (\d+) W so far, by default (\d+) W")
        return watts and int(watts[-1][0]) < int(watts[-1][1])
    wait_until("the line shows watts below those with all nodes on, shutdowns included", saves)
    off = {node["name"]: node for node in demo.get("swarm", "/nodes")["nodes"] if node["power_state"] == "off"}
    claims.check("sleeping nodes are off and draw the published watts", off and all(node["power_w"] == 9.75 for node in off.values()), off)
    claims.check("sleeping nodes have no pods", not any(node["pods"] for node in off.values()), off)
    status = demo.get("controller", "/api/v1/sleep")["nodes"]
    claims.check("each sleeping node has completed a proven sleep cycle before", all(node["round_trips"] >= 1 for node in status) and len(status) == 7, status)
    boots = {node["name"]: node["boots"] for node in demo.get("swarm", "/nodes")["nodes"]}
    nodes = sorted(demo.nodes())
    for number in range(40):
        fetch(demo.url("shim") + "/prioritize", extender_args(f"large-{number}", nodes, cpu="8"))
    wait_until("a node wakes for pods that fit on no awake node",
               lambda: any(node["boots"] > boots[node["name"]] for node in demo.get("swarm", "/nodes")["nodes"]))


def changes(claims, demo, page):
    """A viewer of the page changes policy and mode with the token that the demo prints, and back."""
    token = demo.wait_for(r"view Saving, token (\S+)")[0]
    for policy, mode in (("node-order", "shadow"), ("dqn", "live")):
        body = json.dumps({"policy": policy, "mode": mode, "why": "to compare", "force": True}).encode()
        headers = {"X-Wattle": "page", "Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        with urllib.request.urlopen(urllib.request.Request(page + "page/change", body, headers), timeout=SOON_S) as answer:
            claims.check(f"the page may change policy and mode to {policy}, {mode}", answer.status == 200, answer.read())
        status = demo.get("controller", "/api/v1/status")
        claims.check("the change is in force", (status["policy"], status["mode"]) == (policy, mode), status["mode"])
    claims.check("the demo has a tariff", demo.get("controller", "/api/v1/status")["cost_per_day"] > 0)


def main():
    binaries = binaries_from(sys.argv)
    claims = Claims()
    # Longer than all waits below; the test ends the demo early.
    with Demo(binaries, seconds=600, DEMO_PERIOD="0.3") as demo:
        wait_until("eight nodes are connected", demo.all_connected)
        here = os.uname().nodename

        def reported():
            node = demo.nodes()[here]
            return node if node["power_w"] is not None and node["latency"] and node["latency"][0]["p50_ms"] is not None else None
        mine = wait_until("this machine reports watts and latency", reported)
        claims.check("this machine reports CPU", mine["cpu_used_cores"] is not None and mine["cpu_used_cores"] <= mine["cpu_cores"])
        claims.check("this machine reports memory", 0 < mine["memory_used_bytes"] < mine["memory_total_bytes"])
        claims.check("this machine names the source of its watts", mine["energy_source"] in ("rapl", "perf", "pcm", "hwmon", "estimated"),
                     mine["energy_source"])
        claims.check("this machine's latency is that of a loopback", 0 < mine["latency"][0]["p50_ms"] < 1000, mine["latency"])
        page = demo.wait_for(r"open the page: (http://[\d.:]+/)")[0]
        status, reported = fetch(page)
        claims.check("the page at the printed address is served", status == 406 and "gzip" in reported, (status, reported))

        def progress():
            lines = demo.find(r"pods=(\d+) placed=(\d+)")
            return tuple(map(int, lines[-1])) if lines else (0, 0)

        wait_until("the operator sets mode live", lambda: demo.get("controller", "/api/v1/status")["mode"] == "live")
        before = progress()[1]

        def enough():
            (running, placed), status = progress(), demo.get("controller", "/api/v1/status")
            return (placed >= before + 50 and placed - running > 10 and status["placements"] > 30 and status["outcomes"] > 12 and
                    status["gradient_steps"] > 0)
        wait_until("pods were placed, ended and learned from", enough)
        if "are left out" not in demo.output():
            claims.check("this machine has pods of the driver", pods_of(demo.pids()))
        sleeps(claims, demo)
        changes(claims, demo, page)
        demo.process.send_signal(signal.SIGTERM)
        code = demo.end()
        claims.check("the demo ends with 0", code == 0, code)
        claims.check("the demo prints its summary", "Summary:" in demo.output() and "energy, J" in demo.output())
        claims.check("the lines show the phases and the modelled saving", set(demo.find(r"; phase: ([^;]+)")) >= {"default scheduler", "Wattle places", "idle nodes sleep"} and
                     bool(demo.find(r"; saving: ")))
        claims.check("the demo prints how the summary is computed", "How it is computed." in demo.output())
        claims.check("the demo prints the nodes, including this machine", bool(demo.find(rf"(?m)^\s*{here}\b")))
        summary = demo.kept("summary.json")
        answers = summary["answers"]
        claims.check("pods were placed", summary["placements"] >= 50, summary["placements"])
        claims.check("the window of pods rotated", summary["removed"] > 10, summary["removed"])
        phases = {phase["phase"]: phase for phase in summary["phases"]}
        claims.check("the default scheduler decided for about 30 s", phases["default scheduler"]["seconds"] > 20, phases)
        claims.check("then Wattle acted", phases["Wattle places"]["seconds"] + phases["what was learned"]["seconds"] > 10, phases)
        wholes = {"seconds": summary["seconds"], "energy_j": summary["wattle"]["energy_j"], "default_energy_j": summary["default"]["energy_j"]}
        for key, whole in wholes.items():
            claims.check(f"the phases add up: {key}", abs(sum(phase[key] for phase in phases.values()) - whole) < 1e-6 * whole, phases)
        costs = summary["wattle"]
        claims.check("the summary has the watts of the phase", bool(demo.find(r"Sleep\. In the \d+ s in which idle nodes slept, the nodes drew \d+ W")))
        # The node that wakes at the end may boot after the driver's last look at the swarm.
        claims.check("the summary includes each shutdown and boot", costs["shutdowns"] > 0 and
                     abs(costs["transitions_j"] - 620 * costs["shutdowns"] - 19030 * costs["boots"]) < 1e-3, costs)
        claims.check("a second Wattle without learning placed the same pods", all((phase["without_learning_energy_j"] or 0) > 0 for phase in phases.values() if phase["seconds"] > 0), phases)
        claims.check("the summary has what learning contributes, with its sign", bool(demo.find(r"Learning\. It changed the energy by [+-][\d.]+%")))
        claims.check("advice of the first phase was not applied", answers["neutral"] > 20, answers)
        claims.check("advice is well-formed", answers["advised"] > 20 and answers["malformed"] == 0, answers)
        claims.check("the answers came from the controller", answers["by_source"].get("controller", 0) > 20, answers["by_source"])
        claims.check("both accounts cover the same nodes and time",
                     abs(summary["wattle"]["idle_energy_j"] - summary["default"]["idle_energy_j"]) < 1e-6 * summary["default"]["idle_energy_j"])
        controller = summary["controller"] or {}
        claims.check("decisions were joined to placements", controller.get("placements", 0) > 20, controller)
        claims.check("placements were joined to outcomes", controller.get("outcomes", 0) > 10, controller)
        claims.check("the network learned", controller.get("gradient_steps", 0) > 0, controller)
        claims.check("an explanation was printed", bool(demo.find(r"was advised\.|was placed on")) and bool(demo.find(r"Decision \d+ by ")))
        claims.nothing_left(demo)
        if claims.failed:
            print(demo.output()[-8000:])
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
