#!/usr/bin/env python3
"""names_test: former names that were replaced by the field's terms are not used again.

Looks at  identifiers of C++ and Python sources and of the page's scripts; comments and strings are excluded
Usage     names_test.py [--self-test]
Exit      0 fine, 1 a former name, each reported as file:line: the name, and its present name
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ("tests/fixtures/", "tests/lint/names_test.py")
FORMER = {
    "Mind": "PolicyInputs",
    "Contest": "NetworkTrial",
    "Standing": "RolloutSpec",
    "BlockPlan": "SwitchbackSchedule",
    "dropped_s": "washout_s",
    "Guard": "RegressionMonitor",
    "ModelDesk": "ModelService",
    "FirstNetwork": "InitialNetwork",
    "NetworkSlot": "ServingModel",
    "QError": "PredictionError",
    "Join": "PodReconciler",
    "Mailbox": "TaskQueue",
    "mailbox": "tasks",
    "FileSaver": "BackgroundWriter",
    "Knowledge": "ClusterModel",
    "Lie": "TelemetryFault",
    "Troubles": "FaultPlan",
    "Thinner": "DeltaEncoder",
    "OncePer": "LogThrottle",
    "foresee": "predicted_terms",
    "allot": "optimal_allocation",
    "Told": "the thing's name: PlacementSource, AgentReport",
    "NetworkRule": "NetworkPolicy",
    "x8": "consolidation",
    "Sight": "the thing's name: ServiceMinute, BaselineInput",
    "Pupil": "StudentSteering",
}
WORD = re.compile(r"\b(" + "|".join(FORMER) + r")\b")
QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
COMMENT = {".cpp": "//", ".hpp": "//", ".js": "//", ".mjs": "//", ".py": "#"}


def code_of(text, suffix):
    """Returns the lines without comments, strings and docstrings."""
    text = re.sub(r"/\*.*?\*/" if suffix != ".py" else r'"""[\s\S]*?"""', lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    for line in text.splitlines():
        yield QUOTED.sub('""', line).split(COMMENT[suffix])[0]


def breaches(name, text):
    for number, line in enumerate(code_of(text, pathlib.PurePath(name).suffix), 1):
        for former in WORD.findall(line):
            yield f"{name}:{number}: {former} is now {FORMER[former]}"


def self_test():
    bad = [*breaches("a.cpp", "int x;\nclass Mailbox {};\n"), *breaches("a.py", 'class Told:\n    pass\n')]
    assert [b.split(": ")[0] for b in bad] == ["a.cpp:2", "a.py:1"], bad
    fine = 'int a;  // Join is what an operator does\nlog("Join");\n/* Guard\n Guard */ int b;\n'
    assert not [*breaches("a.cpp", fine), *breaches("a.py", '"""Told what it was."""\nx = "Mind"  # Lie\n')]


def main():
    if "--self-test" in sys.argv:
        return self_test()
    names = subprocess.run(["git", "ls-files", "*.cpp", "*.hpp", "*.py", "*.js", "*.mjs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    found = [b for name in names if not name.startswith(KEPT) and (ROOT / name).is_file() for b in breaches(name, (ROOT / name).read_text(encoding="utf-8"))]
    print("\n".join(found) or f"names_test: {len(names)} files without a former name")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
