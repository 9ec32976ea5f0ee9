#!/usr/bin/env python3
"""provision_real: compares wattle-actuator with contestants of `wattle-lab provision` at setting real CPU limits.

An HTTP service (log-normal work) and PostgreSQL run in a cgroup each, both on one core. Load generators, the contestant
and the meter run on the other cores. Load is open-loop: wattle-load with a trace, pgbench --rate. Contestants take
turns; each run starts from scratch, settles, and is then judged. `wattle` is the actuator with its defaults; the agent
reports latency to it, measured in the kernel (provisioning.connections). Other contestants get no latency, like their
originals, and run once per named setting.
Usage    provision_real.py BINARY-FOLDER [--contestants wattle,captain:0.1,captain:0.3,none] [--rounds 3] [--settle 120]
                           [--judge 180] [--trace FILE] [--scale 0.15] [--work-ms 4] [--transactions 120]
                           [--target-ms 100] [--out FILE]      as root
Needs    provision_node in the same folder (a build with -DWATTLE_BENCH=ON), postgresql, taskset; two cores
Gives    a JSON line per run and service: granted and used cores, p50 and p99 in ms, failed requests, load of the
         machine; then medians per contestant, and the ratio of wattle's granted cores to those of the cheapest captain
         that meets the target
Time     settle plus judge plus half a minute per contestant and round: 330 s by default, 66 minutes in total
Exit     0 measured, 77 skipped, with the reason
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests/integration/actuator"), str(HERE.parent / "tests/e2e")]
sys.dont_write_bytecode = True
from house import free_ports  # noqa: E402
from cgroups import Cgroup  # noqa: E402

POSTGRES = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
PREFIX = ["runuser", "-u", "postgres", "--"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--contestants", default="wattle,captain:0.1,captain:0.3,none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--settle", type=int, default=120)
    parser.add_argument("--judge", type=int, default=180)
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=0.15)
    parser.add_argument("--work-ms", type=float, default=4)
    parser.add_argument("--transactions", type=float, default=120, help="a second, of pgbench's own script")
    parser.add_argument("--target-ms", type=float, default=100)
    parser.add_argument("--service-core", default="1")
    parser.add_argument("--other-cores", default="0")
    parser.add_argument("--wrap", default="", help="prefix of each run, which is then one process, to take turns on a shared machine")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


class Database:
    """A PostgreSQL cluster in its own folder, without fsync, because the test measures its CPU and not the disk."""

    def __init__(self, folder):
        self.data, self.log = folder / "pg", folder / "pg.log"
        (self.port,) = free_ports(1)
        shutil.chown(folder, "postgres")
        self.run("initdb", "-D", self.data, "-A", "trust", "--no-sync")
        self.run("pg_ctl", "-D", self.data, "-l", self.log, "-w", "-o",
                 f"-p {self.port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c autovacuum=off -c max_wal_size=4GB -c checkpoint_timeout=1h", "start")
        self.bench("-i", "-q", "-s", "10")
        self.pid = int((self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])

    def run(self, name, *words):
        subprocess.run([*PREFIX, POSTGRES / name, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def bench(self, *words):
        self.run("pgbench", "-h", "127.0.0.1", "-p", self.port, *words, "postgres")

    def stop(self):
        subprocess.run([*PREFIX, POSTGRES / "pg_ctl", "-D", self.data, "-m", "immediate", "stop"], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def pgbench_latencies(folder, begun_s):
    """Latencies in ms from each transaction's due time, for transactions due after `begun_s`."""
    out = []
    for file in folder.glob("tx.*"):
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) < 6 or not words[2].isdigit():
                continue  # an incomplete last line, or a skipped or failed transaction
            if float(words[4]) + float(words[5]) / 1e6 >= begun_s:
                out.append(int(words[2]) / 1e3)
    return sorted(out)


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


class Run:
    """A run of a contestant with both services."""

    def __init__(self, options, contestant, number):
        self.options, self.contestant, self.number = options, contestant, number
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wattle-provision-"))
        self.folder.chmod(0o755)
        self.node = options.binaries / "provision_node"
        self.children = []
        self.groups = {}

    def start(self, *command, cores=None, group=None, user=(), **more):
        def place():
            if group:
                group.take(os.getpid())
            os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
        child = subprocess.Popen([*user, *map(str, command)], preexec_fn=place, **more)
        self.children.append(child)
        return child

    def others(self, *command, **more):
        return self.start(*command, cores=self.options.other_cores, **more)

    def begin_services(self):
        for name in ("http", "postgres"):
            self.groups[name] = Cgroup(f"wattle-provision-{os.getpid()}-{name}.service")
        (self.port,) = free_ports(1)
        self.start(self.node, "serve", self.port, self.options.work_ms, cores=self.options.service_core, group=self.groups["http"])
        base = pathlib.Path(tempfile.mkdtemp(prefix="pg-", dir=self.folder))
        self.database = Database(base)
        # Move PostgreSQL while it has few children; later children start in the same cgroup.
        self.database.stop()
        self.postgres = self.start(POSTGRES / "postgres", "-D", self.database.data, "-p", self.database.port, "-k", base, "-c", "listen_addresses=127.0.0.1",
                                   "-c", "fsync=off", "-c", "autovacuum=off", "-c", "max_wal_size=4GB", "-c", "checkpoint_timeout=1h",
                                   cores=self.options.service_core, group=self.groups["postgres"], user=PREFIX, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if subprocess.run([POSTGRES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.database.port)], check=False).returncode == 0:
                return
            time.sleep(0.2)
        raise OSError("PostgreSQL does not answer")

    def begin_contestant(self):
        kind, _, setting = self.contestant.partition(":")
        names = [f"/{group.folders[0].name}" for group in self.groups.values()]
        log = open(self.folder / "contestant.log", "wb")
        if kind == "wattle":
            socket = self.folder / "socket"
            services = [group.folders[0].name for group in self.groups.values()]
            (self.folder / "actuator.yaml").write_text(f"{{state_dir: {self.folder}/state, socket: {socket}, workloads: []}}\n", encoding="utf-8")
            connections = ", ".join(f"{{workload: {name}, target: {self.options.target_ms}ms}}" for name in services)
            (self.folder / "agent.yaml").write_text(
                f"{{state_dir: {self.folder}/agent, spool: {{max_bytes: 0}}, http: {{port: 0}}, "
                f"provisioning: {{socket: {socket}, limits: [{', '.join(services)}], connections: [{connections}]}}}}\n", encoding="utf-8")
            self.others(self.options.binaries / "wattle-actuator", "run", "--config", self.folder / "actuator.yaml", stdout=log, stderr=log)
            while not socket.exists():
                time.sleep(0.1)
            self.others(self.options.binaries / "wattle-agent", "run", "--config", self.folder / "agent.yaml", stdout=log, stderr=log)
            time.sleep(3)  # until the agent sees new connections
        elif kind != "none":
            self.others(self.node, "set", kind, setting, len(self.options.service_core.split(",")), *names, stdout=log, stderr=log)
        return names

    def measure(self):
        options, whole_s = self.options, self.options.settle + self.options.judge
        self.begin_services()
        names = self.begin_contestant()
        users = ["--trace", options.trace, "--scale", options.scale] if options.trace else ["--rate", options.scale * 250]
        base = [options.binaries / "wattle-load", "http", f"http://127.0.0.1:{self.port}/", "-o", "json", "--timeout", "30s", "--seed"]
        self.others(POSTGRES / "pgbench", "-n", "-h", "127.0.0.1", "-p", self.database.port, "-U", "postgres", "-c", "16", "-j", "2", "--rate", options.transactions,
                    "-T", whole_s, "-l", "--log-prefix", self.folder / "tx", "postgres", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        settle = self.others(*base, 1, *self.cut(users, 0, options.settle), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        settle.wait()
        begun_s, load_before = time.time(), os.getloadavg()[0]
        meter = self.others(self.node, "meter", options.judge, *names, stdout=subprocess.PIPE, text=True)
        http = self.others(*base, 2 + self.number, *self.cut(users, options.settle, options.judge), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        metered = [json.loads(line) for line in meter.communicate()[0].splitlines()]
        reported = json.loads(http.communicate()[0])
        time.sleep(1)
        pg = pgbench_latencies(self.folder, begun_s)
        seen = {"http": (reported["latency_ms"]["p50"], reported["latency_ms"]["p99"], reported["answered"], sum(reported["failed"].values())),
                "postgres": (quantile(pg, 0.5), quantile(pg, 0.99), len(pg), 0)}
        for service, figures in zip(self.groups, metered):
            p50_ms, p99_ms, answered, failed = seen[service]
            yield {"round": self.number, "contestant": self.contestant, "service": service, "granted_cores": figures["granted_cores"],
                   "limit_cores": figures["limit_cores"], "used_cores": figures["used_cores"], "throttled_ratio": figures["throttled_ratio"],
                   "writes_per_minute": figures["writes_per_minute"], "p50_ms": p50_ms, "p99_ms": p99_ms, "answered": answered, "failed": failed,
                   "load_before": round(load_before, 2), "load_after": round(os.getloadavg()[0], 2)}

    def cut(self, users, first_s, span_s):
        """Cuts the same seconds of the trace for every contestant."""
        if users[0] != "--trace":
            return [*users, "--for", f"{span_s}s"]
        lines = self.options.trace.read_text(encoding="utf-8").split()
        file = self.folder / f"trace-{first_s}"
        file.write_text("\n".join(lines[(first_s + i) % len(lines)] for i in range(span_s)) + "\n", encoding="utf-8")
        return ["--trace", file, *users[2:]]

    def end(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(20)
                except subprocess.TimeoutExpired:
                    child.kill()
        if hasattr(self, "database"):
            self.database.stop()
        for group in self.groups.values():
            for pid in group.path("cgroup.procs").read_text(encoding="utf-8").split():
                os.kill(int(pid), signal.SIGKILL)
            group.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def medians(rows, options):
    print(f"\nmedians of {options.rounds} rounds; target {options.target_ms:.0f} ms")
    print(f"{'service':10} {'contestant':14} {'granted':>8} {'limit':>8} {'used':>8} {'p50 ms':>8} {'p99 ms':>8} {'writes/min':>10}   p99 of each run")
    for service in ("http", "postgres"):
        for contestant in options.contestants.split(","):
            mine = [row for row in rows if (row["service"], row["contestant"]) == (service, contestant)]
            if not mine:
                continue
            middle = {key: statistics.median(row[key] for row in mine) for key in ("granted_cores", "limit_cores", "used_cores", "p50_ms", "p99_ms", "writes_per_minute")}
            print(f"{service:10} {contestant:14} {middle['granted_cores']:8.3f} {middle['limit_cores']:8.3f} {middle['used_cores']:8.3f} {middle['p50_ms']:8.1f} "
                  f"{middle['p99_ms']:8.1f} {middle['writes_per_minute']:10.1f}   {', '.join(format(row['p99_ms'], '.0f') for row in mine)}")


def verdict(rows, options):
    """Prints the ratio of wattle's granted cores to the least of any captain whose p99 meets the target; medians of
    rounds."""
    print(f"\nwanted: p99 within {options.target_ms:.0f} ms, granted at most 0.70 of the captain's")
    for service in ("http", "postgres"):
        found = {}
        for contestant in options.contestants.split(","):
            mine = [row for row in rows if (row["service"], row["contestant"]) == (service, contestant)]
            if mine and all(row["p99_ms"] is not None for row in mine):
                found[contestant] = [statistics.median(row[key] for row in mine) for key in ("granted_cores", "p99_ms")]
        captains = [(granted, name) for name, (granted, p99_ms) in found.items()
                    if name.startswith("captain") and p99_ms <= options.target_ms]
        if "wattle" not in found or not captains:
            print(f"{service:10} no captain meets the target here, or wattle has no figures")
            continue
        granted, p99_ms = found["wattle"]
        least, name = min(captains)
        print(f"{service:10} wattle p99 {p99_ms:.1f} ms, granted {granted:.3f}: {granted / least:.2f} of {name}'s {least:.3f}")


def one(options):
    contestant, _, number = options.one.rpartition("@")
    run = Run(options, contestant, int(number))
    try:
        for row in run.measure():
            print(json.dumps(row), flush=True)
    finally:
        run.end()


def main():
    options = arguments()
    if options.one:
        one(options)
        return 0
    if os.geteuid() != 0 or POSTGRES is None or not (options.binaries / "provision_node").exists():
        print("[skipped] needs root, postgresql and provision_node")
        return 77
    rows = []
    for number in range(options.rounds):
        for contestant in options.contestants.split(","):
            done = subprocess.run([*options.wrap.split(), sys.executable, __file__, *sys.argv[1:], "--one", f"{contestant}@{number}"], stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                print(f"{contestant}, round {number}: failed", file=sys.stderr)
                continue
            for line in done.stdout.splitlines():
                rows.append(json.loads(line))
                print(line, flush=True)
                if options.out:
                    with options.out.open("a", encoding="utf-8") as out:
                        out.write(line + "\n")
    medians(rows, options)
    verdict(rows, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
