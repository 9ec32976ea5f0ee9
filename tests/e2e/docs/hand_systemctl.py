#!/usr/bin/env python3
"""hand_systemctl: replaces systemctl if PID 1 is not systemd: starts the services of installed units as their users.

Does     daemon-reload, enable [--now], start, restart, stop, with User, Group, SupplementaryGroups,
         AmbientCapabilities, Environment, StateDirectory, ExecStartPre (which must succeed) and ExecStart, and a log
         per service in /var/log. With Type=notify, a start ends when the service reports ready or exits
Not      sandboxing (tests/e2e/machine has a real systemd, and units_test.py checks the units), restarts, dependencies
Exit     1 with the error, 2 for an unsupported command
"""
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import time

PATIENCE = 90  # seconds, systemd's default
UNITS = (pathlib.Path("/etc/systemd/system"), pathlib.Path("/lib/systemd/system"))
PIDS = pathlib.Path("/run/hand-systemctl")


def settings_of(name):
    found = {}
    unit = next(path for path in (folder / f"{name}.service" for folder in UNITS) if path.exists())
    for line in unit.read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def as_who(settings):
    user = settings.get("User", ["root"])[0]
    groups = ",".join([settings.get("Group", [user])[0], *settings.get("SupplementaryGroups", [])])
    kept = [f"+{word.removeprefix('CAP_').lower()}" for word in " ".join(settings.get("AmbientCapabilities", [])).split()]
    ambient = [f"--inh-caps={','.join(kept)}", f"--ambient-caps={','.join(kept)}"] if kept else ["--inh-caps=-all"]
    return ["setpriv", f"--reuid={user}", f"--regid={settings.get('Group', [user])[0]}", f"--groups={groups}", *ambient, "--no-new-privs"]


def start(name):
    settings = settings_of(name)
    words = [word for line in settings.get("Environment", []) for word in shlex.split(line)]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | dict(word.split("=", 1) for word in words)
    user = settings.get("User", ["root"])[0]
    for folder in " ".join(settings.get("StateDirectory", [])).split():
        path = pathlib.Path("/var/lib") / folder
        path.mkdir(mode=int(settings.get("StateDirectoryMode", ["0755"])[0], 8), exist_ok=True)
        subprocess.run(["chown", f"{user}:", str(path)], check=True)
    who = as_who(settings)
    for before in settings.get("ExecStartPre", []):
        ran = subprocess.run([*who, *shlex.split(before)], env=env, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"{name}: {before}: exit {ran.returncode}: {ran.stdout}{ran.stderr}")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(f"\0hand-systemctl/{name}/{os.getpid()}")
    listening.settimeout(0.05)
    notifies = settings.get("Type") == ["notify"]
    if notifies:
        env["NOTIFY_SOCKET"] = f"@hand-systemctl/{name}/{os.getpid()}"
    with open(f"/var/log/{name}.log", "ab") as log:
        process = subprocess.Popen([*who, *shlex.split(settings["ExecStart"][0])], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    PIDS.mkdir(exist_ok=True)
    (PIDS / name).write_text(str(process.pid))
    if not notifies:
        time.sleep(0.5)
    until = time.monotonic() + PATIENCE
    while process.poll() is None and notifies and time.monotonic() < until:
        try:
            notifies = "READY=1" not in listening.recv(65536).decode().splitlines()
        except TimeoutError:
            continue
    if process.poll() is not None or notifies:
        ended = f"exited with {process.returncode}" if process.poll() is not None else f"is not ready after {PATIENCE} s"
        process.kill()
        sys.exit(f"{name}: {ended}: {pathlib.Path(f'/var/log/{name}.log').read_text(encoding='utf-8')[-2000:]}")


def stop(name):
    if (PIDS / name).exists():
        pid = int((PIDS / name).read_text())
        os.kill(pid, signal.SIGTERM)
        while pathlib.Path(f"/proc/{pid}/exe").exists():  # a zombie has none
            time.sleep(0.05)
        (PIDS / name).unlink()


def main():
    words = [word for word in sys.argv[1:] if word != "--now"]
    names = [word.removesuffix(".service") for word in words[1:]]
    if words == ["daemon-reload"] or (words[:1] == ["enable"] and "--now" not in sys.argv):
        return 0
    if words[:1] not in (["enable"], ["start"], ["restart"], ["stop"]):
        print(f"hand_systemctl: unsupported command {sys.argv[1:]}", file=sys.stderr)
        return 2
    for name in names:
        if words[0] in ("restart", "stop"):
            stop(name)
        if words[0] != "stop":
            start(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
