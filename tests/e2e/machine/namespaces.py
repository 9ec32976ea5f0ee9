"""namespaces: boots the image's root with its own systemd in namespaces of this machine's kernel, at native speed
without KVM. The guest sees this machine's kernel and version of cgroups, and is isolated from the rest of the machine.

Gives    the JSON value that guest.py wrote to the third disk, as machine.boot does
Errors   MachineError with the tail of the console: no namespace can be created, a hang (bounded by `seconds`), or no
         result
Writes   only temporary files: the root image has an overlay in memory; cgroups /wattle-machine-PID, removed at the end
"""
import contextlib
import ctypes
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

HOST = "10.0.2.2"  # as in QEMU's user network

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Arguments: folder, image, payload. All mounts are in a namespace that ends with its last process.
BOOT = r"""
set -e
at=$1 image=$2 payload=$3 root=$1/root
mount --make-rprivate /
mkdir -p $at/lower $at/memory $root
mount -o loop,ro,noload $image/root.ext4 $at/lower
mount -t tmpfs -o mode=755 tmpfs $at/memory
mkdir $at/memory/upper $at/memory/work
mount -t overlay -o lowerdir=$at/lower,upperdir=$at/memory/upper,workdir=$at/memory/work overlay $root
mount -t proc proc $root/proc
mount -t sysfs -o ro sysfs $root/sys
mount -t tmpfs -o mode=755 tmpfs $root/dev
mkdir $root/dev/pts $root/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts $root/dev/pts
mount -t tmpfs tmpfs $root/dev/shm
ln -s pts/ptmx $root/dev/ptmx
ln -s /proc/self/fd $root/dev/fd
for name in DEVICES; do touch $root/dev/$name; mount --bind /dev/$name $root/dev/$name; done
touch $root/dev/nvme0n3
mount --bind $at/result $root/dev/nvme0n3
mount -t tmpfs -o mode=755 tmpfs $root/run
mkdir $root/run/payload
mount --bind -o ro $payload $root/run/payload
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 $root/sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs $root/sys/fs/cgroup
  while IFS=: read -r id kinds path; do
    name=${kinds#name=}
    [ -n "$kinds" ] || name=unified
    mkdir -p $root/sys/fs/cgroup/$name
    case $kinds in
      "") mount -t cgroup2 cgroup2 $root/sys/fs/cgroup/$name ;;
      name=*) mount -t cgroup -o none,$kinds cgroup $root/sys/fs/cgroup/$name ;;
      *) mount -t cgroup -o $kinds cgroup $root/sys/fs/cgroup/$name ;;
    esac
  done < /proc/self/cgroup
fi
# The mounts of the image's devices already exist.
mkdir -p $root/run/systemd/system/machine.service.d
printf '[Service]\nExecStartPre=\n' > $root/run/systemd/system/machine.service.d/there.conf
ip link set lo up
ip address add 10.0.2.2/32 dev lo
hostname machine
# No chroot: units need user namespaces, which the kernel does not create in a chroot.
mkdir $root/run/before
cd $root
pivot_root . run/before
umount -l run/before
rmdir run/before
exec env -i container=wattle PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/systemd/systemd --log-target=console --show-status=no
""".replace("DEVICES", " ".join(DEVICES))


class MachineError(Exception):
    pass


def console_tail(console):
    try:
        text = console.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return "console:\n" + "\n".join(text.splitlines()[-60:])


def cgroups_of_this():
    """Returns the folders of this process in each hierarchy."""
    mounts = {}
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        left, right = line.split(" - ")
        kind, _, options = right.split()[:3]
        if kind in ("cgroup", "cgroup2"):
            for name in options.split(",") if kind == "cgroup" else [""]:
                mounts.setdefault(name, pathlib.Path(left.split()[4]))
    for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, kinds, path = line.split(":", 2)
        name = kinds.split(",")[0]
        if name in mounts:
            yield mounts[name] / path.lstrip("/")


def made_for(name):
    folders = []
    for above in cgroups_of_this():
        folder = above / name
        if not folder.exists():
            folder.mkdir()
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (folder / file).exists():
                    (folder / file).write_text((above / file).read_text(encoding="utf-8"), encoding="utf-8")
        folders.append(folder)
    return folders


def remove(folders):
    for folder in folders:
        for below, _, _ in os.walk(folder, topdown=False):
            for _ in range(50):
                try:
                    os.rmdir(below)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.1)  # its last process is exiting


def in_network_of(pid, do):
    """Enters the machine's network once it exists. Affects only this thread."""
    mine = os.stat("/proc/self/ns/net").st_ino
    while os.stat(f"/proc/{pid}/ns/net").st_ino == mine:
        time.sleep(0.01)
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as here, open(f"/proc/{pid}/ns/net", "rb") as there:
        for namespace, step in ((there, do), (here, lambda: None)):
            if libc.setns(namespace.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            step()


def relay(one, other):
    """Copies bytes from one socket to the other, until the end."""
    with contextlib.suppress(OSError):
        while some := one.recv(65536):
            other.sendall(some)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


def serve(listener, port):
    with contextlib.suppress(OSError):  # closed at exit
        while True:
            one, _ = listener.accept()
            try:
                other = socket.create_connection(("127.0.0.1", port))
            except OSError:
                one.close()
                continue
            for pair in ((one, other), (other, one)):
                threading.Thread(target=relay, args=pair, daemon=True).start()


def listeners_in(pid, ports):
    """Forwards HOST's ports inside the machine to this machine's loopback."""
    listeners = []

    def listen():
        for port in ports:
            listener = socket.socket()
            listener.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_FREEBIND", 15), 1)  # the address is not assigned yet
            listener.bind((HOST, port))
            listener.listen(64)
            listeners.append(listener)

    in_network_of(pid, listen)
    for listener, port in zip(listeners, ports):
        threading.Thread(target=serve, args=(listener, port), daemon=True).start()
    return listeners


def boot(image, payload, seconds, keep_console=None, ports=()):
    with tempfile.TemporaryDirectory(prefix="wattle-machine-") as folder:
        folder = pathlib.Path(folder)
        result, console = folder / "result", folder / "console"
        result.touch()
        folders, listeners, running = [], [], None
        try:
            folders = made_for(f"wattle-machine-{os.getpid()}")
            join = "".join(f"echo $$ > {at}/cgroup.procs; " for at in folders)
            inner = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--net", "--fork", "--kill-child", "bash", "-c", BOOT, "boot", folder, image, payload]
            with open(console, "wb") as said:
                running = subprocess.Popen(["bash", "-c", f'{join} exec "$@"', "join", *inner], stdout=said, stderr=said)
                if ports:
                    listeners = listeners_in(running.pid, ports)
                running.wait(seconds)
        except subprocess.TimeoutExpired:
            raise MachineError(f"the machine was not done within {seconds} s; {console_tail(console)}") from None
        except OSError as error:
            raise MachineError(f"namespaces cannot be created: {error}") from None
        finally:
            for listener in listeners:
                listener.close()
            if running and running.poll() is None:
                running.kill()
                running.wait()
            remove(folders)
            if keep_console and console.exists():
                keep_console.write_bytes(console.read_bytes())
        text = result.read_text(encoding="utf-8", errors="replace")
        if not text.endswith("\n"):
            raise MachineError(f"the machine exited without a result (exit {running.returncode}); {console_tail(console)}")
        return json.loads(text)
