"""arena: a fresh real cluster for one run, the workload on it, and a recording.

Source   scripts/demo cluster with DEMO_BARE; the API server and the controller's page on loopback
Units    seconds since the start of the measurement
Errors   ArenaError names the step and the end of the cluster's output
Ends     with the `with` block, and with this process: SIGTERM to scripts/demo cluster, which removes everything
Threads  the recorder has two, which end with it
"""
import base64
import collections
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "scripts/cluster")]
from patience import AGES_S, LATE_S, SOON_S, pace  # noqa: E402
from power import ASLEEP_W  # noqa: E402

WORKLOADS = pathlib.Path(__file__).with_name("workloads")
PODS = "/api/v1/namespaces/default/pods"
SAMPLE_S = 1.0
DEFAULT, MOST_ALLOCATED = "kube-default", "most-allocated"  # decided by kube-scheduler only
SLEEP = "+sleep"  # suffix of a policy with sleeping nodes
SCHEDULERS = {DEFAULT: "default-scheduler", MOST_ALLOCATED: "most-allocated"}
RESOURCES = {"Deployment": "/apis/apps/v1/namespaces/default/deployments", "Service": "/api/v1/namespaces/default/services", "Pod": PODS}


class ArenaError(Exception):
    pass


class Api:
    """A client of the API server in the kubeconfig of a demo cluster. Opens one connection per request."""

    def __init__(self, kubeconfig):
        config = json.loads(pathlib.Path(kubeconfig).read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        self.address = urllib.parse.urlsplit(cluster["server"])
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.token = config["users"][0]["user"]["token"]

    def open(self, method, path, body=None, kind="application/json", timeout=SOON_S):
        link = http.client.HTTPSConnection(self.address.hostname, self.address.port, timeout=timeout, context=self.context)
        link.request(method, path, None if body is None else json.dumps(body), {"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        answer = link.getresponse()
        if answer.status >= 300:
            raise ArenaError(f"{method} {path}: HTTP {answer.status}: {answer.read().decode()[:500]}")
        return answer

    def call(self, method, path, body=None, kind="application/json"):
        return json.loads(self.open(method, path, body, kind).read())

    def text(self, path):
        return self.open("GET", path).read().decode()


class Recorder:
    """Samples of nodes once a second, and the life of each placed pod, from a watch."""

    def __init__(self, api, page, nodes):
        self.api, self.page, self.nodes = api, page, nodes
        self.samples, self.lives, self.stopped, self.begun = [], {}, threading.Event(), time.monotonic()
        self.threads = [threading.Thread(target=target, daemon=True) for target in (self.sample, self.watch)]
        listed = api.call("GET", PODS)
        self.version = listed["metadata"]["resourceVersion"]
        for pod in listed["items"]:
            self.see(pod)
        for thread in self.threads:
            thread.start()

    def now(self):
        return time.monotonic() - self.begun

    def sample(self):
        while not self.stopped.wait(max(0.0, len(self.samples) * SAMPLE_S - self.now())):
            with contextlib.suppress(OSError, ValueError, KeyError):
                with urllib.request.urlopen(self.page + "api/v1/nodes", timeout=SOON_S) as answer:
                    found = {node["name"]: seen(node) for node in json.loads(answer.read())["nodes"]}
                if all(found.get(name, {}).get("power_w") is not None for name in self.nodes):
                    self.samples.append({"at_s": self.now(), "nodes": found})
                    continue
            self.stopped.wait(0.2)

    def watch(self):
        while not self.stopped.is_set():
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, ArenaError):
                for line in self.api.open("GET", f"{PODS}?watch=1&resourceVersion={self.version}", timeout=AGES_S):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.version = self.api.call("GET", PODS)["metadata"]["resourceVersion"]
                        break
                    self.version = event["object"]["metadata"]["resourceVersion"]
                    self.see(event["object"], event["type"] == "DELETED")

    def see(self, pod, deleted=False):
        if pod["metadata"].get("labels", {}).get("compare") != "placed":
            return
        life = self.lives.setdefault(pod["metadata"]["uid"], {"name": pod["metadata"]["name"], "node": None, "created_s": self.now(), "placed_s": None,
                                                             "ready_s": None, "ended_s": None})
        if life["node"] is None and pod["spec"].get("nodeName"):
            life["node"], life["placed_s"] = pod["spec"]["nodeName"], self.now()
        if life["ready_s"] is None and is_ready(pod):
            life["ready_s"] = self.now()
        if life["ended_s"] is None and (deleted or pod["status"].get("phase") in ("Failed", "Succeeded")):
            life["ended_s"] = self.now()

    def stop(self):
        self.stopped.set()
        self.threads[0].join()
        return {"samples": self.samples, "pods": list(self.lives.values())}


def seen(node):
    """Returns the sampled fields of a node of the page's list. A sleeping node draws its BMC's power."""
    if (node["power"] or {}).get("state") == "asleep":
        return {"asleep": True, "age_s": 0.0, "power_w": ASLEEP_W, "cpu_cores": 0.0, "waiting_ratio": None}
    return {"asleep": False, "age_s": (node["age_ms"] or 0) / 1000, "power_w": node["power_w"], "cpu_cores": node["cpu_used_cores"],
            "waiting_ratio": (node["psi"] or {}).get("cpu_some_ratio")}


def is_ready(pod):
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in pod["status"].get("conditions", []))


def manifests(name, scheduler, version):
    """Returns the objects of a file of workloads/, with images of this cluster and the policy's scheduler."""
    things = [thing for thing in yaml.safe_load_all((WORKLOADS / f"{name}.yaml").read_text(encoding="utf-8"))]
    for thing in things:
        spec = thing["spec"].get("template", thing)["spec"] if thing["kind"] != "Service" else {}
        for container in spec.get("containers", []):
            container["image"] = re.sub(r"^registry.example/team/(wattle-\w+):.*", rf"docker.io/library/\1:{version}", container["image"])
        if "schedulerName" in spec:
            spec["schedulerName"] = scheduler
    return things


class Arena:
    def __init__(self, binaries, nodes, log, values="", sleeps=False):
        """values: file with further values of the chart. sleeps: nodes without work sleep before the run starts."""
        self.binaries, self.count, self.log, self.values, self.sleeps = binaries, nodes, log, values, sleeps

    def __enter__(self):
        self.lines = []
        self.folder = tempfile.TemporaryDirectory(prefix="wattle-real-")
        cache = pathlib.Path(os.environ.get("WATTLE_CLUSTER_CACHE", pathlib.Path.home() / ".cache/wattle/real"))
        env = os.environ | {"DEMO_BIN": str(self.binaries), "DEMO_BARE": "1", "DEMO_VALUES": str(self.values), "DEMO_SLEEP": str(int(self.sleeps)), "WATTLE_CLUSTER_CACHE": str(cache), "TMPDIR": self.folder.name}
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", str(ROOT / "scripts/demo"), "cluster", str(self.count)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=env, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def read(self):
        with open(self.log, "a", encoding="utf-8") as log:
            for line in self.process.stdout:
                self.lines.append(line.rstrip("\n"))
                log.write(line)
                log.flush()

    def begin(self):
        def started():
            if self.process.poll() is not None:
                raise ArenaError("the cluster exited:\n" + "\n".join(self.lines[-20:]))
            return re.findall(r"KUBECONFIG=(\S+) WATTLE_CONFIG=(\S+)", "\n".join(self.lines))
        (kubeconfig, self.config), = self.wait("the cluster is ready", started, 4 * AGES_S)
        self.page, = re.findall(r"^Page:\s+(\S+)", "\n".join(self.lines), re.M)
        self.api = Api(kubeconfig)
        self.nodes = sorted(node["metadata"]["name"] for node in self.api.call("GET", "/api/v1/nodes")["items"])
        chart = yaml.safe_load((ROOT / "k8s/chart/Chart.yaml").read_text(encoding="utf-8"))
        self.version = chart["appVersion"]

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LATE_S)
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join(SOON_S)
        self.folder.cleanup()

    def wait(self, what, condition, seconds=LATE_S):
        end, last = time.monotonic() + seconds, None
        while time.monotonic() < end:
            try:
                if last := condition():
                    return last
            except (OSError, ValueError, KeyError) as error:
                last = error
            pace(0.1)
        raise ArenaError(f"not within {seconds:.0f} s: {what} (last: {last})")

    # ---- the workload

    def create(self, thing):
        self.api.call("POST", RESOURCES[thing["kind"]], thing)

    def scale(self, name, replicas):
        self.api.call("PATCH", f"{RESOURCES['Deployment']}/{name}", {"spec": {"replicas": replicas}}, "application/merge-patch+json")

    def delete_oldest(self, name):
        pods = [pod for pod in self.api.call("GET", f"{PODS}?labelSelector=app.kubernetes.io%2Fname%3D{name}")["items"] if "deletionTimestamp" not in pod["metadata"]]
        if pods:
            oldest = min(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
            self.api.call("DELETE", f"{PODS}/{oldest['metadata']['name']}")

    def set_policy(self, policy):
        """Sets the policy. `policy`: dqn, or a policy and a reward preset as in dqn/ee, with or without SLEEP;
        kube-scheduler's own policies leave the controller in mode shadow."""
        words = ["--mode", "shadow"]
        if policy not in SCHEDULERS:
            name, _, preset = policy.removesuffix(SLEEP).partition("/")
            words = ["--mode", "live", "--force", "--policy", name, "--reward", preset or "weighted"]
        done = subprocess.run([self.binaries / "wattle", "--timeout", f"{SOON_S:.0f}s", "policy", "set", *words, "--why", "lab/real compares policies"],
                              capture_output=True, text=True, check=False, env=os.environ | {"WATTLE_CONFIG": self.config})
        if done.returncode != 0:
            raise ArenaError(f"wattle policy set {' '.join(words)}: {done.stderr.strip()[-500:]}")

    def prepare(self, plan, scheduler):
        """Starts the service and the blockers before the measurement."""
        for name, cores in plan["blockers"].items():
            thing, = manifests("blocker", scheduler, self.version)
            thing["metadata"]["name"] = f"blocker-{name}"
            thing["spec"]["nodeSelector"] = {"kubernetes.io/hostname": name}
            arguments = thing["spec"]["containers"][0]["args"]
            arguments[arguments.index("--cpu") + 1] = str(cores)
            self.create(thing)
        for file in ("service", plan["workload"]):
            for thing in manifests(file, scheduler, self.version):
                if thing["kind"] == "Deployment" and file != "service":
                    thing["spec"]["replicas"] = 0
                self.create(thing)
        self.wait("the service and the blockers run", lambda: self.running() == self.expected(plan))

    def running(self):
        return sum(is_ready(pod) for pod in self.api.call("GET", PODS)["items"])

    @staticmethod
    def expected(plan):
        return len(plan["blockers"]) + 2 + (plan["workload"] == "apps")

    def start_users(self, seconds):
        thing, = manifests("users", "default-scheduler", self.version)
        arguments = thing["spec"]["containers"][0]["args"]
        arguments[arguments.index("--for") + 1] = f"{seconds:.0f}s"
        self.create(thing)

    def users_report(self):
        self.wait("the users have ended", lambda: self.api.call("GET", f"{PODS}/users")["status"]["phase"] in ("Succeeded", "Failed"))
        return json.loads(self.api.text(f"{PODS}/users/log"))

    def decisions(self):
        with urllib.request.urlopen(self.page + "api/v1/decisions?limit=1000", timeout=SOON_S) as answer:
            return json.loads(answer.read())["decisions"]

    def run(self, policy, plan, settle_s):
        """Plays the schedule under the policy. Returns the recording."""
        scheduler = SCHEDULERS.get(policy, "wattle")
        self.set_policy(policy)
        self.prepare(plan, scheduler)
        pace(settle_s)
        recorder = Recorder(self.api, self.page, self.nodes)
        self.start_users(plan["seconds"] - 5)
        late_s = 0.0
        for event in plan["events"]:
            pace(max(0.0, event["at_s"] - recorder.now()))
            late_s = max(late_s, recorder.now() - event["at_s"])
            if event["do"] == "scale":
                self.scale(event["what"], event["count"])
            else:
                self.delete_oldest(event["what"])
        pace(max(0.0, plan["seconds"] - recorder.now()))
        recording = recorder.stop()
        restarts = sum(status["restartCount"] for pod in self.api.call("GET", PODS)["items"] for status in pod["status"].get("containerStatuses", []))
        placed = {life["name"] for life in recording["pods"]}
        live = [one for one in self.decisions() if one["mode"] == "live" and one["pod_name"] in placed]
        return recording | {"nodes": self.nodes, "late_s": round(late_s, 2), "restarts": restarts, "users": self.users_report(),
                                           "by_wattle": sum(one["advice"] is not None and one["advice"] == one["placed_on"] for one in live),
                                           "decided_by": dict(collections.Counter(one["decided_by"] or "neutral" for one in live))}
