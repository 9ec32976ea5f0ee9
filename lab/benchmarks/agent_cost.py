#!/usr/bin/env python3
"""agent_cost: measures the cost of wattle-agent on a node, and that of other agents in the same run.

Usage    agent_cost.py BIN_DIR [--cgroups N] [--v1] [--seconds S] [--windows W] [--peer cadvisor|kepler|NAME=COMMAND @ URL]...
         [--json FILE]
Does     creates N service cgroups under the v2 root (--v1: N pods in each hierarchy of v1), K of them with a task that
         wakes five times a second; runs the agent at 1 Hz with all its collectors, its spool and, if wattle-controller
         is built, a CURVE session; runs prometheus-node-exporter, if it is installed, and each --peer
         (lab/benchmarks/peers.py builds the peers that it knows;
         all read the same cgroups, every second if they can be configured to); scrapes each every 15 s; measures W
         windows of S seconds after a warm-up
Gives    medians over the windows: CPU per process (all threads, /proc/PID/task/*/schedstat) as percent of one core, RSS
         and its peak, bytes written per day by the kernel's accounts and by the spool's own metric; the agent's CPU by
         thread. Then, with the kernel's BPF statistics on, nanoseconds per run of each of the agent's BPF programs, as
         it is and with 10,000 context switches per second (these include reading the statistics' clock)
Needs    root; leaves nothing behind. Run it on a quiet machine. Other load slows all processes alike, so compare ratios
Exit     0 measured, 1 failed
"""
import argparse
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import peers  # noqa: E402  pylint: disable=wrong-import-position
import house as houses  # noqa: E402  pylint: disable=wrong-import-position; the end-to-end tests' starter of real processes

SLICE = "wattlebench.slice"
SCRAPE_S = 15
BPF_S = 10
SWITCHES_PER_S = 10_000


def cgroup_roots(v1):
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    if v1:
        found = [m[1] for m in mounts if m[2] == "cgroup" and {"cpuacct", "cpu", "memory", "pids", "blkio"} & set(m[3].split(","))]
    else:
        found = [m[1] for m in mounts if m[2] == "cgroup2"][:1]
    if not found:
        raise SystemExit(f"agent_cost: no cgroup {'v1' if v1 else 'v2'} is mounted")
    return [pathlib.Path(one) for one in found]


@contextlib.contextmanager
def cgroups(count, active, v1):
    """Creates `count` service cgroups in one slice of v2, or pods in each hierarchy of v1; the first `active` have a task that wakes."""
    parent, name = ("kubepods", "pod5eed0000-1111-4222-8333-{:012}") if v1 else (SLICE, "bench-{:05}.service")
    tops = [root / parent for root in cgroup_roots(v1)]
    made, tasks = [], []
    try:
        for top in tops:
            top.mkdir()
            made.append(top)
        for path in (top / name.format(i) for i in range(count) for top in tops):
            path.mkdir()
            made.append(path)
        for i in range(min(active, count)):
            task = subprocess.Popen([sys.executable, "-Sc", "import time\nwhile True: time.sleep(0.2)"])
            tasks.append(task)
            for top in tops:
                (top / name.format(i) / "cgroup.procs").write_text(str(task.pid), encoding="utf-8")
        yield count
    finally:
        for task in tasks:
            task.kill()
            task.wait()
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir()


class Process:
    """Reads the resource usage of a measured process from the kernel's accounts."""

    def __init__(self, name, pid, url):
        self.name, self.pid, self.url = name, pid, url
        self.windows, self.page, self.scrapes = [], b"", []

    def thread_ns(self):
        """Returns CPU nanoseconds by thread ID and name."""
        out = {}
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                out[f"{task.name} {(task / 'comm').read_text().strip()}"] = int((task / "schedstat").read_text().split()[0])
        return out

    def alive(self):
        return self.fields("status")["State"] != "Z"

    def cpu_ns(self):
        return sum(self.thread_ns().values())

    def metric(self, name):
        """Returns the value of a metric from a new scrape."""
        self.scrape()
        return next((float(line.split()[1]) for line in self.page.decode().splitlines() if line.startswith(name + " ")), None)

    def fields(self, file):
        text = pathlib.Path(f"/proc/{self.pid}/{file}").read_text()
        return {key: value.split()[0] for key, value in (line.split(":", 1) for line in text.splitlines() if ":" in line) if value.split()}

    def written(self):
        return int(self.fields("io")["write_bytes"])

    def scrape(self):
        if not self.url:
            return
        began = time.monotonic()
        try:
            with urllib.request.urlopen(self.url, timeout=SCRAPE_S) as answer:
                self.page = answer.read()
        except OSError as why:
            print(f"{self.name} did not answer a scrape within {SCRAPE_S} s: {why}", flush=True)
        self.scrapes.append(time.monotonic() - began)

    def result(self):
        status = self.fields("status")
        cpu, written = zip(*self.windows)
        return {"name": self.name, "cpu_percent_of_core": statistics.median(cpu), "cpu_percent_least": min(cpu), "cpu_percent_most": max(cpu),
                "rss_mb": int(status["VmRSS"]) / 1000, "peak_rss_mb": int(status["VmHWM"]) / 1000,
                "written_mb_per_day": statistics.median(written), "page_kb": len(self.page) / 1000,
                "scrape_ms": 1e3 * statistics.median(self.scrapes) if self.scrapes else None}


def measure(processes, windows, seconds):
    next_scrape = time.monotonic()
    for _ in range(windows):
        began, before = time.monotonic(), [(p.cpu_ns(), p.written()) for p in processes]
        while time.monotonic() < began + seconds:
            if time.monotonic() >= next_scrape:
                for process in processes:
                    process.scrape()
                next_scrape += SCRAPE_S
            time.sleep(0.2)
        span = time.monotonic() - began
        for process, (cpu, written) in zip(processes, before):
            process.windows.append(((process.cpu_ns() - cpu) / span / 1e7, (process.written() - written) / span * 86400 / 1e6))


def bpf_programs(pid):
    """Returns the agent's programs by ID, as in bpftool. The agent holds links; a link's fdinfo names its program."""
    ids = set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            ids.update(int(line.split()[1]) for line in info.read_text().splitlines() if line.startswith("prog_id:"))
    done = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=False)
    return {p["id"]: p for p in (json.loads(done.stdout) if done.returncode == 0 and done.stdout else []) if p["id"] in ids}


# Two processes pass a byte back and forth on one CPU; each pass causes a context switch.
SWITCHES = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
(a, b), (c, d) = os.pipe(), os.pipe()
if os.fork() == 0:
    os.close(b)
    while os.read(a, 1): os.write(d, b"x")
    os._exit(0)
due = time.monotonic()
while True:
    for _ in range(%d):
        os.write(b, b"x"); os.read(c, 1)
    due += 0.01
    time.sleep(max(0, due - time.monotonic()))
"""


@contextlib.contextmanager
def switches():
    """Adds SWITCHES_PER_S context switches to those of the machine."""
    process = subprocess.Popen([sys.executable, "-Sc", SWITCHES % (SWITCHES_PER_S / 200)])
    try:
        time.sleep(1)
        yield
    finally:
        process.kill()
        process.wait()


def measure_bpf(pid):
    """Returns the cost at rest and with added switches, or an error. Enables BPF statistics, which have a cost, only
    meanwhile."""
    switch = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    if not shutil.which("bpftool"):
        return {"why_not": "bpftool is not installed (Debian package bpftool)"}
    if not bpf_programs(pid):
        return {"why_not": "the agent holds no link to a BPF program; wattle-agent doctor reports why"}

    def window():
        before = bpf_programs(pid)
        began = time.monotonic()
        time.sleep(BPF_S)
        after, span = bpf_programs(pid), time.monotonic() - began
        out = []
        for key, now in after.items():
            runs = now.get("run_cnt", 0) - before.get(key, {}).get("run_cnt", 0)
            spent = now.get("run_time_ns", 0) - before.get(key, {}).get("run_time_ns", 0)
            out.append({"program": now.get("name", "?"), "runs_per_s": runs / span, "ns_per_run": spent / runs if runs else None,
                        "percent_of_machine": spent / span / 1e7 / os.cpu_count()})
        return out

    kept = switch.read_text()
    try:
        switch.write_text("1")
        rest = window()
        with switches():
            among = window()
    finally:
        switch.write_text(kept)
    # Cost of a context switch: only that of the program that runs at each switch.
    sched = next((p["ns_per_run"] for p in among if p["program"] == "on_switch"), None)
    return {"at_rest": rest, "among_switches": among,
            "percent_of_machine_at_10000_switches_per_s": sched * 10_000 / 1e7 / os.cpu_count() if sched else None}


def print_bpf(bpf):
    if "why_not" in bpf:
        print(f"bpf: not measured: {bpf['why_not']}")
        return
    for title, programs in (("at rest", bpf["at_rest"]), (f"and {SWITCHES_PER_S:,} switches/s", bpf["among_switches"])):
        for p in programs:
            cost = f"{p['ns_per_run']:8.0f}" if p["ns_per_run"] is not None else "       -"
            print(f"bpf {p['program']:16} {title:24} {p['runs_per_s']:10.1f} runs/s {cost} ns each {p['percent_of_machine']:8.4f} % of the machine")
    if bpf["percent_of_machine_at_10000_switches_per_s"] is not None:
        print(f"bpf on_switch at 10,000 switches/s: {bpf['percent_of_machine_at_10000_switches_per_s']:.3f} % of the machine ({os.cpu_count()} cores)")


def table(results):
    print(f"{'process':28} {'CPU % of a core':>16} {'(least - most)':>18} {'RSS MB':>8} {'peak':>8} {'MB written/day':>15} {'page kB':>9} {'scrape ms':>10}")
    for r in results:
        scrape = f"{r['scrape_ms']:10.1f}" if r["scrape_ms"] is not None else " " * 10
        spread = f"({r['cpu_percent_least']:.3f} - {r['cpu_percent_most']:.3f})"
        print(f"{r['name']:28} {r['cpu_percent_of_core']:16.3f} {spread:>18} {r['rss_mb']:8.1f} {r['peak_rss_mb']:8.1f} {r['written_mb_per_day']:15.1f}"
              f" {r['page_kb']:9.1f} {scrape}")


def per_thread(process, before, seconds):
    now = process.thread_ns()
    return {name: (spent - before.get(name, 0)) / seconds / 1e7 for name, spent in now.items()}


def peer_command(text, folder_of_v2):
    name, given, rest = text.partition("=")
    if given:
        command, _, url = rest.partition(" @ ")
        return name, shlex.split(command), url
    (port,) = houses.free_ports(1)
    return (name, *peers.command(name, port, folder_of_v2))


def start_peers(options, port, stack):
    started = []
    exporter = shutil.which("prometheus-node-exporter")
    wanted = [("node-exporter", [exporter, f"--web.listen-address=127.0.0.1:{port}"], f"http://127.0.0.1:{port}/metrics")] if exporter else []
    for text in options.peer:
        try:
            wanted.append(peer_command(text, cgroup_roots(False)[0]))
        except peers.Missing as why:
            print(f"no {text} beside: {why}", flush=True)
    for name, command, url in wanted:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.kill)
        started.append(Process(name, process.pid, url))
    return started


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--cgroups", type=int, default=500)
    parser.add_argument("--active", type=int, default=20)
    parser.add_argument("--v1", action="store_true", help="pods in the hierarchies of cgroup v1 instead of services in v2")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--warm-up", type=float, default=10)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME[=COMMAND @ URL]",
                        help=f"another program to run and scrape beside: one of {', '.join(peers.RUNS)}, or a command")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("agent_cost: needs root to create cgroups")
    controlled = (options.binaries / "wattle-controller").exists() and (options.binaries / "wattle").exists()
    with contextlib.ExitStack() as stack:
        count = stack.enter_context(cgroups(options.cgroups, options.active, options.v1))
        (port,) = houses.free_ports(1)
        if controlled:
            home = stack.enter_context(houses.House(options.binaries, agent_extra="", controller_extra=""))
            config = (home.dir / "agent.yaml").read_text().replace("tick: 500ms", "tick: 1s")
            (home.dir / "agent.yaml").write_text(config)
            home.start_controller()
            home.start_agent()
            agent_pid, agent_port = home.processes["agent"].pid, home.agent_http
        else:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wattle-cost-")))
            (agent_port,) = houses.free_ports(1)
            (folder / "agent.yaml").write_text(f"state_dir: {folder}\ncontroller: {{endpoint: \"\"}}\nhttp: {{port: {agent_port}}}\n")
            process = subprocess.Popen([options.binaries / "wattle-agent", "run", "--config", folder / "agent.yaml"],
                                       stdout=subprocess.DEVNULL, stderr=open(folder / "log", "wb"))
            stack.callback(process.wait)
            stack.callback(process.kill)
            agent_pid = process.pid
        agent = Process("wattle-agent", agent_pid, f"http://127.0.0.1:{agent_port}/metrics")
        processes = [agent, *start_peers(options, port, stack)]
        time.sleep(options.warm_up)
        for gone in [p for p in processes if not p.alive()]:
            print(f"no {gone.name} beside: it exited", flush=True)
            processes.remove(gone)
        spool = "wattle_agent_spool_written_bytes_total"
        began, written, threads = time.monotonic(), agent.metric(spool), agent.thread_ns()
        measure(processes, options.windows, options.seconds)
        span = time.monotonic() - began
        threads = per_thread(agent, threads, span)
        spooled = agent.metric(spool)
        out = {"cgroups": count, "active": options.active, "seconds": options.seconds, "windows": options.windows, "scrape_s": SCRAPE_S,
               "controller": controlled, "load_average": os.getloadavg()[0], "cores": os.cpu_count(), "kernel": os.uname().release,
               "processes": [p.result() for p in processes], "threads": threads, "bpf": measure_bpf(agent_pid),
               "spool_mb_per_day": (spooled - written) / span * 86400 / 1e6 if None not in (spooled, written) else None}
    print(f"{count} cgroups of {'v1' if options.v1 else 'v2'} ({options.active} with a task), 1 Hz, scrape every {SCRAPE_S} s, {options.windows} windows of {options.seconds:g} s, "
          f"{'CURVE session' if controlled else 'no controller built: no session'}, load average {out['load_average']:.1f} on {out['cores']} cores")
    table(out["processes"])
    if out["spool_mb_per_day"] is not None:
        print(f"the spool writes {out['spool_mb_per_day']:.1f} MB a day")
    for name, percent in out["threads"].items():
        print(f"thread {name:24} {percent:8.3f} % of a core")
    print_bpf(out["bpf"])
    if options.json:
        options.json.write_text(json.dumps(out, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
