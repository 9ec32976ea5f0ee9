"""faults: each part of a cluster, on each node, is killed, stopped or disconnected, or has its disk or clock changed.

Claims   pods of the scheduler `wattle` are bound during each fault, and after it every agent is connected and the
         controller decides again
Prints   a table: fault, part, node, who decided about the pods during the fault, and the seconds until recovery
Clock    agents run under libfaketime: clock namespaces have no wall clock, and all nodes share a kernel
"""
import json
import os
import pathlib
import signal
import time

from house import HouseError, wait_until
from patience import LATE_S, MOMENT_S

PODS = 2  # during each fault
FRESH_MS = 5000  # of values that an agent sends every second


class Faults:
    def __init__(self, claims, cluster):
        self.claims, self.cluster, self.rows = claims, cluster, []

    # ---- claims

    def well(self):
        """Checks that every agent is connected and sends values, and that the controller decides about a new pod."""
        nodes = self.cluster.wattle("nodes")["nodes"]
        fresh = {node["name"] for node in nodes if node["connected"] and node["age_ms"] is not None and node["age_ms"] < FRESH_MS}
        return fresh == set(self.cluster.names) and self.cluster.decided("well")

    def during(self, what):
        names = [f"pod-{next(self.cluster.numbers)}" for _ in range(PODS)]
        begun = time.monotonic()
        try:
            bound = self.cluster.place(*names)
            seconds = time.monotonic() - begun
        except HouseError as error:
            self.claims.check(f"{what}: pods are bound", False, error)
            return "not bound"
        self.claims.check(f"{what}: pods are bound", True)
        try:
            made = [self.cluster.decision(name, MOMENT_S) for name in names]
            by = {each["decided_by"] if each["mode"] == "live" else "scheduler alone" for each in made if each} or {"not yet known"}
        except HouseError:
            by = {"controller does not answer"}
        self.cluster.delete(*names)
        return f"{seconds:.1f} s ({' and '.join(sorted(by))}) on {' and '.join(sorted(set(bound.values())))}"

    def fault(self, kind, part, node, begin, end=lambda: None, meanwhile=None, pods=True):
        """Runs one fault and adds its row to the table. meanwhile: a claim and its condition during the fault."""
        what = f"{kind} {part} on {node}"
        begin()
        bound = "-"
        try:
            if pods:
                bound = self.during(what)
            if meanwhile:
                self.claims.check(f"{what}: {meanwhile[0]}", wait_until(meanwhile[0], meanwhile[1]))
        finally:
            end()
        begun = time.monotonic()
        try:
            wait_until(f"{what}: the cluster has recovered", self.well, 2 * LATE_S)
            back = f"{time.monotonic() - begun:.1f} s"
            self.claims.check(f"{what}: afterwards every agent is connected and the controller decides", True)
        except HouseError as error:
            back = "no"
            self.claims.check(f"{what}: afterwards every agent is connected and the controller decides", False, error)
        self.rows.append((kind, part, node, bound, back))

    def table(self):
        heads = ("fault", "part", "node", "pods bound during it", "recovered after")
        widths = [max(len(row[column]) for row in (heads, *self.rows)) for column in range(len(heads))]
        for row in (heads, *self.rows):
            print("     " + "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip(), flush=True)

    # ---- faults

    def restarts(self, pod):
        found = next(each for each in self.cluster.part("scheduler") if each["metadata"]["name"] == pod)
        return sum(status["restartCount"] for status in found["status"]["containerStatuses"])

    def kill(self, part, node, program, pods=True):
        killed = []

        def started_again():
            found = self.cluster.processes(node, program)
            return found and not set(found) & set(killed)
        self.fault("kill -9", part, node, lambda: killed.extend(self.cluster.send(node, program, signal.SIGKILL)),
                   meanwhile=("the kubelet restarts it", started_again), pods=pods)

    def stop(self, part, node, program, meanwhile=None, pods=True):
        stopped = []
        self.fault("stop", part, node, lambda: stopped.extend(self.cluster.send(node, program, signal.SIGSTOP)),
                   lambda: [os.kill(pid, signal.SIGCONT) for pid in stopped if pid in self.cluster.processes(node, program)], meanwhile, pods)

    def disconnected(self, node):
        return f"the controller reports {node} as disconnected", lambda: node not in self.cluster.connected()

    def hang_of_shim(self):
        """Tests that the kubelet restarts a hanging shim, with the chart's own probe."""
        pod, node = self.cluster.leader()
        before = self.restarts(pod)
        self.fault("stop", "shim", node, lambda: self.cluster.send(node, "wattle-shim", signal.SIGSTOP),
                   meanwhile=("the kubelet restarts the shim", lambda: self.restarts(pod) > before))

    def cut(self, node):
        meanwhile = None if node == self.cluster.controller() else self.disconnected(node)
        self.fault("cut network", "all", node, lambda: self.cluster.link(node, "down"), lambda: self.cluster.link(node, "up"), meanwhile)

    def disk(self, node):
        """Fills /var/lib of the node, which has the agent's state and the controller's volume, by shrinking it."""
        def resize(size):
            self.cluster.inside(node, "mount", "--options", f"remount,size={size}", "/var/lib")
            return True

        def fill():
            wait_until("/var/lib shrinks", lambda: resize(4096 * int(self.cluster.inside(node, "df", "--output=used", "--block-size=4096", "/var/lib").split()[-1])))
        self.fault("fill disk", "/var/lib", node, fill, lambda: resize("50%"), ("the disk is full", lambda: self.is_full(node)))

    def is_full(self, node):
        return self.cluster.inside(node, "df", "--output=avail", "/var/lib").split()[-1] == "0"

    def clocks(self):
        """Adds libfaketime to the agents, which reads its offset from a file of the node."""
        library = "/usr/lib/x86_64-linux-gnu/faketime"
        env = [{"name": "LD_PRELOAD", "value": "/opt/faketime/libfaketimeMT.so.1"}, {"name": "FAKETIME_TIMESTAMP_FILE", "value": "/run/clock/offset"},
               {"name": "FAKETIME_DONT_FAKE_MONOTONIC", "value": "1"}, {"name": "FAKETIME_CACHE_DURATION", "value": "1"}]
        mounts = [{"name": "faketime", "mountPath": "/opt/faketime", "readOnly": True}, {"name": "clock", "mountPath": "/run/clock", "readOnly": True}]
        volumes = [{"name": "faketime", "hostPath": {"path": library}}, {"name": "clock", "hostPath": {"path": "/run/clock"}}]
        for node in self.cluster.names:
            self.cluster.inside(node, "mkdir", "-p", "/run/clock")
            self.offset(node, "+0")
        patch = {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}},
                          "template": {"spec": {"containers": [{"name": "agent", "env": env, "volumeMounts": mounts}], "volumes": volumes}}}}
        self.cluster.kubectl("patch", "daemonset", "wattle-agent", "--namespace", "wattle-agent", "--patch", json.dumps(patch))
        self.rolled_out()
        loaded = {node: ["libfaketime" in pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8") for pid in self.cluster.processes(node, "wattle-agent")] for node in self.cluster.names}
        self.claims.check("every agent has loaded libfaketime", all(found == [True] for found in loaded.values()), loaded)
        for node in self.cluster.names:
            for offset in ("+1h", "-1h"):
                self.fault(f"clock {offset}", "agent", node, lambda node=node, offset=offset: self.offset(node, offset))
            self.offset(node, "+0")
        self.cluster.kubectl("rollout", "undo", "daemonset/wattle-agent", "--namespace", "wattle-agent")
        self.rolled_out()

    def offset(self, node, offset):
        self.cluster.inside(node, "sh", "-c", f"echo '{offset}' > /run/clock/offset")

    def rolled_out(self):
        self.cluster.kubectl("rollout", "status", "daemonset/wattle-agent", "--namespace", "wattle-agent", f"--timeout={LATE_S:.0f}s")


def check_short(claims, cluster):
    faults = Faults(claims, cluster)
    faults.kill("shim", cluster.leader()[1], "wattle-shim")
    faults.kill("controller", cluster.controller(), "wattle-controller")
    faults.table()


def check(claims, cluster):
    faults = Faults(claims, cluster)
    cluster.upgrade("--set", "scheduler.replicas=2")  # as in the chart: one may be disconnected with its node
    controller = cluster.controller()
    for node in cluster.names:
        for part, program in (("agent", "wattle-agent"), ("kubelet", "kubelet"), ("containerd", "containerd"), ("kube-proxy", "kube-proxy")):
            faults.kill(part, node, program)
        faults.stop("agent", node, "wattle-agent", faults.disconnected(node))
        faults.stop("kubelet", node, "kubelet")
        faults.stop("containerd", node, "containerd")
        faults.cut(node)
        faults.disk(node)
    faults.kill("shim", cluster.leader()[1], "wattle-shim")
    faults.kill("second scheduler", cluster.leader()[1], "kube-scheduler")
    faults.stop("controller", controller, "wattle-controller")
    faults.hang_of_shim()
    faults.kill("controller", controller, "wattle-controller")
    for program in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        faults.kill(program, "plane", program, pods=program in ("kube-controller-manager", "kube-scheduler"))
    for program in ("etcd", "kube-apiserver"):
        faults.stop(program, "plane", program, ("the agents stay connected", lambda: cluster.connected() == set(cluster.names)), pods=False)
    faults.clocks()
    faults.table()
