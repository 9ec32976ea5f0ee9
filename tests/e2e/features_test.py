#!/usr/bin/env python3
"""Performs every row of the feature list that this machine can perform, as a newcomer would: with the commands of README, docs/start and docs/how-to, on
one controller with a shim, this machine's agent, the agent of a captured server and simulated nodes. Prints one line a row: id, how it ended, title,
command, and what was seen. What is not performed says why, and names the test that shows it.

Usage    features_test.py FOLDER-OF-BINARIES [ROW...]
Exit     0 all that was performed is so; 1 a row failed
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "features")]
sys.dont_write_bytecode = True
from house import binaries_from  # noqa: E402
from walk import ROWS, perform_all  # noqa: E402
import telemetry  # noqa: E402,F401  pylint: disable=unused-import
import decisions  # noqa: E402,F401  pylint: disable=unused-import
import learning  # noqa: E402,F401  pylint: disable=unused-import
import workloads  # noqa: E402,F401  pylint: disable=unused-import
import operations  # noqa: E402,F401  pylint: disable=unused-import
from world import World  # noqa: E402

# Every row of the feature list, in its order: a letter for the section, and how many rows it has.
SECTIONS = {"T": 11, "D": 16, "L": 15, "S": 9, "P": 6, "O": 7, "V": 4, "N": 4, "E": 4, "H": 4}
TITLES = [f"{letter}{number}" for letter, count in SECTIONS.items() for number in range(1, count + 1)]


def main():
    binaries = binaries_from(sys.argv)
    if set(TITLES) != set(ROWS):
        raise SystemExit(f"rows without a function: {sorted(set(TITLES) - set(ROWS))}; functions without a row: {sorted(set(ROWS) - set(TITLES))}")
    wanted = sys.argv[2:]
    if unknown := set(wanted) - set(TITLES):
        raise SystemExit(f"no such rows: {sorted(unknown)}")
    with World(binaries) as world:
        failed = perform_all(world, wanted, TITLES)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
