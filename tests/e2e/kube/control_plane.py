"""control_plane: a real etcd, kube-apiserver, kube-scheduler and KWOK on loopback, for end-to-end tests.

Source   assets.py gives the programs
Ports    free ones
Errors   HouseError with the tail of the program's log
Ends     every process is killed and the directory removed when the `with` block ends
"""
import contextlib
import http.client
import json
import pathlib
import secrets
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import house  # noqa: E402
from patience import LATE_S, SOON_S  # noqa: E402

START_S = 240
TAIL_LINES = 20


class ControlPlane:
    def __init__(self, assets):
        self.assets = pathlib.Path(assets)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wattle-kube-"))
        self.processes = {}
        self.etcd_port, self.etcd_peer, self.port = house.free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.token = secrets.token_hex(16)
        self.ca = self.dir / "certs" / "apiserver.crt"
        self.kept = threading.local()  # one connection per thread

    def __enter__(self):
        try:
            self.start_etcd()
            self.start_apiserver()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for name in list(self.processes):
            self.kill(name)
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- processes

    def start(self, name, *command):
        with open(self.dir / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.dir)

    def kill(self, name):
        process = self.processes.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def tail(self, name):
        lines = (self.dir / f"{name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-TAIL_LINES:])

    def up(self, name, what, condition):
        def ready():
            if self.processes[name].poll() is not None:
                raise SystemExit(f"{name} ended:\n{self.tail(name)}")
            return condition()
        try:
            return house.wait_until(what, ready, START_S)
        except house.HouseError as error:
            raise house.HouseError(f"{error}\n{self.tail(name)}") from error

    def start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.etcd_peer}"
        self.start("etcd", str(self.assets / "etcd"), "--data-dir", str(self.dir / "etcd"), "--unsafe-no-fsync",
                   "--listen-client-urls", client, "--advertise-client-urls", client,
                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}")
        self.up("etcd", "etcd is healthy", lambda: "true" in house.fetch(f"{client}/health")[1])

    def start_apiserver(self):
        key = self.dir / "service-account.key"
        if not key.exists():
            subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
            (self.dir / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')
        self.start("kube-apiserver", str(self.assets / "kube-apiserver"),
                   "--etcd-servers", f"http://127.0.0.1:{self.etcd_port}", "--bind-address", "127.0.0.1", "--secure-port", str(self.port),
                   # Without these it looks for a default route, and advertises a loopback address.
                   "--advertise-address", "127.0.0.1", "--endpoint-reconciler-type", "none",
                   "--cert-dir", str(self.dir / "certs"), "--token-auth-file", str(self.dir / "tokens.csv"), "--authorization-mode", "RBAC",
                   "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", str(key),
                   "--service-account-signing-key-file", str(key), "--api-audiences", "https://kubernetes.default.svc,wattle",
                   "--service-cluster-ip-range", "10.96.0.0/24", "--allow-privileged",
                   # No controller manager runs here that creates default accounts or removes the not-ready taint.
                   "--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition")
        self.up("kube-apiserver", "the API server is ready", lambda: self.ca.exists() and self.raw("GET", "/readyz")[0] == 200)

    def kubeconfig(self):
        path = self.dir / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}],
            "users": [{"name": "it", "user": {"token": self.token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}]}))
        return path

    def start_kwok(self, lease_s=40):
        self.start("kwok", str(self.assets / "kwok"), "--kubeconfig", str(self.kubeconfig()), "--manage-all-nodes=true",
                   "--node-lease-duration-seconds", str(lease_s))

    def start_scheduler(self, name="kube-scheduler", profile="default-scheduler", extenders=(), plugins=None, verbosity=0, plugin_config=None, group=None, more_profiles=(), program=None, more=None):
        """group: a supplementary group for the process. more_profiles: further entries of `profiles`. program: replaces
        upstream's program. more: further members of the configuration."""
        port, = house.free_ports(1)
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig()), "qps": 5000, "burst": 10000},
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": profile} | ({"plugins": plugins} if plugins else {}) | ({"pluginConfig": plugin_config} if plugin_config else {}), *more_profiles],
            "extenders": list(extenders)} | (more or {})
        path = self.dir / f"{name}.json"
        path.write_text(json.dumps(config))
        alone = ["setpriv", "--regid", str(group), "--clear-groups"] if group else []
        self.start(name, *alone, str(program or self.assets / "kube-scheduler"), "--config", str(path), "--bind-address", "127.0.0.1",
                   "--secure-port", str(port), "-v", str(verbosity),
                   "--authorization-always-allow-paths", "/healthz,/readyz,/livez,/metrics")
        return port

    def delete_pods(self, selector):
        self.call("DELETE", f"/api/v1/namespaces/default/pods?fieldSelector={urllib.parse.quote(selector)}", {"gracePeriodSeconds": 0})

    # ---- the API

    def raw(self, method, path, body=None, timeout=SOON_S):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        data = None if body is None else json.dumps(body).encode()
        link = getattr(self.kept, "link", None)
        if link is not None:
            with contextlib.suppress(OSError, http.client.HTTPException):  # the connection of an API server that was restarted
                return self.exchange(link, method, path, data, headers)
            self.kept.link = None
        link = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=ssl.create_default_context(cafile=str(self.ca)))
        try:
            answer = self.exchange(link, method, path, data, headers)
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error
        self.kept.link = link
        return answer

    @staticmethod
    def exchange(link, method, path, data, headers):
        link.request(method, path, data, headers)
        answer = link.getresponse()
        return answer.status, answer.read().decode()

    def call(self, method, path, body=None):
        status, text = self.raw(method, path, body)
        if status >= 300:
            raise house.HouseError(f"{method} {path}: HTTP {status}: {text[:500]}")
        return json.loads(text)

    def add_node(self, name, cpu="8", memory="32Gi", pods="110", labels=None, taints=None):
        room = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "64Gi"}
        self.call("POST", "/api/v1/nodes", {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | (labels or {}),
                         "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"taints": taints or []},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "New", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}],
                       "allocatable": room, "capacity": room}})

    def add_pod(self, name, cpu="250m", memory="64Mi", scheduler="default-scheduler", annotations=None, owner=None, image="registry.k8s.io/pause:3.10", labels=None, spec=None):
        """spec: further members of the pod's spec."""
        return self.call("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}, "ownerReferences": [owner] if owner else []},
            "spec": {"schedulerName": scheduler, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": image, "resources": {"requests": {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}}}]} | (spec or {})})

    def delete_pod(self, name):
        self.call("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})

    def pods(self):
        return self.call("GET", "/api/v1/namespaces/default/pods")["items"]

    def nodes(self):
        return self.call("GET", "/api/v1/nodes")["items"]

    def all_bound(self, count, seconds=LATE_S):
        def bound():
            found = self.pods()
            return found if len(found) == count and all(pod["spec"].get("nodeName") for pod in found) else None
        return house.wait_until(f"{count} pods are bound", bound, seconds)

    def nodes_ready(self, count, seconds=LATE_S):
        def ready():
            found = [node for node in self.nodes() if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))]
            return found if len(found) >= count else None
        return house.wait_until(f"{count} nodes are ready", ready, seconds)


