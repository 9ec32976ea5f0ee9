#!/usr/bin/env python3
"""load: measures a controller under the load of thousands of agents, and the cost of the link alone in the same run.

Usage    load.py BIN_DIR [--agents N] [--services S] [--seconds S] [--warm-up S] [--only PHASE]... [--outage S]
                 [--partition S] [--server-cpu C] [--load-cpu C] [--dir DIR] [--max-bytes B] [--torch] [--json FILE]
Does     `wattle-sim swarm` simulates N agents at 1 Hz with CURVE, in as many processes as the limit of open files
         requires, all on one core; the server runs on another core; both share a separate network namespace. Phases:
         floor      wire_floor in place of the controller: the same messages over bare libzmq, answered and dropped
         steady     wattle-controller with its store on DIR
         storm      SIGKILL ends the controller, which restarts after --outage seconds
         partition  every packet between the two is dropped for --partition seconds (0 skips the phase)
Gives    records and values per second; the server's CPU per record and by thread; values per second and core, scaled to
         a whole core; delays from sample to acknowledgement (50th and 99th percentile, maximum); RSS per agent, less
         that without agents. storm: time from the start of the new process until it has welcomed every agent.
         partition: time from the heal until no agent holds a record older than 5 s; time from the heal until each
         agent's link is back; and the lag until then, which is the age of the data that the controller shows for a
         node: worst and median over all nodes, sampled every 10 s from 10 s after the links are back
Needs    root, unshare, taskset, ip, nft; BIN_DIR with wattle, wattle-controller, wattle-sim, wire_floor. Run it on a
         quiet machine; it prints the machine's load
Exit     0 measured, 1 failed
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

FDS_PER_AGENT = 4
FDS_BESIDE = 200
TELEMETRY, FEED, ASK, HTTP, SWARM_HTTP = 7460, 7461, 7462, 8050, 8060
LAG_S = 5
LOOK_EVERY_S = 10
PHASES = ("floor", "steady", "storm", "partition")


class Failed(Exception):
    """The measurement failed; the message has the reason."""


def values_of(services):
    """Returns the number of values in a record of the swarm: 5 per service, 16 for the node with its energy and its
    probe."""
    return 5 * services + 16


def fetch(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        return answer.read().decode()


def wait_until(what, condition, seconds):
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = condition()
            if last:
                return last
        except OSError as error:
            last = error
        time.sleep(0.05)
    raise Failed(f"not within {seconds} s: {what} (last: {last})")


def cpu_by_thread(pid):
    """Maps each thread id to the thread's name and CPU seconds."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            found[task.name] = ((task / "comm").read_text().strip(), int((task / "schedstat").read_text().split()[0]) / 1e9)
        except OSError:
            pass  # the thread has just ended
    return found


def rss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise Failed(f"no VmRSS of {pid}")


class Bench:
    def __init__(self, options):
        self.options = options
        self.bin = pathlib.Path(options.bin_dir).resolve()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wattle-load-", dir=options.dir))
        self.running = {}
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        per_part = (limit - FDS_BESIDE) // FDS_PER_AGENT
        self.parts = max(1, -(-options.agents // per_part))
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def call(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}: {done.stderr.strip()}")

    def start(self, name, cpu, *command):
        with open(self.dir / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(["taskset", "-c", str(cpu), *map(str, command)], stdout=log, stderr=log,
                                                  stdin=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1",
                                                                                 "OPENBLAS_NUM_THREADS": "1"})
        return self.running[name].pid

    def end(self, name, how=signal.SIGTERM):
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait()

    def prepare(self):
        self.call(self.bin / "wattle", "keys", "new", self.dir / "controller.key")
        self.call(self.bin / "wattle-sim", "swarm", "--nodes", self.options.agents, "--keys", self.dir / "keys", "--make-keys",
                  self.dir / "allow")
        (self.dir / "controller.yaml").write_text(f"""
mode: shadow
policy: {"dqn" if self.options.torch else "model-greedy"}
data_dir: {self.dir}/data
key: {self.dir}/controller.key
allow_list: {self.dir}/allow
telemetry: {{endpoint: "tcp://127.0.0.1:{TELEMETRY}"}}
feed: {{endpoint: "tcp://127.0.0.1:{FEED}"}}
ask: {{endpoint: "tcp://127.0.0.1:{ASK}"}}
http: {{port: {HTTP}}}
store: {{path: {self.dir}/store.db, max_bytes: {self.options.max_bytes}}}
log: {{level: warn}}
""", encoding="utf-8")

    def start_controller(self):
        pid = self.start("server", self.options.server_cpu, self.bin / "wattle-controller", "--config", self.dir / "controller.yaml")
        self.ready("server", lambda: fetch(HTTP, "/livez"))
        return pid

    def start_floor(self):
        pid = self.start("server", self.options.server_cpu, self.bin / "wire_floor", f"tcp://127.0.0.1:{TELEMETRY}", self.dir / "controller.key")
        self.ready("server", lambda: "listens" in (self.dir / "server.log").read_text(encoding="utf-8"))
        return pid

    def ready(self, name, condition):
        def alive():
            if self.running[name].poll() is not None:
                raise Failed(f"{name} has exited: " + (self.dir / f"{name}.log").read_text(encoding="utf-8")[-1000:])
            return condition()
        wait_until(f"{name} is ready", alive, 60)

    def start_swarm(self):
        outbox = max(600, int(self.options.partition) + 300)
        for part in range(1, self.parts + 1):
            self.start(f"swarm{part}", self.options.load_cpu, self.bin / "wattle-sim", "swarm", "--nodes", self.options.agents, "--part",
                       f"{part}/{self.parts}", "--services", self.options.services, "--outbox", outbox, "--keys", self.dir / "keys",
                       "--server-key", self.dir / "controller.key.pub", "--endpoint", f"tcp://127.0.0.1:{TELEMETRY}", "--listen",
                       f"127.0.0.1:{SWARM_HTTP + part}", "--log-level", "error")
        for part in range(1, self.parts + 1):
            self.ready(f"swarm{part}", lambda port=SWARM_HTTP + part: fetch(port, "/livez"))

    def end_all(self):
        for name in list(self.running):
            self.end(name)

    def swarm(self, window=10):
        """Combines the status of all swarm processes: sums, the worst delays, the oldest record."""
        every = [json.loads(fetch(SWARM_HTTP + part, f"/status?window={window}")) for part in range(1, self.parts + 1)]
        both = {key: sum(one[key] for one in every) for key in ("welcomed", "samples", "records_waiting", "records_dropped", "reconnects", "acked")}
        both |= {key: max(one[key] for one in every) for key in ("oldest_waiting_s", "ack_p50_s", "ack_p99_s", "ack_max_s")}
        return both | {"problem": next((one["problem"] for one in every if one["problem"]), "")}

    def all_welcome(self, seconds=180):
        try:
            wait_until("every agent is connected", lambda: self.swarm()["welcomed"] == self.options.agents, seconds)
        except Failed as why:
            raise Failed(f"{why}: {self.swarm()}") from why

    def measure(self, pid, empty_kib):
        time.sleep(self.options.warm_up)
        before, cpu_before, begun = self.swarm(), cpu_by_thread(pid), time.monotonic()
        time.sleep(self.options.seconds)
        window = min(60, self.options.seconds)
        after, cpu_after, took = self.swarm(window), cpu_by_thread(pid), time.monotonic() - begun
        acked = (after["samples"] - after["records_waiting"]) - (before["samples"] - before["records_waiting"])
        threads = {}
        for task, (name, used) in cpu_after.items():
            threads[name] = threads.get(name, 0) + used - cpu_before.get(task, ("", 0))[1]
        cpu_s = sum(threads.values())
        return {
            "records_per_s": acked / took,
            "values_per_s": acked * values_of(self.options.services) / took,
            "server_cores": cpu_s / took,
            "cpu_us_per_record": cpu_s / acked * 1e6,
            "values_per_s_and_core": acked * values_of(self.options.services) / cpu_s,
            "cpu_us_per_record_by_thread": {name: round(used / acked * 1e6, 1) for name, used in sorted(threads.items()) if used > 0.001},
            "ack_p50_ms": after["ack_p50_s"] * 1e3, "ack_p99_ms": after["ack_p99_s"] * 1e3, "ack_max_ms": after["ack_max_s"] * 1e3,
            "rss_mib": rss_kib(pid) / 1024, "rss_without_agents_mib": empty_kib / 1024,
            "kib_per_agent": (rss_kib(pid) - empty_kib) / self.options.agents,
            "records_waiting": after["records_waiting"], "reconnects": after["reconnects"] - before["reconnects"],
        }

    def phase_with_agents(self, start):
        pid = start()
        empty_kib = rss_kib(pid)
        begun = time.monotonic()
        self.start_swarm()
        self.all_welcome()
        joined_s = time.monotonic() - begun
        return {"join_s": joined_s} | self.measure(pid, empty_kib)

    def floor(self):
        found = self.phase_with_agents(self.start_floor)
        self.end_all()
        return found

    def steady(self):
        return self.phase_with_agents(self.start_controller)

    def storm(self):
        before = self.swarm()
        self.end("server", signal.SIGKILL)
        time.sleep(self.options.outage)
        begun = time.monotonic()
        pid = self.start_controller()
        ready_s = time.monotonic() - begun
        self.all_welcome()
        welcome_s = time.monotonic() - begun
        cpu_s = sum(used for _, used in cpu_by_thread(pid).values())
        wait_until("the remaining records are drained", lambda: self.swarm()["oldest_waiting_s"] < LAG_S, 600)
        after = self.swarm()
        return {"outage_s": self.options.outage, "ready_s": ready_s, "all_welcome_s": welcome_s, "server_cpu_s_until_then": cpu_s,
                "caught_up_s": time.monotonic() - begun, "reconnects_per_agent": (after["reconnects"] - before["reconnects"]) / self.options.agents,
                "dropped": after["records_dropped"]}

    def partition(self):
        self.call("nft", "add", "table", "inet", "fault")
        self.call("nft", "add", "chain", "inet", "fault", "input", "{ type filter hook input priority 0; }")
        for side in ("dport", "sport"):
            self.call("nft", "add", "rule", "inet", "fault", "input", "tcp", side, str(TELEMETRY), "drop")
        time.sleep(self.options.partition)
        held = self.swarm()
        self.call("nft", "delete", "table", "inet", "fault")
        begun, cpu_before = time.monotonic(), sum(used for _, used in cpu_by_thread(self.running["server"].pid).values())
        self.all_welcome()
        welcome_s = time.monotonic() - begun
        most_kib = rss_kib(self.running["server"].pid)
        lags, look_at = [], time.monotonic() + LOOK_EVERY_S
        while True:
            now = self.swarm()
            most_kib = max(most_kib, rss_kib(self.running["server"].pid))
            if time.monotonic() >= look_at:
                lags.append(self.ages())
                look_at = time.monotonic() + LOOK_EVERY_S
            if now["oldest_waiting_s"] < LAG_S:
                break
            if time.monotonic() - begun > 900:
                raise Failed(f"not drained within 15 minutes: {now}")
            time.sleep(0.5)
        drained_s = time.monotonic() - begun
        cpu_s = sum(used for _, used in cpu_by_thread(self.running["server"].pid).values()) - cpu_before
        moved = held["records_waiting"] + now["samples"] - held["samples"] - now["records_waiting"]
        return {"partition_s": self.options.partition, "records_held": held["records_waiting"], "all_welcome_s": welcome_s, "drained_s": drained_s,
                "records_per_s": moved / drained_s, "cpu_us_per_record": cpu_s / moved * 1e6, "rss_most_mib": most_kib / 1024,
                "dropped": now["records_dropped"], "lag_worst_s": max((ages[-1] for ages in lags), default=0.0),
                "lag_median_s": max((ages[len(ages) // 2] for ages in lags), default=0.0), "looks": len(lags)}

    @staticmethod
    def ages():
        """Returns the age in seconds of the data that the controller shows for each node, ascending."""
        return sorted(node["age_ms"] / 1e3 for node in json.loads(fetch(HTTP, "/api/v1/nodes"))["nodes"])


def shown(value):
    return f"{value:,.1f}" if isinstance(value, float) else str(value)


def run(options):
    found = {"agents": options.agents, "values_per_record": values_of(options.services), "machine_load": os.getloadavg()[0]}
    with Bench(options) as bench:
        bench.prepare()
        found["swarm_processes"] = bench.parts
        for phase in PHASES:
            if phase not in options.only or (phase == "partition" and options.partition <= 0):
                continue
            found[phase] = getattr(bench, phase)()
            print(f"{phase}: " + "  ".join(f"{key} {shown(value)}" for key, value in found[phase].items()), flush=True)
        bench.end_all()
    if "floor" in found and "steady" in found:
        found["cpu_over_floor_ratio"] = found["steady"]["cpu_us_per_record"] / found["floor"]["cpu_us_per_record"]
        print(f"CPU per record over the floor's: {found['cpu_over_floor_ratio']:.2f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Measures a controller under the load of thousands of agents.")
    parser.add_argument("bin_dir")
    parser.add_argument("--agents", type=int, default=5000)
    parser.add_argument("--services", type=int, default=17, help="of each agent; 17 make 101 values a record")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=30)
    parser.add_argument("--only", action="append", choices=PHASES)
    parser.add_argument("--outage", type=float, default=2)
    parser.add_argument("--partition", type=float, default=0, help="seconds; an agent's outbox takes about 1.5 KB of memory for each")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--dir", default="/var/tmp", help="where keys and store are; a real disk")
    parser.add_argument("--max-bytes", type=int, default=256 << 20, help="store.max_bytes")
    parser.add_argument("--torch", action="store_true", help="policy dqn: the trainer runs too")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.only = options.only or PHASES
    if os.environ.get("WATTLE_LOAD_APART") != "1":
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, "WATTLE_LOAD_APART": "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    try:
        run(options)
    except Failed as why:
        print(f"load: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
