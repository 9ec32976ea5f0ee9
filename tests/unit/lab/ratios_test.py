#!/usr/bin/env python3
"""ratios: kept ratios catch a planted loss, ignore noise, and name the file and the key of an error.

Usage    ratios_test.py
"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAB = pathlib.Path(__file__).resolve().parents[3] / "lab/benchmarks"
sys.path.insert(0, str(LAB))
import kept_ratios  # noqa: E402
import ratios  # noqa: E402

READS = ("lab/benchmarks/kept_ratios.py", "lab/benchmarks/ratios.json")  # found by scripts/affected-tests
KINDS = {"speed": kept_ratios.RATE, "price": kept_ratios.COST}
KEPT = {"speed": 0.9, "price": 2.0}
GOOD = {name: {"ratio": ratio, "date": "2026-11-29"} for name, ratio in KEPT.items()}


class Losses(unittest.TestCase):
    def lost(self, **measured):
        return set(kept_ratios.lost(KINDS, KEPT, measured))

    def test_a_planted_loss_is_found_in_the_right_direction(self):
        self.assertEqual(self.lost(speed=0.75, price=2.0), {"speed"})
        self.assertEqual(self.lost(speed=0.9, price=2.4), {"price"})
        self.assertEqual(self.lost(speed=0.1, price=20), {"speed", "price"})

    def test_noise_within_the_limit_and_gains_pass(self):
        for share in (-0.14, -0.05, 0.05, 0.14):
            self.assertEqual(self.lost(speed=0.9 * (1 + share), price=2.0 * (1 + share)), set(), share)
        self.assertEqual(self.lost(speed=9, price=0.1), set())

    def test_the_limit_is_that_of_the_loss(self):
        self.assertEqual(self.lost(speed=0.9 * 0.8501, price=2.0 * 1.1499), set())
        self.assertEqual(self.lost(speed=0.9 * 0.8499, price=2.0 * 1.1501), {"speed", "price"})

    def test_a_benchmark_without_a_number_is_lost(self):
        for broken in (float("nan"), float("inf"), 0, -1, None, "0.9", True):
            self.assertEqual(self.lost(speed=broken, price=2.0), {"speed"}, broken)


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "kept.json"

    def error_of(self, content):
        self.path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        with self.assertRaises(kept_ratios.Unusable) as caught:
            kept_ratios.read(self.path, KINDS)
        self.assertIn(str(self.path), str(caught.exception))
        return str(caught.exception)

    def test_a_good_file_is_read(self):
        self.path.write_text(json.dumps(GOOD), encoding="utf-8")
        self.assertEqual(kept_ratios.read(self.path, KINDS), KEPT)

    def test_a_missing_file_is_named(self):
        with self.assertRaises(kept_ratios.Unusable) as caught:
            kept_ratios.read(self.path, KINDS)
        self.assertIn(str(self.path), str(caught.exception))

    def test_a_malformed_file_is_named(self):
        for content in ("", "{", "[]", "3", "null"):
            self.error_of(content)

    def test_an_error_names_its_key(self):
        self.assertIn('"price"', self.error_of({"speed": GOOD["speed"]}))
        self.assertIn('"other"', self.error_of(GOOD | {"other": GOOD["speed"]}))
        for broken in (None, 0, -1, "1", True, float("nan"), [1]):
            self.assertIn('"price.ratio"', self.error_of(GOOD | {"price": {"ratio": broken, "date": "2026-11-29"}}))
        for broken in (None, 20261129, "today", "2026-13-01"):
            self.assertIn('"speed.date"', self.error_of(GOOD | {"speed": {"ratio": 1, "date": broken}}))
        self.assertIn('"speed.ratio"', self.error_of(GOOD | {"speed": 0.9}))

    def test_what_is_written_is_read(self):
        kept_ratios.write(self.path, {"speed": 0.5, "price": 1}, "2026-11-29")
        kept_ratios.write(self.path, {"price": 3.14159}, "2026-11-30")
        self.assertEqual(kept_ratios.read(self.path, KINDS), {"speed": 0.5, "price": 3.142})


class Program(unittest.TestCase):
    def test_the_kept_file_of_the_tree_has_each_ratio(self):
        self.assertEqual(set(kept_ratios.read(ratios.KEPT, ratios.KINDS)), set(ratios.KINDS))

    def test_each_benchmark_gives_the_ratios_that_it_lists(self):
        cpu = {name: {"shim": 1, "noop": 1, "controller": 2} for name in ("wattle-all", "noop-all")}
        given = {
            "kube_throughput.py": [{"nodes": nodes, "cpu_ms_per_pod": cpu, "ratio_to": {"noop-all": {"wattle-all": [0.9, 0.8, 1]}, "none": {"plugin-all": [1.1, 1, 2]}}}
                                   for nodes in ratios.SIZES],
            "extender_latency.py": {"answers": [{"names": names, "wattle": {"p50_ms": 3}, "noop": {"p50_ms": 2}} for names in ratios.NAMES]},
            "load.py": {"cpu_over_floor_ratio": 3.0},
        }
        for name, (benchmark, kinds) in ratios.BENCHMARKS.items():
            self.assertEqual(set(benchmark(lambda script, *_: given[script])), set(kinds), name)

    def exit_of(self, measured, kept=ratios.KEPT):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "measured.json"
            path.write_text(json.dumps(measured), encoding="utf-8")
            done = subprocess.run([sys.executable, str(LAB / "ratios.py"), "nowhere", "--measured", str(path), "--kept", str(kept)],
                                  capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_the_exit_code_is_the_verdict(self):
        kept = kept_ratios.read(ratios.KEPT, ratios.KINDS)
        self.assertEqual(self.exit_of(kept)[0], 0)
        for name, kind in ratios.KINDS.items():
            worse = kept[name] * (0.8 if kind == kept_ratios.RATE else 1.2)
            code, said = self.exit_of(kept | {name: worse})
            self.assertEqual(code, 1, name)
            self.assertIn(f"{name}: ", said)
            self.assertEqual(said.count("LOST"), 1)
        code, said = self.exit_of(kept, kept="/nowhere/kept.json")
        self.assertEqual(code, 2)
        self.assertIn("/nowhere/kept.json", said)

    def test_measured_ratios_without_a_benchmark_are_an_error(self):
        for measured in ({"other": 1}, [], 3):
            code, said = self.exit_of(measured)
            self.assertEqual(code, 1)
            self.assertIn("measured.json", said)

    def test_a_report_has_a_line_per_ratio(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertTrue(ratios.report({"ingest_cpu": 3.0}, {"ingest_cpu": 3.1}))
        self.assertEqual(said.getvalue(), "ingest_cpu: 3.1 (cost), kept 3.0: ok\n")


if __name__ == "__main__":
    unittest.main()
