#!/usr/bin/env python3
"""run_tests_test: runs scripts/run-tests on a ctest project whose tests fail intentionally: once, twice, or as a pure
test.

Usage    run_tests_test.py
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Each test appends a line to a file of its name and fails while the file has fewer lines than required.
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(on_purpose LANGUAGES NONE)
enable_testing()
function(passes_at_run nth name labels)
  add_test(NAME ${name} COMMAND sh -c "echo run >>'${CMAKE_BINARY_DIR}/${name}.runs'; runs=$(wc -l <'${CMAKE_BINARY_DIR}/${name}.runs'); \
echo \\"run $runs of ${name}\\"; test $runs -ge ${nth}")
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600)
endfunction()
passes_at_run(1 always "live;e2e")
passes_at_run(1 pure_always "pure;unit")
add_test(NAME left_out COMMAND sh -c "echo 'no kernel here'; exit 77")
set_tests_properties(left_out PROPERTIES LABELS live TIMEOUT 600 SKIP_RETURN_CODE 77)
passes_at_run(99 about_time timed)
"""
FAILS_ONCE = 'passes_at_run(2 fails_once "live;e2e")\n'
FAILS_TWICE = 'passes_at_run(3 fails_twice live)\n'
PURE_FAILS_ONCE = 'passes_at_run(2 pure_fails_once pure)\n'
failed = 0


def claim(what, holds, seen=""):
    global failed
    print(("ok   " if holds else "FAIL ") + what + ("" if holds else f":\n{seen}"), flush=True)
    failed += not holds


class Project:
    def __init__(self, folder, more):
        self.source = pathlib.Path(folder)
        self.build = self.source / "build"
        (self.source / "CMakeLists.txt").write_text(PROJECT + more)
        subprocess.run(["cmake", "-S", self.source, "-B", self.build], check=True, capture_output=True)

    def run(self, *arguments):
        done = subprocess.run([ROOT / "scripts" / "run-tests", self.build, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def runs(self, name):
        path = self.build / f"{name}.runs"
        return len(path.read_text().splitlines()) if path.exists() else 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder, FAILS_ONCE)
        code, said = project.run("--total", project.build / "total.json")
        claim("a live test that fails once does not fail the run", code == 0, said)
        claim("the summary names the test that passed on its second run", "passed on its second run: fails_once (output of its first run: " in said, said)
        claim("the output of its first run is kept", "run 1 of fails_once" in (project.build / "failures" / "fails_once.1.txt").read_text())
        claim("only the failed test ran again", project.runs("fails_once") == 2 and project.runs("always") == 1 and project.runs("pure_always") == 1, said)
        claim("a skipped test is named with its reason", "skipped: left_out: no kernel here" in said, said)
        claim("a timed test does not run", project.runs("about_time") == 0, said)
        claim("the last line has the counts", said.splitlines()[-1] == "3 passed, 0 failed", said)
        code, said = project.run("--total", project.build / "total.json", "-L", "pure")
        claim("ctest's arguments select, and counts of several runs add up", code == 0 and said.splitlines()[-1] == "4 passed, 0 failed", said)
        code, said = project.run("-L", "timed")
        claim("a requested timed test runs, once", code == 1 and project.runs("about_time") == 1, said)

    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder, FAILS_TWICE)
        code, said = project.run()
        claim("a live test that fails twice fails the run", code == 1 and said.splitlines()[-1] == "2 passed, 1 failed", said)
        claim("a failing live test runs exactly twice", project.runs("fails_twice") == 2, said)
        end = said.rpartition("== failed: fails_twice")[2]
        claim("the output of both runs is printed at the end", "run 1 of fails_twice" in end and "run 2 of fails_twice" in end, said)
        claim("a test that fails twice is not listed as passed", "passed on its second run:" not in said, said)

    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder, PURE_FAILS_ONCE)
        code, said = project.run()
        claim("a pure test that fails once fails the run", code == 1 and "failed: pure_fails_once" in said, said)
        claim("a failed pure test does not run again", project.runs("pure_fails_once") == 1, said)
        claim("live tests run despite a failed pure test", project.runs("always") == 1, said)
        (project.source / "names").write_text("always\n")
        code, said = project.run("--select", project.source / "names")
        claim("a file of names selects", code == 0 and said.splitlines()[-1] == "1 passed, 0 failed", said)

    with tempfile.TemporaryDirectory() as folder:
        code, said = Project(folder, 'add_test(NAME classless COMMAND true)\n').run()
        claim("a test without a class is an error that names it", code == 1 and "classless" in said, said)

    for labels, fine in (("e2e", False), ("live;pure", False), ("live;e2e", True)):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CMakeLists.txt").write_text(
                f"cmake_minimum_required(VERSION 3.25)\nproject(classes LANGUAGES NONE)\nenable_testing()\ninclude({ROOT}/cmake/wattle.cmake)\n"
                f'add_test(NAME mine COMMAND true)\nset_tests_properties(mine PROPERTIES LABELS "{labels}" TIMEOUT 600)\n')
            done = subprocess.run(["cmake", "-S", folder, "-B", f"{folder}/build"], capture_output=True, text=True, check=False)
            claim(f"configuring {'accepts' if fine else 'refuses'} a test with the labels {labels}",
                  (done.returncode == 0) == fine and (fine or "test mine has the labels" in done.stderr), done.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
