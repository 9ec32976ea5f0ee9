"""sleeping_machine: a QEMU machine that is a Kubernetes node and sleeps: its kernel suspends to S3 or powers it off, and a
magic packet wakes or starts it.

Source   image.py's root with containerd and polkit, a copy that persists across boots; NodePlane for its identity
         Emulated S3 and power by QEMU, whose user network has no card with Wake-on-LAN: WakeListener receives the packet on a
         real socket, and sends QMP's `system_wakeup`, or starts QEMU
Network  QEMU's user network: the guest reaches this machine's loopback at 10.0.2.2
Errors   HouseError with the end of the console
Threads  the listener has its own thread; a lock guards the power state
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[1] / "machine")]
import image  # noqa: E402
import machine  # noqa: E402
from house import HouseError, wait_until  # noqa: E402
from node_plane import ENDS_WITH_US, HOST  # noqa: E402
from patience import SOON_S  # noqa: E402
from real_node import BOOT_S, KUBELET, MEMORY_MIB, NAME, PAUSE, RealNode  # noqa: E402

ROOT = HERE.parents[3]
RECIPE = image.Recipe(("udev", "kmod", "polkitd", "containerd", "runc", "containernetworking-plugins", "iptables", "iproute2", "qemu-guest-agent"), 2048, modules=True)
MAC = "52:54:00:77:61:74"
LEASE_S = 40  # Kubernetes' default, so that a sleeping node is soon not Ready
# For the driver's program: status of the machine, by QMP; no socket: it is off.
OBSERVE = r"""#!/usr/bin/env python3
import json, socket, sys
asked = json.load(sys.stdin)
if asked["request"] == "probe":
    print(json.dumps({"depths": ["suspend", "off"], "asleep_power_w": 1}))
    sys.exit(0)
if asked["request"] != "observe":
    sys.exit(64)
state = "off"
try:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(asked["time_limit_s"])
        line.connect(QMP)
        with line.makefile("rb") as answers:
            answers.readline()
            for command in ("qmp_capabilities", "query-status"):
                line.sendall(json.dumps({"execute": command}).encode() + b"\n")
                while "return" not in (answer := json.loads(answers.readline())):
                    pass
    state = "on" if answer["return"]["status"] == "running" else "off"
except (ConnectionRefusedError, FileNotFoundError):
    pass
print(json.dumps({"state": state}))
"""


class SleepingMachine(RealNode):
    """A machine with one set of disks for several boots."""

    def __init__(self, plane, programs, registry, binaries):
        """`files`, set before the first boot, has the agent's configuration and keys."""
        super().__init__(plane, programs, registry)
        self.binaries, self.files = pathlib.Path(binaries), {}
        self.lock = threading.Lock()
        self.boots = self.wakeups = 0

    def __enter__(self):
        try:
            self.kernel = image.ensure(self.binaries / "wattle-agent", recipe=RECIPE)
            self.root = self.dir / "root.ext4"
            image.run("cp", "--sparse=always", str(self.kernel / "root.ext4"), str(self.root))
            self.disk_of_payload = self.payload()
            self.start()
        except image.ImageError as error:
            self.close()
            raise HouseError(error) from error
        except BaseException:
            self.close()
            raise
        return self

    def payload(self):
        folder = self.dir / "payload"
        (folder / "bin").mkdir(parents=True)
        shutil.copy2(self.programs / "kubelet", folder / "bin")
        subprocess.run(["strip", "-o", folder / "bin/wattle-agent", self.binaries / "wattle-agent"], check=True)
        shutil.copytree(ROOT / "systemd", folder / "systemd")
        (folder / "kubelet.yaml").write_text(json.dumps(KUBELET | {"nodeLeaseDurationSeconds": LEASE_S}), encoding="utf-8")
        (folder / "kubelet.kubeconfig").write_text(self.plane.kubeconfig_for_guest("kubelet", f"/O=system:nodes/CN=system:node:{NAME}"), encoding="utf-8")
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        shutil.copy2(HERE / "guest.py", folder / "node_guest.py")
        shutil.copy2(HERE / "sleeping_guest.py", folder / "guest.py")
        settings = {"pause": PAUSE, "registry": f"http://{HOST}:{self.registry.port}", "node": NAME, "kubelet": ["--node-labels=wattle.dev/sleep=auto"]}
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        mib = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 2**20 * 11 // 10 + 64
        image.run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(folder), f"{self.dir}/payload.ext4", f"{mib}M")
        shutil.rmtree(folder)
        return self.dir / "payload.ext4"

    # ---- power

    def start(self):
        self.boots += 1
        command = machine.qemu(self.kernel, MEMORY_MIB // 2, self.console, ((self.root, "cache=writeback"), (self.disk_of_payload, "readonly=on")),
                               "psi=1 net.ifnames=0 mitigations=off")
        with open(self.dir / "qemu.log", "ab") as log:
            self.process = subprocess.Popen(
                [*ENDS_WITH_US, *command, "-netdev", "user,id=net", "-device", f"virtio-net-pci,netdev=net,mac={MAC}", "-device", "virtio-serial",
                 "-chardev", f"socket,id=agent,path={self.dir}/agent,server=on,wait=off", "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
                 *(word for each in ("wake", "watch") for word in ("-qmp", f"unix:{self.dir}/{each},server=on,wait=off"))],
                stdout=log, stderr=log)

    def qmp(self, command):
        """Returns QEMU's answer on this class's QMP socket; the driver's program uses the other one."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(SOON_S)
            line.connect(str(self.dir / "wake"))
            with line.makefile("rb") as answers:
                answers.readline()
                for each in ("qmp_capabilities", command):
                    line.sendall(json.dumps({"execute": each}).encode() + b"\n")
                    while not (answer := json.loads(answers.readline())).keys() & {"return", "error"}:
                        pass
        return answer

    def status(self):
        """Returns QEMU's state: running, suspended, ...; off without a process."""
        return "off" if self.process.poll() is not None else self.qmp("query-status")["return"]["status"]

    def alive(self):
        """Raises if the machine failed; a machine that is off is no failure."""
        return True

    def why(self):
        status = self.status()
        return f"machine: {status}\n" + (super().why() if status == "running" else machine.console_tail(self.console))

    def woken(self):
        """Wakes or starts the machine on a packet, like a card with Wake-on-LAN."""
        with self.lock:
            status = self.status()
            if status == "suspended":
                self.qmp("system_wakeup")
                self.wakeups += 1
                self.set_clock()
            elif status == "off":
                self.start()
                self.set_clock()

    def set_clock(self):
        """Sets the clock like a time server, because a booting or resuming kernel reads the board's clock to a
        second."""
        def set_once():
            with self.agent.asking(SOON_S) as ask:
                ask("guest-set-time", time=time.time_ns())
                return True
        wait_until("the machine's clock is set", set_once, BOOT_S)

    def observe_program(self):
        return OBSERVE.replace("QMP", repr(str(self.dir / "watch")))


class WakeListener:
    """Takes magic packets for one address on a loopback port, and wakes the machine. Others are counted."""

    def __init__(self, wake):
        self.wake, self.packets, self.others = wake, 0, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def listen(self):
        magic = b"\xff" * 6 + bytes.fromhex(MAC.replace(":", "")) * 16
        while True:
            try:
                packet = self.socket.recv(2048)
            except OSError:  # the socket is closed
                return
            if packet != magic:
                self.others += 1
                continue
            self.packets += 1
            try:
                self.wake()
            except (FileNotFoundError, ConnectionRefusedError):  # QEMU is starting after an earlier packet
                pass
            except (OSError, HouseError, ValueError) as error:  # the driver repeats its packets
                print(f"     wake: {error}", flush=True)

