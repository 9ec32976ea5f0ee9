"""network: the cluster's network in its own network namespace, a DNS server, and relays to the loopback outside.

Addresses   10.88.0.0/16 and fd00:88::/64 for nodes, 10.244.N.0/24 and fd00:244:N::/64 for the pods of node N; none of
            them exists outside the namespace. A cluster has one family or both
Threads     each server has its own, which end with the process
"""
import contextlib
import dataclasses
import socket
import struct
import subprocess
import threading

DOMAIN = ["svc", "cluster", "local"]
HEAD_BYTES = 65536


@dataclasses.dataclass(frozen=True)
class Family:
    """The addresses of one IP family. `host`: the address of the control plane for nodes and pods."""
    record: int  # type of its DNS records
    host: str
    node: str
    bits: int  # prefix length of the node network
    pods_of: str
    all_pods: str
    services: str
    first_service: str
    forwarding: str

    def address(self, number):
        return self.node.format(number)

    def pods(self, number):
        return self.pods_of.format(number)


V4 = Family(record=1, host="10.88.0.1", node="10.88.1.{}", bits=16, pods_of="10.244.{}.0/24", all_pods="10.244.0.0/16",
            services="10.96.0.0/24", first_service="10.96.0.1", forwarding="ipv4/ip_forward")
V6 = Family(record=28, host="fd00:88::1", node="fd00:88::1:{}", bits=64, pods_of="fd00:244:{}::/64",
            all_pods="fd00:244::/32", services="fd00:96::/112", first_service="fd00:96::1",
            forwarding="ipv6/conf/all/forwarding")
# Services without a requested family get the first family of the cluster
FAMILIES = {"ipv4": (V4,), "ipv6": (V6,), "dual": (V4, V6)}


def bracketed(host):
    """Returns the host in URL form."""
    return f"[{host}]" if ":" in host else host


def make(names, families):
    """Creates a bridge, and a network namespace with a link to it for each node."""
    commands = ["mount -t tmpfs tmpfs /run", "mkdir /run/netns", "ip link set lo up",
                "ip link add name nodes0 type bridge", "ip link set nodes0 up"]
    for number, name in enumerate(names, 1):
        commands += [f"ip netns add {name}", f"ip link add name link{number} type veth peer name eth0 netns {name}",
                     f"ip link set link{number} master nodes0 up", f"ip -n {name} link set eth0 up"]
    for family in families:
        nodad = " nodad" if family is V6 else ""  # addresses are unique, so skip the second of duplicate detection
        commands += [f"echo 1 > /proc/sys/net/{family.forwarding}",
                     f"ip address add {family.host}/{family.bits} dev nodes0{nodad}"]
        for number, name in enumerate(names, 1):
            commands += [f"ip -n {name} address add {family.address(number)}/{family.bits} dev eth0{nodad}",
                         f"ip -n {name} route add default via {family.host}",
                         f"ip route add {family.pods(number)} via {family.address(number)}"]
            commands += [f"ip -n {name} route add {family.pods(other)} via {family.address(other)}"
                         for other in range(1, len(names) + 1) if other != number]
    subprocess.run(["bash", "-ec", "\n".join(commands)], check=True)


def thread(target, *arguments):
    threading.Thread(target=target, args=arguments, daemon=True).start()


def answer(question, resolve):
    """Returns the answer to one DNS query: the addresses of SERVICE.NAMESPACE.svc.cluster.local, or NXDOMAIN."""
    at, labels = 12, []
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode())
        at += question[at] + 1
    kind, = struct.unpack(">H", question[at + 1:at + 3])
    found = resolve(*labels[:2]) if labels[2:] == DOMAIN else None
    given = [each for each in found or () if kind == (V6 if ":" in each else V4).record]
    head = question[:2] + struct.pack(">HHHHH", 0x8580 | (0 if found else 3), 1, len(given), 0, 0)
    packed = [socket.inet_pton(socket.AF_INET6 if ":" in each else socket.AF_INET, each) for each in given]
    records = [b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 5, len(each)) + each for each in packed]
    return head + question[12:at + 5] + b"".join(records)


def serve_names(host, resolve):
    server = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((host, 53))

    def serve():
        while True:
            question, client = server.recvfrom(4096)
            with contextlib.suppress(OSError, IndexError, struct.error, UnicodeDecodeError):
                server.sendto(answer(question, resolve), client)
    thread(serve)


def copy(source, target):
    with contextlib.suppress(OSError):
        while content := source.recv(65536):
            target.sendall(content)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def with_token(client, token):
    """Returns the header of an HTTP request with the token added; the connection serves only this request."""
    head = b""
    while b"\r\n\r\n" not in head:
        content = client.recv(65536)
        if not content or len(head) > HEAD_BYTES:
            raise OSError("no request")
        head += content
    head, _, rest = head.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"authorization:"))]
    return b"\r\n".join([*lines, b"Connection: close", b"Authorization: Bearer " + token.encode(), b"", rest])


def relay(listener, target, token=None):
    """Connects each client of the listener to target(), which returns (host, port)."""
    def serve(client):
        with contextlib.suppress(OSError), client:
            head = with_token(client, token()) if token else b""
            with socket.create_connection(target()) as server:
                server.sendall(head)
                thread(copy, client, server)
                copy(server, client)

    def accept():
        while True:
            with contextlib.suppress(OSError):
                thread(serve, listener.accept()[0])
    thread(accept)
