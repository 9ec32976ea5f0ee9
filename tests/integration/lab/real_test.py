#!/usr/bin/env python3
"""real_test: figures of lab/real. A seed determines the schedule; intervals need five rounds; ratios are paired by
round.
tests/e2e/cluster/compare_test.py tests real clusters.

Errors   exits with 1 and the claim
"""
import math
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "lab/real"))
sys.dont_write_bytecode = True
import figures  # noqa: E402
import page  # noqa: E402
import schedule  # noqa: E402

NODES = ["node-1", "node-2"]


def recording(policy, number, watts, moved):
    """Ten seconds of two nodes; a pod on node-1 for four seconds, then on the other node if `moved`."""
    def node(power_w):
        return {"power_w": power_w, "cpu_cores": 0.5, "waiting_ratio": 0.25}
    lives = [{"name": "a", "node": "node-1", "created_s": 0.5, "placed_s": 1.0, "ready_s": 2.0, "ended_s": 5.0},
             {"name": "b", "node": "node-2" if moved else "node-1", "created_s": 5.0, "placed_s": 5.5, "ready_s": None, "ended_s": None}]
    return {"policy": policy, "round": number, "nodes": NODES, "schedule": {"seconds": 10}, "pods": lives, "by_wattle": 1,
            "samples": [{"at_s": float(at), "nodes": {"node-1": node(watts), "node-2": node(50)}} for at in range(11)],
            "users": {"latency_ms": {"p50": 10.0, "p99": 40.0}, "answered": 100, "failed": {"timeout": 1, "closed": 2}}}


class Schedule(unittest.TestCase):
    def test_the_seed_gives_the_schedule(self):
        for workload in schedule.WORKLOADS:
            first, again, other = (schedule.schedule(workload, seed, 60, 6, NODES) for seed in (1, 1, 2))
            self.assertEqual(first, again)
            self.assertNotEqual(first, other)
            times = [event["at_s"] for event in first["events"]]
            self.assertEqual(times, sorted(times))
            self.assertTrue(0 <= times[0] and times[-1] <= 60)

    def test_test2_replaces_each_pod_once(self):
        events = schedule.schedule("test2", 1, 60, 6, NODES)["events"]
        self.assertEqual([event["do"] for event in events], ["scale"] + ["delete_oldest"] * 6)

    def test_apps_come_and_leave(self):
        counts = {}
        for event in schedule.schedule("apps", 3, 60, 9, NODES)["events"]:
            self.assertGreaterEqual(event["count"], 0)
            counts[event["what"]] = max(counts.get(event["what"], 0), event["count"])
        self.assertGreaterEqual(sum(counts.values()), 3)


class Figures(unittest.TestCase):
    def test_of_one_run(self):
        found = figures.of_run(recording("dqn", 1, 100, True))
        self.assertAlmostEqual(found["energy_j"], 1500)
        self.assertAlmostEqual(found["active_energy_j"], 4 * 100 + 5 * 50)  # node-1 for 1..4 s, node-2 from 6 s
        self.assertAlmostEqual(found["active_nodes"], 0.9)
        self.assertEqual((found["pods"], found["unplaced"], found["failed"]), (2, 0, 3))
        self.assertAlmostEqual(found["pending_s"], 0.5)
        self.assertAlmostEqual(found["waiting_pct"], 25)

    def test_an_interval_needs_five_rounds(self):
        for rounds in (1, 4, 5):
            runs = [recording(policy, number, watts + number, False) for number in range(rounds) for policy, watts in (("kube-default", 100), ("dqn", 50))]
            base, dqn = figures.compared(runs, "kube-default")
            known = rounds >= 5
            self.assertEqual(dqn["figures"]["energy_j"]["low"] is not None, known)
            self.assertEqual(dqn["over_base"]["energy_j"]["low"] is not None, known)
            self.assertEqual("needs 5 rounds" in figures.text(dqn, "energy_j"), not known)
            self.assertEqual(base["over_base"], {})

    def test_ratios_are_paired_by_round(self):
        runs = [recording(policy, number, watts * number, False) for number in (1, 2, 3, 4, 5) for policy, watts in (("kube-default", 100), ("dqn", 50))]
        dqn = figures.compared(runs, "kube-default")[1]
        wanted = math.exp(sum(math.log((50 * n + 50) / (100 * n + 50)) for n in range(1, 6)) / 5) - 1
        self.assertAlmostEqual(dqn["over_base"]["energy_j"]["iqm"], wanted)


class Page(unittest.TestCase):
    def test_it_is_one_page_without_references(self):
        text = page.html({"policies": [], "name": "</script>"})
        self.assertNotIn("@DATA@", text)
        self.assertNotIn("src=", text)
        self.assertNotIn("</script>\"", text)
        self.assertNotIn("Wattle bench", text)


if __name__ == "__main__":
    unittest.main()
