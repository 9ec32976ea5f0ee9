"""telemetry: rows T1 to T11 and E1 to E4 of the feature list: what an agent measures, and the attribution of joules."""
import csv
import json
import os
import pathlib
import shutil
import socket
import uuid

from house import fetch, wait_until
from world import CAPTURED, Recording, node_value, of_workload, rate
from walk import claim, elsewhere, partly, row, shown_by

SECTOR = 512
POD = "11111111-2222-3333-4444-555555555555"
INNER = "99999999-2222-3333-4444-555555555555"
POD_DIR = f"sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice"
NET = ("Inter-|   Receive                                                |  Transmit\n"
       " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
       "    lo: 9999 1 0 0 0 0 0 0 9999 1 0 0 0 0 0 0\n  eth0: {rx} 1 0 0 0 0 0 0 {tx} 1 0 0 0 0 0 0\n")
DISKS = "   8       0 sda 10 0 {read} 5 10 0 {written} 5 0 5 10 0 0 0 0\n   8       1 sda1 10 0 {read} 5 10 0 {written} 5 0 5 10 0 0 0 0\n"
TCP = ("Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab\n"
       "Tcp: 1 200 120000 -1 1 1 1 1 7\n")


def put(root, path, text):
    """Writes the file like a kernel: no reader finds it empty, and a reader that keeps it open sees the new text."""
    file, data = root / path, text.encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        new = file.with_name(file.name + ".new")
        new.write_bytes(data)
        new.rename(file)
        return
    with open(file, "r+b", buffering=0) as there:
        there.write(data)
        there.truncate()


def use(root, group, usage_us):
    put(root, f"sys/fs/cgroup/{group}/cpu.stat", f"usage_usec {usage_us}\nuser_usec {usage_us}\nsystem_usec 0\n")


def zone(root, name, energy_uj):
    put(root, f"sys/class/powercap/{name}/energy_uj", f"{energy_uj}\n")


def server(world, name):
    """A copy of the captured server, with a network link and a disk."""
    root = world.tree(name)
    put(root, "proc/net/dev", NET.format(rx=1000, tx=2000))
    put(root, "proc/net/snmp", TCP)
    put(root, "proc/diskstats", DISKS.format(read=100, written=200))
    return root


@row("T1", "six node metrics, with interfaces and disks found automatically")
def t1(world):
    root = server(world, "t1")
    with Recording(world, root, "t1-samples") as samples:
        put(root, "proc/net/dev", NET.format(rx=1_001_000, tx=502_000))
        put(root, "proc/diskstats", DISKS.format(read=100 + 4096, written=200 + 2048))
        stat = (root / "proc/stat").read_text().splitlines()
        put(root, "proc/stat", "\n".join([stat[0].replace(stat[0].split()[1], str(int(stat[0].split()[1]) + 10), 1), *stat[1:]]) + "\n")
        # Sums of means times intervals are inexact because ticks vary on a busy machine; counters are exact.
        for what, key, wanted in (("bytes received", "net_rx_bytes_per_s", 1_000_000), ("bytes sent", "net_tx_bytes_per_s", 500_000),
                                  ("bytes read", "disk_read_bytes_per_s", 4096 * SECTOR), ("bytes written", "disk_write_bytes_per_s", 2048 * SECTOR),
                                  ("seconds of CPU", "cpu_used_cores", 0.1)):
            samples.until(what, rate(key), wanted, 0.4 * wanted)
        raw = samples.samples()[-1]["raw"]
        claim("the link is found and the loopback excluded", raw["interfaces"] == [{"name": "eth0", "rx_bytes": 1_001_000, "tx_bytes": 502_000}], raw["interfaces"])
        claim("the disk is found and its partition excluded", [(one["name"], one["read_bytes"]) for one in raw["disks"]] == [("sda", (100 + 4096) * SECTOR)], raw["disks"])
        node = samples.samples()[-1]["node"]
        claim("used memory is total minus available", node["memory_used_bytes"] == 8_388_608_000, node)
    real = world.house.query("node", world.house.node)["node"]
    total = int(next(line.split()[1] for line in pathlib.Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))) * 1024
    claim("this machine's memory and cores equal the kernel's", (real["memory_total_bytes"], real["cpu_cores"]) == (total, os.sysconf("SC_NPROCESSORS_ONLN")), real)
    claim("rates of this machine are known", all(real[key] is not None for key in ("net_rx_bytes_per_s", "net_tx_bytes_per_s", "disk_read_bytes_per_s",
                                                                                   "disk_write_bytes_per_s", "cpu_used_cores")), real)
    return "link eth0 and disk sda found; their bytes to the byte, rates as means of each interval"


@row("T2", "RAPL energy by domain, without counting twice")
def t2(world):
    root = server(world, "t2")
    put(root, "sys/class/powercap/intel-rapl:2/energy_uj", str(int((root / "sys/class/powercap/intel-rapl:2/max_energy_range_uj").read_text()) - 1_000_000))
    with Recording(world, root, "t2-samples") as samples:
        added = {"intel-rapl:0": 4_000_000, "intel-rapl-mmio:0": 4_000_000, "intel-rapl:0:0": 2_000_000, "intel-rapl:0:1": 500_000, "intel-rapl:2:0": 500_000,
                 "intel-rapl:1": 11_000_000}
        for name, more in added.items():
            zone(root, name, int((root / f"sys/class/powercap/{name}/energy_uj").read_text()) + more)
        zone(root, "intel-rapl:2", 4_000_000 - 1_000_000)  # the counter wraps
        def domain(name):
            return lambda sample: sum(one["energy_uj"] or 0 for one in sample["node"]["domains"] if one["name"] == name)
        for name, wanted in (("package-0", 4_000_000), ("package-1", 4_000_000), ("core-0", 2_000_000), ("dram-0", 500_000), ("dram-1", 500_000), ("psys", 11_000_000)):
            samples.until(f"microjoules of {name}", domain(name), wanted)
        whole = samples.until("microjoules of the node equal those of psys, which contains the packages", node_value("energy_uj"), 11_000_000)
        claim("the source is rapl", samples.samples()[-1]["node"]["energy_source"] == "rapl")
    return f"two sockets, dram and psys; a counter that wrapped; {whole} uJ, not a sum with the MMIO twin or with psys"


@row("T3", "energy per cgroup, pod, service and VM, exactly conserved")
def t3(world):
    root = server(world, "t3")
    vm, gone = "machine.slice/machine-qemu\\x2d3\\x2dweb.scope", "system.slice/brief.service"
    within = f"{POD_DIR.removeprefix('sys/fs/cgroup/')}/cri-containerd-{'a' * 64}.scope/kubepods"
    for group in (vm, gone, "machine.slice", within, f"{within}/pod{INNER}"):
        use(root, group, 0)
    with Recording(world, root, "t3-samples") as samples:
        wait_until("all workloads are reported", lambda: len(samples.samples()[-1]["workloads"]) == 5)
        use(root, f"{within}/pod{INNER}", 10_000)
        put(root, f"{POD_DIR}/cpu.stat", "usage_usec 9060000\nuser_usec 6000000\nsystem_usec 3000000\n")
        use(root, "system.slice/ssh.service", 1_020_000)
        use(root, vm, 30_000)
        use(root, "machine.slice", 30_000)
        zone(root, "intel-rapl:0", 1_006_000_000)
        zone(root, "intel-rapl:1", 5_006_000_000)
        for name, wanted in ((INNER, 10_000), (POD, 50_000), ("ssh.service", 20_000), ("web", 30_000)):
            samples.until(f"CPU time of {name}", of_workload(name, "cpu_usage_us"), wanted)
        shutil.rmtree(root / "sys/fs/cgroup" / gone)
        wait_until("an ended workload is reported once more", lambda: any(one["ended"] and one["name"] == "brief.service" for sample in samples.samples() for one in sample["workloads"]))
        for sample in samples.samples():
            node, parts = sample["node"], sum(one.get("energy_uj") or 0 for one in sample["workloads"])
            if node.get("energy_uj"):
                claim("workloads, idle and unattributed add up to the measured energy", parts + node["idle_energy_uj"] + node["unattributed_energy_uj"] == node["energy_uj"], sample)
        kinds = {one["name"]: one["kind"] for sample in samples.samples() for one in sample["workloads"]}
        claim("pods, services and VMs have their kinds", (kinds[POD], kinds["ssh.service"], kinds["web"]) == ("pod", "service", "vm"), kinds)
        total = samples.sum_of(node_value("energy_uj"))
    claim("energy was measured", total > 0, total)
    return f"{total} uJ split to the microjoule over a pod, a pod within it, service, VM, idle and unattributed; lives between two samples: " + \
        shown_by("tests/integration/agent/cgroup_lifecycle_test.cpp")


@row("T4", "cgroup v2: CPU, memory, events, I/O, pids, PSI, of thousands of cgroups")
def t4(world):
    root, count = server(world, "t4"), 2000
    base = "kubepods.slice/kubepods-burstable.slice"
    for at in range(count):
        use(root, f"{base}/kubepods-burstable-pod{str(uuid.UUID(int=at + 1)).replace('-', '_')}.slice", 0)
    one = root / POD_DIR
    for name, text in (("memory.current", "5242880\n"), ("memory.stat", "anon 4096000\nfile 1024000\n"), ("memory.events", "low 0\nhigh 2\nmax 0\noom 1\noom_kill 1\n"),
                       ("io.stat", "8:0 rbytes=1000 wbytes=2000 rios=1 wios=1 dbytes=0 dios=0\n"), ("pids.current", "7\n"),
                       ("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")):
        (one / name).write_text(text)
    seen = len(json.loads(world.shell(f"wattle-agent sample --root {root.name} --count 1"))["workloads"])
    claim(f"{count} cgroups are workloads", seen == count + 2, seen)
    with Recording(world, root, "t4-samples", "--pod", POD) as samples:
        (one / "io.stat").write_text("8:0 rbytes=601000 wbytes=302000 rios=1 wios=1 dbytes=0 dios=0\n")
        (one / "memory.events").write_text("low 0\nhigh 5\nmax 0\noom 2\noom_kill 2\n")
        (one / "cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=51000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
        put(root, f"{POD_DIR}/cpu.stat", "usage_usec 9001000\nuser_usec 1\nsystem_usec 1\nnr_periods 10\nnr_throttled 2\nthrottled_usec 12000\n")
        for key, wanted in (("io_read_bytes", 600_000), ("io_write_bytes", 300_000), ("memory_high_events", 3), ("memory_oom_kills", 1), ("cpu_usage_us", 1000), ("cpu_throttled_us", 7000)):
            samples.until(key, of_workload(POD, key), wanted)
        last = samples.samples()[-1]["workloads"][0]
        claim("levels equal the files' values", (last["memory_bytes"], last["memory_anon_bytes"], last["memory_file_bytes"], last["pids"]) == (5_242_880, 4_096_000, 1_024_000, 7), last)
        stalls = [one["pressure"]["cpu_some_ratio"] for sample in samples.samples() for one in sample["workloads"] if one["pressure"].get("cpu_some_ratio")]
        claim("a single wait counts once as pressure", len(stalls) == 1 and 0 < stalls[0] <= 1, stalls)
    return f"{count + 2} workloads at once; every file of one of them to the byte"


@row("T5", "latency probes with jitter and loss, to targets that a user names")
def t5(world):
    def targets():
        node = world.shell.json(f"wattle node {world.house.node} -o json")["node"]
        return {one["target"]: one for one in node["latency"]}
    seen = wait_until("every target was probed", lambda: (t := targets()) and set(t) == {"default", "users", "closed"} and all(one["sent"] >= 3 for one in t.values()) and t)
    del world.shell.typed[1:]
    for name in ("default", "users"):
        one = seen[name]
        claim(f"{name} answers", one["loss_ratio"] == 0 and 0 < one["p50_ms"] <= one["p95_ms"] and one["jitter_ms"] >= 0, one)
    claim("a closed port counts as lost and has no latency", seen["closed"]["loss_ratio"] == 1 and seen["closed"]["p50_ms"] is None, seen["closed"])
    claim("the agent answers echo requests", world.shell(f"curl -sf 'http://127.0.0.1:{world.house.agent_http}/echo?nonce=4711'").strip() == "4711")
    return f"p50 {seen['users']['p50_ms']:.2f} ms to an HTTP service, every connection to a closed port lost"


@row("T6", "established TCP connections, disk usage, pods per node")
def t6(world):
    root = server(world, "t6")
    last = json.loads(world.shell(f"wattle-agent sample --root {root.name} --count 1").splitlines()[-1])["node"]
    claim("connections equal the kernel's CurrEstab", last["tcp_established"] == 7, last)
    held = [socket.create_connection(("127.0.0.1", world.service.server_port)) for _ in range(20)]
    nodes = {one["name"]: one for one in world.shell.json("wattle nodes -o json")["nodes"]}
    many = wait_until("open connections are counted", lambda: (n := world.house.query("node", world.house.node)["node"]["tcp_established"]) and n >= 2 * len(held) and n)
    for each in held:
        each.close()
    disk = os.statvfs("/")
    claim("disk usage is that of the root file system", abs(nodes[world.house.node]["disk_used_ratio"] - (1 - disk.f_bavail / (disk.f_blocks - disk.f_bfree + disk.f_bavail))) < 0.05, nodes[world.house.node])
    claim("the captured server has its one pod", nodes[CAPTURED]["pods"] == 1, nodes[CAPTURED])
    return f"{many} connections, disk {nodes[world.house.node]['disk_used_ratio']:.0%} used, 1 pod on {CAPTURED}"


def doctor(world):
    """Returns findings of this machine by source; exit code 1 means that a required source is lost."""
    world.shell.typed.append("wattle-agent doctor -o json")
    return {one["source"]: one for one in json.loads(world.shell.run("wattle-agent doctor -o json || true").stdout)["findings"]}


@row("T7", "eBPF: on-CPU time, run-queue latency, TCP round trips, block I/O")
def t7(world):
    found = doctor(world)
    if found["bpf-sched"]["state"] != "ok":
        return elsewhere(f"no BPF: {found['bpf-sched']['why']}", "tests/integration/agent/kernel_signals_test.cpp")
    kernel = wait_until("the kernel's signals are reported",
                        lambda: json.loads(world.shell.run("wattle-agent sample --count 3 --interval 500ms").stdout.splitlines()[-1])["node"]["kernel"])
    claim("CPU time and waiting are counted", kernel["on_cpu_us"] > 0 and kernel["run_queue_waits"] > 0, kernel)
    return f"{kernel['on_cpu_us']} us on CPU, {kernel['run_queue_waits']} waits; per cgroup: " + shown_by("tests/integration/agent/kernel_signals_test.cpp")


@row("T8", "Intel PCM")
def t8(world):
    found = doctor(world).get("pcm", {"state": "absent", "why": "no pcm-sensor-server"})
    if found["state"] == "ok":
        return "its joules, bandwidth and frequencies are in `wattle-agent sample`"
    return elsewhere(f"no Intel PMU with a pcm-sensor-server ({found['why']})", "tests/unit/agent/pcm_test.cpp")


@row("T9", "hwmon, perf, and estimates that every output marks")
def t9(world):
    root = server(world, "t9")
    shutil.rmtree(root / "sys/class/powercap")
    for at, (name, watts) in enumerate((("power_meter", 200), ("power_meter", 150))):
        put(root, f"sys/class/hwmon/hwmon{at}/name", name + "\n")
        put(root, f"sys/class/hwmon/hwmon{at}/power1_average", f"{watts * 1_000_000}\n")
    world.shell.typed.append("wattle-agent doctor")
    metered = json.loads(world.shell(f"wattle-agent sample --root {root.name} --count 3 --interval 300ms").splitlines()[-1])["node"]
    claim("two power supplies are summed", metered["energy_source"] == "hwmon" and abs(metered["power_w"] - 350) < 4, metered)
    shutil.rmtree(root / "sys/class/hwmon")
    guessed = json.loads(world.shell(f"wattle-agent sample --root {root.name} --count 3 --interval 300ms").splitlines()[-1])["node"]
    claim("without a meter power is marked as an estimate", guessed["energy_source"] == "estimated" and guessed["power_w"] > 0, guessed)
    rows = list(csv.DictReader(world.shell(f"wattle-agent sample --root {root.name} --count 3 --interval 300ms -o csv").splitlines()))
    claim("also in CSV", rows[-1]["energy_source"] in ("estimated", "") and any(one["energy_source"] == "estimated" for one in rows), rows[-1])
    real = world.house.query("node", world.house.node)["node"]
    table = world.shell("wattle nodes")
    line = next(one for one in table.splitlines() if one.startswith(world.house.node))
    claim("power is marked as an estimate in the table", ("est" in line) == (real["energy_source"] == "estimated"), line)
    lines = world.metric(world.page(f"http://127.0.0.1:{world.house.agent_http}/metrics"), "wattle_node_energy_joules_total")
    claim("power is marked as an estimate in metrics", any(f'source="{real["energy_source"]}"' in one for one in lines), lines)
    return f"350 W of two meters by hwmon; {guessed['power_w']:.0f} W estimated; the perf PMU: " + shown_by("tests/unit/agent/perf_energy_test.cpp")


@row("T10", "recorder of an application's usage: N samples at a period, CSV or JSON lines")
def t10(world):
    root = server(world, "t10")
    world.shell(f"wattle-agent sample --root {root.name} --count 6 --interval 100ms -o csv --workload ssh.service --output-file myapp.csv")
    rows = list(csv.DictReader((world.house.dir / "myapp.csv").read_text().splitlines()))
    mine = [one for one in rows if one["scope"] == "workload"]
    claim("six rows, only of this application", len(mine) == 6 and {one["name"] for one in mine} == {"ssh.service"}, rows)
    claim("each row has the application's memory", {one["memory_bytes"] for one in mine} == {"5242880"}, mine)
    world.shell(f"wattle-agent sample --root {root.name} --count 4 --interval 100ms -o json --pod {POD} --output-file pod.jsonl")
    lines = [json.loads(line) for line in (world.house.dir / "pod.jsonl").read_text().splitlines()]
    claim("four lines, only of one pod", len(lines) == 4 and all([one["name"] for one in line["workloads"]] == [POD] for line in lines), lines)
    return "6 rows of CSV and 4 lines of JSON, each of one workload alone"


@row("T11", "a Prometheus endpoint of its own")
def t11(world):
    for name, port in (("agent", world.house.agent_http), ("controller", world.house.http), ("shim", world.house.shim_port)):
        text = world.shell(f"curl -sf http://127.0.0.1:{port}/metrics")
        claim(f"{name}: every sample has a value", all(float(line.rsplit(" ", 1)[1]) == float(line.rsplit(" ", 1)[1]) or line.endswith("NaN")
                                                       for line in text.splitlines() if line and line[0] != "#"))
        if shutil.which("promtool"):
            (world.house.dir / f"{name}.prom").write_text(text)
            world.shell(f"promtool check metrics < {name}.prom")
    def joules():
        line = world.metric(fetch(f"http://127.0.0.1:{world.house.agent_http}/metrics")[1], "wattle_node_energy_joules_total")
        return sum(float(each.rsplit(" ", 1)[1]) for each in line)
    first = joules()
    wait_until("joules increase again", lambda: joules() > first)
    return "agent, controller and shim; with a real Prometheus and the dashboards: " + shown_by("tests/e2e/dashboards_test.py")


@row("E1", "every watt has an interval, a source and a scope")
def e1(world):
    node = world.shell.json(f"wattle node {CAPTURED} -o json")["node"]
    claim("node and domains have a source", node["energy_source"] == "rapl" and {one["name"] for one in node["domains"]} >= {"package-0", "package-1", "psys"}, node)
    return partly("source, and scope by domain", "no interval stands beside a watt yet")


@row("E2", "all meters of a node in one tree; counters that stop are reported")
def e2(world):
    root = server(world, "e2")
    with Recording(world, root, "e2-samples") as samples:
        def busy(ticks):
            put(root, "proc/stat", "".join([f"cpu  {ticks} 0 500 8000 100 10 20 0 0 0\n", f"cpu0 {ticks // 2} 0 250 4000 50 5 10 0 0 0\n",
                                            f"cpu1 {ticks // 2} 0 250 4000 50 5 10 0 0 0\n", "btime 1700000000\n"]))
        ticks = 1000
        def stands_still():
            nonlocal ticks
            ticks += 40
            busy(ticks)
            return any(sample["node"].get("energy_gap") for sample in samples.samples())
        claim("a stopped counter of an idle package is no gap", not any(sample["node"].get("energy_gap") for sample in samples.samples()))
        wait_until("a stopped counter of a busy package is a gap", stands_still)
    return partly("a RAPL counter that stands still under load is reported as a gap", "Redfish, IPMI and GPUs are not among the meters", "tests/unit/agent/energy_trees_test.cpp",
                  "tests/unit/agent/power_meters_test.cpp")


@row("E3", "estimates for virtual machines, with an error bound that holds")
def e3(world):
    node = world.house.query("node", world.house.node)["node"]
    if node["energy_source"] != "estimated":
        return elsewhere("this machine has meters", "tests/unit/agent/estimate_test.cpp")
    world.shell.typed.append(f"wattle node {world.house.node} -o json")
    claim("the estimate is marked", node["energy_source"] == "estimated" and node["power_w"] > 0, node)
    return partly(f"{node['power_w']:.1f} W, marked as an estimate", "no error bound; nodes with meters do not train the estimates of others")


@row("E4", "attribution that can be validated on the machine")
def e4(world):
    world.shell.typed.append("wattle-agent accept --phase 2s --report accept.json")
    done = world.shell.run("wattle-agent accept --phase 2s --report accept.json -o json")
    claim("accept exits with the code of its verdict", done.returncode in (0, 1), done.stderr)
    report = json.loads((world.house.dir / "accept.json").read_text())
    claim("the report equals the output and names each check", json.loads(done.stdout) == report and len(report) > 3, report)
    return partly(f"five phases of known load; exit {done.returncode} on this machine", "GPUs and MIG slices are not read", "tests/unit/agent/accept_test.cpp")
