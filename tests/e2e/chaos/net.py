"""net: creates a small network of hosts, each a network namespace, connected by a bridge in another namespace.

Needs    root, iproute2, nftables; isolated from the machine's own network
Faults   cut (drops all packets silently), loss (drops a share of packets, both ways), rate (token bucket, both ways);
         delay_proxy.py adds delay, because not every kernel has netem
Errors   NetError with the tool's output
"""
import os
import shutil
import subprocess
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import MOMENT_S  # noqa: E402


class NetError(Exception):
    pass


def missing():
    """Returns why hosts cannot be created here, or an empty string."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("ip", "nft", "tc", "curl"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    # Probes the kernel's support with the commands that are used later.
    try:
        with Net(("probe",)) as net:
            net.loss("probe", 5)
            net.rate("probe", "1mbit")
    except NetError as error:
        return str(error)
    return ""


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Net:
    def __init__(self, hosts):
        self.prefix = f"wattle-{os.getpid()}"
        self.switch = f"{self.prefix}-net"
        self.hosts = {host: f"10.77.0.{number}" for number, host in enumerate(hosts, 1)}

    def __enter__(self):
        try:
            call("ip", "netns", "add", self.switch)
            call("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
            call("ip", "-n", self.switch, "link", "set", "br0", "up")
            for number, host in enumerate(self.hosts, 1):
                self.add(host, f"port{number}")
        except NetError:
            self.__exit__()
            raise
        return self

    def add(self, host, port):
        space = self.space(host)
        call("ip", "netns", "add", space)
        call("ip", "-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.switch)
        call("ip", "-n", self.switch, "link", "set", port, "master", "br0", "up")
        call("ip", "-n", space, "addr", "add", f"{self.hosts[host]}/24", "dev", "eth0")
        call("ip", "-n", space, "link", "set", "eth0", "up")
        call("ip", "-n", space, "link", "set", "lo", "up")

    def __exit__(self, *_):
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", self.space(host)], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", self.switch], capture_output=True, check=False)

    def space(self, host):
        return f"{self.prefix}-{host}"

    def on(self, host, *command):
        """Returns the command that runs this command on that host."""
        return ["ip", "netns", "exec", self.space(host), *command]

    def fetch(self, host, url, *more, seconds=MOMENT_S):
        """Sends a request on that host. Returns the body of an answer below 400, or None."""
        done = subprocess.run(self.on(host, "curl", "-sf", "-m", str(seconds), *more, url), capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def drop(self, host, condition):
        self.heal(host)
        call(*self.on(host, "nft", "add table inet fault"))
        for hook in ("input", "output"):
            call(*self.on(host, "nft", f"add chain inet fault {hook} {{ type filter hook {hook} priority 0; }}"))
            call(*self.on(host, "nft", f'add rule inet fault {hook} {"iifname" if hook == "input" else "oifname"} "eth0" {condition} drop'))

    def cut(self, host):
        self.drop(host, "")

    def loss(self, host, percent):
        self.drop(host, f"numgen random mod 100 < {percent}")

    def rate(self, host, rate):
        port = f"port{list(self.hosts).index(host) + 1}"
        for space, device in ((self.space(host), "eth0"), (self.switch, port)):
            call("tc", "-n", space, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "16kb", "latency", "400ms")

    def heal(self, host):
        subprocess.run(self.on(host, "nft", "delete table inet fault"), capture_output=True, check=False)
        port = f"port{list(self.hosts).index(host) + 1}"
        for space, device in ((self.space(host), "eth0"), (self.switch, port)):
            subprocess.run(["tc", "-n", space, "qdisc", "del", "dev", device, "root"], capture_output=True, check=False)
