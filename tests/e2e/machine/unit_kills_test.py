#!/usr/bin/env python3
"""unit_kills_test: kills the working wattle-actuator on a real systemd with cgroup v2, with services and cgroups
outside of systemd, while other processes use set-property, write to the kernel's files and reload systemd
(tests/integration/actuator/kills_test.py, in a machine under QEMU).

Usage    unit_kills_test.py BIN_DIR [--kills 40] [--rigs 2] [--keep FOLDER]     FOLDER: gets the console
Needs    scripts/setup --long; apt's archives once, then the cache (image.py)
Time     15 s per kill under emulation on a busy machine; 1 s with WATTLE_MACHINE=here (namespaces.py); limited to 2,700
         s
Exit     0 fine, 1 a claim failed, 77 skipped: QEMU or mmdebstrap is missing
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import image  # noqa: E402
import machine  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402

SECONDS = 2700
KILLS = HERE.parents[1] / "integration/actuator"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--rigs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "strip"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is missing (scripts/setup --long installs it)")
            return SKIPPED
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    claims = Claims()
    with tempfile.TemporaryDirectory(prefix="wattle-payload-") as folder:
        payload = pathlib.Path(folder)
        subprocess.run(["strip", "-o", payload / "wattle-actuator", options.binaries / "wattle-actuator"], check=True)
        for name in ("kills_test.py", "cgroups.py"):
            shutil.copy(KILLS / name, payload)
        shutil.copy(HERE / "unit_kills_guest.py", payload / "guest.py")
        (payload / "arguments").write_text(f"--kills {options.kills} --rigs {options.rigs}\n", encoding="utf-8")
        try:
            seen = machine.boot(image.ensure(options.binaries / "wattle-agent"), payload, SECONDS, options.keep / "console" if options.keep else None)
        except (image.ImageError, machine.MachineError) as error:
            print(f"FAIL {error}")
            return 1
    claims.check("the machine reports", "error" not in seen, seen.get("error", ""))
    if "error" not in seen:
        print(f"     kernel {seen['kernel']}: {seen['said'].strip()}")
        reported = json.loads(seen["said"].splitlines()[-1]) if seen["exit"] == 0 else {}
        claims.check("all limits are restored after each kill", seen["exit"] == 0, seen["errors"])
        claims.check("foreign writes and reloads of systemd occurred meanwhile", reported.get("foreign", 0) > 0 and reported.get("reloads", 0) > 0, reported)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
