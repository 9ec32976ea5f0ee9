#!/usr/bin/env python3
"""units_test: systemd accepts the units, their exposure stays low, and users and files are as documented.

Usage    units_test.py [--bin-dir DIR]      DIR: built programs; /bin/true replaces a missing one, with a message
Source   systemd/*.service, wattle.sysusers, wattle.tmpfiles
Exit     0 fine, 1 breach, 77 systemd-analyze is missing (skipped)
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from patience import SOON_S  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "systemd").glob("*.service"))
# Tenths of systemd's exposure level (0 to 10), with systemd 252.
MAX_EXPOSURE = 15
# BPF maps and programs, tracing with them, sockets of a cgroup, files of root. No kernel since 5.8 needs CAP_SYS_ADMIN.
AGENT_CAPABILITIES = {"CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN", "CAP_DAC_READ_SEARCH"}
# PCM programs the processor as root through /dev/cpu/*/msr and PCI configuration space.
EXPOSED = {"wattle-agent.service": 20, "wattle-pcm.service": 28}
PCM_CAPABILITIES = {"CAP_SYS_RAWIO", "CAP_SYS_ADMIN", "CAP_PERFMON"}
BREACHES = []


def breach(text):
    BREACHES.append(text)
    print(f"BREACH {text}")


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=SOON_S)
    return done.returncode, (done.stdout + done.stderr).strip()


def staged(unit_text, name, bin_dir, directory, verbose=True):
    """Returns the unit with its programs replaced by existing ones."""

    def replace(match):
        built = bin_dir / match.group(1) if bin_dir else None
        here = str(built) if built and built.is_file() else "/bin/true"
        if verbose:
            print(f"{name}: {match.group(0)} -> {here}")
        return here

    path = pathlib.Path(directory) / name
    path.write_text(re.sub(r"/usr/(?:s?bin|lib/wattle)/((?:wattle|pcm)[a-z-]*)", replace, unit_text), encoding="utf-8")
    return path


def verify(path):
    """Runs systemd-analyze. Any output about the unit is a breach, because unknown keys are only warnings."""
    code, said = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(path))
    about = [line for line in said.splitlines() if path.name in line or "Unknown" in line]
    return code == 0 and not about, "\n".join(about) or said


def check_units(bin_dir, directory):
    offline = run("systemd-analyze", "security", "--help")[1]
    for unit in UNITS:
        path = staged(unit.read_text(encoding="utf-8"), unit.name, bin_dir, directory)
        fine, said = verify(path)
        if not fine:
            breach(f"{unit.name}: systemd-analyze verify: {said}")
        if not re.search(r"^MemoryMax=\d+[MG]$", unit.read_text(encoding="utf-8"), re.M):
            breach(f"{unit.name}: MemoryMax= is missing")
        if "--offline" not in offline or "--threshold" not in offline:
            print(f"{unit.name}: exposure not checked: this systemd-analyze has no --offline")
            continue
        limit = EXPOSED.get(unit.name, MAX_EXPOSURE)
        code, said = run("systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={limit}", str(path))
        level = re.search(r"Overall exposure level.*?: ([0-9.]+)", said)
        print(f"{unit.name}: exposure {level.group(1) if level else '?'} (at most {limit / 10})")
        if code != 0 or not level:
            breach(f"{unit.name}: exposure above {limit / 10}: {said[-400:]}")


def check_timers(directory):
    """Checks that only its timer starts a unit, that the timer is off by default, and that the unit has low
    priority."""
    for timer in sorted((ROOT / "systemd").glob("*.timer")):
        unit = (ROOT / "systemd" / (timer.stem + ".service")).read_text(encoding="utf-8")
        staged(unit, timer.stem + ".service", None, directory, verbose=False)
        path = pathlib.Path(directory) / timer.name
        path.write_text(timer.read_text(encoding="utf-8"), encoding="utf-8")
        fine, said = verify(path)
        if not fine:
            breach(f"{timer.name}: systemd-analyze verify: {said}")
        if "[Install]" in unit:
            breach(f"{timer.stem}.service: has an [Install] section in addition to its timer")
        for key, value in (("Nice", "19"), ("CPUSchedulingPolicy", "idle"), ("IOSchedulingClass", "idle"), ("Type", "oneshot")):
            if f"\n{key}={value}\n" not in unit:
                breach(f"{timer.stem}.service: {key}={value} is missing")


STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$STATE_DIRECTORY/../calls"
case "$*" in *"model save"*) touch "$WATTLE_CHECKPOINTS/improve-start.safetensors" "$WATTLE_CHECKPOINTS/improve-start.json" ;;
*"model record"*) touch record.jsonl ;;
*--out*) [ ! -e "$STATE_DIRECTORY/../killed" ] || exit 137; mkdir -p labels; [ ! -e "$STATE_DIRECTORY/../better" ] || touch candidate.safetensors ;;
esac
"""


def check_improve(directory):
    """Tests one run of wattle-improve: after a kill it continues with the same record; it adds a written network, and
    leaves no file."""
    top = pathlib.Path(directory) / "turn"
    for name in ("state", "checkpoints", "bin"):
        (top / name).mkdir(parents=True)
    for name in ("wattle", "wattle-sim"):
        (top / "bin" / name).write_text(STAND_IN, encoding="utf-8")
        (top / "bin" / name).chmod(0o755)
    env = {"PATH": f"{top}/bin:/usr/bin:/bin", "STATE_DIRECTORY": str(top / "state"), "CREDENTIALS_DIRECTORY": str(top),
           "WATTLE_CHECKPOINTS": str(top / "checkpoints")}

    def turn(*marks):
        (top / "calls").write_text("", encoding="utf-8")
        for mark in ("killed", "better"):
            (top / mark).unlink(missing_ok=True)
        for mark in marks:
            (top / mark).touch()
        code = subprocess.run([str(ROOT / "systemd/wattle-improve")], env=env, capture_output=True, check=False, timeout=SOON_S).returncode
        calls = [re.sub(r" --key \S+", "", line) for line in (top / "calls").read_text(encoding="utf-8").splitlines()]
        return code, [" ".join(call.split()[:3]) for call in calls]

    asked, learned = ["wattle model save", "wattle model record"], ["wattle-sim improve record.jsonl"]
    for marks, wanted in ((("killed",), (137, asked + learned)), (("better",), (0, learned + ["wattle model add"])),
                          ((), (0, asked + learned))):
        found = turn(*marks)
        if found != wanted:
            breach(f"wattle-improve {marks}: {found}, not {wanted}")
        left = sorted(path.name for path in (top / "state").iterdir())
        if "killed" not in marks and left:
            breach(f"wattle-improve {marks}: leaves {left}")


def check_capabilities():
    """Checks that the agent's user has exactly the needed capabilities and system calls, and the others have none."""
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8")
        wanted = AGENT_CAPABILITIES if unit.name == "wattle-agent.service" else set()
        for key in ("CapabilityBoundingSet", "AmbientCapabilities"):
            if unit.name == "wattle-pcm.service":  # root's capabilities, within its bounding set
                wanted = PCM_CAPABILITIES if key == "CapabilityBoundingSet" else set()
            held = set(" ".join(re.findall(rf"^{key}=(.*)$", text, re.M)).split())
            if held != wanted:
                breach(f"{unit.name}: {key}={' '.join(sorted(held))}, not {' '.join(sorted(wanted))}")
        if not re.search(r"^CapabilityBoundingSet=", text, re.M):
            breach(f"{unit.name}: CapabilityBoundingSet= is missing: every capability could come back")
        calls = re.findall(r"^SystemCallFilter=(.*)$", text, re.M)
        # Filters apply in order: what a later one removes is not available.
        if unit.name == "wattle-agent.service" and calls[-1].split() != ["bpf", "perf_event_open", "capset"]:
            breach(f"{unit.name}: the last SystemCallFilter= does not restore bpf, perf_event_open and capset")
        if "~@privileged" not in " ".join(calls):
            breach(f"{unit.name}: SystemCallFilter=~@privileged is missing")


def check_users(directory):
    """Checks that sysusers creates every user of units and tmpfiles, and that only its user can read a key."""
    root = pathlib.Path(directory) / "root"
    (root / "etc/wattle").mkdir(parents=True)
    sysusers = (ROOT / "systemd/wattle.sysusers").read_text(encoding="utf-8")
    tmpfiles = (ROOT / "systemd/wattle.tmpfiles").read_text(encoding="utf-8")
    known = {line.split()[1] for line in sysusers.splitlines() if line[:2] in ("u ", "g ")}
    for unit in UNITS:
        for key, names in re.findall(r"^(User|Group|SupplementaryGroups)=(.*)$", unit.read_text(encoding="utf-8"), re.M):
            for name in names.split():
                if name not in known:
                    breach(f"{unit.name}: {key}={name} is not in wattle.sysusers")
    if not shutil.which("systemd-sysusers") or not shutil.which("systemd-tmpfiles"):
        print("users and files not created: systemd-sysusers or systemd-tmpfiles is missing")
        return
    code, said = run("systemd-sysusers", f"--root={root}", "-", text=sysusers)
    if code != 0:
        breach(f"wattle.sysusers: {said}")
        return
    users = {line.split(":")[0]: line.split(":") for line in (root / "etc/passwd").read_text(encoding="utf-8").splitlines()}
    for name in ("agent", "controller", "shim"):
        if f"wattle-{name}" not in users:
            breach(f"wattle.sysusers creates no user wattle-{name}")
        (root / f"etc/wattle/{name}.key").touch(mode=0o644)
    if run("id", "-u")[1] != "0":
        print("owners of files not checked: not root")
        return
    code, said = run("systemd-tmpfiles", f"--root={root}", "--create", "-", text=tmpfiles)
    if code != 0:
        breach(f"wattle.tmpfiles: {said}")
        return
    for name in ("agent", "controller", "shim"):
        info = (root / f"etc/wattle/{name}.key").stat()
        if info.st_mode & 0o777 != 0o400 or str(info.st_uid) != users[f"wattle-{name}"][2]:
            breach(f"wattle.tmpfiles: {name}.key is {info.st_mode & 0o777:o} of uid {info.st_uid}, not 400 of wattle-{name}")


def self_test(directory):
    """Checks that invalid units are refused."""
    text = UNITS[0].read_text(encoding="utf-8")
    bad = {
        "unknown-key.service": text.replace("[Service]\n", "[Service]\nProtectSytem=strict\n"),
        "no-program.service": re.sub(r"(?m)^ExecStart=.*$", "ExecStart=/nowhere/wattle", text),
    }
    for name, changed in bad.items():
        if verify(staged(changed, name, None, directory, verbose=False))[0]:
            breach(f"self-test: {name} was accepted")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin-dir", type=pathlib.Path)
    bin_dir = parser.parse_args().bin_dir
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is missing (Debian package systemd)")
        return 77
    if len(UNITS) < 3:
        breach("systemd/: three units were expected")
    with tempfile.TemporaryDirectory() as directory:
        self_test(directory)
        check_capabilities()
        check_units(bin_dir, directory)
        check_users(directory)
        check_timers(directory)
        check_improve(directory)
    print("units: no breach" if not BREACHES else f"units: {len(BREACHES)} breaches")
    return 1 if BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
