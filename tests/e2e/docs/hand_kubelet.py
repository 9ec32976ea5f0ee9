"""hand_kubelet: replaces the kubelet for the pods of one node with processes of this machine, so that the rendered
objects run.

Does     volumes (Secrets, ConfigMaps, projected tokens, claims, host paths, memory) with a kubelet's modes and groups;
         init containers; commands, environment, user, groups, capabilities and a read-only root as the pod specifies;
         readiness by the pod's own probe; restarts; status; an orderly end
Not      images (the built programs replace them), limits, liveness, separate networks: all pods share one network, so
         only one pod of each kind runs
Pods     of namespaces other than ours, and second replicas, are only reported as running
Errors   `problems`: reasons that kept a pod from starting, and the last output of a container that exited
"""
import base64
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from house import HouseError  # noqa: E402
from private_root import Root  # noqa: E402

OURS = ("wattle", "wattle-agent")
OF_MACHINE = ("/sys", "/proc", "/sys/fs/cgroup")  # host paths of the machine; all others are private
EVERY_S = 0.3
ADDRESS = "10.244.0.2"  # the address of every pod, because this network has one host
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class HandKubelet:
    def __init__(self, plane, folder, binds, name="worker-1"):
        self.plane, self.folder, self.binds, self.name = plane, pathlib.Path(folder), binds, name
        self.pods = {}  # uid -> Pod
        self.problems = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def __enter__(self):
        subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        self.plane.add_node(self.name, labels={"kubernetes.io/os": "linux"})
        self.plane.call("POST", "/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "by-hand"}, "spec": {
                "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/var/lib/wattle-volume"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [self.name]}]}]}}}})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        for pod in self.pods.values():
            pod.end()

    def loop(self):
        while not self.stopping.wait(EVERY_S):
            try:
                self.look()
            except (OSError, HouseError, ValueError) as error:
                self.problems.append(repr(error))

    def look(self):
        there = {p["metadata"]["uid"]: p for p in self.plane.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={self.name}")["items"]}
        for uid, thing in there.items():
            if uid not in self.pods:
                self.pods[uid] = Pod(self, thing)
            if "deletionTimestamp" in thing["metadata"]:
                self.pods[uid].end()
                self.plane.raw("DELETE", path_of(thing), {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        for uid in self.pods.keys() - there.keys():
            self.pods.pop(uid).end()

    def running(self, namespace, prefix):
        return [p for p in self.pods.values() if p.thing["metadata"]["namespace"] == namespace and p.thing["metadata"]["name"].startswith(prefix)]

    def diagnostics(self):
        """Returns diagnostics for a failed test."""
        said = [f"---- {p.thing['metadata']['name']}\n{p.log()[-3000:]}" for p in self.pods.values()]
        return "\n".join([*self.problems[-10:], *said])


def path_of(thing, more=""):
    return f"/api/v1/namespaces/{thing['metadata']['namespace']}/pods/{thing['metadata']['name']}{more}"


class Pod:
    def __init__(self, kubelet, thing):
        self.kubelet, self.plane, self.thing, self.spec = kubelet, kubelet.plane, thing, thing["spec"]
        self.folder = kubelet.folder / thing["metadata"]["uid"]
        self.folder.mkdir(parents=True)
        self.processes, self.ended = {}, threading.Event()
        self.security = self.spec.get("securityContext", {})
        self.real = False  # has processes, or will have
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- its life

    def has_twin(self):
        """Returns whether another replica of the same workload runs: both would use the same ports of this one network.
        A standby is only reported as running."""
        of = lambda thing: (thing["metadata"]["namespace"], thing["metadata"].get("labels", {}).get("app.kubernetes.io/name"))
        return any(pod is not self and pod.real and not pod.ended.is_set() and of(pod.thing) == of(self.thing) for pod in list(self.kubelet.pods.values()))

    def run(self):
        try:
            if self.thing["metadata"]["namespace"] not in OURS or self.has_twin():
                return self.write_status("Running", True)
            self.real = True
            self.write_status("Pending", False)
            volumes = self.patiently(lambda: {v["name"]: self.volume(v) for v in self.spec.get("volumes", [])})
            for container in self.spec.get("initContainers", []):
                self.patiently(lambda container=container, volumes=volumes: self.finished(container, volumes))
            self.work(volumes)
        except Exception as error:  # pylint: disable=broad-except
            if not self.ended.is_set():
                self.kubelet.problems.append(f"{self.thing['metadata']['name']}: {error!r}")
        finally:
            self.real = False  # a completed pod does not keep its successor from starting
        return None

    def patiently(self, step):
        """Retries like a kubelet: a Secret may be created later, an init container may succeed the next time."""
        while not self.ended.is_set():
            try:
                return step()
            except HouseError as error:
                self.kubelet.problems.append(f"{self.thing['metadata']['name']}: {str(error)[:500]}")
                self.ended.wait(1)
        raise HouseError("the pod has exited")

    def work(self, volumes):
        once = self.spec.get("restartPolicy") in ("OnFailure", "Never")
        never = self.spec.get("restartPolicy") == "Never"
        starts = 0
        while not self.ended.is_set():
            for container in self.spec["containers"]:
                process = self.processes.get(container["name"])
                if process is None or (process.poll() is not None and not never and not (once and process.returncode == 0)):
                    if process is not None:
                        starts += 1
                        self.kubelet.problems.append(f"{self.thing['metadata']['name']}: {container['name']} ended: {process.returncode}: {self.log()[-300:]}")
                        self.ended.wait(min(2**starts, 10))
                    self.processes[container["name"]] = self.start(container, volumes)
            if once and all(p.poll() == 0 for p in self.processes.values()):
                return self.write_status("Succeeded", False, starts)
            if never and all(p.poll() is not None for p in self.processes.values()):
                return self.write_status("Failed", False, starts)
            self.write_status("Running", all(self.is_ready(container) for container in self.spec["containers"]), starts)
            self.ended.wait(EVERY_S)
        return None

    def end(self):
        self.ended.set()
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(self.spec.get("terminationGracePeriodSeconds", 30))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if threading.current_thread() is not self.thread:
            self.thread.join(10)

    def write_status(self, phase, ready, restarts=0):
        truth = "True" if ready else "False"
        status = {"phase": phase, "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}], "conditions": [
            {"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "True" if phase != "Pending" else "False"},
            {"type": "ContainersReady", "status": truth}, {"type": "Ready", "status": truth}],
            "containerStatuses": [{"name": c["name"], "image": c["image"], "imageID": "", "ready": ready, "restartCount": restarts,
                                   "state": {"running": {}} if phase == "Running" else {"waiting": {}} if phase == "Pending" else
                                   {"terminated": {"exitCode": 0, "reason": "Completed"} if phase == "Succeeded" else {"exitCode": 1, "reason": "Error"}}} for c in self.spec["containers"]]}
        if status != getattr(self, "reported", None):
            self.plane.raw("PATCH", path_of(self.thing, "/status"), {"status": status})
            self.reported = status

    def is_ready(self, container):
        if self.processes[container["name"]].poll() is not None:
            return False
        probe = container.get("readinessProbe", {}).get("httpGet")
        if not probe:
            return True
        port = next((p["containerPort"] for p in container["ports"] if p.get("name") == probe["port"]), probe["port"])
        url = f"{probe.get('scheme', 'http').lower()}://{ADDRESS}:{port}{probe['path']}"
        try:
            with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()) as answer:  # pylint: disable=protected-access
                return answer.status < 400
        except (OSError, urllib.error.URLError):
            return False

    def log(self):
        return "".join(f"-- {file.name}\n{file.read_text(errors='replace')}" for file in sorted(self.folder.glob("*.log")))

    # ---- its volumes

    def volume(self, volume):
        at = self.folder / "volumes" / volume["name"]
        if "persistentVolumeClaim" in volume:
            at = self.kubelet.folder / "claims" / volume["persistentVolumeClaim"]["claimName"]
        elif "hostPath" in volume and volume["hostPath"]["path"] in OF_MACHINE:
            return pathlib.Path(volume["hostPath"]["path"])
        elif "hostPath" in volume:
            at = self.kubelet.folder / "host" / volume["hostPath"]["path"].lstrip("/")
        at.mkdir(parents=True, exist_ok=True)
        if any(kind in volume for kind in ("persistentVolumeClaim", "emptyDir")):
            os.chown(at, 0, self.security.get("fsGroup", 0))
            at.chmod(0o2770 if "fsGroup" in self.security else 0o777)
        for source in [volume, *volume.get("projected", {}).get("sources", [])]:
            mode = volume.get("projected", source.get("secret", source.get("configMap", {}))).get("defaultMode", 0o644)
            for name, text in self.files(source).items():
                self.write(at / name, text, mode)
        return at

    def write(self, path, text, mode):
        path.unlink(missing_ok=True)
        path.write_bytes(text)
        group = self.security.get("fsGroup")
        os.chown(path, 0, group or 0)
        path.chmod(mode | 0o440 if group else mode)

    def files(self, source):
        """Returns name -> bytes."""
        for kind, plural, name in (("secret", "secrets", "secretName"), ("configMap", "configmaps", "name")):
            if kind in source:
                one = source[kind]
                thing = self.plane.call("GET", f"/api/v1/namespaces/{self.thing['metadata']['namespace']}/{plural}/{one.get(name) or one['name']}")
                held = {key: base64.b64decode(text) if kind == "secret" else text.encode() for key, text in thing.get("data", {}).items()}
                return {item["path"]: held[item["key"]] for item in one["items"]} if "items" in one else held
        if "serviceAccountToken" in source:
            return {source["serviceAccountToken"]["path"]: self.token(source["serviceAccountToken"]).encode()}
        if "downwardAPI" in source:
            return {item["path"]: self.field(item["fieldRef"]["fieldPath"]).encode() for item in source["downwardAPI"]["items"]}
        return {}

    def token(self, wanted):
        where = f"/api/v1/namespaces/{self.thing['metadata']['namespace']}/serviceaccounts/{self.spec['serviceAccountName']}/token"
        made = self.plane.call("POST", where, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "expirationSeconds": wanted["expirationSeconds"], "audiences": [wanted["audience"]] if "audience" in wanted else None,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": self.thing["metadata"]["name"], "uid": self.thing["metadata"]["uid"]}}})
        return made["status"]["token"]

    def field(self, path):
        found = {"spec": self.spec | {"nodeName": self.kubelet.name}, "metadata": self.thing["metadata"]}
        for part in path.split("."):
            found = found[part]
        return found

    # ---- its containers

    def start(self, container, volumes):
        name = f"{container['name']}-{time.monotonic_ns()}"
        root = Root(self.folder / name, self.kubelet.binds, self.services())
        for mount in sorted(container.get("volumeMounts", []), key=lambda m: len(m["mountPath"])):
            root.bind(volumes[mount["name"]], mount["mountPath"], mount.get("readOnly", False))
        security = self.security | container.get("securityContext", {})
        if security.get("readOnlyRootFilesystem"):
            root.seal()
        env = {"PATH": ":".join([*(p for p in self.kubelet.binds if p.startswith("/programs")), PATH]), "HOME": "/",
               "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.plane.port)}
        for one in container.get("env", []):
            env[one["name"]] = one["value"] if "value" in one else self.field(one["valueFrom"]["fieldRef"]["fieldPath"])
        words = [*container["command"], *container.get("args", [])]
        for key, value in env.items():
            words = [word.replace(f"$({key})", value) for word in words]
        with open(self.folder / f"{container['name']}.log", "ab") as log:
            return subprocess.Popen(root.command(*self.as_who(security), *words), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def services(self):
        found = self.plane.call("GET", "/api/v1/services")["items"]
        return [f"{s['metadata']['name']}.{s['metadata']['namespace']}.svc{rest}" for s in found for rest in ("", ".cluster.local")]

    @staticmethod
    def as_who(security):
        capabilities = security.get("capabilities", {})
        if capabilities.get("drop") != ["ALL"]:
            raise HouseError("a container that keeps what the runtime gives it")
        kept = ",".join(["-all", *(f"+{c.lower()}" for c in capabilities.get("add", []))])
        groups = [f"--groups={security['fsGroup']}"] if "fsGroup" in security else ["--clear-groups"]
        return ["setpriv", f"--reuid={security['runAsUser']}", f"--regid={security['runAsGroup']}", *groups, f"--bounding-set={kept}", "--inh-caps=-all",
                *([] if security.get("allowPrivilegeEscalation", True) else ["--no-new-privs"])]

    def finished(self, container, volumes):
        process = self.start(container, volumes)
        self.processes[container["name"]] = process
        if process.wait() != 0:
            raise HouseError(f"{container['name']}: exit {process.returncode}: {self.log()[-500:]}")
        del self.processes[container["name"]]

