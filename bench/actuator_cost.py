#!/usr/bin/env python3
"""actuator_cost: what wattle-actuator costs at a number of workloads: its share of one core, what the reads of its loop
cost alone at the same time (actuator_floor), what it wrote, and how long putting back takes.

Each workload is a process in a cgroup of its own that works and rests by turns; all at level `limits`. Shares are of CPU time, as the scheduler
counts it, in windows one after the other; work beside it makes it dearer (caches, a sibling thread), so the median is told and the spread.
Usage    actuator_cost.py FOLDER-OF-BINARIES [WORKLOADS] [SECONDS] [WINDOWS]     default 100, 30 and 1; as root, on a machine with a CPU quota
Needs    actuator_floor in the same folder, which a build with -DWATTLE_BENCH=ON has
Gives    one JSON line: workloads, seconds, shares of a core (user and system) of both, medians, and each window's; writes, resident MiB; seconds
         until all limits are back after SIGTERM, and by `restore` after SIGKILL
Exit     0 measured, 77 skipped: no cgroup with a CPU quota can be made
"""
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/integration/actuator"))
sys.dont_write_bytecode = True
from cgroups import Cgroup  # noqa: E402

# A hundredth of a core each, so that a hundred of them leave room on a small machine.
WORK = "import time, sys\ntime.sleep(float(sys.argv[1]))\nwhile True:\n  end = time.monotonic() + 0.005\n  while time.monotonic() < end: pass\n  time.sleep(0.495)\n"


def used_s(pid):
    """Of all threads, as the scheduler counts: /proc/PID/stat has hundredths of a second."""
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def floor(binaries, groups, span_s):
    """The reads alone, of the same cgroups; v1 has the usage in a file of its own."""
    def files(name):
        return [found[0] for found in ([folder / name for folder in group.folders if (folder / name).exists()] for group in groups) if found]
    command = [os.path.join(binaries, "actuator_floor"), str(span_s), *files("cpu.stat"), "--", *files("cpuacct.usage")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def timed(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def main():
    binary = os.path.join(sys.argv[1], "wattle-actuator")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    span_s = float(sys.argv[3]) if len(sys.argv) > 3 else 30
    windows = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wattle-actuator-"))
    groups, workers, actuator = [], [], None
    try:
        for i in range(count):
            groups.append(Cgroup(f"wattle-actuator-cost-{os.getpid()}-{i}"))
            workers.append(subprocess.Popen([sys.executable, "-S", "-c", WORK, str(i * 0.5 / count)]))
            groups[-1].take(workers[-1].pid)
        workloads = ", ".join(f"{{cgroup: /{group.folders[0].name}, level: limits}}" for group in groups)
        (folder / "config").write_text(f'{{state_dir: {folder}/state, socket: "", workloads: [{workloads}]}}\n', encoding="utf-8")
        log = open(folder / "log", "wb")
        there = [group.state() for group in groups]
        command = [binary, "run", "--config", folder / "config"]
        actuator = subprocess.Popen(command, stdout=log, stderr=log)
        time.sleep(15)  # the first limits are set
        shares, floors, elapsed = [], [], 0
        for _ in range(windows):
            before, begun = used_s(actuator.pid), time.monotonic()
            floors.append(float(floor(sys.argv[1], groups, span_s).communicate()[0]))
            window_s = time.monotonic() - begun
            shares.append((used_s(actuator.pid) - before) / window_s)
            elapsed += window_s
        resident = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{actuator.pid}/status").read_text(encoding="utf-8")).group(1))
        changed = sum(group.state() != was for group, was in zip(groups, there))
        stopped_s = timed(lambda: (actuator.send_signal(signal.SIGTERM), actuator.wait(30)))
        left = sum(group.state() != was for group, was in zip(groups, there))
        writes = re.search(r'"writes":(\d+)', (folder / "log").read_text(encoding="utf-8"))
        actuator = subprocess.Popen(command, stdout=log, stderr=log)
        time.sleep(15)
        actuator.kill()
        actuator.wait()
        restored_s = timed(lambda: subprocess.run([binary, "restore", "--config", folder / "config"], check=True, stdout=subprocess.DEVNULL))
        left += sum(group.state() != was for group, was in zip(groups, there))
        print(json.dumps({"workloads": count, "seconds": round(elapsed, 1), "share_of_a_core": round(statistics.median(shares), 5),
                          "reads_alone": round(statistics.median(floors), 5), "shares": [round(share, 5) for share in shares], "reads": floors,
                          "writes": int(writes.group(1)) if writes else None, "resident_mib": round(resident / 1024, 1), "limited": changed,
                          "stopped_s": round(stopped_s, 3), "restored_s": round(restored_s, 3), "left_behind": left}))
    except OSError as error:
        print(f"skipped: {error}")
        return 77
    finally:
        if actuator and actuator.poll() is None:
            actuator.kill()
            actuator.wait()
        for worker in workers:
            worker.kill()
            worker.wait()
        for group in groups:
            group.remove()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
