#!/usr/bin/env python3
"""place_test: placement without Kubernetes. `wattle place` names a node, `wattle confirm` records that the workload
runs there, and its outcome is learned from; wrong roles and invalid arguments are reported.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "docs"))
from documented import Walk  # noqa: E402
from house import CLI_TIMEOUT, House, binaries_from, free_ports, wait_until
from patience import SOON_S

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def refused(house, claim, *words, key="operator", code=1, says=()):
    done = house.cli(*words, key=key, check=False)
    check(claim, done.returncode == code and all(word in done.stderr for word in says), f"exit {done.returncode}: {done.stdout}{done.stderr}")


PAGE = "docs/how-to/place-without-kubernetes.md"


def walk_page(house):
    """Runs the page's commands as an operator whose configuration names the key."""
    config = house.write("cli.yaml", f"""
            server: "tcp://127.0.0.1:{house.ask}"
            key: {house.dir}/operator.key
            server_key: {house.dir}/controller.key.pub
            timeout: {CLI_TIMEOUT}
            """)

    def run(text):
        done = subprocess.run(["sh", "-ec", text], capture_output=True, text=True, timeout=SOON_S, check=False,
                              env=os.environ | {"WATTLE_CONFIG": str(config), "PATH": f"{house.binaries}:{os.environ['PATH']}"})
        return done.returncode, done.stdout + done.stderr

    walk = Walk(PAGE, run, None, instead={"ssh ": ('test -n "$NODE"', "the machines are simulated")})
    said = walk("Place without Kubernetes")
    check("every command of the page was run", walk.finish() == 5)
    check("the page's workload is explained and runs", "nightly-report: " in said[1] and "The pod was placed on" in said[1], said[1])
    check("a workload whose unit no agent reports is marked, and ends with `wattle done`",
          "set it with --unit" in said[0] and "its resources are free" in said[2], said[0] + said[2])


def waits_and_leaves_room(house):
    cores = {node["name"]: node["cpu_cores"] for node in house.query("nodes")["nodes"]}
    first, second = sorted(cores)[:2]

    def place(name, cpu, *words):
        return house.cli("place", name, "--cpu", f"{cpu:.3f}", "--uid", name, *words, "-o", "json", key="operator", check=False)

    most = f"{0.9 * cores[second]:.3f},64Mi"
    half = json.loads(place("half", 0.4 * cores[first], "--nodes", first).stdout)
    check("half a node is taken", half["node"] == first, half)
    house.cli("confirm", "half", first, key="operator")
    small = json.loads(place("small", 0.15 * min(cores.values()), "--nodes", f"{first},{second}", "--next", most).stdout)
    check("the whole node is left free for the next pods", small["node"] == first, small)
    reported = house.cli("explain", "small").stdout
    check("the text names the node that is left free", f"Left free for the next pod: {second}." in reported, reported)
    listed = json.loads(place("listed", 0.15 * min(cores.values()), "--nodes", f"{first},{second}", "--next", most, "--next", "0.1,64Mi,tiny").stdout)
    check("two nodes are left free for two next pods", listed["node"] == first and house.query("explain", "listed")["decision"]["next_pods"] == 2, listed)

    full = json.loads(place("full", 0.8 * cores[second], "--nodes", second).stdout)
    check("a node is full", full["node"] == second, full)
    house.cli("confirm", "full", second, key="operator")
    late = ("late", 0.5 * cores[second], "--nodes", second)
    refused_at_once = place(*late)
    check("without --defer no workload waits", refused_at_once.returncode == 1 and json.loads(refused_at_once.stdout)["again_s"] is None, refused_at_once.stdout)
    waits = place(*late, "--defer", "2s")
    said = json.loads(waits.stdout)
    check("a workload that should wait exits with 3", waits.returncode == 3 and said["node"] is None and 0 < said["again_s"] <= said["defer_left_s"] <= 2, waits.stdout)
    text = house.cli("explain", "late").stdout
    check("the text gives the reason to wait", "late should wait (deferred: no feasible node now); the scheduler was to retry it in 2 s." in text, text)
    over = wait_until("its deadline has passed", lambda: (done := place(*late, "--defer", "1h")).returncode == 1 and done)
    check("after the deadline it no longer waits", "cpu does not fit" in json.loads(over.stdout)["reason"], over.stdout)
    check("--next promises no node if none has capacity", "a node, or the reason why no node is suitable" in house.cli(
        "place", "words", "--cpu", f"{0.5 * cores[second]:.3f}", "--nodes", second, "--defer", "1m", key="operator", check=False).stdout)
    final = house.cli("place", "patient", "--uid", "patient", "--cpu", f"{0.5 * cores[second]:.3f}", "--nodes", f"{first},{second}", "--defer", "1m", "--wait", "-o", "json", key="operator", check=False)
    check("--wait repeats the request until the answer is final", final.returncode in (0, 1) and json.loads(final.stdout)["again_s"] is None, final.stdout)
    full_still = house.cli("place", "brief", "--uid", "brief", "--cpu", f"{0.5 * cores[second]:.3f}", "--nodes", second, "--defer", "2s", "--wait", "-o", "json", key="operator", check=False)
    check("a full node is the final answer after the deadline", full_still.returncode == 1 and "cpu does not fit" in json.loads(full_still.stdout)["reason"], full_still.stdout)
    check("--wait requires --defer", house.cli("place", "x", "--cpu", "1", "--wait", key="operator", check=False).returncode == 2)
    table = house.cli("place", "table", "--cpu", f"{0.5 * cores[second]:.3f}", "--nodes", second, "--defer", "1m", key="operator", check=False)
    check("in words", table.returncode == 3 and table.stdout.startswith("table should wait: deferred: no feasible node now\nretry in:      5 s, with --uid "), table.stdout)


def main():
    binaries = binaries_from(sys.argv)
    swarm_port, = free_ports(1)
    with House(binaries, controller_extra="decide: {settle_window: 1s}") as house:
        (house.dir / "nodes").mkdir(mode=0o700)
        house.write("swarm.yaml", f"""
            nodes: 4
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {house.dir}/nodes
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{swarm_port}
            seed: 3
            """)
        swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
        assert house.run(*swarm, "--make-keys", str(house.dir / "allow")).returncode == 0
        house.start_controller()
        house.start("swarm", *swarm)
        wait_until("all nodes report", lambda: house.query("status")["nodes_connected"] == 4)
        nodes = sorted(node["name"] for node in house.query("nodes")["nodes"])

        placed = json.loads(house.cli("place", "batch", "--cpu", "500m", "--memory", "64Mi", "-o", "json", key="operator").stdout)
        check("one of the connected nodes is named", placed["node"] in nodes and sorted(placed["scores"]) == nodes, str(placed))
        check("the named node has the highest score", placed["scores"][placed["node"]] == 10)
        said = house.cli("place", "batch", "--cpu", "500m", "--nodes", ",".join(nodes[:2]), key="operator").stdout.splitlines()
        check("in a script the first line is only the node, one of the allowed ones", said[0] in nodes[:2], str(said))

        before = house.query("explain", placed["uid"])["decision"]
        check("the decision is explained before the workload runs", before["placed_on"] is None and before["advice"] == placed["node"], str(before)[:300])
        done = house.cli("confirm", placed["uid"], placed["node"], key="operator")
        check("confirmed", "runs on " + placed["node"] in done.stdout, done.stdout)
        after = wait_until("its outcome is measured", lambda: (d := house.query("explain", placed["uid"])["decision"])["outcome"] and d)
        check("the explanation has placement and outcome", after["placed_on"] == placed["node"] and after["outcome"]["reward"] is not None)
        text = house.cli("explain", placed["uid"]).stdout
        check("the text output has sentences", text.startswith(f"default/batch: {placed['node']} was advised.") and "The pod was placed on" in text, text[:300])

        walk_page(house)
        waits_and_leaves_room(house)
        refused(house, "a reader must not place", "place", "x", "--cpu", "1", key="reader", says=("operator",))
        refused(house, "a reader must not confirm", "confirm", placed["uid"], placed["node"], key="reader", says=("operator",))
        refused(house, "an invalid amount", "place", "x", "--cpu", "lots", says=("--cpu", "lots", "250m"), code=2)
        refused(house, "an invalid time limit", "place", "x", "--cpu", "1", "--latency-hard", "20", says=("--latency-hard", "20ms"), code=2)
        refused(house, "confirm of an unknown workload", "confirm", "nobody", nodes[0], says=("nobody", "wattle place"))
        refused(house, "a reader must not report an end", "done", placed["uid"], key="reader", says=("operator",))
        refused(house, "the end of an unknown workload", "done", "nobody", says=("nobody", "wattle place"))
        refused(house, "an invalid time limit of confirm", "confirm", placed["uid"], placed["node"], "--time-limit", "soon", says=("--time-limit", "soon", "8h"), code=2)
        refused(house, "an invalid unit", "confirm", placed["uid"], placed["node"], "--unit", "/a/../b", says=("unit", "/a/../b"), code=2)
        refused(house, "confirm on an unknown node", "confirm", placed["uid"], "nowhere", says=("nowhere",))
        none = house.cli("place", "huge", "--cpu", "100000", key="operator", check=False)
        check("a workload that fits nowhere is reported with exit code 1", none.returncode == 1 and "cpu does not fit" in none.stdout, none.stdout + none.stderr)
        house.cli("policy", "set", "--mode", "shadow", "--why", "test", key="operator")
        none = house.cli("place", "shy", "--cpu", "1", key="operator", check=False)
        check("mode shadow advises no node and says so", none.returncode == 1 and "shadow" in none.stdout, none.stdout + none.stderr)
        would = re.search(r"^would advise:  (\S+) \((.+)\)$", none.stdout, re.MULTILINE)
        check("mode shadow names the node that it would advise and why", would and would[1] in nodes, none.stdout)
        shy = json.loads(house.cli("place", "shy", "--cpu", "1", "-o", "json", key="operator", check=False).stdout)
        decision = house.query("explain", shy["uid"])["decision"]
        check("the named node is that of the decision", shy["node"] is None and shy["would_advise"] == {"node": decision["advice"], "reason": decision["reason"]}, shy)
        quiet = house.cli("place", "shy", "--cpu", "1", "-o", "name", key="operator", check=False)
        check("a script gets no node, and the reason on standard error", quiet.returncode == 1 and quiet.stdout == "" and "would advise:" in quiet.stderr, quiet)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
