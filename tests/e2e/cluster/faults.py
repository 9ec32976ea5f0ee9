"""faults: each part of a cluster, on each node, is killed, stopped or disconnected, or has its disk or clock changed.

Claims   pods of the scheduler `wattle` are bound during each fault, and after it every agent is connected and the
         controller decides again
Prints   a table: fault, part, node, who decided about the pods during the fault, and the seconds until recovery
Nodes    the controller stays on node-1, which has its volume. Second scheduler and shim run on every node, and each
         leads in turn. The control plane runs beside the nodes, as `plane`
Clock    agents, shims and the controller run under libfaketime: clock namespaces have no wall clock, and all nodes
         share a kernel. Go programs (Kubernetes, containerd) read the clock without libc, so theirs cannot be changed
"""
import contextlib
import datetime
import json
import os
import pathlib
import signal
import time

from house import HouseError, wait_until
from patience import LATE_S, MOMENT_S

PODS = 2  # during each fault
FRESH_MS = 5000  # of values that an agent sends every second
SILENT_S = 15  # a kubelet renews its Lease every 10 s
REFUSED = 500  # status from which on an API server has failed
AGENT, CONTROLLER, SCHEDULER = "daemonset/wattle-agent", "deployment/wattle-controller", "deployment/wattle-scheduler"
CONTAINERS = {AGENT: "agent", CONTROLLER: "controller", SCHEDULER: "shim"}  # and not the second scheduler beside the shim


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
        print("     " + "  ".join(self.rows[-1]), flush=True)  # a run that is interrupted has these rows

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

    def leaders(self):
        """Yields each node once its second scheduler leads. A fault often moves the Lease to a node that is still due."""
        due = list(self.cluster.names)
        while due:
            node = self.cluster.leader()[1]
            if node not in due:
                self.lead(node := due[0])
            due.remove(node)
            yield node

    def lead(self, node):
        """Stops the other second schedulers until the Lease has passed to this node."""
        stopped = [pid for other in self.cluster.names if other != node for pid in self.cluster.send(other, "kube-scheduler", signal.SIGSTOP)]
        try:
            wait_until(f"the second scheduler of {node} leads", lambda: self.cluster.leader()[1] == node)
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

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

    def cut_plane(self):
        """Drops all packets from the nodes to the control plane, except those of this test's connections to the
        controller. The nodes reach each other: bridged packets pass the hook `forward`, which is left alone."""
        def nft(text):
            self.cluster.inside("plane", "nft", text)

        def begin():
            nft("add table inet cut; add chain inet cut input { type filter hook input priority 0; }; "
                "add rule inet cut input iifname nodes0 tcp sport { 7461, 7462, 8050 } accept; add rule inet cut input iifname nodes0 drop")

        def silent():
            leases = self.cluster.objects("leases", "--namespace", "kube-node-lease")
            renewed = [datetime.datetime.fromisoformat(lease["spec"]["renewTime"].replace("Z", "+00:00")).timestamp() for lease in leases]
            return len(renewed) == len(self.cluster.names) and max(renewed) < time.time() - SILENT_S and self.cluster.connected() == set(self.cluster.names)
        self.fault("cut network", "all", "plane", begin, lambda: nft("delete table inet cut"), ("no kubelet renews its Lease, and the agents stay connected", silent), pods=False)

    def disk_of_plane(self):
        """Fills the file system of etcd, and writes until the API server refuses."""
        etcd, = self.cluster.run_folder.glob("wattle-kube-*/etcd")
        path = "/api/v1/namespaces/default/configmaps"
        written = []

        def resize(size):
            self.cluster.inside("plane", "mount", "--types", "tmpfs", "--options", f"remount,size={size}", "tmpfs", etcd)
            return True

        def fill():
            wait_until("the disk of etcd shrinks", lambda: resize(4096 * int(self.cluster.inside("plane", "df", "--output=used", "--block-size=4096", etcd).split()[-1])))

        def refuses():
            thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"fill-{len(written)}"}, "data": {"text": "x" * 900_000}}
            try:
                status, _ = self.cluster.plane.raw("POST", path, thing)
            except OSError:
                return True
            if status < REFUSED:
                written.append(thing["metadata"]["name"])
            return status >= REFUSED

        def empty():
            resize("50%")
            for name in written:
                wait_until(f"{name} is deleted", lambda name=name: self.cluster.plane.raw("DELETE", f"{path}/{name}")[0] < REFUSED)
        self.fault("fill disk", "etcd", "plane", fill, empty, ("the API server refuses writes, and the agents stay connected", lambda: refuses() and self.cluster.connected() == set(self.cluster.names)),
                   pods=False)

    def is_full(self, node):
        return self.cluster.inside(node, "df", "--output=avail", "/var/lib").split()[-1] == "0"

    # ---- clocks

    def fake(self, workload):
        """Adds libfaketime to a container, which reads its offset from a file of the node. Returns the namespace."""
        space = "wattle-agent" if workload == AGENT else "wattle"
        env = [{"name": "LD_PRELOAD", "value": "/opt/faketime/libfaketimeMT.so.1"}, {"name": "FAKETIME_TIMESTAMP_FILE", "value": "/run/clock/offset"},
               {"name": "FAKETIME_DONT_FAKE_MONOTONIC", "value": "1"}, {"name": "FAKETIME_CACHE_DURATION", "value": "1"}]
        mounts = [{"name": "faketime", "mountPath": "/opt/faketime", "readOnly": True}, {"name": "clock", "mountPath": "/run/clock", "readOnly": True}]
        volumes = [{"name": "faketime", "hostPath": {"path": "/usr/lib/x86_64-linux-gnu/faketime"}}, {"name": "clock", "hostPath": {"path": "/run/clock"}}]
        spec = {"template": {"spec": {"containers": [{"name": CONTAINERS[workload], "env": env, "volumeMounts": mounts}], "volumes": volumes}}}
        if workload == AGENT:
            spec["updateStrategy"] = {"rollingUpdate": {"maxUnavailable": "100%"}}
        self.cluster.kubectl("patch", workload, "--namespace", space, "--patch", json.dumps({"spec": spec}))
        self.rolled_out(workload, space)
        return space

    @contextlib.contextmanager
    def faked(self, workload, program, nodes):
        for node in self.cluster.names:
            self.cluster.inside(node, "mkdir", "-p", "/run/clock")
            self.offset(node, "+0")
        space = self.fake(workload)

        def loaded(node):
            found = self.cluster.processes(node, program)
            return found and all("libfaketime" in pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8") for pid in found)
        wait_until(f"each {program} has loaded libfaketime", lambda: all(map(loaded, nodes)))
        try:
            yield
        finally:
            self.cluster.kubectl("rollout", "undo", workload, "--namespace", space)
            self.rolled_out(workload, space)

    def clocks(self, part, nodes):
        """Checks that the cluster recovers while the clock is wrong."""
        for node in nodes:
            for offset in ("+1h", "-1h"):
                self.fault(f"clock {offset}", part, node, lambda node=node, offset=offset: self.offset(node, offset))
            self.offset(node, "+0")

    def all_clocks(self):
        names, controller = self.cluster.names, self.cluster.controller()
        with self.faked(AGENT, "wattle-agent", names):
            self.clocks("agent", names)
        # Pod Security `restricted` refuses volumes of the node
        label = ("label", "namespace", "wattle", "--overwrite")
        self.cluster.kubectl(*label, "pod-security.kubernetes.io/enforce=privileged")
        try:
            with self.faked(SCHEDULER, "wattle-shim", names):
                self.clocks("shim", self.leaders())
            with self.faked(CONTROLLER, "wattle-controller", [controller]):
                self.clocks("controller", [controller])
        finally:
            self.cluster.kubectl(*label, "pod-security.kubernetes.io/enforce=restricted")

    def offset(self, node, offset):
        self.cluster.inside(node, "sh", "-c", f"echo '{offset}' > /run/clock/offset")

    def rolled_out(self, workload, space):
        self.cluster.kubectl("rollout", "status", workload, "--namespace", space, f"--timeout={LATE_S:.0f}s", seconds=2 * LATE_S)


def check_short(claims, cluster):
    faults = Faults(claims, cluster)
    faults.kill("shim", cluster.leader()[1], "wattle-shim")
    faults.kill("controller", cluster.controller(), "wattle-controller")
    faults.table()


def check_plane(faults):
    scheduling = ("kube-controller-manager", "kube-scheduler")  # pods of the second scheduler need neither of them
    for program in ("etcd", "kube-apiserver", *scheduling):
        faults.kill(program, "plane", program, pods=program in scheduling)
    for program in ("etcd", "kube-apiserver", *scheduling):
        stays = ("the agents stay connected", lambda: faults.cluster.connected() == set(faults.cluster.names))
        faults.stop(program, "plane", program, stays, pods=program in scheduling)
    faults.cut_plane()
    faults.disk_of_plane()


def check(claims, cluster):
    faults = Faults(claims, cluster)
    cluster.upgrade("--set", f"scheduler.replicas={len(cluster.names)}")
    controller = cluster.controller()
    faults.stop("controller", controller, "wattle-controller")
    faults.kill("controller", controller, "wattle-controller")
    for node in faults.leaders():
        faults.kill("shim", node, "wattle-shim")
        faults.hang_of_shim()
        faults.stop("second scheduler", node, "kube-scheduler")
    for node in faults.leaders():
        faults.kill("second scheduler", node, "kube-scheduler")
    check_plane(faults)
    for node in cluster.names:
        for part, program in (("agent", "wattle-agent"), ("kubelet", "kubelet"), ("containerd", "containerd"), ("kube-proxy", "kube-proxy")):
            faults.kill(part, node, program)
            faults.stop(part, node, program, faults.disconnected(node) if part == "agent" else None)
        faults.cut(node)
        faults.disk(node)
    faults.all_clocks()
    faults.table()
