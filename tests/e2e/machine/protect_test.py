#!/usr/bin/env python3
"""protect_test: wattle-actuator protects working sets with memory.low on Debian's kernel and systemd with pure cgroup
v2 under QEMU. Checks the steps of the increase, the effect of the protection under memory pressure (five runs), the
report of an ancestor that passes no protection, and that SIGKILL and `restore` leave the original values.

Usage    protect_test.py BIN_DIR [--keep FOLDER]     FOLDER: receives the console log and all readings
Needs    scripts/setup --long; apt's archives once, then the cache (image.py)
Time     15 minutes; limited to 2,400 s
Exit     0 fine, 1 a claim failed, 77 skipped: QEMU or mmdebstrap is missing
"""
import argparse
import json
import pathlib
import re
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

SECONDS = 2400
MIB = 1 << 20
STEP = 0.2  # constants of actuator/protection_rule.cpp, per minute
MINUTE_S, LOOK_S = 60, 5
ARMS = ("guarded", "open", "barred")


def number(reading, file, name):
    return int(re.search(rf"^{name} (\d+)$", reading[file], re.M).group(1))


def judge_rise(claims, seen):
    steps = [(one["guarded"]["at_s"], int(one["guarded"]["memory.low"])) for one in seen["rise"]]
    low = steps[-1][1]
    print(f"     guarded: memory.low {', '.join(dict.fromkeys(format(l / MIB, '.0f') for _, l in steps))} MiB")
    claims.check("the protection is the working set", 64 * MIB <= low <= 90 * MIB, low)
    ups = [(b[0], b[1] - a[1]) for a, b in zip(steps, steps[1:]) if b[1] > a[1]]
    claims.check("the protection increases by at most a fifth per minute", all(step <= STEP * low * 1.05 for _, step in ups) and
                 all(b[0] - a[0] >= MINUTE_S - 2 * LOOK_S for a, b in zip(ups, ups[1:])), ups)
    claims.check("at level suggest the protection is reported and not written", all(one["open"]["memory.low"] == "0" for one in seen["rise"]) and
                 re.search(r"/open.shop/db: suggest, .*memory.low [1-9]", seen["status"]), seen["status"])
    claims.check("the status reports the ancestor's limit", re.search(r"/barred.shop/tier/db: protect, set, .*memory.low \d+ \(ancestors let 0 through\)", seen["status"]), seen["status"])
    claims.check("the doctor and the log name that ancestor", "/barred.shop/tier lets 0 through" in seen["doctor"] and
                 "/barred.shop/tier/memory.low" in seen["log"], seen["doctor"] + seen["log"])
    claims.check("a unit's protection goes through systemd", seen["unit_protected"] >= 60 * MIB, seen["unit_protected"])


def judge_pressure(claims, seen):
    worth = {arm: [] for arm in ARMS}
    for one in seen["runs"]:
        for arm in ARMS:
            before, after = one["before"][arm], one["after"][arm]
            kept = min(now[arm] for now in one["current"]) / int(before["memory.current"])
            worth[arm].append((kept, number(after, "memory.stat", "workingset_refault_file") - number(before, "memory.stat", "workingset_refault_file")))
    for arm in ARMS:
        print(f"     {arm}: of its memory {', '.join(f'{kept:.0%}' for kept, _ in worth[arm])} stayed under pressure; "
              f"refaults {', '.join(str(refaults) for _, refaults in worth[arm])}")
    claims.check("each batch job read its file in each run", all(count > 0 for one in seen["runs"] for count in one["passes"].values()), [one["passes"] for one in seen["runs"]])
    claims.check("there are five runs", len(seen["runs"]) == 5, len(seen["runs"]))
    claims.check("with protection the working set stays in memory", all(kept > 0.95 for kept, _ in worth["guarded"]), worth["guarded"])
    # In some runs the kernel's lists of active pages protect enough, so the five are judged together.
    again = {arm: sum(refaults for _, refaults in worth[arm]) for arm in ARMS}
    claims.check("without protection, pages are reclaimed and read again", min(kept for kept, _ in worth["open"]) < 0.95 and again["open"] > 10 * again["guarded"], worth)
    claims.check("below an ancestor that passes no protection, pages are reclaimed too", again["barred"] > 10 * again["guarded"], worth)


def judge_end(claims, seen):
    claims.check("SIGKILL keeps the protection", all(int(seen["left"][arm]) > 0 for arm in ("guarded", "barred")), seen["left"])
    claims.check("restore restores the original values", all(seen["after"][arm]["memory.low"] == seen["before"][arm]["memory.low"] == "0" for arm in ARMS) and
                 seen["unit_after"] == seen["unit_before"], (seen["restore"], seen["after"], seen["unit_after"]))
    untouched = ("memory.high", "memory.min", "memory.max", "cpu.max")
    claims.check("no other file is written", all(one[arm][file] == seen["before"][arm][file] for one in seen["rise"] + [seen["after"]] for arm in ARMS for file in untouched))
    claims.check("no process was killed because of memory", all(number(seen["after"][arm], "memory.events", "oom_kill") == 0 for arm in ARMS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
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
        shutil.copy(HERE / "protect_guest.py", payload / "guest.py")
        try:
            seen = machine.boot(image.ensure(options.binaries / "wattle-agent"), payload, SECONDS, options.keep / "console" if options.keep else None)
        except (image.ImageError, machine.MachineError) as error:
            print(f"FAIL {error}")
            return 1
    if options.keep:
        (options.keep / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
    claims.check("the machine reports", "error" not in seen, seen.get("error", ""))
    if "error" not in seen:
        print(f"     kernel {seen['kernel']}")
        judge_rise(claims, seen)
        judge_pressure(claims, seen)
        judge_end(claims, seen)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
