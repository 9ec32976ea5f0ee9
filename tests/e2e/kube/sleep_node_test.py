#!/usr/bin/env python3
"""sleep_node_test: a node that really sleeps: its own agent suspends a QEMU machine with a stock Debian kernel to S3
through logind, and a magic packet wakes it. Then the same with a power-off and a boot.

Path     a pod moves away, the empty node sleeps, a pod waits, the node wakes, is Ready, and the pod runs. After a
         suspend by an operator, the node's samples are current once it is awake
Real     etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubelet, containerd, controller, agent in its unit's
         sandbox, logind, polkit, the clock's alarm, the kernel's suspend, the magic packets and their socket
         Emulated the machine and its S3 (QEMU); the reaction of its network card and board to a packet (sleeping_machine.WakeListener)
Fake     the node that stays awake: KWOK's, with an agent of a captured server; the machine's watts, by its configuration;
         a time server for its clock
Usage    sleep_node_test.py FOLDER-OF-BINARIES
Needs    root; scripts/setup --long; Go, or KUBEBUILDER_ASSETS
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import datetime
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "node"), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from captured_agent import NODE as STAYS, start_captured  # noqa: E402
from house import fetch, House, HouseError, wait_until  # noqa: E402
from node_plane import HOST, NodePlane  # noqa: E402
from patience import AGES_S, SOON_S, pace  # noqa: E402
from real_node import NAME, PAUSE  # noqa: E402
from registry import Registry  # noqa: E402
from resize_test import main  # noqa: E402
from sleeping_machine import MAC, SleepingMachine, WakeListener  # noqa: E402
from tiny_image import layout  # noqa: E402

PATIENCE = 2 * AGES_S  # an emulated processor, possibly beside compilers
LOAD = "registry.test/load:1"
MOVES = "/apis/apps/v1/namespaces/default/deployments/moves"
SUSPENDED_S = 60  # length of an operator's suspend


def seconds_of(timestamp):
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


class Plane(NodePlane):
    grace = "2m"  # a sleeping node is not Ready after that

    def start_kwok_beside(self):
        """KWOK manages only its own nodes, because the machine has a kubelet."""
        self.start("kwok", str(self.assets / "kwok"), "--kubeconfig", str(self.kubeconfig()), "--manage-all-nodes=false",
                   "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds", "40")


class Sleeper:
    """The controller and the machine, with queries for the test."""

    def __init__(self, binaries, plane, listener, claims):
        self.plane, self.listener, self.claims = plane, listener, claims
        (plane.dir / "wattle.token").write_text(plane.token)
        self.house = House(binaries, mode="shadow", controller_extra=f"""
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {plane.dir}/wattle.token}}
            sleep: {{mode: auto, drivers: {plane.dir}/drivers.yaml, proven_trips: 1}}
            store: {{path: {plane.dir}/store.db}}
            learn: {{enabled: false}}
            """)
        self.house.wattle("keys", "new", str(self.house.dir / f"{NAME}.key"))
        self.house.wattle("keys", "allow", "--allow-list", str(self.house.dir / "allow"), str(self.house.dir / f"{NAME}.key.pub"), "agent", NAME)

    def files(self):
        """Writes the files for the guest."""
        agent = f"""node: {NAME}
tick: 1s
controller: {{endpoint: "tcp://{HOST}:{self.house.telemetry}", key: /etc/wattle/agent.key, server_key: /etc/wattle/controller.pub}}
power: {{sleep: true, depths: [suspend, "off"]}}
estimate: {{idle_w: 95, max_w: 200}}
"""
        return {"agent.yaml": agent.encode(), "agent.key": (self.house.dir / f"{NAME}.key").read_bytes(),
                "controller.pub": (self.house.dir / "controller.key.pub").read_bytes()}

    def start(self, machine):
        self.machine = machine
        program = self.plane.dir / "observe"
        program.write_text(machine.observe_program(), encoding="utf-8")
        program.chmod(0o755)
        self.use("suspend")
        self.house.start_controller()
        start_captured(self.house)

    def use(self, depth):
        """Writes the drivers for this depth, which the controller reads at start."""
        (self.plane.dir / "drivers.yaml").write_text(
            f'nodes: [{{node: {NAME}, agent: {{depth: {depth}}}, sleep: agent, wake: wol, observe: exec, exec: {{command: [{self.plane.dir}/observe]}}, '
            f'wol: {{mac: "{MAC}", broadcast: 127.0.0.1, port: {self.listener.port}}}}}]\n', encoding="utf-8")

    def until(self, what, condition, seconds=PATIENCE):
        def look():
            pace(0.5)
            self.house.alive("controller")
            return condition()
        try:
            return wait_until(what, look, seconds)
        except HouseError as error:
            plan = self.house.cli("sleep", "plan", check=False).stdout + self.house.cli("sleep", "status", check=False).stdout
            raise HouseError(f"{error}\n{plan}\n{self.house.log('controller')[-3000:]}\n{self.machine.why()}") from error

    def claim(self, what, condition, seconds=PATIENCE):
        begun = time.monotonic()
        found = self.until(what, condition, seconds)
        self.claims.check(f"{what} ({time.monotonic() - begun:.0f} s)", True)
        return found

    def record(self):
        return next((each for each in self.house.query("sleep", "status")["nodes"] if each["name"] == NAME), {"state": None, "round_trips": 0})

    def node(self):
        return self.plane.call("GET", f"/api/v1/nodes/{NAME}")

    def is_ready(self):
        return any(each["type"] == "Ready" and each["status"] == "True" for each in self.node()["status"]["conditions"])

    def marks(self):
        node = self.node()
        return [taint["key"] for taint in node["spec"].get("taints", []) if taint["key"] == "wattle.dev/sleep"] + [
            key for key in node["metadata"]["labels"] if key.endswith("exclude-disruption")] + (["cordon"] if node["spec"].get("unschedulable") else [])

    def is_back(self):
        return self.record()["state"] == "awake" and self.is_ready() and not self.marks()

    def pod(self, name):
        """Returns the Running pod with this name prefix."""
        return next((each for each in self.plane.pods() if each["metadata"]["name"].startswith(name) and each["status"]["phase"] == "Running"
                     and not each["metadata"].get("deletionTimestamp")), None)

    # ---- the path

    def keep_awake(self, why):
        self.house.cli("sleep", "exclude", NAME, "--why", why, key="operator")
        self.until("the node is awake", self.is_back)

    def deploy(self):
        """Creates one pod on the machine, which may run on any node."""
        self.keep_awake("its pod has not started")
        labels = {"app.kubernetes.io/name": "moves"}
        prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}]}}]}}
        self.plane.call("POST", MOVES.rpartition("/")[0], {"metadata": {"name": "moves"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "affinity": prefers, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": LOAD, "imagePullPolicy": "IfNotPresent", "resources": {"requests": {"cpu": "100m", "memory": "16Mi"}}}]}}}})
        self.claim("a pod runs on the machine", lambda: (found := self.pod("moves")) and found["spec"]["nodeName"] == NAME)
        self.house.cli("sleep", "allow", NAME, key="operator")

    def prove(self, depth):
        """Runs the operator's test: one sleep and one wake of the empty node."""
        trips, packets = self.record()["round_trips"], self.listener.packets
        # On an emulated processor logind may answer too late; the node is then awake again.
        self.claim("the node sleeps by order of a test", lambda: self.record()["state"] == "asleep" or
                   self.house.cli("sleep", "test", NAME, key="operator", check=False) is None)
        self.asleep(depth)
        self.claim("a magic packet of the driver wakes the node, and it is Ready without marks", lambda: self.record()["round_trips"] == trips + 1 and self.is_back())
        self.claims.check("only packets woke the node", self.listener.packets > packets and not self.listener.others, (self.listener.packets, self.listener.others))

    def asleep(self, depth):
        wanted = {"suspend": "suspended", "off": "off"}[depth]
        self.claim(f"the controller reports the node asleep, and QEMU reports {wanted}", lambda: self.record()["state"] == "asleep" and self.machine.status() == wanted)
        self.claims.check("the node has the cordon, the taint and the label of a sleeping node", len(self.marks()) == 3, self.marks())

    def wakes_for_pod(self, number):
        """Creates a pod that may run only on the sleeping node."""
        self.claim("Kubernetes counts the node as not Ready", lambda: not self.is_ready())
        name, boots, wakeups = f"wakes-{number}", self.machine.boots, self.machine.wakeups
        waited = self.starts("a pod that may run only there wakes the node and runs", name)
        created, bound = (seconds_of(each) for each in self.bound_at(name))
        trips = [each for each in self.house.query("sleep", "history", NAME)["transitions"]]
        ready = max(each["at_wall_s"] for each in trips if each["to"] == "awake") - max(each["at_wall_s"] for each in trips if each["to"] == "waking")
        self.claims.check("the node was woken once", self.machine.boots + self.machine.wakeups == boots + wakeups + 1, (self.machine.boots, self.machine.wakeups))
        self.claims.check("the node has no marks", not self.marks(), self.marks())
        floor = self.starts("the same pod runs on the node that is awake", f"floor-{number}")
        print(f"     the pod runs {waited:.1f} s after it was created; bound after {bound - created:.0f} s; its node took {ready:.1f} s to wake; "
              f"on the node that is awake the same pod runs after {floor:.1f} s", flush=True)
        for each in (name, f"floor-{number}"):
            self.plane.delete_pod(each)

    def starts(self, what, name):
        """Returns the seconds from creation to running of a pod that may run only on this machine."""
        begun = time.monotonic()
        self.plane.add_pod(name, cpu="100m", memory="16Mi", image=LOAD, spec={"nodeSelector": {"kubernetes.io/hostname": NAME}})
        self.claim(what, lambda: (found := self.pod(name)) and found["spec"]["nodeName"] == NAME)
        return time.monotonic() - begun

    def bound_at(self, name):
        """Returns the times of the pod's creation and binding, to a second."""
        pod = next(each for each in self.plane.pods() if each["metadata"]["name"] == name)
        return pod["metadata"]["creationTimestamp"], next(each["lastTransitionTime"] for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")

    def check_unordered(self):
        """Tests a suspend that Wattle did not order: an operator's `systemctl suspend`."""
        self.keep_awake("an operator suspends the node")
        failures = self.failures()
        self.machine.run("systemd-run", "--on-active=1", "systemctl", "suspend")
        self.claim("an operator suspends the machine", lambda: self.machine.status() == "suspended")
        pace(SUSPENDED_S)
        self.machine.woken()
        # The controller's window of clock offsets would clear an old map only after 5 minutes.
        self.claim("once awake, the node's samples are as recent as another node's", self.is_fresh, 2 * SOON_S)
        self.until("the node is awake", self.is_back)
        self.claims.check("an operator's suspend does not count as a failed sleep", self.failures() == failures, (failures, self.failures()))

    def failures(self):
        """Returns failed sleeps and wakes by cause."""
        return [line for line in fetch(f"{self.house.api()}/metrics")[1].splitlines() if line.startswith("wattle_controller_sleep_failures_total")]

    def is_fresh(self):
        node = next(each for each in self.house.query("nodes")["nodes"] if each["name"] == NAME)
        return node["connected"] and node["age_ms"] is not None and node["age_ms"] < SUSPENDED_S * 500

    def check_suspend(self):
        boot = self.machine.run("cat", "/proc/sys/kernel/random/boot_id")
        self.prove("suspend")
        self.deploy()
        self.claim("the node is drained: its pod runs on another node", lambda: (found := self.pod("moves")) and found["spec"]["nodeName"] == STAYS)
        self.asleep("suspend")
        self.wakes_for_pod(1)
        self.claims.check("the node slept and did not boot", self.machine.run("cat", "/proc/sys/kernel/random/boot_id") == boot)
        said = self.machine.run("journalctl", "-b", "--no-pager", "-o", "cat", "-u", "wattle-agent", "-u", "systemd-logind", "-u", "systemd-suspend")
        count = self.machine.run("cat", "/sys/power/suspend_stats/success").strip()
        self.claims.check("the agent, logind and the kernel report both suspends", count == "2" and said.count("node_sleep.ended") == 2, (count, said[-2000:]))
        self.plane.call("DELETE", MOVES)
        self.check_unordered()

    def check_off(self):
        """Tests the other depth, whose drivers a restart of the controller reads."""
        boot = self.machine.run("cat", "/proc/sys/kernel/random/boot_id")
        self.use("off")
        self.keep_awake("the controller restarts with other drivers")
        self.house.kill("controller")
        self.house.start_controller()
        self.until("the node reports again", lambda: self.record()["state"] == "awake")
        self.house.cli("sleep", "allow", NAME, key="operator")
        self.prove("off")
        self.claims.check("the node has booted", self.machine.boots == 2 and self.machine.run("cat", "/proc/sys/kernel/random/boot_id") != boot, self.machine.boots)


def run(binaries, version, claims):
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        if shutil.which(program) is None:
            raise assets.Missing(f"{program} is missing (scripts/setup --long installs it)")
    programs = assets.assets(version, (*assets.REAL_NODE, "kwok"))
    with Plane(programs) as plane, Registry(layout(plane.dir / "images", (PAUSE, LOAD))) as registry:
        plane.start_controller_manager()
        plane.start_scheduler()
        plane.start_kwok_beside()
        plane.add_node(STAYS, cpu="64", memory="64Gi")
        machine = SleepingMachine(plane, programs, registry, binaries)
        with WakeListener(machine.woken) as listener:
            sleeper = Sleeper(binaries, plane, listener, claims)
            machine.files = sleeper.files()
            try:
                with sleeper.house, machine:
                    sleeper.start(machine)
                    sleeper.claim("the machine is a node with an agent", lambda: sleeper.is_ready() and sleeper.record()["state"] == "awake")
                    sleeper.check_suspend()
                    sleeper.check_off()
            except HouseError as error:
                claims.check("the test ran to its end", False, error)


if __name__ == "__main__":
    sys.exit(main("sleep node", run))
