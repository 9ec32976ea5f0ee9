"""cluster: control plane, nodes, Wattle's chart and workloads, inside the namespaces that guard.py created.

Usage    cluster.py RUN-FOLDER, with settings.json in it; only guard.py starts it
Gives    in RUN-FOLDER: kubeconfig, cli.yaml (for `wattle`), ready.json once everything runs
Errors   names the program that ended, with the end of its log; exit 1
"""
import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "k8s/images"), str(ROOT / "tests/e2e/kube/node"), str(ROOT / "tests/e2e/kube"), str(ROOT / "tests/e2e")]
import guard  # noqa: E402
import images  # noqa: E402
import network  # noqa: E402
import sleepers  # noqa: E402
import workloads  # noqa: E402
from house import HouseError, wait_until  # noqa: E402
from node_plane import NodePlane  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TAIL_LINES = 15
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs", "failCgroupV1": False,
    "failSwapOn": False, "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    # A container that a test kills repeatedly restarts immediately, instead of after up to five minutes
    "featureGates": {"KubeletCrashLoopBackOffMax": True}, "crashLoopBackOff": {"maxContainerRestartPeriod": "5s"},
    "clusterDomain": "cluster.local", "authorization": {"mode": "Webhook"}, "imageGCHighThresholdPercent": 100,
    "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"}}
GANGS = ("--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha1=true")
# Pods with this scheduler are packed by kube-scheduler only
MOST_ALLOCATED = {"schedulerName": "most-allocated", "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {
    "type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}}}]}


class Plane(NodePlane):
    """A control plane that the nodes reach at the host of each family, and that may call their kubelets and the servers
    of aggregated APIs, whose Services have no address in its network. Its own programs talk over 127.0.0.1."""
    grace = os.environ.get("DEMO_GRACE", NodePlane.grace)

    def __init__(self, programs, families):
        super().__init__(programs)
        self.families, self.host = families, families[0].host
        # A file system of its own, which a test can fill; it ends with the namespace
        (self.dir / "etcd").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", self.dir / "etcd"], check=True)
        self.addresses = [address for family in families for address in (family.host, family.first_service)]

    def as_clusters_are(self, command):
        instead = {"--bind-address": "::" if network.V6 in self.families else "0.0.0.0",
                   "--advertise-address": self.host,
                   "--service-cluster-ip-range": ",".join(family.services for family in self.families)}
        words = [instead.get(before, word) for before, word in zip(("", *command), command)]
        certificate, key = self.authority.issue("to-kubelets", "/O=system:masters/CN=kube-apiserver")
        front, front_key = self.authority.issue("front-proxy", "/CN=front-proxy-client")
        return [*super().as_clusters_are(words), "--kubelet-client-certificate", str(certificate),
                "--kubelet-client-key", str(key), "--kubelet-preferred-address-types", "InternalIP",
                "--enable-aggregator-routing", "--proxy-client-cert-file", str(front), "--proxy-client-key-file", str(front_key),
                *(GANGS if os.environ.get("DEMO_GANGS") else ())]

    def start_again(self, name):
        with open(self.dir / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(self.processes[name].args, stdout=log, stderr=log, cwd=self.dir)


class Cluster:
    def __init__(self, run):
        self.run = run
        self.settings = json.loads((run / "settings.json").read_text(encoding="utf-8"))
        self.begun = time.monotonic() - (time.time() - self.settings["begun"])
        self.names = [f"node-{number}" for number in range(1, self.settings["nodes"] + 1)]
        self.families = network.FAMILIES[self.settings["ip"]]
        self.kube = pathlib.Path(self.settings["kube"])
        self.listeners = {name: socket.socket(fileno=fd) for name, fd in self.settings["sockets"].items()}
        self.nodes = {}
        self.plane = None
        self.controller = self.token = None
        self.sleeps = os.environ.get("DEMO_SLEEP", "0" if os.environ.get("DEMO_BARE") else "1") != "0" and len(self.names) > 2
        self.bare = bool(os.environ.get("DEMO_BARE"))
        self.tested = []  # nodes that may sleep: each has been ordered to sleep once

    def say(self, text):
        print(f"cluster: {time.monotonic() - self.begun:5.1f} s: {text}", flush=True)

    # ---- nodes

    def start_node(self, number):
        name = self.names[number - 1]
        folder = self.run / name
        (folder / "kubelet").mkdir(parents=True)
        images.clone(self.settings["store"], folder / "containerd")
        memory_kib = int(next(line.split()[1] for line in open("/proc/meminfo", encoding="utf-8") if line.startswith("MemTotal:")))
        first = self.families[0]
        kubelet = KUBELET | {"clusterDNS": [first.host], "resolvConf": str(folder / "resolv.conf"),
                             "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                                                "x509": {"clientCAFile": str(self.plane.ca)}},
                             # Every kubelet sees the whole memory, so it reserves all but its share
                             "systemReserved": {"memory": f"{memory_kib * (len(self.names) - 1) // len(self.names)}Ki"}}
        proxy = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables", "hostnameOverride": name,
                 "clusterCIDR": ",".join(family.all_pods for family in self.families), "bindAddress": first.address(number),
                 "clientConnection": {"kubeconfig": str(folder / "kube-proxy.kubeconfig")},
                 "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}}
        ipam = {"type": "host-local", "dataDir": "/run/cni/addresses",
                "ranges": [[{"subnet": family.pods(number)}] for family in self.families],
                "routes": [{"dst": "::/0" if family is network.V6 else "0.0.0.0/0"} for family in self.families]}
        bridge = {"type": "bridge", "bridge": "pods0", "isGateway": True, "hairpinMode": True, "ipam": ipam}
        pods = {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}
        for file, text in (("resolv.conf", f"nameserver {first.host}\n"), ("10-pods.conflist", json.dumps(pods)),
                           ("kubelet.yaml", json.dumps(kubelet)), ("kube-proxy.yaml", json.dumps(proxy)),
                           ("kubelet.kubeconfig", self.plane.kubeconfig_for_guest(f"kubelet-{number}", f"/O=system:nodes/CN=system:node:{name}")),
                           ("kube-proxy.kubeconfig", self.plane.kubeconfig_for_guest(f"kube-proxy-{number}", "/CN=system:kube-proxy"))):
            (folder / file).write_text(text, encoding="utf-8")
        self.boot_node(number)

    def boot_node(self, number):
        name = self.names[number - 1]
        folder = self.run / name
        addresses = ",".join(family.address(number) for family in self.families)
        env = os.environ | {"NODE": name, "ADDRESSES": addresses, "RUN": str(folder),
                            "TREE": self.settings["tree"], "KUBE": str(self.kube), "PAUSE": images.TOOLS,
                            "CGROUP": f"{guard.PREFIX}{self.run.name[4:]}/{name}", "HIERARCHIES": str(self.run / "hierarchies")}
        with open(folder / "node.log", "ab") as log:
            self.nodes[name] = subprocess.Popen([*self.pinned(number), "bash", str(HERE / "node.sh"), "enter"], env=env, stdout=log, stderr=log)

    @staticmethod
    def pinned(number):
        """Restricts a node to its processors of DEMO_CPUS. Does not use cpuset: a kubelet gives its pods all processors of the
        machine, and its cgroup would refuse that."""
        cpus = os.environ.get("DEMO_CPUS", "").split()[number - 1:number]
        return ["taskset", "--cpu-list", *cpus] if cpus else []

    def switch_nodes(self):
        """The nodes' power switch: a node is off while its folder has the file `off`."""
        for number, name in enumerate(self.names, 1):
            off = (self.run / name / "off").exists()
            if off and name in self.nodes:
                process = self.nodes.pop(name)
                process.kill()  # and with it all processes of the node
                process.wait()
                self.say(f"{name} is off")
            elif not off and name not in self.nodes and not guard.processes(self.run.name[4:], name):
                self.boot_node(number)
                self.say(f"{name} is on")

    def tail(self, path):
        try:
            return f"{path.name}:\n" + "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:])
        except OSError as error:
            return str(error)

    def check_nodes(self):
        self.switch_nodes()
        for name, process in self.nodes.items():
            if process.poll() is not None:
                raise SystemExit("\n".join([f"cluster: {name} has ended", *(self.tail(self.run / name / f"{log}.log") for log in ("node", "containerd", "kubelet"))]))
        return True

    def check(self):
        """Turns nodes off and on. Fails if a program of the control plane or a node has ended."""
        for name, process in self.plane.processes.items():
            if process.poll() is not None:
                raise SystemExit(f"cluster: {name} has ended\n{self.plane.tail(name)}")
        return self.check_nodes()

    def wait(self, what, condition):
        try:
            found = wait_until(what, lambda: self.check() and condition())
        except HouseError as error:
            raise SystemExit("\n".join([f"cluster: {error}", self.pods_text(), *(self.tail(self.run / name / "kubelet.log") for name in self.names)])) from None
        self.say(what)
        return found

    # ---- the API

    def get(self, path):
        return self.plane.call("GET", path)

    def pods(self, space, app):
        return self.get(f"/api/v1/namespaces/{space}/pods?labelSelector=app.kubernetes.io%2Fname%3D{app}")["items"]

    def pods_text(self):
        try:
            return "\n".join(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}: {pod['status'].get('phase')} {json.dumps(pod['status'].get('containerStatuses', pod['status'].get('conditions')))[:400]}"
                             for pod in self.get("/api/v1/pods")["items"] if pod["status"].get("phase") not in ("Succeeded",) and not ready(pod))
        except (OSError, HouseError) as error:
            return str(error)

    def apply(self, thing):
        version, kind = thing["apiVersion"], thing["kind"].lower() + "s"
        space = f"/namespaces/{thing['metadata'].get('namespace', 'default')}" if kind not in ("persistentvolumes", "namespaces") else ""
        self.plane.call("POST", f"{'/api' if version == 'v1' else '/apis'}/{version}{space}/{kind}", thing)

    def resolve(self, name, space):
        status, text = self.plane.raw("GET", f"/api/v1/namespaces/{space}/services/{name}")
        found = json.loads(text)["spec"].get("clusterIPs", []) if status == 200 else []
        return [address for address in found if address != "None"]

    def follow_controller(self):
        """Stores the address of the controller's pod and the token of its page, because this namespace has no addresses
        of Services. Keeps the last values while the API server does not answer."""
        while True:
            with contextlib.suppress(OSError, HouseError):
                for pod in self.pods("wattle", "wattle-controller"):
                    if pod["status"].get("podIP") and "deletionTimestamp" not in pod["metadata"]:
                        self.controller = pod["status"]["podIP"]
                self.token = base64.b64decode(self.get("/api/v1/namespaces/wattle/secrets/wattle-metrics")["data"]["token"]).decode()
            time.sleep(1)

    # ---- Wattle

    def install(self):
        self.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "controller"}, "spec": {
            "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/var/lib/wattle-volume"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [self.names[0]]}]}]}}}})
        files = [HERE / "values.yaml", *([sleepers.VALUES] if self.sleeps else ()), *filter(None, [os.environ.get("DEMO_VALUES")])]
        done = subprocess.run([self.settings["helm"], "install", "wattle", str(ROOT / "k8s/chart"), "--namespace", "kube-system", "--kubeconfig",
                               str(self.plane.kubeconfig()), *(f"--values={file}" for file in files), "--set-string", f"scheduler.tag=v{self.settings['version']}"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"cluster: helm install: {done.stderr[-2000:]}")
        if self.sleeps:
            sleepers.start_bmc(self)
        self.say("the chart is installed")

    def wattle_runs(self):
        found = [self.pods("wattle-agent", "wattle-agent"), self.pods("wattle", "wattle-controller"), self.pods("wattle", "wattle-scheduler")]
        return [len(pods) for pods in found] == [len(self.names), 1, 1] and all(ready(pod) for pods in found for pod in pods)

    def command_line(self):
        """Files for kubectl and `wattle` on this machine."""
        secret = self.get("/api/v1/namespaces/wattle/secrets/wattle-operator")["data"]
        (self.run / "operator.key").write_bytes(base64.b64decode(secret["operator.key"]))
        (self.run / "operator.key").chmod(0o400)
        public = self.get("/api/v1/namespaces/wattle/configmaps/wattle-public")["data"]["controller.pub"]
        (self.run / "controller.pub").write_text(public, encoding="utf-8")
        lines = (f'server: "tcp://127.0.0.1:{self.port("ask")}"', f'feed: "tcp://127.0.0.1:{self.port("feed")}"', f"key: {self.run}/operator.key",
                 f"server_key: {self.run}/controller.pub", "")
        (self.run / "cli.yaml").write_text("\n".join(lines), encoding="utf-8")

    def port(self, name):
        return self.listeners[name].getsockname()[1]

    def inside(self):
        """The environment of `wattle` in this network."""
        return os.environ | {"WATTLE_CONFIG": str(self.run / "inside.yaml")}

    def agents_report(self):
        answer = subprocess.run([str(pathlib.Path(self.settings["bin"]) / "wattle"), "nodes", "-o", "json"], capture_output=True, text=True, check=False,
                                env=self.inside())
        nodes = json.loads(answer.stdout)["nodes"] if answer.returncode == 0 else []
        return len([node for node in nodes if node["connected"] and node["power_w"] is not None]) == len(self.names)

    def placed(self):
        found = [pod for pod in self.get("/api/v1/namespaces/default/pods")["items"] if pod["spec"].get("schedulerName") == "wattle" and pod["status"].get("phase") == "Running"]
        return sorted({pod["spec"]["nodeName"] for pod in found}) if len(found) >= 3 else None

    def sleep_text(self):
        if self.bare or not self.tested:
            return ""
        return f"""
To sleep:  {', '.join(self.tested)}, tested once now; the batch jobs start after that. To wake a node, and to see why each node sleeps or not:
  kubectl scale deployment report --replicas={len(self.names)}
  wattle sleep status; wattle sleep plan; wattle savings
"""

    def settle(self):
        """Waits until idle nodes sleep, and then starts the jobs, whose pods would keep a woken node busy."""
        asleep = sleepers.rest(self, self.tested) if self.tested else []
        if asleep:
            self.say(f"asleep: {', '.join(asleep)}")
        if not self.bare:
            for thing in workloads.jobs():
                self.apply(thing)
            self.say("the jobs are started")

    def start(self):
        network.make(self.names, self.families)
        (self.run / "hierarchies").write_text("\n".join(self.settings["hierarchies"]) + "\n", encoding="utf-8")
        self.plane = Plane(self.kube, self.families)
        with concurrent.futures.ThreadPoolExecutor() as starters:
            starting = [starters.submit(self.start_node, number) for number in range(1, len(self.names) + 1)]
            self.plane.start_etcd()
            self.plane.start_apiserver()
            for each in starting:
                each.result()
        self.say("the API server answers")
        self.plane.start_controller_manager()
        self.plane.start_scheduler(more_profiles=[MOST_ALLOCATED])
        self.plane.show_api_to_pods()
        network.serve_names(self.families[0].host, self.resolve)
        network.relay(self.listeners["api"], lambda: ("127.0.0.1", self.plane.port))
        config = json.loads(self.plane.kubeconfig().read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{self.port('api')}", "certificate-authority-data": base64.b64encode(self.plane.ca.read_bytes()).decode()}
        (self.run / "kubeconfig").write_text(json.dumps(config), encoding="utf-8")
        (self.run / "kubeconfig").chmod(0o600)
        self.install()
        self.wait(f"{len(self.names)} nodes are Ready", lambda: len(self.plane.nodes_ready(len(self.names), 1)) == len(self.names))
        self.wait("the controller, the agents and the second scheduler run", self.wattle_runs)
        network.thread(self.follow_controller)
        self.wait("the controller's address is known", lambda: self.controller and self.token)
        network.relay(self.listeners["page"], lambda: (self.controller, 8050), lambda: self.token)
        network.relay(self.listeners["ask"], lambda: (self.controller, 7462))
        network.relay(self.listeners["feed"], lambda: (self.controller, 7461))
        self.command_line()
        inside = (f'server: "tcp://{network.bracketed(self.controller)}:7462"', f"key: {self.run}/operator.key",
                  f"server_key: {self.run}/controller.pub", "")
        (self.run / "inside.yaml").write_text("\n".join(inside), encoding="utf-8")
        self.wait("every agent reports watts", self.agents_report)
        nodes = self.names
        if self.sleeps:
            self.tested = sleepers.begin(self)
        if self.bare:
            self.settle()  # lab/real measures from a start at which nodes sleep
        else:
            for thing in workloads.services():
                self.apply(thing)
            nodes = self.wait("pods of the scheduler `wattle` run", self.placed)
        (self.run / "ready.json").write_text(json.dumps({"page": f"http://127.0.0.1:{self.port('page')}/", "kubeconfig": str(self.run / "kubeconfig"),
                                                         "cli": str(self.run / "cli.yaml"), "seconds": time.monotonic() - self.begun, "nodes": nodes}), encoding="utf-8")

    def tend(self):
        """Restarts programs of the control plane that exit, like the kubelet of a control-plane node. Turns nodes off and
        on, and fails if a node has ended."""
        for name, process in list(self.plane.processes.items()):
            if process.poll() is not None:
                self.say(f"{name} has exited ({process.returncode}); restarting it")
                self.plane.start_again(name)
        return self.check_nodes()

    def hold(self):
        while True:
            self.tend()
            time.sleep(1)


def ready(pod):
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in pod["status"].get("conditions", []))


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cluster = Cluster(pathlib.Path(sys.argv[1]))
    cluster.start()
    cluster.say("ready")
    bin_folder = cluster.settings["bin"]
    in_use = "" if os.environ.get("DEMO_PORT") or cluster.port("page") == guard.PAGE_PORT else f" (port {guard.PAGE_PORT} is in use)"
    print(f"""
Page:      http://127.0.0.1:{cluster.port("page")}/{in_use}
In another terminal:
  export KUBECONFIG={cluster.run}/kubeconfig WATTLE_CONFIG={cluster.run}/cli.yaml PATH={bin_folder}:$PATH
  kubectl get pods --all-namespaces --output wide
  wattle status; wattle savings; wattle top; wattle decisions
{cluster.sleep_text()}
Differences from hardware: watts are estimates per node, from the node's own CPU time and the published power curve of a
Dell PowerEdge R620 (scripts/cluster/values.yaml). All nodes share one kernel, and each shows all processors of this machine.
Ctrl-C ends the cluster and removes everything.
""", flush=True)
    if not cluster.bare:
        cluster.settle()
    cluster.hold()


if __name__ == "__main__":
    main()
