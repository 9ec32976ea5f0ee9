#!/usr/bin/env python3
"""machine_test: the agent on a stock Debian 12 kernel and systemd with pure cgroup v2 under QEMU. Installs, upgrades,
removes and purges the agent's Debian packages, and runs stress-ng in services. Compares the agent's values with cgroup
files, /proc/pressure and systemd's accounts, and the unit's sandbox with what the kernel permits. units.py tests the
actuator.

Usage    machine_test.py BIN_DIR PACKAGES [--keep FOLDER]     FOLDER: receives the console log and all readings
Needs    scripts/setup --long; apt's archives once, then the cache (image.py)
Time     40 s on a quiet machine, and 90 s to build the image; limited to 1500 s
Exit     0 fine, 1 a claim failed, 77 skipped: QEMU or mmdebstrap is missing
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "packages")]
import debs  # noqa: E402
import image  # noqa: E402
import machine  # noqa: E402
import units  # noqa: E402

SECONDS = 1500  # it may share its machine
SKIPPED = 77
MAX_EXPOSURE = 2.0
CAPABILITIES = {2: "DAC_READ_SEARCH", 12: "NET_ADMIN", 38: "PERFMON", 39: "BPF"}
CONFIG = """\
# No controller listens there: the session's threads run, and the spool fills
controller: {endpoint: "tcp://127.0.0.1:7460", key: /etc/wattle/agent.key, server_key: /etc/wattle/controller.pub}
http: {port: 9460}
estimate: {idle_w: 60, max_w: 240}
"""
IDLE = {"load-tasks", "load-memory", "load-file"}  # loads that use no CPU while observed
SELDOM = 5  # io.stat and memory.stat are read in every fifth tick
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def keyed(text, key):
    """Returns one number of a flat keyed file, or None."""
    found = re.search(rf"^{re.escape(key)} (\d+)$", text, re.M)
    return int(found.group(1)) if found else None


def whole(text):
    return int(text) if text.strip().isdigit() else None


def io_sum(text, key):
    return None if text.startswith("!") else sum(int(n) for n in re.findall(rf"\b{key}=(\d+)", text))


def psi_total(text, share):
    found = re.search(rf"^{share} .*total=(\d+)$", text, re.M)
    return int(found.group(1)) if found else None


# name: (agent's cumulative value of a workload, kernel's value)
COUNTERS = {"CPU time": (lambda raw: raw.get("cpu_usage_us"), lambda f: keyed(f["cpu.stat"], "usage_usec")),
            "bytes read": (lambda raw: raw.get("io_read_bytes"), lambda f: io_sum(f["io.stat"], "rbytes")),
            "bytes written": (lambda raw: raw.get("io_write_bytes"), lambda f: io_sum(f["io.stat"], "wbytes"))}
for _resource in ("cpu", "memory", "io"):
    for _share in ("some", "full"):
        COUNTERS[f"{_resource} pressure ({_share})"] = (
            lambda raw, key=f"{_resource}_{_share}_us": raw.get("pressure", {}).get(key),
            lambda f, resource=_resource, share=_share: psi_total(f[f"{resource}.pressure"], share))

# Values that are compared directly. The fourth element is the share by which a value may lie outside of the readings
# around it, because loads fluctuate
GAUGES = {"memory": ("memory_bytes", lambda f: whole(f["memory.current"]), 0.10),
          "tasks": ("pids", lambda f: whole(f["pids.current"]), 0.0),
          "anonymous memory": ("memory_anon_bytes", lambda f: keyed(f["memory.stat"], "anon"), 0.10),
          "memory of files": ("memory_file_bytes", lambda f: keyed(f["memory.stat"], "file"), 0.10)}

# Per interval: (key, the kernel's cumulative value, tolerance as a share for accounts that are not the same clock)
DELTAS = {"CPU time": (("cpu_usage_us",), lambda f: keyed(f["cpu.stat"], "usage_usec"), 0.0),
          "throttled time": (("cpu_throttled_us",), lambda f: keyed(f["cpu.stat"], "throttled_usec"), 0.0),
          "bytes written": (("io_write_bytes",), lambda f: io_sum(f["io.stat"], "wbytes"), 0.0),
          "memory.high events": (("memory_high_events",), lambda f: keyed(f["memory.events"], "high"), 0.0),
          "OOM kills": (("memory_oom_kills",), lambda f: keyed(f["memory.events"], "oom_kill"), 0.0),
          "on-CPU time by BPF": (("kernel", "on_cpu_us"), lambda f: keyed(f["cpu.stat"], "usage_usec"), 0.10),
          "run-queue time by BPF": (("kernel", "run_queue_us"), lambda f: keyed(f["schedstat"], "run_delay_us"), 0.10),
          # The kernel may split or merge a bio into requests
          "block requests by BPF": (("kernel", "block_ios"), lambda f: io_sum(f["io.stat"], "rios") + io_sum(f["io.stat"], "wios"), 0.10)}


class Story:
    """Returns the agent's records of one workload, each between readings of its files."""

    def __init__(self, seen, records, name):
        self.name = name
        self.readings = seen["readings"]
        self.monos = [r["mono_ns"] for r in records]
        self.values = []
        for record in records:
            self.values.append(next((w for w in record["workloads"] if w["name"] == f"{name}.service"), None))

    def files(self, reading):
        return reading["loads"][self.name]

    def before(self, mono):
        return next((r for r in reversed(self.readings) if r["end_ns"] <= mono), None)

    def after(self, mono):
        return next((r for r in self.readings if r["begin_ns"] >= mono), None)

    def around(self, k, ago=0):
        """Returns the last readings that were surely taken before record k and the first after it. A record is taken
        between two records, or up to `ago` records before."""
        if k - 1 - ago < 0:
            return None
        pair = self.before(self.monos[k - 1 - ago]), self.after(self.monos[k])
        return pair if None not in pair else None


def check_counters(story):
    for what, (of_agent, of_kernel) in COUNTERS.items():
        ago = SELDOM if what.startswith("bytes") else 0
        held, reported, wrong = 0, 0, []
        for k, value in enumerate(story.values):
            pair = story.around(k, ago)
            if value is None or pair is None or "raw" not in value:
                continue
            low, high = (of_kernel(story.files(r)) for r in pair)
            if low is None or high is None:
                continue
            held += 1
            agent = of_agent(value["raw"])
            reported += agent is not None
            if agent is None or not low <= agent <= high:
                wrong.append((k, low, agent, high))
        if held:
            check(f"{story.name}: {what}: {held} values lie between the readings around them", not wrong, str(wrong[:3]))


def check_gauges(story, wanted):
    for what in wanted:
        key, of_kernel, slack = GAUGES[what]
        held, wrong = 0, []
        for k, value in enumerate(story.values):
            pair = story.around(k)
            if value is None or pair is None or key not in value:
                continue
            ends = [of_kernel(story.files(r)) for r in pair]
            held += 1
            if not min(ends) * (1 - slack) <= value[key] <= max(ends) * (1 + slack):
                wrong.append((k, ends, value[key]))
        check(f"{story.name}: {what}: {held} values agree with the readings around them", held > 0 and not wrong, str(wrong[:3]))


def check_deltas(story, wanted):
    for what in wanted:
        path, of_kernel, slack = DELTAS[what]
        deltas = []
        for value in story.values:
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            deltas.append(value)
        # Rarely read values are in the records of their readings, and cover the time since the previous reading.
        reported = [k for k in range(1, len(deltas)) if deltas[k] is not None and story.around(k)]
        if len(reported) < 2:
            check(f"{story.name}: {what} is reported", False, str(deltas))
            continue
        first, last = reported[0], reported[-1]
        total = sum(d for d in deltas[first + 1:last + 1] if d is not None)
        least = of_kernel(story.files(story.before(story.monos[last - 1]))) - of_kernel(story.files(story.after(story.monos[first])))
        most = of_kernel(story.files(story.after(story.monos[last]))) - of_kernel(story.files(story.before(story.monos[first - 1])))
        check(f"{story.name}: {what} over {last - first} intervals: {total}, by the kernel {max(least, 0)} to {most}",
              (total > 0 or story.name in IDLE) and least * (1 - slack) <= total <= most * (1 + slack))


def check_disks(seen, records):
    """Compares all block requests of the machine with /proc/diskstats, whose time starts slightly before a request is
    issued."""
    def totals(reading):
        lines = [line.split() for line in reading["diskstats"].splitlines()]
        # Counts and milliseconds of reads, writes and flushes. Discards do not occur
        return (sum(int(l[3]) + int(l[7]) + (int(l[18]) if len(l) > 18 else 0) for l in lines),
                sum(int(l[6]) + int(l[10]) + (int(l[19]) if len(l) > 19 else 0) for l in lines))

    monos = [r["mono_ns"] for r in records]
    story = Story(seen, records, "load-io")
    first, last = 2, len(records) - 2
    ios = sum(r["node"]["kernel"].get("block_ios", 0) for r in records[first + 1:last + 1])
    spent_us = sum(r["node"]["kernel"].get("block_io_us", 0) for r in records[first + 1:last + 1])
    inner, outer = (story.after(monos[first]), story.before(monos[last - 1])), (story.before(monos[first - 1]), story.after(monos[last]))
    if None in (*inner, *outer):
        check("block requests of the node: readings around the records", False)
        return
    (least, least_ms), (most, most_ms) = ([end - begin for begin, end in zip(*map(totals, pair))] for pair in (inner, outer))
    check(f"node: block requests by BPF: {ios}, by /proc/diskstats {least} to {most}", 0 < ios and least * 0.9 <= ios <= most * 1.1)
    # Compares no mean: on a busy machine the windows differ by the requests of a second, which may be the slow ones
    check(f"node: block requests took {spent_us / 1000:.0f} ms, by /proc/diskstats {least_ms} to {most_ms} ms", 0.5 * least_ms <= spent_us / 1000 <= 1.1 * most_ms)


def check_round_trips(seen, records):
    """Compares round trips of a connection whose ends are both in the service: the agent's value is near the mean of
    the kernel's values of both ends."""
    notes = [tuple(map(int, line.split())) for line in seen["peers"].splitlines() if len(line.split()) == 3]
    reported = [(r["mono_ns"], w["kernel"]) for r in records for w in r["workloads"] if w["name"] == "load-rtt.service"]
    reported = [(at, k["tcp_srtt_us"], k["tcp_srtt_samples"]) for at, k in reported if k.get("tcp_srtt_samples", 0) > 0 and "tcp_srtt_us" in k]
    if not reported:
        check("round trips to a peer outside of the cluster are reported", False, str(len(notes)))
        return
    during = [(asker + answerer) / 2 for at, asker, answerer in notes if reported[0][0] - 2e9 <= at <= reported[-1][0]]
    mean = sum(us * n for _, us, n in reported) / sum(n for _, _, n in reported)
    kernels = sum(during) / max(len(during), 1)
    check(f"load-rtt: {sum(n for _, _, n in reported)} round trips of {mean:.0f} us; by TCP_INFO of both ends {kernels:.0f} us", 0.75 * kernels <= mean <= 1.25 * kernels)
    near = [w["kernel"].get("tcp_srtt_samples") for r in records[1:] for w in r["workloads"] if w["name"] == "load-tcp.service"]
    check("load-tcp: its traffic over 127.0.0.1 is not counted as round trips", bool(near) and not any(near), str(near))


def check_metrics(seen):
    """Compares the page of the running unit with two readings of the files and of systemd's accounts."""
    metrics = seen["metrics"]
    series = {}
    for name, labels, value in re.findall(r"^(wattle_\w+)\{(.*)\} (\S+)$", metrics["page"], re.M):
        unit = re.search(r'\bname="([^"]*)"', labels)
        if unit:
            series[name, unit.group(1)] = float(value)
    for load in seen["paths"]:
        unit = f"{load}.service"
        before, after = metrics["before"]["loads"][load], metrics["after"]["loads"][load]
        cpu = series.get(("wattle_workload_cpu_seconds_total", unit), -1)
        # Allows for microseconds: the agent caps a new cgroup's usage at its parent's gain, and rounds each value
        low, high = keyed(before["cpu.stat"], "usage_usec") / 1e6 - 1e-5, keyed(after["cpu.stat"], "usage_usec") / 1e6
        check(f"/metrics: CPU time of {load} lies between cpu.stat before and after", low <= cpu <= high, f"{low} {cpu} {high}")
        low = int(metrics["shown_before"][load]["CPUUsageNSec"]) / 1e9 - 1e-5
        high = int(metrics["shown_after"][load]["CPUUsageNSec"]) / 1e9
        check(f"/metrics: CPU time of {load} lies between systemd's accounts before and after", low <= cpu <= high, f"{low} {cpu} {high}")
    tasks = series.get(("wattle_workload_pids", "load-tasks.service"))
    check("/metrics: tasks equal systemd's count", tasks == int(metrics["shown_after"]["load-tasks"]["TasksCurrent"]) == 41, str(tasks))
    memory = series.get(("wattle_workload_memory_bytes", "load-memory.service"), 0)
    shown = int(metrics["shown_after"]["load-memory"]["MemoryCurrent"])
    check("/metrics: memory equals systemd's account, and includes stress-ng's allocation", abs(memory - shown) < 0.1 * shown and memory > 64 << 20,
          f"{memory} {shown}")


def check_node(seen, records):
    node = lambda r, resource, share: psi_total(r["node"][resource], share)
    monos = [r["mono_ns"] for r in records]
    for resource in ("cpu", "memory", "io"):
        held, wrong = 0, []
        for k in range(1, len(records)):
            low = next((r for r in reversed(seen["readings"]) if r["end_ns"] <= monos[k - 1]), None)
            high = next((r for r in seen["readings"] if r["begin_ns"] >= monos[k]), None)
            if low is None or high is None:
                continue
            held += 1
            value = records[k]["raw"]["pressure"].get(f"{resource}_some_us")
            if value is None or not node(low, resource, "some") <= value <= node(high, resource, "some"):
                wrong.append((k, node(low, resource, "some"), value, node(high, resource, "some")))
        check(f"node: {resource} pressure: {held} totals lie between readings of /proc/pressure", held > 0 and not wrong, str(wrong[:3]))


def check_short(seen, records):
    """Checks an ended service: its end is reported, and its CPU time equals systemd's. Its last moments are its
    parent's time minus its running siblings', which were not read at one instant: hence a tolerance of a tenth."""
    reported = [w for r in records for w in r["workloads"] if w["name"] == "load-short.service"]
    used = sum(w.get("cpu_usage_us", 0) for w in reported) / 1e6
    # "1min 2.345s", "3.210s" or "210ms"
    said = re.search(r"CPU time consumed: (?:(\d+)min )?(?:([\d.]+)s)?(?:(\d+)ms)?", seen["short"])
    check("a short-lived service: systemd accounts it", said is not None, seen["short"])
    if not said:
        return
    total = int(said.group(1) or 0) * 60 + float(said.group(2) or 0) + int(said.group(3) or 0) / 1e3
    check("a short-lived service: its end is reported", any(w["ended"] for w in reported), str(len(reported)))
    check(f"a short-lived service: {used:.3f} s reported of {total:.3f} s", 0.9 * total <= used <= 1.1 * total)


def status_of(text, key):
    return re.search(rf"^{key}:\s*(.*)$", text, re.M).group(1).split()


def check_hardening(seen):
    level = re.search(r"Overall exposure level.*?: ([0-9.]+)", seen["security"])
    check(f"systemd-analyze security: {level.group(1) if level else '?'}, at most {MAX_EXPOSURE}", bool(level) and float(level.group(1)) <= MAX_EXPOSURE)
    allowed = sum(1 << bit for bit in CAPABILITIES)
    for who in ("the agent", "a replacement program"):
        status = seen["status"] if who == "the agent" else json.loads(seen["confined"])["status"]
        check(f"{who} is not root, cannot gain privileges and has a system call filter",
              "0" not in status_of(status, "Uid") and status_of(status, "NoNewPrivs") == ["1"] and status_of(status, "Seccomp") == ["2"])
        check(f"{who} cannot have more than {' '.join(CAPABILITIES.values())}", int(status_of(status, "CapBnd")[0], 16) & ~allowed == 0,
              status_of(status, "CapBnd")[0])
    held = {(thread, key): status_of(status, key)[0] for thread, status in seen["threads"].items() for key in ("CapEff", "CapPrm", "CapInh", "CapAmb")}
    check(f"no thread of the agent, of {len(seen['threads'])}, holds a capability once it has started",
          len(seen["threads"]) > 1 and all(int(value, 16) == 0 for value in held.values()), str(held))
    answers = json.loads(seen["confined"])
    for what, how in answers.pop("needed").items():
        check(f"confined: {what}: allowed", how == "", how)
    for what, how in answers.items():
        # CAP_DAC_READ_SEARCH reads other users' files, so secrets are hidden by path
        if what not in ("status", "read another user's 0600 file"):
            check(f"confined: {what}: refused ({how})", how != "")
    check("the session's own threads run within the unit's filter of system calls",
          any("ZMQ" in status.split("\n")[0] for status in seen["threads"].values()), str([s.split("\n")[0] for s in seen["threads"].values()]))
    check("the agent never failed and stops on request", seen["agent"]["ActiveState"] == "active" and seen["agent"]["NRestarts"] == "0"
          and seen["stopped"]["Result"] == "success", f"{seen['agent']} {seen['stopped']}")


def check_packages(seen):
    alone, life = seen["installed"], seen["packages"]
    check("installed, the unit is enabled and waits for its configuration without failing",
          (alone["unit"]["UnitFileState"], alone["unit"]["ActiveState"], alone["unit"]["ConditionResult"], alone["unit"]["NRestarts"]) == ("enabled", "inactive", "no", "0"),
          str(alone))
    check("installed, every group may use ping sockets", alone["ping"] == ["0", "2147483647"], str(alone["ping"]))
    check("an upgrade restarts the running agent", life["version"] == "0.9.0" and life["upgraded"]["ActiveState"] == "active"
          and life["upgraded"]["MainPID"] != life["before"]["MainPID"], str(life))
    check("removed, the agent is stopped and its state is kept", not life["running"] and life["removed"]["ActiveState"] == "inactive" and len(life["kept"]) == 3, str(life))
    check("purged, no file, user or group is left", life["left"] == "", life["left"])


def judge(seen):
    if "error" in seen:
        check("the machine's own script ran to its end", False, seen["error"] + seen.get("journal", ""))
        return
    print(f"     kernel {seen['kernel']}, {seen['systemd']}")
    check("the hierarchy is pure cgroup v2 with all controllers", {"cpu", "io", "memory", "pids"} <= set(seen["controllers"].split())
          and len(seen["cgroup_mount"]) == 1 and " cgroup2 " in seen["cgroup_mount"][0], str(seen["cgroup_mount"]))
    check("doctor runs within the unit's confinement", seen["doctor"].startswith("{"), seen["doctor_errors"])
    found = json.loads(seen["doctor"])
    states = {f["source"]: f for f in found["findings"]}
    for finding in found["findings"]:
        print(f"     doctor: {finding['source']}: {finding['state']}: {finding['why']}")
    for source in ("cpu", "memory", "psi", "cgroup", "cgroup-memory", "cgroup-io", "cgroup-pids", "cgroup-sweep", "bpf-sched", "bpf-tcp", "bpf-block",
                   "bpf-lifecycle"):
        check(f"doctor: {source} is ok", states.get(source, {}).get("state") == "ok", str(states.get(source)))
    check("sampling ended with 0 within the unit's confinement", seen["sample_result"]["Result"] == "success", f"{seen['sample_result']} {seen['sample_errors']}")
    records = [json.loads(line) for line in seen["sample"].splitlines()]
    check("no collector failed", not any("errors" in r for r in records), str([r["errors"] for r in records if "errors" in r][:2]))
    check_node(seen, records)
    for load, inode in seen["inodes"].items():
        story = Story(seen, records, load)
        here = [v for v in story.values if v]
        check(f"{load}: is a service with its cgroup's inode as ID", len(here) > 3 and all(v["kind"] == "service" and v["cgroup_id"] == inode for v in here),
              f"{inode} {[(v['kind'], v['cgroup_id']) for v in here][:2]}")
        check_counters(story)
        check_deltas(story, ["CPU time", "on-CPU time by BPF"])
    check_gauges(Story(seen, records, "load-tasks"), ["tasks"])
    check_gauges(Story(seen, records, "load-memory"), ["memory", "anonymous memory"])
    check_gauges(Story(seen, records, "load-file"), ["memory of files"])
    check_deltas(Story(seen, records, "load-io"), ["bytes written", "block requests by BPF"])
    check_deltas(Story(seen, records, "load-cpu"), ["throttled time", "run-queue time by BPF"])
    check_deltas(Story(seen, records, "load-reclaim"), ["memory.high events"])
    check_deltas(Story(seen, records, "load-oom"), ["OOM kills"])
    check_disks(seen, records)
    check_round_trips(seen, records)
    check_short(seen, records)
    check_metrics(seen)
    check_hardening(seen)
    units.judge(seen["units"], check)
    check_packages(seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is missing (scripts/setup --long installs it)")
            return SKIPPED
    agent = options.binaries / "wattle-agent"
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wattle-payload-") as payload:
        payload = pathlib.Path(payload)
        packages = debs.here(options.packages)
        (payload / "next").mkdir()
        units.pack(packages, payload)
        for name in ("wattle", "wattle-agent"):
            shutil.copy(packages[name], payload)
            debs.newer(packages[name], "0.9.0", payload / "next")
        shutil.copy(HERE / "guest.py", payload)
        (payload / "agent.yaml").write_text(CONFIG, encoding="utf-8")
        for name in ("agent", "controller"):
            subprocess.run([options.binaries / "wattle", "keys", "new", payload / f"{name}.key"], check=True, capture_output=True)
        try:
            seen = machine.boot(image.ensure(agent), payload, SECONDS, options.keep / "console" if options.keep else None)
        except (image.ImageError, machine.MachineError) as error:
            print(f"FAIL {error}")
            return 1
    if options.keep:
        (options.keep / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
    judge(seen)
    print("machine: every claim holds" if failures == 0 else f"machine: {failures} claims failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
