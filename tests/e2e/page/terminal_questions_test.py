#!/usr/bin/env python3
"""terminal_questions_test: the seven questions of questions_test.py, each answered by one command of at most three
words.

Usage    terminal_questions_test.py FOLDER-OF-BINARIES
"""
import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from house import binaries_from  # noqa: E402
from questions_test import MODES, questioned_world  # noqa: E402

MOST_WORDS = 3


def asked(mode, most, pod, name):
    """Returns (question, command, patterns that its output must match)."""
    verb = "(saves|uses)" if mode == "live" else "would (save|use)"
    return [
        ("what does it save", ("status",), [rf"(?m)^saving +{verb} [0-9.]+ W (more )?\([0-9.]+%\) \[-?[0-9.]+, -?[0-9.]+\], modelled"]),
        ("what does it cost", ("status",), [r"(?m)^power .* W", r"(?m)^waiting .*%"]),
        ("is anything wrong", ("status",), [r"(?m)^alarm +1 of \d+ nodes is silent .*\(wattle\s+doctor\)"]),
        ("which node draws most and why", ("top",), [rf"(?m)^NODE.*\n{re.escape(most)} .* W", rf"(?m)^default/{re.escape(name)} .*{re.escape(most)}"]),
        ("what did namespace X cost", ("report",), [r"(?m)^default .* J"]),
        ("why is this pod there", ("explain", pod), [rf"default/{re.escape(name)}: \S+ was advised", r"By the model, the pod adds [0-9.]+ W there"]),
        ("does learning help", ("status",), [r"(?m)^in use .*(in use|the plan)", r"cost\s+[0-9.]+%\s+\[[0-9.]+,\s+[0-9.]+\]\s+of[^;]*\sless\s+than\s+the\s+plan's"]),
    ]


def unanswered(house, mode, most):
    """Asks each question, and returns how many have no answer."""
    failed = 0
    name = house.query("explain", "q-0")["decision"]["pod_name"]
    for question, command, wanted in asked(mode, most, "q-0", name):
        reported = house.cli(*command).stdout
        lacking = [pattern for pattern in wanted if not re.search(pattern, reported)]
        if len(command) + 1 > MOST_WORDS:
            lacking.append(f"a command of at most {MOST_WORDS} words")
        failed += bool(lacking)
        print(f"{'FAIL ' if lacking else 'ok   '}{question}? wattle {' '.join(command)}" + (f": nothing like {lacking} in\n{reported}" if lacking else ""))
    return failed


def main():
    failed = 0
    for mode in MODES:
        print(f"mode {mode}:", flush=True)
        with questioned_world(binaries_from(sys.argv), mode) as (house, most):
            failed += unanswered(house, mode, most)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
