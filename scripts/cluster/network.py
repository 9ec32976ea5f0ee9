"""network: the cluster's network inside its own network namespace, a DNS server, and relays to loopback outside.

Addresses   10.88.0.0/16 for nodes, 10.244.N.0/24 for the pods of node N; none of them exists outside the namespace
Threads     each server has its own, which end with the process
"""
import contextlib
import socket
import struct
import subprocess
import threading

HOST = "10.88.0.1"
DOMAIN = ["svc", "cluster", "local"]
HEAD_BYTES = 65536


def address(number):
    return f"10.88.1.{number}"


def pods(number):
    return f"10.244.{number}.0/24"


def make(names):
    """A bridge, and a network namespace with a link to it for each node."""
    commands = ["mount -t tmpfs tmpfs /run", "mkdir /run/netns", "ip link set lo up", "ip link add name nodes0 type bridge",
                f"ip address add {HOST}/16 dev nodes0", "ip link set nodes0 up", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
    for number, name in enumerate(names, 1):
        commands += [f"ip netns add {name}", f"ip link add name link{number} type veth peer name eth0 netns {name}",
                     f"ip link set link{number} master nodes0 up", f"ip -n {name} address add {address(number)}/16 dev eth0",
                     f"ip -n {name} link set eth0 up", f"ip -n {name} route add default via {HOST}",
                     f"ip route add {pods(number)} via {address(number)}"]
    for name in names:
        for other in range(1, len(names) + 1):
            if names[other - 1] != name:
                commands.append(f"ip -n {name} route add {pods(other)} via {address(other)}")
    subprocess.run(["bash", "-ec", "\n".join(commands)], check=True)


def thread(target, *arguments):
    threading.Thread(target=target, args=arguments, daemon=True).start()


def answer(question, resolve):
    """The answer to one DNS query: the address of SERVICE.NAMESPACE.svc.cluster.local, else NXDOMAIN."""
    at, labels = 12, []
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode())
        at += question[at] + 1
    kind, = struct.unpack(">H", question[at + 1:at + 3])
    found = resolve(*labels[:2]) if labels[2:] == DOMAIN else None
    given = [found] if found and kind == 1 else []
    head = question[:2] + struct.pack(">HHHHH", 0x8580 | (0 if found else 3), 1, len(given), 0, 0)
    records = [b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 5, 4) + socket.inet_aton(each) for each in given]
    return head + question[12:at + 5] + b"".join(records)


def serve_names(resolve):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((HOST, 53))

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
    """The head of an HTTP request with the token in it; the connection then serves this one request."""
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
    """Connects each client of the listener to target(), which gives (host, port)."""
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
