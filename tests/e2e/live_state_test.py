#!/usr/bin/env python3
"""live_state_test: `wattle nodes` shows this machine's values as the kernel reports them: independent readings before
and after bracket each value, while stress-ng loads a cgroup that is named like a kubelet's. `wattle pods` shows the
pod's CPU and joules.

Needs    root and stress-ng for the load; skips (77) with the reason otherwise
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

from house import SKIPPED, House, binaries_from, wait_until
from patience import pace


def cgroup2_mount():
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        if right.split()[0] == "cgroup2":
            return pathlib.Path(left.split()[4])
    return None


def cpu_ticks():
    """Returns (busy, all) ticks of all processors; user time already includes guest time."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def memory_used():
    table = {k: int(v.split()[0]) * 1024 for k, v in (l.split(":") for l in pathlib.Path("/proc/meminfo").read_text().splitlines())}
    return table["MemTotal"] - table["MemAvailable"], table["MemTotal"]


@contextlib.contextmanager
def loaded_pod(mount, uid):
    slice_ = mount / "kubepods.slice" / "kubepods-burstable.slice" / f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
    scope = slice_ / f"cri-containerd-{uuid.uuid4().hex * 2}.scope"
    had = (mount / "kubepods.slice").exists()
    scope.mkdir(parents=True)
    load = subprocess.Popen(["stress-ng", "--cpu", "1", "--cpu-load", "60", "--timeout", "120s", "--quiet"],
                            preexec_fn=lambda: (scope / "cgroup.procs").write_text(str(os.getpid())) and None)
    try:
        yield slice_
    finally:
        load.terminate()
        load.wait()
        wait_until("the pod's cgroup is empty", lambda: not (scope / "cgroup.procs").read_text().split())
        folders = [scope, slice_] + ([] if had else [slice_.parent, slice_.parent.parent])
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def check(claim, truth):
    print(("ok   " if truth else "FAIL ") + claim)
    return 0 if truth else 1


def main():
    mount = cgroup2_mount()
    if os.geteuid() != 0 or mount is None or subprocess.call(["which", "stress-ng"], stdout=subprocess.DEVNULL) != 0:
        print("skipped: needs root, a cgroup2 mount and stress-ng")
        return SKIPPED
    failures = 0
    uid = str(uuid.uuid4())
    with House(binaries_from(sys.argv)) as house, loaded_pod(mount, uid) as pod:
        house.start_controller()
        house.start_agent()
        wait_until("the agent is connected", house.connected)

        def window():
            """Returns the kernel's counters over a window that contains whole ticks of the agent, and Wattle's last
            values in it."""
            wall = time.monotonic()
            busy, _ = cpu_ticks()
            pod_us = int((pod / "cpu.stat").read_text().split()[1])
            seen = []
            end = wall + 6
            while time.monotonic() < end:
                mine = next((p for p in house.query("pods")["pods"] if p["uid"] == uid), {})
                seen.append((house.query("node", house.node)["node"], memory_used(), mine.get("cpu_cores")))
                pace(0.25)
            seconds = time.monotonic() - wall
            busy_cores = (cpu_ticks()[0] - busy) / os.sysconf("SC_CLK_TCK") / seconds
            pod_cores = (int((pod / "cpu.stat").read_text().split()[1]) - pod_us) / 1e6 / seconds
            return seen, busy_cores, pod_cores

        window()  # the first intervals may contain the start of the load
        seen, busy_cores, pod_cores = window()
        reported = [n["cpu_used_cores"] for n, _, _ in seen]
        mean = sum(reported) / len(reported)
        failures += check(f"CPU: reported {mean:.2f} mean cores, /proc/stat has {busy_cores:.2f}", abs(mean - busy_cores) < 0.25 * max(busy_cores, 0.4))
        node, (used, total), _ = seen[-1]
        failures += check(f"memory: total {node['memory_total_bytes']} is MemTotal", node["memory_total_bytes"] == total)
        lowest, highest = min(m[0] for _, m, _ in seen), max(m[0] for _, m, _ in seen)
        slack = 64 << 20
        failures += check(f"memory: used {node['memory_used_bytes'] >> 20} MiB lies in the range of meminfo",
                          lowest - slack <= node["memory_used_bytes"] <= highest + slack)
        failures += check(f"cores: {node['cpu_cores']} online", node["cpu_cores"] == os.sysconf("SC_NPROCESSORS_ONLN"))
        has_psi = pathlib.Path("/proc/pressure/cpu").exists()
        psi = [n["psi"]["cpu_some_ratio"] for n, _, _ in seen]
        failures += check(f"pressure: cpu some {psi[-1]} is reported iff the kernel has it", all((p is not None) == has_psi for p in psi))
        failures += check("pressure: every ratio lies in 0..1", all(0 <= p <= 1 for p in psi if p is not None))
        failures += check(f"energy: {node['power_w']} W from '{node['energy_source']}'",
                          node["power_w"] is not None and node["power_w"] > 0 and node["energy_source"] in ("rapl", "estimated"))
        rapl = any(pathlib.Path("/sys/class/powercap").glob("*/energy_uj")) if pathlib.Path("/sys/class/powercap").exists() else False
        failures += check("energy: the source is rapl iff powercap exists", (node["energy_source"] == "rapl") == rapl)
        failures += check("latency: the probe of the default target answers",
                          any(p["target"] == "default" and p["p50_ms"] is not None for p in node["latency"]))

        pods = {p["uid"]: p for p in house.query("pods")["pods"]}
        mine = pods.get(uid, {})
        failures += check(f"pod: seen under its uid on {mine.get('node')}", mine.get("node") == house.node)
        # Compares means over the same seconds, because single ticks vary on a busy machine.
        cores = [each for _, _, each in seen if each is not None]
        mean = sum(cores) / len(cores) if cores else -1
        failures += check(f"pod: reported {mean:.2f} mean cores, its cpu.stat has {pod_cores:.2f}", abs(mean - pod_cores) < 0.3)
        failures += check(f"pod: its cgroup id is the inode of its folder", mine.get("cgroup_id") == pod.stat().st_ino)
        failures += check(f"pod: has joules ({mine.get('energy_j')})", (mine.get("energy_j") or 0) > 0)

        table = house.cli("nodes").stdout
        failures += check("the table names this machine and the source of its watts", house.node in table and ("est" in table or "rapl" in table))
        print(table)
        failures += check("the controller exits cleanly on SIGTERM", house.kill("controller", signal.SIGTERM) == 0)
        failures += check("the agent exits cleanly on SIGTERM", house.kill("agent", signal.SIGTERM) == 0)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
