#!/usr/bin/env python3
"""actuator_cost: measures the cost of wattle-actuator for a number of workloads: its share of one core, the share of
the file reads alone (actuator_floor, at the same time), the bytes written, and the time to restore the original limits.

Each workload is a process in its own cgroup that alternates between work and rest; all are at level `limits`. Shares
are CPU time as the scheduler counts it, in consecutive windows. Concurrent work raises the cost (caches, a sibling
thread), so the output has the median and each window.
Usage    actuator_cost.py BINARY-FOLDER [WORKLOADS] [SECONDS] [WINDOWS]     default: 100, 30 and 1; as root, on a
         machine with CPU quota
Needs    actuator_floor in the same folder (built with -DWATTLE_BENCH=ON)
Gives    one JSON line: workloads, seconds, shares of a core (user and system) of both, as medians and per window;
         writes, resident MiB; seconds until all limits are restored after SIGTERM, and by `restore` after SIGKILL
Exit     0 measured; 77 skipped, because no cgroup with a CPU quota can be created
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/integration/actuator"))
sys.dont_write_bytecode = True
from cgroups import Cgroup  # noqa: E402

# Each uses a hundredth of a core, so that a hundred of them fit on a small machine.
WORK = "import time, sys\ntime.sleep(float(sys.argv[1]))\nwhile True:\n  end = time.monotonic() + 0.005\n  while time.monotonic() < end: pass\n  time.sleep(0.495)\n"


def used_s(pid):
    """CPU seconds of all threads from schedstat, because /proc/PID/stat resolves only hundredths of a second."""
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def floor(binaries, groups, span_s):
    """Starts actuator_floor on the same cgroups. In v1, the usage is in a separate file."""
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
        time.sleep(15)  # until the first limits are set
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
