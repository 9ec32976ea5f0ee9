#!/usr/bin/env python3
"""full_disk_test: with a full disk, safety functions still work: a stop order takes effect immediately, on the shim
too, and reports that it is not on disk; a key can be revoked; a promotion is refused. Once the disk has space, the stop
order is written, and a restart keeps it. An agent whose folder takes no file measures its node.

Usage    full_disk_test.py FOLDER-OF-BINARIES
Needs    root and unshare: the disk is a small tmpfs in a private mount namespace
Exit     0 fine, 1 a claim failed, 77 skipped"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from house import SKIPPED, House, binaries_from, extender_args, fetch, wait_until

INSIDE = "WATTLE_FULL_DISK_INSIDE"
METRIC = "wattle_controller_policy_unwritten_changes"
failures = 0


def check(claim, truth, said=""):
    global failures
    failures += 0 if truth else 1
    print(("ok      " if truth else "FAILED  ") + claim + ("" if truth else f"\n        {said}"), flush=True)


def fill(folder):
    """Fills the disk until it accepts no more bytes."""
    with open(folder / "filler", "wb", buffering=0) as filler:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                pass


def scores(house, uid):
    status, body = fetch(f"{house.shim()}/prioritize", extender_args(uid, [house.node, "another"]))
    return [host["score" if "score" in host else "Score"] for host in json.loads(body)] if status == 200 else None


def mode_of(house):
    return json.loads(house.cli("policy", "get", "-o", "json", key="operator").stdout)["mode"]


def metric(house):
    lines = fetch(f"{house.api()}/metrics")[1].splitlines()
    return next((line for line in lines if line.startswith(METRIC + " ")), "none")


def walk(house):
    disk = house.dir / "controller"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=True)
    shutil.move(house.dir / "allow", disk / "allow")
    (house.dir / "controller.yaml").write_text((house.dir / "controller.yaml").read_text().replace(f"{house.dir}/allow", f"{disk}/allow")
                                               + "store: {path: " + str(disk) + "/store.db}\n")
    house.start_controller()
    house.start_agent()
    wait_until("the agent has connected", house.connected)
    house.start_shim()
    wait_until("the shim gives the controller's scores", lambda: max(scores(house, "before") or [0]) == 10)

    tokens = disk / "tokens"
    house.wattle("keys", "token", "new", "n1", str(house.dir / "n1.token"), "--tokens", str(tokens))
    fill(disk)
    for each in range(400):  # the control file has reserved space
        forward = house.cli("policy", "set", "--cpu-wait", f"{1 + each % 2}%", "--why", "no" * 200, key="operator", check=False)
        if forward.returncode != 0:
            break
    check("a change that is not a stop order is refused", forward.returncode != 0, forward.stdout[-300:])
    for mode in ("canary:50%", "canary:20%", "shadow"):
        back = house.cli("policy", "set", "--mode", mode, "--why", "less", key="operator", check=False)
        check(f"an order back to {mode} takes effect immediately and reports that it is not on disk",
              back.returncode == 1 and "in force but not saved, and would be lost at a restart" in back.stderr and mode_of(house) == mode, f"{mode_of(house)} {back.stderr}")
    stop = house.cli("policy", "set", "--mode", "off", "--why", "stop", "-o", "json", key="operator", check=False)
    check("the stop order exits with 1 and reports that it is in force and not on disk",
          stop.returncode == 1 and "in force but not saved, and would be lost at a restart" in stop.stderr, f"{stop.returncode} {stop.stderr}")
    reported = json.loads(stop.stdout) if stop.stdout.startswith("{") else {}
    check("JSON of the stop order reports the same", reported.get("mode") == "off" and reported.get("durable") is False and (reported.get("unwritten") or {}).get("changes") == 4, stop.stdout[:500])
    answers = [scores(house, f"after-{i}") for i in range(20)]
    check("later answers of the shim contain no advice", not any(max(given or [0]) for given in answers), answers)
    check("a metric counts unsaved orders", metric(house) == f"{METRIC} 4", metric(house))
    doctor = json.dumps(json.loads(fetch(f"{house.api()}/api/v1/doctor")[1]))
    check("doctor's JSON reports the unsaved order", "would be lost at a restart" in doctor, doctor[:500])
    check("the log reports the unsaved order", "policy.unwritten" in house.log("controller"), house.log("controller")[-500:])

    wait_until("the store that is full is the first alarm", lambda: [each["what"] for each in house.query("status")["alarms"]][:1] == ["store"])
    revoked = house.wattle("keys", "revoke", "--allow-list", str(disk / "allow"), "cli", check=False)
    check("a key is revoked", revoked.returncode == 0, revoked.stderr)
    wait_until("the revoked key is refused", lambda: house.cli("status", key="reader", check=False).returncode != 0)
    before = tokens.read_text()
    taken = house.wattle("keys", "token", "revoke", "--tokens", str(tokens), "n1", check=False)
    check("an enrolment token is revoked", taken.returncode == 0 and tokens.read_text() != before, taken.stderr)
    check("the list keeps the revoked token's node", "# revoked " in (disk / "allow").read_text(), (disk / "allow").read_text())
    check("other keys are still accepted", house.cli("policy", "get", key="operator", check=False).returncode == 0)

    (disk / "filler").unlink()
    wait_until("the order is written once the disk has space", lambda: metric(house) == f"{METRIC} 0")
    house.kill("controller", signal.SIGKILL)
    house.start_controller()
    check("the order is in force after a restart", mode_of(house) == "off", mode_of(house))
    agent_without_files(house)


def agent_without_files(house):
    """An agent whose state folder takes no file measures its node; its records wait in memory."""
    house.kill("agent")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=1", "tmpfs", str(house.dir / "agent")], check=True)
    house.start_agent()
    wait_until("the agent without a file has connected", lambda: "controller.welcomed" in house.log("agent").partition("spool.in_memory")[2])
    said = house.log("agent")
    check("the log names the folder that has no room", "incarnation.not_kept" in said and "free space on the file system of" in said, said[-1500:])


def main():
    binaries = binaries_from(sys.argv)
    if INSIDE not in os.environ:
        if os.geteuid() != 0 or not shutil.which("unshare"):
            print("skipped: needs root and unshare")
            return SKIPPED
        return subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv], env=os.environ | {INSIDE: "1"}, check=False).returncode
    with House(binaries, controller_extra="decide: {epsilon: 0}\n            learn: {enabled: false}") as house:
        try:
            walk(house)
        finally:
            for name in list(house.processes):
                house.kill(name)
            for folder in ("controller", "agent"):
                subprocess.run(["umount", str(pathlib.Path(house.dir) / folder)], check=False)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
