#!/usr/bin/env python3
"""watchdog_test: a real systemd kills and restarts our units when a program hangs.

Usage    watchdog_test.py BIN_DIR
Does     runs systemd's user manager in a private mount namespace, with the notification, watchdog and restart settings
         of systemd/*.service (tests/e2e/machine covers users and sandbox); stops each program with SIGSTOP
Gives    the time until the program answered again
Needs    root, systemd, unshare
Exit     0 success, 1 a claim is wrong, 77 skipped
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from house import SKIPPED, House, HouseError, binaries_from, fetch, wait_until
from patience import LATE_S, let_a_moment_pass, MOMENT_S, pace

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANAGER = "/lib/systemd/systemd"
INSIDE = "WATTLE_WATCHDOG_INSIDE"
OF_LIFE = ("Type", "NotifyAccess", "WatchdogSec", "TimeoutAbortSec", "TimeoutStartSec", "TimeoutStopSec", "Restart", "RestartSec", "RestartPreventExitStatus")
PATIENCE = LATE_S
FAILED = []


def check(what, fine, detail=""):
    print(("ok      " if fine else "FAILED  ") + what + (f": {detail}" if detail and not fine else ""), flush=True)
    if not fine:
        FAILED.append(what)


class OwnCgroups:
    """Creates a cgroup in each hierarchy. A manager claims the cgroup that it starts in, and moves the processes in
    it."""

    def __init__(self):
        self.name = f"wattle-watchdog-{os.getpid()}"
        self.made = []
        mine = {names: path for _, names, path in (line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())}
        for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            if kind == "cgroup2":
                path = mine.get("")
            elif kind == "cgroup":
                path = next((path for names, path in mine.items() if names and names in options), None)
            else:
                continue
            if path is not None:
                self.made.append(pathlib.Path(before.split()[4] + path.rstrip("/")) / self.name)

    def __enter__(self):
        for folder in self.made:
            folder.mkdir()
        return self

    def enter(self):
        for folder in self.made:
            try:
                (folder / "cgroup.procs").write_text(str(os.getpid()))
            except OSError:  # cpuset of v1 accepts no process before it has CPUs; systemd does not use it
                pass

    def __exit__(self, *_):
        for folder in self.made:
            for below in sorted(folder.glob("**/"), reverse=True):
                wait_until(f"{below} is empty", lambda: not (below / "cgroup.procs").read_text().strip(), PATIENCE)
                below.rmdir()


class Systemd(House):
    def __init__(self, binaries):
        super().__init__(binaries)
        self.run_dir = self.dir / "run"
        self.run_dir.mkdir(mode=0o700)
        self.units = self.dir / "config/systemd/user"
        self.units.mkdir(parents=True)
        os.environ |= {"XDG_RUNTIME_DIR": str(self.run_dir), "XDG_CONFIG_HOME": str(self.dir / "config"), "HOME": str(self.dir)}
        os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
        for name, arguments in (("controller", ()), ("agent", ("run",)), ("shim", ())):
            self.unit(name, [self.binary(f"wattle-{name}"), *arguments, "--config", str(self.dir / f"{name}.yaml")])
        self.start("systemd", MANAGER, "--user", "--unit=basic.target")
        wait_until("systemd answers", lambda: self.systemctl("is-system-running").stdout.strip(), PATIENCE)

    def unit(self, name, command):
        text = (ROOT / f"systemd/wattle-{name}.service").read_text(encoding="utf-8")
        kept = [line for line in text.splitlines() if line.partition("=")[0] in OF_LIFE]
        limit = re.findall(r"^StartLimitIntervalSec=.*$", text, re.M)
        (self.units / f"wattle-{name}.service").write_text("\n".join(["[Unit]", *limit, "[Service]", *kept, f"ExecStart={' '.join(command)}", f"StandardError=file:{self.dir}/{name}.log"]) + "\n")

    def systemctl(self, *arguments):
        return self.run("systemctl", "--user", *arguments)

    def shown(self, name, key):
        return self.systemctl("show", "--value", "-p", key, f"wattle-{name}.service").stdout.strip()

    def stopped(self, name, answers):
        started = self.systemctl("start", f"wattle-{name}.service")  # ends when it says that it is ready
        check(f"systemd considers {name} ready", started.returncode == 0 and self.shown(name, "ActiveState") == "active", started.stderr)
        wait_until(f"{name} answers", answers, PATIENCE)
        pace(2 if name == "shim" else 0.5)
        pid = int(self.shown(name, "MainPID"))
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()

        def back():
            fresh = self.shown(name, "MainPID")
            return fresh not in ("0", str(pid)) and answers()
        wait_until(f"a new {name} answers", back, PATIENCE)
        print(f"        {name} stopped: a new one answers after {time.monotonic() - began:.1f} s", flush=True)
        check(f"systemd restarted {name} once", self.shown(name, "NRestarts") == "1", self.shown(name, "NRestarts"))
        let_a_moment_pass()
        check(f"the new {name} stays", self.shown(name, "NRestarts") == "1" and self.shown(name, "ActiveState") == "active")

    def close_down(self):
        for name in ("shim", "agent", "controller"):
            self.systemctl("stop", f"wattle-{name}.service")
        self.kill("systemd", signal.SIGTERM)


def main():
    binaries = binaries_from(sys.argv)
    if INSIDE not in os.environ:
        if os.geteuid() != 0 or not shutil.which("unshare") or not os.path.exists(MANAGER):
            print("skipped: needs root, unshare and systemd")
            return SKIPPED
        with OwnCgroups() as own:
            return subprocess.run(["unshare", "--mount", sys.executable, *sys.argv], env=os.environ | {INSIDE: "1"}, preexec_fn=own.enter, check=False).returncode
    # Marks this machine as run by systemd, visible only in our namespace
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    os.makedirs("/run/systemd/system")
    with Systemd(binaries) as house:
        try:
            house.stopped("controller", lambda: fetch(f"{house.api()}/livez", timeout=MOMENT_S)[0] == 200)
            house.stopped("agent", lambda: fetch(f"http://127.0.0.1:{house.agent_http}/livez", timeout=MOMENT_S)[0] == 200)
            house.stopped("shim", lambda: fetch(f"{house.shim()}/livez", timeout=MOMENT_S)[0] == 200)
        except HouseError as error:
            check(str(error), False)
        house.close_down()
    print(f"{len(FAILED)} failed" if FAILED else "all fine")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
