"""real_cluster: a cluster of `scripts/demo cluster` for tests: kubectl and `wattle` on it, its processes and its network.

Usage    with RealCluster(binaries) as cluster: ...       starts three nodes and ends them; CLUSTER_LOGS receives the logs
         with RealCluster(binaries, FOLDER) as cluster    uses a cluster that runs, by its folder run-ID
Skips    missing() names what the machine lacks
Errors   HouseError with the output of the command
"""
import base64
import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "kube"), str(ROOT / "scripts/cluster"), str(ROOT / "k8s/images")]
import assets  # noqa: E402
import demo as starter  # noqa: E402
import guard  # noqa: E402
import packages  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Demo  # noqa: E402
from house import HouseError, wait_until  # noqa: E402
from patience import AGES_S, LATE_S, SOON_S  # noqa: E402

NODES = 3
TOOLS = "wattle.demo/tools:1"  # the image of the workloads; it sleeps
LEASE = "wattle-scheduler"
CACHE = pathlib.Path(os.environ.get("WATTLE_CLUSTER_CACHE", pathlib.Path.home() / ".cache/wattle/cluster"))


def missing(binaries):
    """Returns why no cluster can run on this machine; empty if one can."""
    if os.geteuid() != 0:
        return "not root"
    if lacking := [program for program in starter.PROGRAMS if not (binaries / program).exists()]:
        return f"{binaries} has no {', '.join(lacking)}"
    folder = assets.cache_folder() / assets.VERSION
    if lacking := [program for program in assets.REAL_NODE if not (folder / program).exists()]:
        return f"{folder} has no {', '.join(lacking)} (scripts/setup --cluster builds them)"
    if not guard.hierarchies():
        return "no cgroups are mounted"
    allowed = subprocess.run(["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "mount", "--make-rprivate", "/"], capture_output=True, text=True, check=False)
    if allowed.returncode != 0:
        return f"namespaces are not allowed: {allowed.stderr.strip()}"
    try:
        assets.helm(may_build=False)
        assets.kubectl()
        packages.check_tools()
        CACHE.mkdir(parents=True, exist_ok=True)
        with guard.exclusive(CACHE):
            packages.tree(CACHE)
    except (assets.Missing, packages.Missing) as reason:
        return str(reason)
    return ""


def left(run):
    """Returns the resources of a cluster by its folder run-ID: cgroups, processes, mounts and files."""
    mounts = [line for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if f"/{run.name}" in line]
    processes = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(run) in words and int(path.parent.name) != os.getpid():
                processes.append((path.parent.name, words[:200]))
    return [*map(str, guard.cgroups(run.name[4:])), *processes, *mounts, *([str(run)] if run.exists() else [])]


def is_ready(thing):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in thing["status"].get("conditions", []))


class Attached(ControlPlane):
    """The API of a running cluster."""

    def __init__(self, run):  # pylint: disable=super-init-not-called
        config = json.loads((run / "kubeconfig").read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wattle-cluster-test-"))
        self.url, self.token, self.processes, self.kept = cluster["server"], config["users"][0]["user"]["token"], {}, threading.local()
        self.port = int(self.url.rpartition(":")[2])
        self.ca = self.dir / "ca.pem"
        self.ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))


class RealCluster:
    def __init__(self, binaries, run=None, **environment):
        """environment: variables of the demo. No node sleeps without DEMO_SLEEP."""
        self.binaries, self.run_folder, self.environment = binaries, run, {"DEMO_SLEEP": "0"} | environment
        self.demo = None
        self.numbers = itertools.count(1)

    def __enter__(self):
        if self.run_folder is None:
            more = self.environment | ({"DEMO_LOGS": os.environ["CLUSTER_LOGS"]} if "CLUSTER_LOGS" in os.environ else {})
            self.demo = Demo(self.binaries, 0, "cluster", str(NODES), **more).__enter__()
            try:
                self.run_folder = pathlib.Path(self.demo.wait_for(r"cluster: state in (\S+)", AGES_S)[0])
                self.demo.wait_for(r"s: ready\b", AGES_S)
                self.demo.wait_for("s: the jobs are started", AGES_S)  # after idle nodes sleep, for which the demo waits LATE_S
            except BaseException:
                self.demo.__exit__(*sys.exc_info())
                raise
            print("\n".join(line for line in self.demo.lines if " s: " in line), flush=True)
        self.identity = self.run_folder.name[4:]
        self.env = os.environ | {"KUBECONFIG": str(self.run_folder / "kubeconfig"), "WATTLE_CONFIG": str(self.run_folder / "cli.yaml")}
        self.page = json.loads((self.run_folder / "ready.json").read_text(encoding="utf-8"))["page"]
        self.plane = Attached(self.run_folder)
        self.names = [f"node-{number}" for number in range(1, NODES + 1)]
        return self

    def __exit__(self, *reason):
        self.plane.close()
        if self.demo:
            self.demo.__exit__(*reason)

    def end(self, number=signal.SIGTERM):
        """Ends the demo with a signal, which its whole process group receives, as from a terminal. Returns its exit
        code."""
        os.killpg(self.demo.process.pid, number)
        return self.demo.end()

    # ---- kubectl, helm and wattle

    def run(self, *words, given=None, check=True, seconds=LATE_S):
        try:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=self.env, input=given, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise HouseError(str(error)) from None
        if check and done.returncode != 0:
            raise HouseError(f"{' '.join(map(str, words[:6]))}: exit {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
        return done.stdout

    def kubectl(self, *words, **more):
        return self.run(assets.kubectl(), *words, **more)

    def helm(self, *words, **more):
        return self.run(assets.helm(may_build=False), *words, "--namespace", "kube-system", **more)

    def objects(self, kind, *more):
        return json.loads(self.kubectl("get", kind, "--output", "json", *more))["items"]

    def wattle(self, *words, seconds=SOON_S):
        return json.loads(self.run(self.binaries / "wattle", "--timeout", f"{seconds:.0f}s", *words, "--output", "json"))

    def pods(self, app, *more):
        """Returns pods of an application that are not being deleted."""
        return [pod for pod in self.objects("pods", "--selector", f"app.kubernetes.io/name={app}", *more) if "deletionTimestamp" not in pod["metadata"]]

    def part(self, name):
        """Returns pods of a component of Wattle: agent, controller or scheduler."""
        return self.pods(f"wattle-{name}", "--namespace", "wattle-agent" if name == "agent" else "wattle")

    def place(self, *names, **more):
        """Creates pods of the scheduler `wattle` and waits until each is bound. Returns {name: node}. more: of
        ControlPlane.add_pod."""
        for name in names:
            self.plane.add_pod(name, **({"cpu": "20m", "memory": "16Mi", "scheduler": "wattle", "image": TOOLS} | more))

        def bound():
            found = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in self.plane.pods()}
            return {name: found[name] for name in names} if all(found.get(name) for name in names) else None
        return wait_until(f"{', '.join(names)}: bound", bound)

    def delete(self, *names):
        for name in names:
            self.plane.delete_pod(name)

    def controller(self):
        """Returns the node that the controller runs on."""
        return self.part("controller")[0]["spec"]["nodeName"]

    def leader(self):
        """Returns (pod, node) of the leading second scheduler. A single replica holds no lease."""
        def holder():
            found = [(pod["metadata"]["name"], pod["spec"]["nodeName"]) for pod in self.part("scheduler")]
            if len(found) == 1:
                return found
            lease = json.loads(self.kubectl("get", "lease", LEASE, "--namespace", "wattle", "--output", "json"))["spec"].get("holderIdentity") or ""
            return [each for each in found if lease.startswith(each[0])]
        return wait_until("a second scheduler leads", holder)[0]

    def upgrade(self, *more):
        """Upgrades the release to the chart of this tree with its values and `more`, and waits until it runs."""
        self.helm("upgrade", "wattle", ROOT / "k8s/chart", "--reuse-values", *more, "--wait", f"--timeout={LATE_S:.0f}s", seconds=2 * LATE_S)

    @contextlib.contextmanager
    def drained(self):
        """Drains a node without the controller and the second scheduler; uncordons it at the end."""
        busy = {self.controller(), *(pod["spec"]["nodeName"] for pod in self.part("scheduler"))}
        node = next((name for name in reversed(self.names) if name not in busy), self.names[-1])
        self.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={LATE_S:.0f}s", "--grace-period=1", seconds=2 * LATE_S)
        try:
            yield node
        finally:
            self.kubectl("uncordon", node)

    def decision(self, pod, seconds=SOON_S):
        """Returns the decision about a pod of this name once its node is known."""
        return next((each for each in self.wattle("decisions", seconds=seconds)["decisions"] if each["pod_name"] == pod and each["placed_on"]), None)

    def decided(self, what, condition=lambda made: made["mode"] == "live"):
        """Places pods one by one until the decision about one meets the condition; by default, until the controller
        decides."""
        def one():
            name = f"{what}-{next(self.numbers)}"
            self.place(name)
            made = wait_until(f"the decision about {name} is known", lambda: self.decision(name), SOON_S)  # a controller that exits forgets it
            self.delete(name)
            return made if condition(made) else None
        return wait_until(f"the controller decides about a pod {what}", one, 2 * LATE_S)

    def connected(self):
        return {node["name"] for node in self.wattle("nodes")["nodes"] if node["connected"]}

    # ---- processes and network

    def cgroup(self, name):
        """Returns the node's cgroup in the hierarchy with `cpu`."""
        points = [each for each in guard.hierarchies() if "cpu" in each.options.split(",") or each.kind == "cgroup2"]
        return min(points, key=lambda each: each.kind == "cgroup2").point / f"{guard.PREFIX}{self.identity}" / name

    def processes(self, node, program):
        """Returns PIDs of a program on a node or in `plane`, in this machine's PID namespace."""
        found = []
        for file in self.cgroup(node).rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                for pid in file.read_text(encoding="utf-8").split():
                    with contextlib.suppress(OSError):
                        if pathlib.Path(f"/proc/{pid}/exe").readlink().name == program:
                            found.append(int(pid))
        return found

    def send(self, node, program, number):
        """Signals a program. Returns its PIDs."""
        found = wait_until(f"{program} runs on {node}", lambda: self.processes(node, program))
        for pid in found:
            with contextlib.suppress(ProcessLookupError):  # a process may exit with an earlier one, like the shim's standby
                os.kill(pid, number)
        return found

    def first(self, node):
        """Returns the first process of a node's namespaces, or of the cluster's for `plane`."""
        program = "bash" if node != "plane" else pathlib.Path(sys.executable).resolve().name
        return next(pid for pid in self.processes(node, program) if re.search(r"^NSpid:.*\t1$", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE))

    def inside(self, node, *words):
        """Runs a command in the mount and network namespaces of a node, or of the cluster for `plane`."""
        return self.run("nsenter", "--target", self.first(node), "--mount", "--net", *words)

    def link(self, node, state):
        """Turns a node's link to the cluster's network up or down."""
        self.inside("plane", "ip", "link", "set", f"link{node.rpartition('-')[2]}", state)
