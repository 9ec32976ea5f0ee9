"""real_node: a QEMU machine that is a Kubernetes node: a stock Debian kernel, systemd, containerd, kube-proxy and a
kubelet.

Source   image.py's root with containerd; the programs of assets.py; a Registry for the images; NodePlane for its identity
Gives    run(...) inside the machine through QEMU's guest agent; files, journals and containers' logs
Network  QEMU's user network: the guest reaches this machine's loopback at 10.0.2.2; `ports` are forwarded to the guest
Errors   HouseError with the end of the console
"""
import base64
import contextlib
import hashlib
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[1] / "machine")]
import image  # noqa: E402
import machine  # noqa: E402
from house import HouseError, free_ports, wait_until  # noqa: E402
from node_plane import ENDS_WITH_US, HOST  # noqa: E402
from patience import LATE_S  # noqa: E402

NAME = "real-1"
PAUSE = "registry.test/pause:1"  # holds a pod's namespaces
RECIPE = image.Recipe(("udev", "kmod", "containerd", "runc", "containernetworking-plugins", "iptables", "nftables", "iproute2", "dnsmasq-base",
                       "qemu-guest-agent"), 6144, modules=True)
MEMORY_MIB = 4096
PREPARED = "guest: the images are there"
PREPARE_S = 3600
BOOT_S = 900  # emulated, and possibly beside compilers
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "systemd", "failSwapOn": False,
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "clusterDNS": ["169.254.20.10"], "clusterDomain": "cluster.local",
    "resolvConf": "/etc/resolv.conf", "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
    "authorization": {"mode": "Webhook"}, "runtimeRequestTimeout": "15m", "nodeLeaseDurationSeconds": 600}
PROXY = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables", "hostnameOverride": NAME,
    "clusterCIDR": "10.244.0.0/16", "clientConnection": {"kubeconfig": "/run/payload/kube-proxy.kubeconfig"}}


class Machine:
    """One boot with a root, a payload and forwarded ports."""

    def __init__(self, ports=()):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="wattle-node-"))
        self.ports = dict(zip(ports, free_ports(len(ports))))
        self.console = self.dir / "console"
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def disk(self, folder, registry, what):
        """Creates a file system of the folder, with guest.py and its settings."""
        shutil.copy2(HERE / "guest.py", folder)
        settings = {"what": what, "pause": PAUSE, "registry": f"http://{HOST}:{registry.port}", "node": NAME, "images": sorted(registry.digests),
                    "last_line": PREPARED}
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        mib = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 2**20 * 11 // 10 + 64
        image.run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(folder), f"{self.dir}/payload.ext4", f"{mib}M")
        shutil.rmtree(folder)
        return self.dir / "payload.ext4"

    def boot(self, kernel, root, how, payload):
        forwards = "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for there, here in self.ports.items())
        command = machine.qemu(kernel, MEMORY_MIB, self.console, ((root, how), (payload, "readonly=on")), "psi=1 net.ifnames=0 mitigations=off")
        with open(self.dir / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(
                [*ENDS_WITH_US, *command, "-netdev", f"user,id=net{forwards}", "-device", "virtio-net-pci,netdev=net", "-device", "virtio-serial",
                 "-chardev", f"socket,id=agent,path={self.dir}/agent,server=on,wait=off", "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"],
                stdout=log, stderr=log)


def prepared(registry):
    """Returns (kernel's folder, a root with containerd's images) from the cache, because unpacking takes minutes on an
    emulated processor. The cache keeps one of each name."""
    made = image.ensure(recipe=RECIPE)
    key = hashlib.sha256(f"{made.name} {registry.key} {(HERE / 'guest.py').read_text(encoding='utf-8')}".encode()).hexdigest()[:16]
    there = made.parent / f"node-{key}.ext4"
    if there.exists():
        return made, there
    for older in made.parent.glob("node-*.ext4*"):
        older.unlink()
    fresh = there.with_suffix(".ext4.new")
    image.run("cp", "--sparse=always", str(made / "root.ext4"), str(fresh))
    with Machine() as once:
        folder = once.dir / "payload"
        shutil.copytree(registry.blobs, folder / "blobs/sha256")
        once.boot(made, fresh, "cache=unsafe", once.disk(folder, registry, "prepare"))
        try:
            once.process.wait(PREPARE_S)
        except subprocess.TimeoutExpired:
            raise HouseError(f"the machine had not taken the images within {PREPARE_S} s; {machine.console_tail(once.console)}") from None
        if PREPARED not in once.console.read_text(encoding="utf-8", errors="replace"):
            raise HouseError(f"the machine could not take the images; {machine.console_tail(once.console)}")
    fresh.rename(there)
    return made, there


class RealNode(Machine):
    def __init__(self, plane, programs, registry, ports=()):
        super().__init__(ports)
        self.plane, self.programs, self.registry = plane, pathlib.Path(programs), registry
        self.agent = GuestAgent(self)

    def __enter__(self):
        try:
            kernel, root = prepared(self.registry)
            self.boot(kernel, root, "snapshot=on", self.payload())
            self.agent.wait_for(BOOT_S)
        except BaseException:
            self.close()
            raise
        return self

    def payload(self):
        folder = self.dir / "payload"
        (folder / "bin").mkdir(parents=True)
        for program in ("kubelet", "kube-proxy"):
            shutil.copy2(self.programs / program, folder / "bin")
        for name, value in (("kubelet.yaml", KUBELET), ("kube-proxy.yaml", PROXY)):
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
        for name, subject in (("kubelet", f"/O=system:nodes/CN=system:node:{NAME}"), ("kube-proxy", "/CN=system:kube-proxy")):
            (folder / f"{name}.kubeconfig").write_text(self.plane.kubeconfig_for_guest(name, subject), encoding="utf-8")
        return self.disk(folder, self.registry, "run")

    def alive(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the machine ended: {(self.dir / 'qemu.log').read_text(errors='replace')[-1000:]} {machine.console_tail(self.console)}")
        return True

    def run(self, *command, check=True, given="", seconds=LATE_S):
        """Returns the output of a command inside the machine."""
        self.alive()
        code, said = self.agent.run(command, given, seconds)
        if check and code != 0:
            raise HouseError(f"in the machine: {' '.join(command)}: exit {code}: {said[-1500:]}")
        return said

    def write(self, path, text):
        self.run("tee", path, given=text)

    def why(self):
        """Returns diagnostics for a start that failed."""
        try:
            return "\n".join([self.run("sh", "-c", "systemctl --no-pager --failed; journalctl --no-pager -o cat -n 60 -u kubelet -u kube-proxy -u names"),
                              self.run("sh", "-c", "tail -n 30 /var/log/pods/*/*/*.log"), machine.console_tail(self.console)])
        except (HouseError, OSError) as error:
            return f"{error}\n{machine.console_tail(self.console)}"


class GuestAgent:
    """QEMU's guest agent over its socket, which accepts one caller at a time, so it is closed after each command. An
    answer may belong to a caller that timed out, so each command begins with a mark and skips earlier answers."""

    def __init__(self, node):
        self.node = node

    @contextlib.contextmanager
    def asking(self, seconds=LATE_S):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(seconds)
            line.connect(str(self.node.dir / "agent"))
            with line.makefile("rb") as answers:
                def ask(what, **arguments):
                    line.sendall(json.dumps({"execute": what, "arguments": arguments}).encode() + b"\n")
                    answer = json.loads(answers.readline())
                    if "error" in answer:
                        raise HouseError(f"guest agent: {what}: {answer['error']}")
                    return answer["return"]
                mark = time.monotonic_ns() & 0xFFFFFF
                line.sendall(json.dumps({"execute": "guest-sync", "arguments": {"id": mark}}).encode() + b"\n")
                while json.loads(answers.readline()) != {"return": mark}:
                    pass
                yield ask

    def wait_for(self, seconds):
        def there():
            self.node.alive()
            with self.asking(10):
                return True
        try:
            wait_until("the machine's guest agent answers", there, seconds)
        except HouseError as error:
            raise HouseError(f"{error}; {machine.console_tail(self.node.console)}") from error

    def run(self, command, given, seconds):
        more = {"input-data": base64.b64encode(given.encode()).decode()} if given else {}
        with self.asking() as ask:
            pid = ask("guest-exec", path=command[0], arg=list(command[1:]), **more, **{"capture-output": True})["pid"]

            def ended():
                status = ask("guest-exec-status", pid=pid)
                return status if status["exited"] else None
            status = wait_until(f"{' '.join(command)} exits", ended, seconds)
        said = b"".join(base64.b64decode(status.get(key, "")) for key in ("out-data", "err-data"))
        return status.get("exitcode", -1), said.decode("utf-8", errors="replace")
