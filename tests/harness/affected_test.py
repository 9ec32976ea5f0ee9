#!/usr/bin/env python3
"""scripts/affected-tests on this tree: what a change reaches, and what it does not.

Usage: affected_test.py FOLDER-OF-BUILD     configured; nothing needs to be built"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
failed = 0


def reached(build, *files):
    with tempfile.TemporaryDirectory() as folder:
        tests, targets = pathlib.Path(folder, "tests"), pathlib.Path(folder, "targets")
        subprocess.run([ROOT / "scripts" / "affected-tests", build, "--tests", tests, "--targets", targets, "--files", *files],
                       check=True, stderr=subprocess.PIPE)
        return set(tests.read_text().split()), set(targets.read_text().split())


def claim(what, holds, seen=""):
    global failed
    print(("ok   " if holds else "FAIL ") + what + ("" if holds else f": {seen}"), flush=True)
    failed += not holds


def main():
    build = sys.argv[1]
    tests, targets = reached(build, "shim/breaker.hpp")
    claim("a header reaches the tests of its library and of the programs that link it", {"unit_shim", "integration_shim", "hang_test"} <= tests, tests)
    claim("but no test of another library", not tests & {"unit_stats", "unit_placement", "unit_controller", "integration_cli"}, tests)
    claim("the programs that they need are named", {"unit_shim", "wattle-shim", "wattle-controller"} <= targets and "unit_sim" not in targets, targets)
    tests, _ = reached(build, "common/result.hpp")
    claim("a header of all reaches all of C++", {"unit_shim", "unit_sim", "integration_controller", "demo_test"} <= tests, tests)
    tests, targets = reached(build, "tests/unit/stats/welch_test.cpp", "tests/unit/stats/cusum_test.cpp")
    claim("the source of a test reaches its program alone", tests == {"unit_stats"} and targets == {"unit_stats"}, (tests, targets))
    tests, _ = reached(build, "tests/e2e/house.py")
    claim("a module reaches the scripts that import it", {"api_test", "chaos_test", "page_test"} <= tests and "unit_shim" not in tests, tests)
    tests, _ = reached(build, "docs/reference/metrics.md")
    claim("a page reaches the lints and the tests that read it", {"lint_docs", "unit_agent"} <= tests and "unit_shim" not in tests, tests)
    tests, _ = reached(build, "scripts/demo")
    claim("a script reaches the test that runs it", {"demo_test", "lint_shell"} <= tests and "unit_shim" not in tests, tests)
    tests, _ = reached(build, "tests/unit/kube/CMakeLists.txt")
    claim("a CMakeLists.txt reaches what is below it", "unit_kube" in tests and "unit_shim" not in tests, tests)
    every, _ = reached(build, "cmake/wattle.cmake")
    claim("how everything is built reaches everything", {"unit_stats", "demo_test", "lint_names"} <= every, every)
    tests, targets = reached(build)
    claim("no change reaches no test", not tests and not targets, tests)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
