"""sums: the values of the nodes add up, although each node sees the whole machine in /proc.

Source   the agents' metrics pages; the nodes' cgroups as this machine counts them, on cgroup v1 by cpuacct and memory,
         which the agents do not read for CPU time
Claims   the CPU time that an agent reports is that of its node's cgroup; all nodes together use no more than the
         machine; the memory of all nodes is that of their cgroups; CPU time and disk I/O that the agents report, and
         those of the control plane, add up to the cgroup of the whole cluster
Pressure is a share of time in which tasks wait at the same time on several nodes, so that it does not add up
"""
import base64
import json
import os
import pathlib
import re

import guard
from house import wait_until
from patience import let_a_moment_pass

LAG_S = 0.2  # cpuacct and cpu.stat are updated at different moments
NEAR_RATIO = 0.05  # two memory readings are not simultaneous
WRITTEN_BYTES = 8 << 20  # by a pod on each node


def group(cluster, node, controller):
    """Returns (kind, folder) of the node's cgroup in the hierarchy with the controller."""
    found = [each for each in guard.hierarchies() if controller in each.options.split(",")]
    found = found or [each for each in guard.hierarchies() if each.kind == "cgroup2"]
    return found[0].kind, found[0].point / f"{guard.PREFIX}{cluster.identity}" / node


def number(folder, file, key=None):
    text = (folder / file).read_text(encoding="utf-8")
    return int(text if key is None else re.search(rf"^{key} (\d+)$", text, re.MULTILINE)[1])


def cpu_s(cluster, node):
    kind, folder = group(cluster, node, "cpuacct")
    return number(folder, "cpuacct.usage") / 1e9 if kind == "cgroup" else number(folder, "cpu.stat", "usage_usec") / 1e6


def memory_bytes(cluster, node):
    kind, folder = group(cluster, node, "memory")
    if kind == "cgroup":
        return number(folder, "memory.usage_in_bytes") - number(folder, "memory.stat", "total_inactive_file")
    return number(folder, "memory.current") - number(folder, "memory.stat", "inactive_file")


def io_bytes(cluster, node):
    """Returns {read, written} of the node's cgroup and all below it."""
    kind, folder = group(cluster, node, "blkio")
    if kind == "cgroup":
        words = [line.split() for line in (folder / "blkio.throttle.io_service_bytes_recursive").read_text(encoding="utf-8").splitlines()]
        return {name: sum(int(each[2]) for each in words if each[1:2] == [key]) for name, key in (("read", "Read"), ("written", "Write"))}
    text = (folder / "io.stat").read_text(encoding="utf-8")
    return {name: sum(map(int, re.findall(rf"\b{key}=(\d+)", text))) for name, key in (("read", "rbytes"), ("written", "wbytes"))}


def machine_s():
    """Returns the CPU time of the machine, like wattle_node_cpu_seconds_total: user, nice, system, interrupts."""
    ticks = list(map(int, pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:8]))
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


class Pages:
    def __init__(self, cluster):
        self.cluster = cluster
        secret = json.loads(cluster.kubectl("get", "secret", "wattle-metrics", "--namespace", "wattle-agent", "--output", "json"))
        self.token = base64.b64decode(secret["data"]["token"]).decode()
        self.addresses = {pod["spec"]["nodeName"]: pod["status"]["podIP"] for pod in cluster.part("agent")}

    def page(self, node):
        return self.cluster.inside("plane", "curl", "--silent", "--show-error", "--fail", "--header", f"Authorization: Bearer {self.token}",
                                   f"http://{self.addresses[node]}:9460/metrics")

    def cpu_s(self, node):
        return float(re.search(r"^wattle_node_cpu_seconds_total (\S+)$", self.page(node), re.MULTILINE)[1])

    def io_bytes(self, node):
        page = self.page(node)
        return {name: float(re.search(rf'^wattle_node_disk_bytes_total{{[^}}]*direction="{name}"}} (\S+)$', page, re.MULTILINE)[1]) for name in ("read", "written")}

    def workload(self, node, series, uid, more=""):
        """Returns the value of a workload's series on the agent's page, by the pod's UID."""
        found = re.search(rf'^wattle_workload_{series}{{(?=[^}}]*{uid})[^}}]*{more}[^}}]*}} (\S+)$', self.page(node), re.MULTILINE)
        return float(found[1]) if found else None


def check_cpu(claims, cluster, pages):
    """Reads all nodes. Returns (of the agents, of the machine's counters); each agent's reading is between two of its
    cgroup."""
    before = {node: cpu_s(cluster, node) for node in cluster.names}

    def caught_up():
        found = {node: pages.cpu_s(node) for node in cluster.names}
        return found if all(found[node] >= before[node] - LAG_S for node in cluster.names) else None
    reported = wait_until("each agent reports the CPU time of its node's cgroup", caught_up)
    after = {node: cpu_s(cluster, node) for node in cluster.names}
    claims.check("the CPU time of each node is that of its own cgroup", all(reported[node] <= after[node] + LAG_S for node in cluster.names), (before, reported, after))
    return sum(reported.values())


def check_memory(claims, cluster):
    def same():
        reported = {node["name"]: node["memory_used_bytes"] for node in cluster.wattle("nodes")["nodes"]}
        counted = {node: memory_bytes(cluster, node) for node in cluster.names}
        near = abs(sum(reported.values()) - sum(counted.values())) <= NEAR_RATIO * sum(counted.values())
        return (sum(reported.values()), sum(counted.values())) if near else None
    reported, counted = wait_until("the memory of all nodes together is that of their cgroups", same)
    claims.check("the memory of all nodes together is that of their cgroups", True)
    print(f"     memory of all nodes: {reported / 2**20:.0f} MiB reported, {counted / 2**20:.0f} MiB in their cgroups", flush=True)


def check_whole(claims, cluster, pages):
    """Compares agents plus control plane with the cgroup of the cluster, wattle-demo-ID. An agent reports once a second,
    and the parts are not read at the same time; so the sum must lie between two readings of the whole. Disk I/O has no
    tolerance. CPU time has LAG_S per node; a part that is omitted or counted twice has used many seconds."""
    lag = LAG_S * len(cluster.names)
    first = cpu_s(cluster, "")

    def summed():
        found = sum(map(pages.cpu_s, cluster.names)) + cpu_s(cluster, "plane")
        return found if found >= first - lag else None
    total = wait_until("the CPU time of agents and control plane reaches that of the whole", summed)
    last = cpu_s(cluster, "")
    claims.check("the CPU time of agents and control plane is that of the cluster's cgroup", total <= last + lag, (first, total, last))
    print(f"     CPU time of agents and control plane: {total:.2f} s; of the cluster's cgroup: {first:.2f} to {last:.2f} s", flush=True)
    before = io_bytes(cluster, "")

    def added():
        nodes, plane = [pages.io_bytes(name) for name in cluster.names], io_bytes(cluster, "plane")
        found = {name: sum(node[name] for node in nodes) + plane[name] for name in plane}
        return found if all(found[name] >= before[name] for name in found) else None
    found = wait_until("the disk I/O of agents and control plane reaches that of the whole", added)
    after = io_bytes(cluster, "")
    claims.check("the disk I/O of agents and control plane is that of the cluster's cgroup", all(found[name] <= after[name] for name in found), (before, found, after))
    print(f"     disk I/O of agents and control plane: {found}; of the cluster's cgroup: {before} to {after}", flush=True)


def tasks(cluster, node, uid):
    """Returns the number of tasks in the pod's cgroup."""
    _, folder = group(cluster, node, "pids")
    return sum(number(path, "pids.current") for path in folder.rglob(f"*{uid}*") if path.is_dir() and uid not in path.parent.name)


def check_pods(claims, cluster, pages):
    """Checks tasks and written bytes of a pod on each node that runs `web`."""
    for pod in cluster.pods("web"):
        name, node, uid = pod["metadata"]["name"], pod["spec"]["nodeName"], pod["metadata"]["uid"]
        cluster.kubectl("exec", name, "--", "dd", "if=/dev/zero", "of=/tmp/written", "bs=1048576", f"count={WRITTEN_BYTES >> 20}", "conv=fsync")
        wait_until(f"{node} reports what {name} wrote", lambda: (pages.workload(node, "io_bytes_total", uid, 'direction="written"') or 0) >= WRITTEN_BYTES)
        wait_until(f"{node} reports the tasks of {name}", lambda: pages.workload(node, "pids", uid) == tasks(cluster, node, uid) > 0)
        claims.check(f"{node}: the agent reports the disk I/O and the tasks of a pod", True)


def check(claims, cluster):
    pages, machine = Pages(cluster), machine_s()
    first = check_cpu(claims, cluster, pages)
    let_a_moment_pass()
    second = check_cpu(claims, cluster, pages)
    used = machine_s() - machine
    claims.check("all nodes together use no more CPU time than the machine", 0 < second - first <= used + LAG_S, (first, second, used))
    print(f"     CPU time of all nodes: {second - first:.2f} s of the machine's {used:.2f} s", flush=True)
    check_memory(claims, cluster)
    check_whole(claims, cluster, pages)
    check_pods(claims, cluster, pages)
