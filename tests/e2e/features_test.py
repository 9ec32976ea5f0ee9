#!/usr/bin/env python3
"""features_test: performs every row of the feature list that this machine can perform, as a new user would: with the
commands of README, docs/start and docs/how-to, on one controller with a shim, this machine's agent, the agent of a
captured server and simulated nodes. Prints one line per row: ID, result, title, command, and observation. A row that is
not performed has the reason and names the test that covers it.

Usage    features_test.py FOLDER-OF-BINARIES [ROW...]
Exit     0 every performed row holds; 1 a row failed
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

# The sections of the feature list in order: a letter, and the number of rows.
SECTIONS = {"T": 11, "D": 16, "L": 15, "S": 9, "P": 6, "O": 7, "V": 4, "N": 4, "E": 4, "H": 4}
TITLES = [f"{letter}{number}" for letter, count in SECTIONS.items() for number in range(1, count + 1)]


def main():
    binaries = binaries_from(sys.argv)
    if set(TITLES) != set(ROWS):
        raise SystemExit(f"rows without a function: {sorted(set(TITLES) - set(ROWS))}; functions without a row: {sorted(set(ROWS) - set(TITLES))}")
    wanted = sys.argv[2:]
    if unknown := set(wanted) - set(TITLES):
        raise SystemExit(f"unknown rows: {sorted(unknown)}")
    with World(binaries) as world:
        failed = perform_all(world, wanted, TITLES)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
