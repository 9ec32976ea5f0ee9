"""join_guest: runs as guest.py inside a Debian 12 without Wattle, and executes the commands of the documentation.

Source   /run/payload: wattle*.deb, settings.json with the commands
Gives    one JSON value on the third disk: for each command its exit code, output and end time, or the state found then;
         then powers the machine off
"""
import json
import os
import pathlib
import subprocess
import time

PAYLOAD = pathlib.Path("/run/payload")
RESULT_DISK = "/dev/nvme0n3"
# Finds traces of Wattle on a purged machine
LEFT = ("find / -xdev \\( -name '*wattle*' -o -path '*wattle*' \\) -not -path '/var/cache/apt/*' -not -path '/var/log/*' -not -path '/proc/*'; "
        "getent passwd | grep wattle; getent group | grep wattle; systemctl list-unit-files --no-legend 'wattle*'")


def shell(text, timeout=900):
    done = subprocess.run(["/bin/bash", "-c", text], capture_output=True, text=True, timeout=timeout, check=False, cwd=PAYLOAD,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"})
    return done.returncode, done.stdout + done.stderr


def give(seen):
    """Writes the result for the host and powers the machine off."""
    with open(RESULT_DISK, "r+b") as disk:
        disk.write(json.dumps(seen).encode() + b"\n")
        disk.flush()
        os.fsync(disk.fileno())
    subprocess.run(["systemctl", "poweroff", "--force", "--force"], check=False)


def later(command):
    code, said = shell(command)
    time.sleep(5)  # longer than an agent needs to be welcomed
    return {"command": command, "code": code, "said": said, "version": shell("dpkg-query -W -f '${Version}' wattle-agent 2>/dev/null")[1],
            "active": shell("systemctl is-active wattle-agent")[1].strip(), "kept": shell("sha256sum /etc/wattle/agent.key /etc/wattle/agent.yaml")[1],
            "main": shell("systemctl show wattle-agent -p MainPID --value")[1].strip(), "runs": shell("wattle-agent --version")[1].strip()}


def main():
    settings = json.loads((PAYLOAD / "settings.json").read_text(encoding="utf-8"))
    seen = {"network": shell(settings["network"]),
            "before": shell("dpkg-query -W -f '${Package}\\n' | grep -c . ; ls /usr/bin/wattle* 2>&1"), "commands": []}
    begin = time.monotonic()
    for command in settings["commands"]:
        code, said = shell(command)
        seen["commands"].append({"command": command, "code": code, "said": said, "ended_s": time.monotonic() - begin})
        print(f"guest: {time.monotonic() - begin:.1f} s, exit {code}: {said.strip().splitlines()[-1:]}", flush=True)
        if code != 0:
            break
    # Meanwhile, the test asks the controller for its nodes
    time.sleep(settings["stays_s"])
    seen["unit"] = shell("systemctl show wattle-agent -p ActiveState,NRestarts,UnitFileState")[1]
    seen["later"] = [later(command) for command in settings["later"]]
    seen["left"] = shell(LEFT)[1]
    seen["journal"] = shell("journalctl -b --no-pager -u wattle-agent | tail -40")[1]
    give(seen)


if __name__ == "__main__":
    main()
