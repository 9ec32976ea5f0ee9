"""machine: boots the image under QEMU, with KVM if available, passes it one folder, and returns its result.

Units    WATTLE_MACHINE=here: use namespaces of this machine's kernel instead (namespaces.py)
Gives    the JSON value that guest.py wrote to the third disk
Errors   MachineError with the tail of the console: a panic, a hang (bounded by `seconds`), or no result
Writes   only temporary files: each run uses a snapshot of the root image
"""
import functools
import json
import os
import pathlib
import subprocess
import tempfile

import namespaces
from image import run
from namespaces import MachineError, console_tail

RESULT_MIB = 8
HOST = namespaces.HOST
HERE = os.environ.get("WATTLE_MACHINE") == "here"
# Commands with which a machine sets up its route to HOST
NETWORK = "true" if HERE else "modprobe virtio_net && ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && ip route add default via 10.0.2.2"
KVM, TCG = ("-accel", "kvm", "-cpu", "max"), ("-accel", "tcg,thread=multi", "-cpu", "max")
PANIC_S = 15  # emulated it takes 3
# Disables the kernel's timer check: under emulation on a busy machine, ticks arrive too late and the kernel panics
KERNEL = "console=ttyS0 panic=-1 quiet no_timer_check systemd.getty_auto=no systemd.show_status=no"


@functools.cache
def accelerator(kernel):
    """Returns KVM options if a kernel boots with it up to its panic about a missing root, because a nested KVM device
    may answer although no guest runs on it."""
    try:
        subprocess.run(["qemu-system-x86_64", *KVM, "-m", "256", "-display", "none", "-nodefaults", "-no-reboot", "-kernel", str(kernel), "-append", "panic=-1"],
                       capture_output=True, timeout=PANIC_S, check=True)
        return KVM
    except (OSError, subprocess.SubprocessError):
        return TCG


def qemu(image, memory_mib, console, disks, append=""):
    """Returns the command of a machine with these disks (path, options); the first is its root."""
    namespaces = []
    for number, (path, options) in enumerate(disks):
        namespaces += ["-drive", f"file={path},if=none,id=d{number},format=raw,{options}", "-device", f"nvme-ns,drive=d{number},bus=disks"]
    return [
        "qemu-system-x86_64", *accelerator(image / "vmlinuz"), "-smp", "2", "-m", str(memory_mib),
        "-display", "none", "-nodefaults", "-no-reboot", "-serial", f"file:{console}",
        "-kernel", str(image / "vmlinuz"),
        "-append", f"root=/dev/nvme0n1 rootwait rw {KERNEL} {append}".rstrip(),
        "-device", "nvme,serial=disks,id=disks", *namespaces,
    ]


def kind(image):
    return "in namespaces" if HERE else "KVM" if accelerator(image / "vmlinuz") == KVM else "emulated"


def boot(image, payload, seconds, keep_console=None, ports=()):
    """Boots a machine. With ports, it reaches these ports of this machine's loopback at HOST, after the commands of
    NETWORK."""
    if HERE:
        return namespaces.boot(image, payload, seconds, keep_console, ports)
    with tempfile.TemporaryDirectory(prefix="wattle-machine-") as folder:
        folder = pathlib.Path(folder)
        disk, result, console = folder / "payload.ext4", folder / "result", folder / "console"
        run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(payload), str(disk), "48M")
        with open(result, "wb") as file:
            file.truncate(RESULT_MIB << 20)
        command = qemu(image, 1024, console, ((image / "root.ext4", "snapshot=on"), (disk, "readonly=on"), (result, "cache=writeback")), "net.ifnames=0")
        if ports:
            command += ["-netdev", "user,id=net,restrict=off", "-device", "virtio-net-pci,netdev=net"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except FileNotFoundError:
            raise MachineError("qemu-system-x86_64 is missing (scripts/setup --long installs qemu-system-x86)") from None
        except subprocess.TimeoutExpired:
            raise MachineError(f"the machine was not done within {seconds} s; {console_tail(console)}") from None
        finally:
            if keep_console and console.exists():
                keep_console.write_bytes(console.read_bytes())
        text = result.read_bytes().rstrip(b"\0").decode("utf-8", errors="replace")
        if done.returncode != 0 or not text.endswith("\n"):
            raise MachineError(f"the machine exited without a result (qemu exit {done.returncode}: {done.stderr[-500:]}); {console_tail(console)}")
        return json.loads(text)
