#!/usr/bin/env python3
"""setup_test: the package lists of scripts/setup: the demo installs no package that only tests need.

Usage    setup_test.py
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONLY_TESTS = {"doctest-dev", "librapidcheck-dev", "mold", "clang-tidy", "clang-format", "faketime", "prometheus", "chromium", "lintian", "nodejs", "npm"}
ONLY_CLUSTER = {"nftables", "openssl", "kubernetes-client"}


def packages(*options):
    return set(subprocess.run([ROOT / "scripts" / "setup", *options, "--print"], capture_output=True, text=True, check=True).stdout.split())


def main():
    build, run, everything = packages("--build"), packages("--run"), packages()
    wrong = {
        "the demo installs what only tests need": ONLY_TESTS & (build | run),
        "the demo installs what only a cluster needs": ONLY_CLUSTER & (build | run),
        "a cluster lacks its tools": ONLY_CLUSTER - packages("--build", "--cluster"),
        "the tests lack the tools of a cluster": ONLY_CLUSTER - everything,
        "the tests lack what the demo needs": build - everything,
        "the tests lack their libraries": {"doctest-dev", "librapidcheck-dev"} - everything,
    }
    for what, names in wrong.items():
        print(f"FAIL {what}: {sorted(names)}" if names else f"ok   not so: {what}")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
