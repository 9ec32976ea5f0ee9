"""unit_kills_guest: runs inside the machine: kills_test.py with systemd services and with cgroups outside of systemd.

Source   /run/payload: wattle-actuator, kills_test.py, cgroups.py, arguments (of kills_test.py), guest.py (this)
Gives    one JSON value on the third disk, then powers the machine off
"""
import json
import os
import pathlib
import subprocess
import traceback

PAYLOAD, RESULT_DISK = pathlib.Path("/run/payload"), "/dev/nvme0n3"
SECONDS = 2400


def observe():
    # systemd enables the controller for all cgroups while a unit needs it.
    subprocess.run(["systemd-run", "--quiet", "--unit=keeps", "--property", "CPUQuota=50%", "/bin/sleep", "infinity"], check=True, timeout=60)
    arguments = (PAYLOAD / "arguments").read_text(encoding="utf-8").split()
    command = ["/usr/bin/python3", PAYLOAD / "kills_test.py", PAYLOAD, *arguments, "--workloads", "2", "--units", "2"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return {"kernel": os.uname().release, "exit": ran.returncode, "said": ran.stdout[-20000:], "errors": ran.stderr[-5000:]}


def main():
    try:
        seen = observe()
    except Exception:  # pylint: disable=broad-except; reported to the host, which fails
        seen = {"error": traceback.format_exc()}
    with open(RESULT_DISK, "r+b") as disk:
        disk.write((json.dumps(seen) + "\n").encode())
        disk.flush()
        os.fsync(disk.fileno())
    subprocess.run(["systemctl", "poweroff", "--force", "--force"], check=False)


main()
