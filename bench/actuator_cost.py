#!/usr/bin/env python3
"""actuator_cost: what wattle-actuator costs at a number of workloads: its share of one core, what the reads of its loop
cost alone at the same time (actuator_floor), and what it wrote.

Each workload is a process in a cgroup of its own that works and rests by turns; all at level `limits`.
Usage    actuator_cost.py FOLDER-OF-BINARIES [WORKLOADS] [SECONDS]     default 100 and 30; as root, on a machine with a CPU quota
Needs    actuator_floor in the same folder, which a build with -DWATTLE_BENCH=ON has
Gives    one JSON line: workloads, seconds, shares of a core (user and system) of both, writes, resident MiB
Exit     0 measured, 77 skipped: no cgroup with a CPU quota can be made
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/integration/actuator"))
sys.dont_write_bytecode = True
from kernel_test import Cgroup  # noqa: E402

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


def main():
    binary = os.path.join(sys.argv[1], "wattle-actuator")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    span_s = float(sys.argv[3]) if len(sys.argv) > 3 else 30
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
        actuator = subprocess.Popen([binary, "run", "--config", folder / "config"], stdout=log, stderr=log)
        time.sleep(15)  # the first limits are set
        before, begun = used_s(actuator.pid), time.monotonic()
        reads = floor(sys.argv[1], groups, span_s)
        reads_alone = float(reads.communicate()[0])
        used, elapsed = used_s(actuator.pid) - before, time.monotonic() - begun
        resident = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{actuator.pid}/status").read_text(encoding="utf-8")).group(1))
        actuator.send_signal(signal.SIGTERM)
        actuator.wait(30)
        writes = re.search(r'"writes":(\d+)', (folder / "log").read_text(encoding="utf-8"))
        print(json.dumps({"workloads": count, "seconds": round(elapsed, 1), "share_of_a_core": round(used / elapsed, 5),
                          "reads_alone": reads_alone,
                          "writes": int(writes.group(1)) if writes else None, "resident_mib": round(resident / 1024, 1)}))
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
