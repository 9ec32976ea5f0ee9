"""sums: the values of the nodes add up, although each node sees the whole machine in /proc.

Source   the agents' metrics pages; the nodes' cgroups as this machine counts them, on cgroup v1 by cpuacct and memory,
         which the agents do not read for CPU time
Claims   the CPU time that an agent reports is that of its node's cgroup; all nodes together use no more than the
         machine; the memory of all nodes is that of their cgroups
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

    def cpu_s(self, node):
        page = self.cluster.inside("plane", "curl", "--silent", "--show-error", "--fail", "--header", f"Authorization: Bearer {self.token}",
                                   f"http://{self.addresses[node]}:9460/metrics")
        return float(re.search(r"^wattle_node_cpu_seconds_total (\S+)$", page, re.MULTILINE)[1])


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


def check(claims, cluster):
    pages, machine = Pages(cluster), machine_s()
    first = check_cpu(claims, cluster, pages)
    let_a_moment_pass()
    second = check_cpu(claims, cluster, pages)
    used = machine_s() - machine
    claims.check("all nodes together use no more CPU time than the machine", 0 < second - first <= used + LAG_S, (first, second, used))
    print(f"     CPU time of all nodes: {second - first:.2f} s of the machine's {used:.2f} s", flush=True)
    check_memory(claims, cluster)
