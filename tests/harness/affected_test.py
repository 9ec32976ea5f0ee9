#!/usr/bin/env python3
"""affected_test: runs scripts/affected-tests on this tree and checks which tests a change affects.

Usage    affected_test.py BUILD-FOLDER     configured; it does not need to be built
"""
import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
failed = 0


def program():
    loader = importlib.machinery.SourceFileLoader("affected_tests", str(ROOT / "scripts" / "affected-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("affected_tests", loader))
    loader.exec_module(module)
    return module


def claim(what, holds, seen=""):
    global failed
    print(("ok   " if holds else "FAIL ") + what + ("" if holds else f": {seen}"), flush=True)
    failed += not holds


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    affected = program()
    every_test = list(affected.tests_of(build, affected.Ninja(build)))

    def reached(*files):
        tests, _ = affected.reached(every_test, files)
        return {test.name for test in tests}, {name for test in tests for name in test.programs}

    tests, targets = reached("shim/breaker.hpp")
    claim("a header reaches the tests of its library and of the programs that link it", {"unit_shim", "integration_shim", "hang_test"} <= tests, tests)
    claim("a header reaches no test of another library", not tests & {"unit_stats", "unit_placement", "unit_controller", "integration_cli"}, tests)
    claim("the programs that affected tests need are named", {"unit_shim", "wattle-shim", "wattle-controller"} <= targets and "unit_sim" not in targets, targets)
    tests, _ = reached("common/result.hpp")
    claim("a header of all libraries reaches all of C++", {"unit_shim", "unit_sim", "integration_controller", "demo_test"} <= tests, tests)
    tests, targets = reached("tests/unit/stats/welch_test.cpp", "tests/unit/stats/cusum_test.cpp")
    claim("the source of a test reaches only its program", tests == {"unit_stats"} and targets == {"unit_stats"}, (tests, targets))
    tests, _ = reached("tests/e2e/house.py")
    claim("a module reaches the scripts that import it", {"api_test", "chaos_test", "page_test"} <= tests and "unit_shim" not in tests, tests)
    tests, _ = reached("docs/reference/metrics.md")
    claim("a page reaches the lints and the tests that read it", {"lint_docs", "unit_agent"} <= tests and "unit_shim" not in tests, tests)
    tests, _ = reached("docs/reference/cli/wattle.md")
    claim("a page that a test reads by its folder reaches that test", "docs_reference" in tests and "unit_shim" not in tests, tests)
    tests, targets = reached("tests/e2e/api_test.py")
    claim("a script reaches its own test, and the programs that it runs",
          "api_test" in tests and "keys_test" not in tests and targets == {"wattle", "wattle-agent", "wattle-controller", "wattle-shim"}, (tests, targets))
    tests, targets = reached("cli/nodes.cpp")
    claim("a source of the command line reaches its tests, not those that only have its name in a comment or a list",
          {"unit_cli", "top_test", "docs_reference"} <= tests and not tests & {"unit_sim", "integration_few_seeds"} and "unit_sim" not in targets, (tests, targets))
    tests, _ = reached("tests/fixtures/agent/two-socket-server/proc/stat")
    claim("a fixture reaches the tests that name its folder", {"unit_agent", "api_test"} <= tests and not tests & {"unit_http", "keys_test"}, tests)
    tests, _ = reached("tests/fixtures/wire/v5/ack.hex")
    claim("a fixture reaches the tests that name the beginning of its name", "unit_common" in tests and "unit_http" not in tests, tests)
    tests, _ = reached("scripts/web")
    claim("a script without an extension is named by its folder too", "harness_web" in tests and not tests & {"unit_http", "api_test"}, tests)
    tests, _ = reached("scripts/demo")
    claim("a script reaches the test that runs it", {"demo_test", "lint_shell"} <= tests and "unit_shim" not in tests, tests)
    tests, _ = reached("tests/unit/kube/CMakeLists.txt")
    claim("a CMakeLists.txt reaches the tests below it", "unit_kube" in tests and "unit_shim" not in tests, tests)
    every, _ = reached("cmake/wattle.cmake")
    claim("the build configuration reaches every test", {"unit_stats", "demo_test", "lint_names"} <= every, every)
    tests, targets = reached()
    claim("no change reaches no test", not tests and not targets, tests)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
