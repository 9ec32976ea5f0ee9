"""memory_guest: runs inside the machine. Runs wattle-actuator on a systemd service and on a cgroup outside of systemd
that both hold memory, until it has limited both; then one needs more memory. memory_test.py judges the readings.

Source   /run/payload: wattle-actuator, guest.py (this)
Gives    one JSON value on the third disk, then powers the machine off
"""
import json
import os
import pathlib
import signal
import subprocess
import time
import traceback

PAYLOAD, RESULT_DISK = pathlib.Path("/run/payload"), "/dev/nvme0n3"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
UNIT, RAW = "hoard.service", "jobs/hoard"
HIGH = 512 << 20  # the unit's limit in its own file
FILES = ("memory.current", "memory.high", "memory.max", "memory.min", "memory.events", "memory.stat")
WATCH_S, STEPS_S, GROW_S = 700, 200, 60
PASSING_S = 583  # this long before the rule has observed ten minutes, so that a few readings see it
# Holds 64 MiB and keeps touching it. SIGUSR2: 100 MiB more for a while, so that the limit can decrease. SIGUSR1: 200
# MiB more permanently.
HOARD = """
import mmap, signal, time
held, passing, over = [mmap.mmap(-1, 64 << 20)], [], []
def touch():
    for one in held + passing:
        one[::4096] = bytes(len(one) // 4096)
def pass_by(*_):
    # Allocates all at once: on a waiting emulated machine, page by page takes longer than the block exists.
    passing.append(mmap.mmap(-1, 100 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
    signal.alarm(30)
signal.signal(signal.SIGUSR1, lambda *_: held.append(mmap.mmap(-1, 200 << 20)))
signal.signal(signal.SIGUSR2, pass_by)
signal.signal(signal.SIGALRM, lambda *_: over.append(True))
while True:
    touch()
    if over and passing:  # not while it is touched
        passing.pop().close()
    time.sleep(0.5)
"""


def report_progress(text):
    print(f"guest: {time.monotonic():.1f} {text}", flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def reading(path):
    return {"at_s": time.monotonic(), **{file: (CGROUPS / path / file).read_text(encoding="utf-8").strip() for file in FILES}}


def begin():
    script = pathlib.Path("/run/hoard.py")
    script.write_text(HOARD, encoding="utf-8")
    pathlib.Path(f"/etc/systemd/system/{UNIT}").write_text(f"[Service]\nExecStart=/usr/bin/python3 {script}\nMemoryHigh={HIGH}\nMemoryAccounting=yes\nCPUQuota=200%\n", encoding="utf-8")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", UNIT)
    (CGROUPS / RAW).mkdir(parents=True)
    for folder in (CGROUPS, CGROUPS / "jobs"):
        (folder / "cgroup.subtree_control").write_text("+memory +cpu", encoding="utf-8")

    def enter():
        (CGROUPS / RAW / "cgroup.procs").write_text("0", encoding="utf-8")

    raw = subprocess.Popen(["/usr/bin/python3", str(script)], preexec_fn=enter)
    config = pathlib.Path("/run/actuator.yaml")
    config.write_text(f"{{state_dir: /run/wattle-state, socket: \"\", workloads: [{{unit: {UNIT}, level: limits}}, {{cgroup: /{RAW}, level: limits}}]}}\n", encoding="utf-8")
    actuator = subprocess.Popen([PAYLOAD / "wattle-actuator", "run", "--config", config], stdout=open("/run/actuator.log", "wb"), stderr=subprocess.STDOUT)
    return raw, actuator


def observe():
    raw, actuator = begin()
    paths = {"unit": run("systemctl", "show", UNIT, "-p", "ControlGroup", "--value").strip().lstrip("/"), "raw": RAW}
    time.sleep(3)
    seen = {"kernel": os.uname().release, "before": {name: reading(path) for name, path in paths.items()}, "steps": []}

    def look():
        seen["steps"].append({name: reading(path) for name, path in paths.items()})
        return seen["steps"][-1]

    def limited(of):
        return all(of[name]["memory.high"] != seen["before"][name]["memory.high"] for name in paths)

    pids = [int(run("systemctl", "show", UNIT, "-p", "MainPID", "--value")), raw.pid]

    def tell_both(number):
        for pid in pids:
            os.kill(pid, number)

    report_progress("nothing is limited for ten minutes")
    begun, passed = time.monotonic(), False
    while not limited(look()) and time.monotonic() < begun + WATCH_S:
        if not passed and time.monotonic() >= begun + PASSING_S:
            tell_both(signal.SIGUSR2)
            passed = True
        time.sleep(5)
    report_progress("limited")
    end = time.monotonic() + STEPS_S
    while time.monotonic() < end:
        look()
        time.sleep(2)
    seen["reported"] = run("systemctl", "show", UNIT, "-p", "MemoryHigh", "--value").strip()
    report_progress("they allocate more")
    tell_both(signal.SIGUSR1)
    seen["wanted_s"] = time.monotonic()
    seen["grown"] = []
    end = time.monotonic() + GROW_S
    while time.monotonic() < end:
        seen["grown"].append({name: reading(path) for name, path in paths.items()})
        time.sleep(0.5)
    actuator.send_signal(signal.SIGTERM)
    seen["exit"] = actuator.wait(60)
    seen["after"] = {name: reading(path) for name, path in paths.items()}
    seen["log"] = pathlib.Path("/run/actuator.log").read_text(encoding="utf-8", errors="replace")[-5000:]
    return seen


def main():
    try:
        seen = observe()
    except Exception:  # pylint: disable=broad-except; reported to the host, which fails
        seen = {"error": traceback.format_exc()}
    report_progress("done")
    with open(RESULT_DISK, "r+b") as disk:
        disk.write((json.dumps(seen) + "\n").encode())
        disk.flush()
        os.fsync(disk.fileno())
    subprocess.run(["systemctl", "poweroff", "--force", "--force"], check=False)


main()
