#!/usr/bin/env python3
"""join_test: turns an empty Debian 12 into a live node of `wattle nodes`, using only the commands of
docs/how-to/install-debian.md and join-nodes.md: one on the controller's machine, which is this one, and two in a
virtual machine under QEMU, with a real systemd and our .deb files. Then upgrades to the next version, downgrades, and
purges.

The machine has Debian's minimal installation, kmod and iproute2 for its network, and Python for the test's script. Its
apt cache has the Debian packages that ours need, instead of a mirror: its only network connection leads to the
controller.

Usage    join_test.py BIN_DIR PACKAGES [--keep FOLDER]     FOLDER: receives the console log and all output
Needs    scripts/setup --long; apt's archives once, then the cache (image.py)
Time     a minute under emulation on a quiet machine, and 90 s to build the image
Exit     0 fine, 1 a claim failed, 77 skipped: QEMU or mmdebstrap is missing
"""
import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "packages"), str(HERE.parent / "docs")]
sys.dont_write_bytecode = True
import debs  # noqa: E402
import image  # noqa: E402
import machine  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import blocks_below  # noqa: E402
from house import SKIPPED, House, free_ports  # noqa: E402

SECONDS = 1500  # it may share its machine
STAYS_S = 30
NAME = "machine"  # its host name
PARTS = ("wattle", "wattle-agent")
NEXT = "0.9.0"


def command_of(page, heading):
    (block,) = blocks_below(f"docs/how-to/{page}.md", heading)
    (line,) = block.text.strip().splitlines()
    return line


def enrolling(folder, port):
    return f"""
            store: {{path: {folder}/store.db}}
            enrol:
              tokens: {folder}/enrol-tokens
              address: 127.0.0.1
              port: {port}
              tls: {{certificate: {folder}/enrol.pem, key: {folder}/enrol.key}}
            """


def token_for(house):
    """Returns the page's commands, with this controller's configuration and the address by which the machine reaches
    this one."""
    config = ("--config", str(house.dir / "controller.yaml"))
    house.wattle("keys", "controller", *config)
    house.start_controller()
    words = command_of("join-nodes", "On the controller's machine").split()
    return house.wattle(*words[1:], *config, "--address", machine.HOST, "--valid", "1h").stdout.strip()


class Looking(threading.Thread):
    """Queries `wattle nodes` until the machine is listed. Records `found` and `after_s`, seconds since the machine's
    first command could run."""

    def __init__(self, house):
        super().__init__(daemon=True)
        self.house, self.found, self.over = house, None, threading.Event()

    def run(self):
        while self.found is None and not self.over.wait(1):
            self.found = next((node for node in self.house.query("nodes")["nodes"] if node["name"] == NAME and node["connected"] and node["cpu_used_cores"] is not None), None)


def judge(claims, seen, found, commands):
    claims.check("the machine has a route to the controller and no part of Wattle", seen["network"][0] == 0 and "No such file" in seen["before"][1], str((seen["network"], seen["before"])))
    print(f"     {seen['before'][1].splitlines()[0]} Debian packages are installed")
    for said in seen["commands"]:
        claims.check(f"exit 0 after {said['ended_s']:.1f} s: {said['command'][:90]}", said["code"] == 0, said["said"][-1500:])
    done = seen["commands"]
    claims.check(f"{1 + len(commands)} commands suffice", len(done) == len(commands) == 2)
    claims.check("the last command ends with the node's first sample", "has received the first sample of this node" in done[-1]["said"], done[-1]["said"][-500:] + seen["journal"])
    claims.check("the unit is enabled, runs, and never failed", {"ActiveState=active", "NRestarts=0", "UnitFileState=enabled"} <= set(seen["unit"].split()), seen["unit"])
    claims.check("`wattle nodes` shows the machine live", found is not None, seen["journal"])


def judge_later(claims, seen, version):
    up, down, gone = seen["later"]
    for what, said, wanted in (("the next version upgrades", up, NEXT), ("the previous version can be reinstalled", down, version)):
        claims.check(f"{what}: {said['version']}", said["code"] == 0 and said["version"] == wanted, said["said"][-1000:])
        claims.check("     its agent runs with the previous key and configuration", said["active"] == "active" and said["runs"] == version
                     and said["kept"] == up["kept"] and len(said["kept"].splitlines()) == 2, str(said))
    claims.check("     the agent was restarted each time", len({said["main"] for said in (up, down)}) == 2)
    claims.check("after a purge the agent does not run", gone["code"] == 0 and gone["active"] in ("inactive", "unknown") and gone["main"] == "0", str(gone))
    claims.check("after a purge no file, user, group or unit is left", seen["left"] == "", seen["left"])


def later_commands(commands):
    install = commands[0]
    return [install.replace("./", "./next/"), install.replace(" install ", " install --allow-downgrades "), f"apt-get purge -y {' '.join(PARTS)}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is missing (scripts/setup --long installs it)")
            return SKIPPED
    claims = Claims()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wattle-join-") as folder:
        folder = pathlib.Path(folder)
        packages = debs.here(options.packages)
        needed = {word.split()[0] for name in PARTS for word in re.split(r", *", debs.field(packages[name], "Depends")) if not word.startswith("wattle")}
        made = image.ensure(recipe=image.Recipe(("kmod", "iproute2"), 900, modules=True, at_hand=tuple(sorted(needed))))
        (port,) = free_ports(1)
        with House(options.binaries, mode="shadow", controller_extra=enrolling(folder, port)) as house:
            token = token_for(house)
            payload = folder / "payload"
            payload.mkdir()
            (payload / "next").mkdir()
            for name in PARTS:
                debs.newer(packages[name], NEXT, payload / "next")
                shutil.copy(packages[name], payload)
            shutil.copy(HERE / "join_guest.py", payload / "guest.py")
            commands = [debs.from_files(command_of("install-debian", "Each worker")), command_of("join-nodes", "On the new node").replace("TOKEN", token)]
            (payload / "settings.json").write_text(json.dumps({"commands": commands, "later": later_commands(commands), "stays_s": STAYS_S, "network": machine.NETWORK}), encoding="utf-8")
            looking = Looking(house)
            looking.start()
            begun = time.monotonic()
            try:
                seen = machine.boot(made, payload, SECONDS, options.keep / "console" if options.keep else None, (port, house.telemetry))
            except machine.MachineError as error:
                claims.check("the machine runs to its end", False, f"{error}\n{house.log('controller')[-2000:]}")
                return 1
            finally:
                looking.over.set()
                looking.join()
            print(f"     {machine.kind(made)}; {time.monotonic() - begun:.0f} s with boot and {STAYS_S} s of observation")
            judge(claims, seen, looking.found, commands)
            judge_later(claims, seen, debs.field(packages["wattle-agent"], "Version"))
    if options.keep:
        (options.keep / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
