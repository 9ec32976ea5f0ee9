#!/usr/bin/env python3
"""memory_test: wattle-actuator sets memory.high on Debian's kernel and systemd with pure cgroup v2 under QEMU. A
service and a cgroup outside of systemd hold memory. Checks when and how far each is limited, the steps of the decrease,
the immediate release when more memory is needed, and the final state.

Usage    memory_test.py BIN_DIR [--keep FOLDER]     FOLDER: receives the console log and all readings
Needs    scripts/setup --long; apt's archives once, then the cache (image.py)
Time     15 minutes, of which the rule observes for ten; limited to 1,800 s
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

SECONDS = 1800
WARM_UP_S, MINUTE_S, LOOK_S = 600, 60, 5  # constants of actuator/memory_rule.cpp, and its interval
STEP = 0.05
RELEASE_S = 15  # two intervals, and systemd's delay
HELD = 64 << 20


def high(reading):
    return None if reading["memory.high"] == "max" else int(reading["memory.high"])


def event(reading, name):
    return int(re.search(rf"^{name} (\d+)$", reading["memory.events"], re.M).group(1))


def judge(claims, name, seen):
    before, after = seen["before"][name], seen["after"][name]
    steps = [(step[name]["at_s"], high(step[name]), int(step[name]["memory.current"])) for step in seen["steps"]]
    was = high(before)
    first = next((i for i, (_, limit, _) in enumerate(steps) if limit != was), None)
    if first is None:
        claims.check(f"{name}: memory.high is set", False, f"{steps[-1]}; {seen['log']}")
        return
    at_s, limit, used = steps[first]
    waited_s = at_s - before["at_s"]
    print(f"     {name}: {waited_s:.0f} s after the start memory.high {limit >> 20} MiB where {used >> 20} MiB were used; "
          f"then {', '.join(dict.fromkeys(format(l / (1 << 20), '.0f') for _, l, _ in steps[first:] if l))} MiB")
    claims.check(f"{name}: not before ten minutes of observation", waited_s > WARM_UP_S - 2 * LOOK_S, waited_s)
    claims.check(f"{name}: not below the used and active memory", limit >= used * 0.98 and limit > HELD, (limit, used))
    claims.check(f"{name}: not above the original limit", was is None or all(l and l <= was for _, l, _ in steps[first:]), steps[first:])
    limited = steps[first:]
    drops = [(b[0], b[1] / a[1]) for a, b in zip(limited, limited[1:]) if a[1] and b[1] and b[1] < a[1]]
    claims.check(f"{name}: the limit decreases by at most a twentieth per minute", all(ratio >= 1 - STEP - 0.001 for _, ratio in drops) and
                 all(b[0] - a[0] >= MINUTE_S - 2 * LOOK_S for a, b in zip(drops, drops[1:])), drops)
    claims.check(f"{name}: the limit decreases", len(drops) >= 1, limited)
    # systemd records a limit before it writes the kernel's file.
    let_go = next((step[name]["at_s"] for step in seen["grown"] if high(step[name]) == was), None)
    hurt = next((step[name]["at_s"] for step in seen["grown"] if event(step[name], "high") > event(seen["steps"][-1][name], "high")), None)
    print(f"     {name}: more needed: an allocation is throttled after {hurt and hurt - seen['wanted_s']} s, released after {let_go and let_go - seen['wanted_s']} s")
    claims.check(f"{name}: the limit is released immediately when more is needed", let_go is not None and let_go - seen["wanted_s"] <= RELEASE_S, (let_go, seen["wanted_s"], seen["log"]))
    claims.check(f"{name}: then it gets the memory", int(seen["grown"][-1][name]["memory.current"]) > HELD + (190 << 20), seen["grown"][-1][name]["memory.current"])
    claims.check(f"{name}: memory.max and memory.min are never touched", all(step[name][file] == before[file] for step in seen["steps"] + seen["grown"]
                                                                              for file in ("memory.max", "memory.min")))
    claims.check(f"{name}: no process was killed because of memory", event(after, "oom_kill") == 0, after["memory.events"])
    claims.check(f"{name}: at the end the original limit is restored", after["memory.high"] == before["memory.high"], (before["memory.high"], after["memory.high"]))


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
        shutil.copy(HERE / "memory_guest.py", payload / "guest.py")
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
        for name in ("unit", "raw"):
            judge(claims, name, seen)
        claims.check("the actuator exited with 0", seen["exit"] == 0, seen["log"])
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
