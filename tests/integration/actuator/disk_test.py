#!/usr/bin/env python3
"""disk_test: `wattle-actuator restore` restores a limit after the actuator was killed and the disk with its record is
full or read-only, and reports what it could not write.

Usage    disk_test.py FOLDER-OF-BINARIES
Needs    root and unshare: the disk is a small tmpfs in a private mount namespace
Exit     0 fine, 1 a claim failed, 77 skipped: the namespace or a cgroup with a CPU quota cannot be created
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]
from cgroups import ENVIRONMENT  # noqa: E402
from demo_run import Claims  # noqa: E402
from kills_test import Workload  # noqa: E402
from patience import LATE_S, holds  # noqa: E402

INSIDE = "WATTLE_DISK_INSIDE"
SKIPPED = 77


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


def make_read_only(disk):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


def walk(binaries, folder, how, spoil, claims):
    disk, config = folder / how, folder / f"{how}.yaml"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    workload = Workload(f"wattle-disk-{os.getpid()}-{how}", random.Random(1))
    config.write_text(f'{{state_dir: {disk}, socket: "", workloads: [{workload.order}]}}\n', encoding="utf-8")
    command = [str(binaries / "wattle-actuator")]
    original = workload.read()
    try:
        with open(folder / "log", "ab") as log, subprocess.Popen([*command, "run", "--config", str(config)], stdout=log, stderr=log, env=ENVIRONMENT) as running:
            changed = holds(lambda: workload.read() != original, LATE_S)
            running.send_signal(signal.SIGKILL)
        claims.check(f"{how}: a limit was set", changed, (folder / "log").read_text(errors="replace")[-2000:])
        spoil(disk)
        done = subprocess.run([*command, "restore", "--config", str(config)], capture_output=True, text=True, timeout=LATE_S, check=False)
        claims.check(f"{how}: restore restores the limit", workload.read() == original, f"{workload.read()}, not {original}: {done.stdout}{done.stderr}")
        if how == "read-only":
            claims.check("read-only: restore reports the file that it could not write", done.returncode == 1 and "originals" in done.stderr and "Read-only" in done.stderr, done.stdout + done.stderr)
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        (disk / "filler").unlink(missing_ok=True)
        again = subprocess.run([*command, "restore", "--config", str(config)], capture_output=True, text=True, timeout=LATE_S, check=False)
        claims.check(f"{how}: on a writable disk restore succeeds", again.returncode == 0 and workload.read() == original, again.stdout + again.stderr)
    finally:
        workload.end()
        subprocess.run(["umount", str(disk)], check=False)


def main():
    if INSIDE not in os.environ:
        if os.geteuid() != 0 or not shutil.which("unshare"):
            print("skipped: needs root and unshare")
            return SKIPPED
        return subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv], env=os.environ | {INSIDE: "1"}, check=False).returncode
    claims = Claims()
    with tempfile.TemporaryDirectory() as folder:
        try:
            for how, spoil in (("full", fill), ("read-only", make_read_only)):
                walk(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder), how, spoil, claims)
        except OSError as error:
            print(f"skipped: {error}")
            return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
