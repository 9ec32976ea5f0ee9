"""guest: runs inside the machine. Installs the agent from its Debian packages, creates load, and records the values of
the agent, the kernel and systemd. machine_test.py judges them.

Source   /run/payload: wattle*.deb, next/ with a later version of them, units/ with the actuator's, guest.py, units.py
Gives    one JSON value on the third disk, then powers the machine off
Errors   an exception ends the run; it is in the value as `error`
"""
import ctypes
import errno
import fcntl
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback

import units

PAYLOAD = pathlib.Path("/run/payload")
OUT = pathlib.Path("/run/machine")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
UNIT = pathlib.Path("/lib/systemd/system/wattle-agent.service")
NEIGHBOURS = pathlib.Path("/etc/systemd/system")
CONFIG = "/etc/wattle/agent.yaml"
PORT = 9460
SAMPLES = 14  # minimum; then until a short-lived service has ended
WATCH_S = 150
RESULT_DISK = "/dev/nvme0n3"

LOADS = {
    # Three processes that share less than half a CPU, so that they are throttled and wait for each other
    "load-cpu": (["CPUQuota=40%"], "exec stress-ng --cpu 3 --cpu-method int64 --timeout 0"),
    "load-memory": (["CPUQuota=20%"], "exec stress-ng --vm 1 --vm-bytes 64M --vm-keep --vm-hang 0 --timeout 0"),
    # Debian's default accounts CPU, memory and tasks, but I/O only on request
    "load-io": (["CPUQuota=30%", "IOAccounting=yes"], "exec stress-ng --hdd 1 --hdd-bytes 8M --hdd-opts direct,wr-seq --temp-path /var/tmp --timeout 0"),
    "load-tasks": ([], "for i in $(seq 1 40); do sleep 1000 & done; wait"),
    "load-tcp": (["CPUQuota=10%"], "exec stress-ng --sock 1 --sock-type stream --timeout 0"),
    # Reads more than its memory limit: causes reclaim, memory pressure and `high` in memory.events
    "load-reclaim": (["CPUQuota=10%", "MemoryHigh=8M", "IOAccounting=yes"], "while :; do cat /usr/lib/x86_64-linux-gnu/*.so* >/dev/null; done"),
    "load-oom": (["CPUQuota=20%", "MemoryMax=8M", "OOMPolicy=continue"], "while :; do tail /dev/zero; sleep 0.5; done"),
    "load-file": ([], "head -c 20M /dev/zero >/var/tmp/kept; exec sleep 100000"),
    "load-rtt": ([], f"exec /usr/bin/python3 {PAYLOAD}/guest.py peers"),
}
CGROUP_FILES = ("cpu.stat", "memory.current", "memory.stat", "memory.events", "io.stat", "pids.current", "cpu.pressure", "memory.pressure",
                "io.pressure")
PEER = "198.51.100.1"  # an address for documentation, so in no cluster's network and not in 127.0.0.0/8
ANSWER_S = 0.005  # an acknowledgement waits for the answer, which determines the round trip time
SHOWN = "ControlGroup,CPUUsageNSec,MemoryCurrent,TasksCurrent,InvocationID,ActiveState,Result"


def report_progress(text):
    print(f"guest: {time.monotonic():.1f} {text}", flush=True)


def run(*command, timeout=300, check=True):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def show(unit, properties=SHOWN):
    lines = run("systemctl", "show", unit, "-p", properties).stdout.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def wait_until(what, condition, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.3)
    raise RuntimeError(f"not within {seconds} s: {what}")


def text_of(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        return f"!{errno.errorcode.get(error.errno, error.errno)}"


def install():
    """Returns the state after installing the packages."""
    run("dpkg", "-i", *map(str, sorted(PAYLOAD.glob("*.deb"))))
    alone = {"unit": show("wattle-agent", "UnitFileState,ActiveState,ConditionResult,NRestarts"),
             "ping": run("sysctl", "-n", "net.ipv4.ping_group_range").stdout.split()}
    run("install", "-m", "0640", "-g", "wattle", str(PAYLOAD / "agent.yaml"), CONFIG)
    run("install", "-m", "0600", str(PAYLOAD / "agent.key"), "/etc/wattle/agent.key")
    run("install", "-m", "0644", str(PAYLOAD / "controller.key.pub"), "/etc/wattle/controller.pub")
    run("systemd-tmpfiles", "--create", "wattle.conf")
    # Runs other commands in the unit's sandbox, to check what the kernel permits rather than the unit's text.
    text = UNIT.read_text(encoding="utf-8")
    for name, command in (
        ("doctor", f"/usr/bin/wattle-agent doctor --config {CONFIG} -o json"),
        ("sample", f"/usr/bin/wattle-agent sample --config {CONFIG} --count 100000"),
        ("confined", f"/usr/bin/python3 {PAYLOAD}/guest.py confined"),
    ):
        lines = [line for line in text.splitlines() if not line.startswith(("ExecStart", "Restart", "StateDirectory", "Type=", "NotifyAccess", "WatchdogSec"))]
        at = lines.index("[Service]") + 1
        lines[at:at] = [f"ExecStart={command}", f"StandardOutput=file:{OUT}/{name}", f"StandardError=file:{OUT}/{name}.errors"]
        (NEIGHBOURS / f"wattle-{name}.service").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "wattle-agent")
    return alone


def replace_and_remove():
    """Upgrades the packages while the agent runs, removes and purges them."""
    run("systemctl", "start", "wattle-agent")
    before = show("wattle-agent", "MainPID,ActiveState")
    run("dpkg", "-i", *map(str, sorted((PAYLOAD / "next").glob("*.deb"))))
    life = {"before": before, "upgraded": show("wattle-agent", "MainPID,ActiveState"),
            "version": run("dpkg-query", "-W", "-f", "${Version}", "wattle-agent").stdout}
    wait_until("the upgraded agent serves /metrics", lambda: ticks(scrape()) >= 1)
    run("dpkg", "-r", "wattle-agent", "wattle")
    life["removed"] = show("wattle-agent", "ActiveState,LoadState,Result")
    life["running"] = run("pgrep", "-x", "wattle-agent", check=False).stdout
    life["kept"] = [name for name in (CONFIG, "/etc/wattle/agent.key", "/var/lib/wattle") if os.path.exists(name)]
    run("dpkg", "-P", "wattle-agent", "wattle")
    life["left"] = run("sh", "-c", "find /etc /usr /lib/systemd /var/lib -name '*wattle*' -not -path '/etc/systemd/system/wattle-*.service'; getent passwd | grep wattle; "
                       "getent group | grep wattle; true").stdout
    return life


def scrape():
    done = run("curl", "-sf", "--max-time", "20", f"http://127.0.0.1:{PORT}/metrics", check=False)
    return done.stdout if done.returncode == 0 else ""


def ticks(page):
    return next((int(line.split()[1]) for line in page.splitlines() if line.startswith("wattle_agent_ticks_total ")), 0)


def add_address():
    """Adds an alias to the loopback interface; Linux routes it within the machine."""
    name, family = b"lo:1", struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(PEER))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8916, struct.pack("16s16s8x", name, family))  # SIOCSIFADDR


def peers():
    """Runs as a load: two ends that send requests and answers. Records the kernel's smoothed round trip time of both,
    in microseconds."""
    listener = socket.create_server((PEER, 0))

    asker = socket.create_connection(listener.getsockname())
    answerer = listener.accept()[0]

    def answer():
        while answerer.recv(1):
            time.sleep(ANSWER_S)
            answerer.sendall(b"a")

    def rtt_us(end):
        return struct.unpack_from("I", end.getsockopt(socket.IPPROTO_TCP, 11, 104), 68)[0]  # TCP_INFO: tcpi_rtt

    threading.Thread(target=answer, daemon=True).start()
    with open(OUT / "peers", "w", encoding="utf-8") as notes:
        while True:
            asker.sendall(b"q")
            asker.recv(1)
            print(time.monotonic_ns(), rtt_us(asker), rtt_us(answerer), file=notes, flush=True)
            time.sleep(0.02)


def schedstat(path):
    """Returns the run queue wait of its long-lived tasks from /proc, in microseconds."""
    total = 0
    for pid in text_of(f"{CGROUPS}{path}/cgroup.procs").split():
        waited = text_of(f"/proc/{pid}/schedstat").split()
        total += int(waited[1]) if len(waited) == 3 else 0
    return total // 1000


def start_loads():
    add_address()
    for name, (properties, command) in LOADS.items():
        run("systemd-run", f"--unit={name}", *(f"--property={p}" for p in properties), "/bin/sh", "-c", command)
    return {name: show(f"{name}.service")["ControlGroup"] for name in LOADS}


def read_all(paths):
    """Reads every file of every load and of the node, between two readings of the clock in the agent's records."""
    reading = {"begin_ns": time.monotonic_ns(), "loads": {}}
    for name, path in paths.items():
        reading["loads"][name] = {file: text_of(f"{CGROUPS}{path}/{file}") for file in CGROUP_FILES}
        if name == "load-cpu":
            reading["loads"][name]["schedstat"] = f"run_delay_us {schedstat(path)}\n"
    reading["node"] = {resource: text_of(f"/proc/pressure/{resource}") for resource in ("cpu", "memory", "io")}
    reading["node"]["meminfo"] = text_of("/proc/meminfo")
    reading["diskstats"] = text_of("/proc/diskstats")
    reading["root_cpu.stat"] = text_of(CGROUPS / "cpu.stat")
    reading["end_ns"] = time.monotonic_ns()
    return reading


def watch(paths, until):
    readings = []
    end = time.monotonic() + WATCH_S
    while not until() and time.monotonic() < end:
        readings.append(read_all(paths))
        time.sleep(0.5)
    readings.append(read_all(paths))
    return readings


def finished(unit):
    return show(unit)["ActiveState"] in ("inactive", "failed")


def count_samples():
    return text_of(OUT / "sample").count("\n")


def confined():
    """Runs inside the unit's sandbox and tries operations. Prints errno names, "" for a success."""
    libc = ctypes.CDLL(None, use_errno=True)

    def attempt(action):
        try:
            action()
            return ""
        except OSError as error:
            return errno.errorcode.get(error.errno, str(error.errno))

    def read(path):
        with open(path, "rb") as file:
            # systemd replaces a hidden file by an empty one, so a successful open does not show that the file is
            # visible
            if not file.read(1):
                raise OSError(errno.ENODATA, "")

    def call(*arguments):
        if libc.syscall(*arguments) < 0:
            raise OSError(ctypes.get_errno(), "")

    page = ctypes.create_string_buffer(8)
    answers = {
        "status": text_of("/proc/self/status"),
        "read /etc/shadow": attempt(lambda: read("/etc/shadow")),
        "read a hidden folder": attempt(lambda: read("/root/secret")),
        "read another user's 0600 file": attempt(lambda: read("/run/machine/secret")),
        "write /usr": attempt(lambda: open("/usr/bin/wattle-agent", "ab").close()),
        "write /etc": attempt(lambda: open("/etc/wattle/new", "wb").close()),
        "make a cgroup": attempt(lambda: os.mkdir("/sys/fs/cgroup/new")),
        "write a sysctl": attempt(lambda: open("/proc/sys/kernel/hostname", "wb").close()),
        "open the disk": attempt(lambda: open("/dev/nvme0n1", "rb").close()),
        "new user namespace": attempt(lambda: call(272, 0x10000000)),
        "mount": attempt(lambda: call(165, b"x", b"/tmp", b"tmpfs", 0, None)),
        "load a module": attempt(lambda: call(313, -1, page, 0)),
        "packet socket": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()),
        "reboot": attempt(lambda: call(169, 0, 0, 0, None)),
        "set the clock": attempt(lambda: time.clock_settime(time.CLOCK_REALTIME, time.time())),
        "become root": attempt(lambda: os.setuid(0)),
    }
    array = struct.pack("IIIII", 2, 4, 8, 1, 0) + bytes(100)  # BPF_MAP_TYPE_ARRAY of one value of 8 bytes
    clock = struct.pack("IIQ", 1, 128, 0) + bytes(112)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK
    answers["needed"] = {
        "make a BPF map": attempt(lambda: call(321, 0, array, len(array))),
        "count a perf event of a whole CPU": attempt(lambda: call(298, clock, -1, 0, -1, 0)),
        "ping": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).close()),
        "open the root cgroup": attempt(lambda: os.close(os.open("/sys/fs/cgroup", os.O_RDONLY | os.O_DIRECTORY))),
        "read the kernel's types": attempt(lambda: read("/sys/kernel/btf/vmlinux")),
        "resolve a name": attempt(lambda: socket.getaddrinfo("localhost", 80)),
        "start a thread": attempt(lambda: threading.Thread(target=lambda: None).start()),
    }
    print(json.dumps(answers))


def observe():
    OUT.mkdir(parents=True, exist_ok=True)
    OUT.chmod(0o755)
    for secret in (OUT / "secret", pathlib.Path("/root/secret")):
        secret.write_text("x", encoding="utf-8")
        secret.chmod(0o600)
    seen = {"kernel": os.uname().release, "controllers": text_of(CGROUPS / "cgroup.controllers"),
            "systemd": run("systemctl", "--version").stdout.splitlines()[0], "pid1": text_of("/proc/1/comm").strip(),
            "cgroup_mount": [line for line in text_of("/proc/mounts").splitlines() if "cgroup" in line]}
    report_progress("installing")
    seen["installed"] = install()
    wait_until("the agent serves /metrics", lambda: ticks(scrape()) >= 1)
    pid = show("wattle-agent", "MainPID")["MainPID"]
    seen["status"] = text_of(f"/proc/{pid}/status")
    seen["threads"] = {task.name: text_of(task / "status") for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}
    # Debian's kernels have a level 3, for which CAP_PERFMON is not enough
    seen["perf_event_paranoid"] = run("sysctl", "-n", "kernel.perf_event_paranoid").stdout.strip()
    run("sysctl", "-q", "kernel.perf_event_paranoid=2")
    run("systemctl", "start", "wattle-confined", "wattle-doctor")
    report_progress("loads")
    paths = start_loads()
    seen["paths"] = paths
    seen["inodes"] = {name: (CGROUPS / path.lstrip("/")).stat().st_ino for name, path in paths.items()}
    time.sleep(3)
    report_progress("sampling")
    run("systemctl", "start", "wattle-sample")
    short = {}

    def short_load():
        wait_until("records before the service starts", lambda: count_samples() >= 3)
        done = run("systemd-run", "--wait", "--unit=load-short", "--property=CPUQuota=50%",
                   "stress-ng", "--cpu", "1", "--cpu-method", "int64", "--timeout", "3", check=False)
        short["said"] = done.stdout + done.stderr
        short["samples"] = count_samples()

    def sampled_enough():
        return finished("wattle-sample") or ("samples" in short and count_samples() >= max(SAMPLES, short["samples"] + 3))

    thread = threading.Thread(target=short_load)
    thread.start()
    seen["readings"] = watch(paths, sampled_enough)
    thread.join()
    run("systemctl", "stop", "wattle-sample")
    seen["readings"].append(read_all(paths))
    seen["short"] = short.get("said", "")
    report_progress("metrics")
    seen["metrics"] = {"before": read_all(paths), "shown_before": {name: show(f"{name}.service") for name in LOADS}}
    began = ticks(scrape())
    wait_until("two more ticks", lambda: ticks(scrape()) >= began + 2)
    seen["metrics"]["page"] = scrape()
    seen["metrics"]["after"] = read_all(paths)
    seen["metrics"]["shown_after"] = {name: show(f"{name}.service") for name in LOADS}
    wait_until("doctor is done", lambda: finished("wattle-doctor") and finished("wattle-confined"))
    seen["peers"] = text_of(OUT / "peers")
    for name in ("sample", "doctor", "confined"):
        seen[name] = text_of(OUT / name)
        seen[f"{name}_errors"] = text_of(OUT / f"{name}.errors")
        seen[f"{name}_result"] = show(f"wattle-{name}.service", "Result,ExecMainStatus")
    # The following steps run alone, because emulation on a busy machine is slow
    run("systemctl", "stop", *(f"{name}.service" for name in LOADS))
    report_progress("hardening")
    seen["security"] = run("systemd-analyze", "security", "--no-pager", "wattle-agent.service", check=False).stdout
    seen["agent"] = show("wattle-agent", "ActiveState,NRestarts,MemoryCurrent,CPUUsageNSec,TasksCurrent,User")
    seen["journal"] = run("journalctl", "-b", "--no-pager", "-o", "cat", "-u", "wattle-agent").stdout[-20000:]
    began = time.monotonic()
    run("systemctl", "stop", "wattle-agent")
    seen["stopped"] = {"seconds": time.monotonic() - began, **show("wattle-agent", "Result,ExecMainStatus")}
    report_progress("units")
    seen["units"] = units.observe(PAYLOAD, run, show, wait_until)
    report_progress("packages")
    seen["packages"] = replace_and_remove()
    return seen


def main():
    try:
        seen = observe()
    except Exception:  # pylint: disable=broad-except; reported to the host, which fails
        seen = {"error": traceback.format_exc(),
                "journal": subprocess.run(["journalctl", "-b", "--no-pager", "-o", "short-monotonic", "-u", "wattle*", "-u", "load*"],
                                          capture_output=True, text=True, check=False).stdout[-20000:]}
    report_progress("done")
    with open(RESULT_DISK, "r+b") as disk:
        disk.write((json.dumps(seen) + "\n").encode())
        disk.flush()
        os.fsync(disk.fileno())
    subprocess.run(["systemctl", "poweroff", "--force", "--force"], check=False)


if __name__ == "__main__":
    {"confined": confined, "peers": peers}.get("".join(sys.argv[1:]), main)()
