"""protect_guest: runs inside the machine. Lets wattle-actuator protect working sets with memory.low, and puts memory
pressure on them. protect_test.py judges the readings.

Three cgroups with the same memory.max each have a database, which reads a file of its own every 10 s, and a batch job,
which reads another file all the time: `guarded` (level protect), `open` (level suggest) and `barred` (level protect, below
an ancestor whose memory.low is 0). A systemd service with a MemoryLow of its own is at level protect as well.
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
MIB = 1 << 20
# A batch job that fits into the free memory causes no pressure, and pages that it rarely rereads do not compete.
DATABASE, BATCH, MOST = 64 * MIB, 128 * MIB, 160 * MIB
ARMS = {"guarded": "guarded.shop/db", "open": "open.shop/db", "barred": "barred.shop/tier/db"}
UNIT, UNIT_LOW = "ledger.service", 8 * MIB
FILES = ("memory.current", "memory.low", "memory.high", "memory.min", "memory.max", "memory.events", "memory.stat", "cpu.max")
RISE_S, RUNS, PASSES, PASSES_S, READ_EVERY_S = 600, 5, 10, 120, 10
# Reads its file (sparse: fills the page cache without a disk) repeatedly, like a database with a constant working set.
# Reads twice at first, because the kernel counts a page as active from the second read on.
DATABASE_CODE = """
import os, sys, time
file, size = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), int(sys.argv[2])
os.ftruncate(file, size)
for number in range(1 << 30):
    for at in range(0, size, 1 << 20):
        os.pread(file, 1 << 20, at)
    open(sys.argv[1] + ".passes", "w").write(str(number))
    if number > 0:
        time.sleep(float(sys.argv[3]))
"""
BATCH_CODE = """
import os, sys
file, size = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), int(sys.argv[2])
os.ftruncate(file, size)
for number in range(1 << 30):
    for at in range(0, size, 1 << 20):
        os.pread(file, 1 << 20, at)
    open(sys.argv[1] + ".passes", "w").write(str(number))
"""


def report_progress(text):
    print(f"guest: {time.monotonic():.1f} {text}", flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def reading(path):
    return {"at_s": time.monotonic(), **{file: (CGROUPS / path / file).read_text(encoding="utf-8").strip() for file in FILES}}


def readings():
    return {name: reading(path) for name, path in ARMS.items()}


def started(cgroup, code, *words):
    def enter():
        (CGROUPS / cgroup / "cgroup.procs").write_text("0", encoding="utf-8")

    return subprocess.Popen(["/usr/bin/python3", "-c", code, *map(str, words)], preexec_fn=enter)


def make_cgroups():
    def grown(folder):
        folder.mkdir()
        (folder.parent / "cgroup.subtree_control").write_text("+memory +cpu", encoding="utf-8")

    for name, path in ARMS.items():
        top = CGROUPS / f"{name}.shop"
        grown(top)
        (top / "memory.max").write_text(str(MOST), encoding="utf-8")
        (top / "memory.low").write_text("max", encoding="utf-8")
        for below in list(pathlib.Path(path).parents)[-3::-1]:
            grown(CGROUPS / below)
        grown(CGROUPS / path)
        grown(top / "batch")


def make_unit():
    pathlib.Path("/run/ledger.py").write_text(DATABASE_CODE, encoding="utf-8")
    pathlib.Path(f"/etc/systemd/system/{UNIT}").write_text(
        f"[Service]\nExecStart=/usr/bin/python3 /run/ledger.py /var/tmp/ledger {DATABASE} {READ_EVERY_S}\nMemoryLow={UNIT_LOW}\n", encoding="utf-8")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", UNIT)


def passes(kind):
    def of(name):
        try:
            return int(pathlib.Path(f"/var/tmp/{kind}-{name}.passes").read_text(encoding="utf-8") or 0)
        except FileNotFoundError:
            return 0

    return {name: of(name) for name in ARMS}


def until_passes(kind, count, look=lambda: None):
    """Waits until each process of the kind has read its file `times` more times."""
    begun, end = passes(kind), time.monotonic() + PASSES_S
    while time.monotonic() < end and any(now < begun[name] + count for name, now in passes(kind).items()):
        look()
        time.sleep(0.5)


def unit_low():
    return int(run("systemctl", "show", UNIT, "-p", "MemoryLow", "--value").strip())


def observe():
    make_cgroups()
    make_unit()
    databases = [started(path, DATABASE_CODE, f"/var/tmp/db-{name}", DATABASE, READ_EVERY_S) for name, path in ARMS.items()]
    config = pathlib.Path("/run/actuator.yaml")
    levels = {"guarded": "protect", "open": "suggest", "barred": "protect"}
    workloads = ", ".join(f"{{cgroup: /{path}, level: {levels[name]}}}" for name, path in ARMS.items())
    config.write_text(f"{{state_dir: /run/wattle-state, socket: /run/wattle.socket, workloads: [{workloads}, "
                      f"{{unit: {UNIT}, level: protect}}]}}\n", encoding="utf-8")
    time.sleep(5)
    program = str(PAYLOAD / "wattle-actuator")
    seen = {"kernel": os.uname().release, "before": readings(), "unit_before": unit_low(), "rise": [], "runs": []}
    seen["doctor"] = subprocess.run([program, "doctor", "--config", config], capture_output=True, text=True, check=False).stdout
    actuator = subprocess.Popen([program, "run", "--config", config], stdout=open("/run/actuator.log", "wb"), stderr=subprocess.STDOUT)
    report_progress("the protection rises")
    end = time.monotonic() + RISE_S
    while time.monotonic() < end:
        seen["rise"].append(readings())
        if int(seen["rise"][-1]["guarded"]["memory.low"]) >= DATABASE and unit_low() >= DATABASE:
            break
        time.sleep(5)
    seen["status"] = run(program, "status", "--config", str(config))
    seen["unit_protected"] = unit_low()
    for number in range(RUNS):
        report_progress(f"pressure {number}")
        before, during = readings(), []
        for name in ARMS:
            pathlib.Path(f"/var/tmp/batch-{name}.passes").write_text("0", encoding="utf-8")
        jobs = [started(f"{name}.shop/batch", BATCH_CODE, f"/var/tmp/batch-{name}", BATCH) for name in ARMS]
        until_passes("batch", PASSES, lambda held=during: held.append({name: int(reading(path)["memory.current"]) for name, path in ARMS.items()}))
        seen["runs"].append({"before": before, "current": during, "after": readings(), "passes": passes("batch")})
        for job in jobs:
            job.kill()
            job.wait()
        until_passes("db", 2)
    report_progress("killed")
    actuator.send_signal(signal.SIGKILL)
    actuator.wait(60)
    seen["left"] = {name: reading(path)["memory.low"] for name, path in ARMS.items()}
    seen["restore"] = run(program, "restore", "--config", str(config))
    seen["after"], seen["unit_after"] = readings(), unit_low()
    seen["log"] = pathlib.Path("/run/actuator.log").read_text(encoding="utf-8", errors="replace")[-5000:]
    for database in databases:
        database.kill()
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
