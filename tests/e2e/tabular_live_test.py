#!/usr/bin/env python3
"""tabular_live_test: the table of policy tabular-q learns from live outcomes under the preset lb. Agents' protocol,
shim, extender requests and controller are the built programs; nodes, pods and the scheduler are simulated. After
learning from a hundred outcomes, few answers are neutral, and placements have a higher reward than random ones. Every
node meets the pods' hard latency limit: a masked node without pods would be the least loaded one, and no choice could
get a reward of 10.

Usage    tabular_live_test.py FOLDER-OF-BINARIES
"""
import statistics
import sys

from house import House, binaries_from, free_ports, wait_until
from patience import AGES_S

NODES, WANTED, LAST = 7, 450, 150
RANDOM = 1.5  # reward of a random placement; the node with the fewest pods has 10
failures = 0


def check(claim, truth, said=""):
    global failures
    failures += 0 if truth else 1
    print(("ok      " if truth else "FAILED  ") + claim + ("" if truth else f"\n        {said}"), flush=True)


def decisions(house, found):
    """Returns all decisions so far that have an outcome, in order."""
    for each in house.query("decisions", "--limit", "1000")["decisions"]:
        if each["outcome"] and each["outcome"]["reward"] is not None:
            found[each["id"]] = each
    return [found[key] for key in sorted(found)]


def main():
    binaries = binaries_from(sys.argv)
    swarm_port, = free_ports(1)
    with House(binaries, controller_extra="policy: tabular-q\n            reward: {preset: lb}\n            learn: {warmup: 16}\n"
                                          "            decide: {settle_window: 1s, stale_after: 60s, start_cap: {least: 1000}}") as house:
        (house.dir / "nodes").mkdir(mode=0o700)
        house.write("swarm.yaml", f"""
            nodes: {NODES}
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {house.dir}/nodes
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{swarm_port}
            seed: 1
            latency: {{low_ms: 1, high_ms: 15, probe_window: 5}}
            """)
        swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
        made = house.run(*swarm, "--make-keys", str(house.dir / "allow"))
        check("the simulated nodes have keys", made.returncode == 0, made.stderr)
        house.start_controller()
        house.start("swarm", *swarm)
        house.start_shim()
        wait_until("all nodes are connected", lambda: house.query("status")["nodes_connected"] == NODES)
        house.start("drive", house.binary("wattle-sim"), "drive", "--shim", house.shim(), "--swarm", f"http://127.0.0.1:{swarm_port}", "--controller", house.api(),
                    "--period", "0.25", "--seed", "1", "--seconds", str(int(AGES_S)))
        found = {}
        wait_until("enough placements have an outcome", lambda: len(decisions(house, found)) >= WANTED, AGES_S)
        rows = decisions(house, found)
        last = rows[-LAST:]
        neutral = sum(row["decided_by"] == "neutral" for row in last) / LAST
        paid = statistics.mean(row["outcome"]["reward"] for row in last)
        print(f"        neutral {neutral:.1%}, reward {paid:.2f} a placement; of the first {LAST}: {statistics.mean(row['outcome']['reward'] for row in rows[:LAST]):.2f}")
        check("few answers are neutral", neutral < 0.2, f"{neutral:.1%}")
        check("the mean reward is at least twice that of random placements", paid > 2 * RANDOM, f"{paid:.2f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
