#!/usr/bin/env python3
"""kernel_test: wattle-actuator on this machine's kernel, with a process that burns CPU in its own cgroup.

Checks the limits that it sets, the restore after SIGTERM, SIGKILL, silence of the agent and foreign writes, the clients
that it refuses, the privileges that it drops, and that it can still reload a student.
Usage    kernel_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: a cgroup with a CPU quota cannot be created
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e/docs")]
sys.dont_write_bytecode = True
from cgroups import ENVIRONMENT, PATIENCE_S, Cgroup, until  # noqa: E402
from documented import Failed, Undocumented, Walk  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import LATE_S, pace  # noqa: E402

PAGE = "docs/how-to/provision.md"
KILLS = 12
FAILED = []


def claim(what, holds, seen=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what}{f': {seen}' if not holds else ''}", flush=True)
    if not holds:
        FAILED.append(what)


def connected(path):
    """Connects to the socket. The connection is refused while the file exists but the program does not listen yet."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def listens():
        try:
            peer.connect(path)
            return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    claim("the actuator listens", until(listens), path)
    peer.settimeout(PATIENCE_S)
    return peer


BURN = "import time\nwhile True:\n  end = time.monotonic() + 0.02\n  while time.monotonic() < end: pass\n  time.sleep(0.08)\n"


def student(whose="student"):
    """Returns an untrained student in the format of `wattle-sim teach --student-out`."""
    shapes = {"node.0.weight": [36, 64], "node.0.bias": [64], "node.1.weight": [64, 64], "node.1.bias": [64], "ask.weight": [26, 64], "ask.bias": [64],
              "advantage.node.weight": [64, 64], "advantage.shared.weight": [192, 64], "advantage.bias": [64], "advantage.out.weight": [64],
              "value.weight": [192, 64], "value.bias": [64], "value.out.weight": [64], "value.out.bias": [1]}

    def file(metadata):
        header, at = dict(metadata), 0
        for name, shape in sorted(shapes.items()):
            size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
            header[name] = {"data_offsets": [at, at + size], "dtype": "F32", "shape": shape}
            at += size
        text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + bytes(at)

    return file({"__metadata__": {"layout": "minute-1", "network_sha256": hashlib.sha256(file({})).hexdigest(), "provisioning": whose}})


class Rig:
    def __init__(self, binary, folder, cgroup):
        self.binary, self.folder, self.cgroup = binary, pathlib.Path(folder), cgroup
        self.socket = str(self.folder / "socket")
        self.running = None

    def configure(self, workloads, rules="{}"):
        self.config = self.folder / "actuator.yaml"
        self.config.write_text(f"{{state_dir: {self.folder}/state, socket: {self.socket}, workloads: {workloads}, rules: {rules}}}\n", encoding="utf-8")

    def checked(self, config=None):
        return subprocess.run([self.binary, "run", "--config", config or self.config, "--check-config"], capture_output=True, text=True, check=False)

    def start(self):
        self.log = open(self.folder / "log", "ab")
        self.running = subprocess.Popen([self.binary, "run", "--config", self.config], stdout=self.log, stderr=self.log, env=ENVIRONMENT)

    def end(self, number):
        self.running.send_signal(number)
        code = self.running.wait(PATIENCE_S)
        self.log.close()
        return code

    def start_agent(self, name):
        config = self.folder / "agent.yaml"
        config.write_text(f"{{state_dir: {self.folder}/agent, tick: 500ms, spool: {{max_bytes: 0}}, bpf: {{enabled: false}}, http: {{port: 0}}, "
                          f"provisioning: {{socket: {self.socket}, limits: [{name}]}}}}\n", encoding="utf-8")
        with open(self.folder / "agent.log", "wb") as log:
            return subprocess.Popen([os.path.join(os.path.dirname(self.binary), "wattle-agent"), "run", "--config", config], stdout=log, stderr=log)

    def said(self, event):
        return (self.folder / "log").read_text(encoding="utf-8").count(f'"{event}"')

    def restore(self):
        return subprocess.run([self.binary, "restore", "--config", self.config], capture_output=True, text=True, check=False)


def walk_page(rig, cgroup, name):
    """Follows docs/how-to/provision.md as a reader would. PID 1 may not be systemd, so a shell starts and stops the
    program."""
    there = cgroup.state()
    bin_dir, pid = rig.folder / "bin", rig.folder / "pid"
    bin_dir.mkdir()
    (bin_dir / "wattle-actuator").symlink_to(os.path.abspath(rig.binary))
    paths = {"/etc/wattle/actuator.yaml": str(rig.config), " --check-config": f" --config {rig.config} --check-config"}
    paths |= {f"wattle-actuator {command}": f"wattle-actuator {command} --config {rig.config}" for command in ("doctor", "restore", "status")}
    paths["rm /run/wattle-actuator/originals /run/wattle-actuator/lock"] = f"rm -f {rig.folder}/state/originals {rig.folder}/state/lock"

    def run(text):
        for said, meant in paths.items():
            text = text.replace(said, meant)
        ran = subprocess.run(["bash", "-euc", text], env={"PATH": f"{bin_dir}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        return ran.returncode, ran.stdout + ran.stderr

    def write(path, text):
        if path == "student.yaml":
            config = rig.folder / path
            config.write_text(text.replace("/etc/wattle", str(rig.folder)), encoding="utf-8")
            reported = rig.checked(config)
            claim(f"{PAGE}: the actuator accepts the student configuration", reported.returncode == 0, reported)
            return
        if path == "controller.yaml":
            config = rig.folder / path
            config.write_text(text + f"data_dir: {rig.folder}/data\nkey: {rig.folder}/key\nallow_list: {rig.folder}/allow\n", encoding="utf-8")
            reported = subprocess.run([os.path.join(os.path.dirname(rig.binary), "wattle-controller"), "--config", config, "--check-config"], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            claim(f"{PAGE}: the controller accepts the Prometheus configuration", reported.returncode == 0, reported.stdout + reported.stderr)
            return
        if path == "agent.yaml":
            config = rig.folder / path
            config.write_text(text, encoding="utf-8")
            reported = subprocess.run([os.path.join(os.path.dirname(rig.binary), "wattle-agent"), "run", "--config", config, "--check-config"], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
            claim(f"{PAGE}: the agent accepts the latency configuration", reported.returncode == 0, reported.stdout + reported.stderr)
            return
        rig.config.write_text(f"state_dir: {rig.folder}/state\nsocket: {rig.socket}\n{text.replace('unit: reports.service', f'cgroup: /{name}')}", encoding="utf-8")

    start = f"wattle-actuator run --config {rig.config} >>{rig.folder}/log 2>&1 & echo $! >{pid}; until wattle-actuator status >/dev/null 2>&1; do sleep 0.1; done"
    stop = f"kill $(cat {pid}); flock {rig.folder}/state/lock true"  # the program holds the lock until it exits
    why = "a shell starts and stops it, because PID 1 may not be systemd"
    page = Walk(PAGE, run, write, files={"student:": "student.yaml", "workloads:": "actuator.yaml", "latency:": "agent.yaml", "connections:": "agent.yaml", "prometheus:": "controller.yaml"},
                without={"wattle provision margins": "this test runs no controller", "helm upgrade": "this test has no cluster",
                         "systemctl set-property": "PID 1 may not be systemd"},
                instead={"systemctl enable": (start, why), "systemctl restart": (f"{stop}; {start}", why), "systemctl disable": (stop, why)})
    try:
        said = page("Set limits of services")
        claim(f"{PAGE}: every command was run and succeeded ({page.finish()} blocks)", any("suggest" in text for text in said), said)
        claim(f"{PAGE}: the original limits are restored", cgroup.state() == there, (cgroup.state(), there))
    except (Failed, Undocumented, subprocess.TimeoutExpired) as error:
        run(stop)
        claim(f"{PAGE} can be followed", False, error)


def walk_student(rig, name):
    """Starts with a valid student file, then replaces it while the actuator runs behind its seccomp filter."""
    file, beside = rig.folder / "student.safetensors", rig.folder / "beside"

    def put(content):
        beside.write_bytes(content)
        beside.replace(file)

    rig.configure(f"[{{cgroup: /{name}, level: limits}}]", f"{{student: {file}}}")
    missing = rig.checked()
    claim("the error names a student file that is missing", missing.returncode == 2 and str(file) in missing.stderr, missing)
    put(student("teacher"))
    wrong = rig.checked()
    claim("the error names a file that is not a student", wrong.returncode == 2 and str(file) in wrong.stderr and "teacher" in wrong.stderr, wrong)
    rig.start()
    claim("the actuator does not start with an invalid student file", rig.running.wait(PATIENCE_S) == 1)
    put(student())
    right = rig.checked()
    claim("doctor accepts a valid student file", right.returncode == 0, right)
    rig.start()
    claim("a student serves", until(lambda: rig.said("student.serves") == 1))
    connected(rig.socket).close()  # the actuator has dropped its privileges by now
    put(student()[:-4])
    claim("a truncated student file is reported, and the actuator keeps running", until(lambda: rig.said("student.lost") == 1) and rig.running.poll() is None)
    put(student())
    claim("the actuator loads a valid student file behind its seccomp filter", until(lambda: rig.said("student.serves") == 2))
    claim("the actuator exits with 0 after SIGTERM", rig.end(signal.SIGTERM) == 0)


def walk_agent(rig, cgroup, name):
    """Runs the real agent, configured with this one service."""
    there = cgroup.state()
    rig.configure("[]")
    rig.start()
    until(lambda: os.path.exists(rig.socket))
    agent = rig.start_agent(name)
    try:
        claim("wattle-agent makes the actuator set limits on the configured service", until(lambda: cgroup.state() != there), (rig.folder / "agent.log").read_text(encoding="utf-8"))
        port = re.search(r'"http_port":(\d+)', (rig.folder / "agent.log").read_text(encoding="utf-8"))

        def page():
            with urllib.request.urlopen(f"http://127.0.0.1:{port.group(1)}/metrics", timeout=PATIENCE_S) as answer:
                return dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line.startswith("wattle_agent_actuator_"))

        claim("the agent's metrics show the granted cores", until(lambda: page().get("wattle_agent_actuator_limits") == "1" and float(page()['wattle_agent_actuator_cores{kind="granted"}']) > 0), page())
    finally:
        agent.kill()
        agent.wait()
    claim("the original limits are restored after the agent is killed", until(lambda: cgroup.state() == there), cgroup.state())
    rig.end(signal.SIGTERM)


def walk_damage(rig, cgroup, there):
    """Damages the record after the actuator was killed. The damage is reported until the record is removed, and no
    limit
    that the actuator set counts as an original."""
    record, note = (rig.folder / "state" / name for name in ("originals", "lock"))
    for what, damage in (("its take line", lambda text: text.replace(b" take ", b" tbke ")), ("its first line", lambda text: text.replace(b" boot ", b" bpot ")),
                         ("all of it", lambda text: b""), ("its end", lambda text: text[:text.index(b" write ")])):
        rig.start()
        until(lambda: cgroup.state() != there)
        rig.end(signal.SIGKILL)
        ours, whole = cgroup.state(), record.read_bytes()
        record.write_bytes(damage(whole))
        done = rig.restore()
        claim(f"damage to {what} is reported", done.returncode == 1 and str(record) in done.stderr and "remove" in done.stderr, done)
        claim(f"{what}: restore restores the recorded value or leaves the current one", cgroup.state() in (ours, there), (cgroup.state(), ours))
        if what in ("its take line", "its first line"):
            claim(f"{what}: the undamaged lines are enough to restore the limits", cgroup.state() == there, (cgroup.state(), there))
        left = cgroup.state()
        rig.start()
        claim(f"{what}: no start records the actuator's own limit as the original", rig.running.wait(LATE_S) != 0 and cgroup.state() == left, cgroup.state())
        doctor = subprocess.run([rig.binary, "doctor", "--config", rig.config], capture_output=True, text=True, check=False)
        claim(f"{what}: doctor reports it", doctor.returncode == 1 and "record: lost" in doctor.stdout, doctor)
        record.write_bytes(whole)
        claim(f"{what}: restore works again with the undamaged record", rig.restore().returncode == 0 and cgroup.state() == there, cgroup.state())
    record.unlink()
    claim("a missing record is reported", rig.restore().returncode == 1)
    note.unlink()
    claim("a missing record is not reported after its marker is removed", rig.restore().returncode == 0)


def walk(rig, cgroup):
    name = cgroup.folders[0].name
    cgroup.put(cgroup.quota, cgroup.plain(150_000))
    if cgroup.path(cgroup.burst).exists():
        cgroup.put(cgroup.burst, 50_000)
    there = cgroup.state()

    rig.configure(f"[{{cgroup: /{name}, level: suggest}}]")
    rig.start()
    peer = connected(rig.socket)

    def ask(orders=b"orders 1 -\n"):
        peer.send(orders)
        return peer.recv(65536).decode()

    claim("level suggest reports the limits that it would set", until(lambda: re.search(rf"^suggest suggested \d+ \d+ \d+ - 0 /{name}$", ask(), re.M)), ask())
    claim("level suggest sets no limit", cgroup.state() == there, cgroup.state())
    status = pathlib.Path(f"/proc/{rig.running.pid}/status").read_text(encoding="utf-8")
    held = re.findall(r"^(Cap(?:Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):\s+(\S+)$", status, re.M)
    claim("the actuator holds no capability, cannot gain any, and runs behind a seccomp filter",
          dict(held) == {"CapInh": "0" * 16, "CapPrm": "0" * 16, "CapEff": "0" * 16, "CapAmb": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}, held)
    kinds = [os.readlink(f"/proc/{rig.running.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{rig.running.pid}/fd")]
    claim("the actuator's only sockets are its own listener and the agent's", sum(kind.startswith("socket:") for kind in kinds) == 2, kinds)
    claim("restore refuses to run beside a running actuator", rig.restore().returncode == 1 and "another" in rig.restore().stderr, rig.restore())

    claim("an agent's order does not override the configured level", "suggest suggested" in ask(f"orders 1 -\nlimits /{name}\n".encode()) and cgroup.state() == there)
    claim("the actuator exits with 0 when there is nothing to restore", rig.end(signal.SIGTERM) == 0)
    rig.configure("[]")
    rig.start()
    peer.close()
    peer = connected(rig.socket)
    claim("an agent's order sets limits", until(lambda: ask(f"orders 1 -\nlimits /{name}\n".encode()) and cgroup.state() != there))
    claim("limits are restored when the agent falls silent", until(lambda: cgroup.state() == there), cgroup.state())
    peer.send(b"orders 7\n")
    claim("a malformed message ends its connection", peer.recv(65536) == b"")
    stranger = subprocess.run([sys.executable, "-c", "import os,socket,sys\nos.setuid(65534)\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                               "try:\n  s.connect(sys.argv[1]); s.settimeout(30); s.send(b'orders 1 -\\n'); sys.exit(s.recv(9) != b'')\n"
                               "except (PermissionError, ConnectionResetError, BrokenPipeError): sys.exit(0)\n", rig.socket], check=False)
    claim("a client of another user is refused", stranger.returncode == 0)
    claim("the actuator exits with 0", rig.end(signal.SIGTERM) == 0)
    claim("the actuator removes its socket at exit", not os.path.exists(rig.socket))

    rig.configure(f"[{{cgroup: /{name}, level: limits}}]")
    rig.start()
    claim("limits are set on the kernel", until(lambda: cgroup.state() != there), cgroup.state())
    claim("SIGTERM restores the original limits", rig.end(signal.SIGTERM) == 0 and cgroup.state() == there, cgroup.state())

    left = 0
    for kill in range(KILLS):
        rig.start()
        until(lambda: cgroup.state() != there)
        pace(0.013 * kill)
        rig.end(signal.SIGKILL)
        left += cgroup.state() != there
        if kill % 3 == 0:  # as a daemon-reload would, while no actuator runs
            quota = 120_000 + kill * 1_000
            cgroup.put(cgroup.quota, cgroup.plain(quota))
            there = (cgroup.plain(quota), there[1])
        if kill % 2 == 0:
            done = rig.restore()
            claim(f"kill {kill}: restore restores the original limits", done.returncode == 0 and cgroup.state() == there, (done, cgroup.state(), there))
        else:
            before = rig.said("restore.left_behind")
            rig.start()
            claim(f"kill {kill}: the next start restores the original limits", until(lambda: rig.said("restore.left_behind") > before) and
                  rig.end(signal.SIGTERM) == 0 and cgroup.state() == there, (cgroup.state(), there))
    claim("at least half of the kills left limits to restore", left > KILLS / 2, left)

    walk_damage(rig, cgroup, there)

    rig.start()
    # Writes all files: a foreign write between the actuator's read and last write is lost
    # (docs/concepts/provisioning.md).
    claim("the limits are set again", until(lambda: ", set," in subprocess.run([rig.binary, "status", "--config", rig.config], capture_output=True, text=True, check=False).stdout))
    cgroup.put(cgroup.quota, cgroup.plain(140_000))
    claim("a foreign write is kept, and the other limits are restored", until(lambda: cgroup.state() == (cgroup.plain(140_000), there[1])), cgroup.state())
    claim("SIGTERM keeps a foreign write", rig.end(signal.SIGTERM) == 0 and cgroup.state() == (cgroup.plain(140_000), there[1]), cgroup.state())
    walk_student(rig, name)
    walk_agent(rig, cgroup, name)
    walk_page(rig, cgroup, name)
    reported = subprocess.run([rig.binary, "doctor", "--config", rig.config], capture_output=True, text=True, check=False)
    claim("doctor reports the current quota", reported.returncode == 0 and "quota 140000 us" in reported.stdout, reported)


def main():
    binary = os.path.join(sys.argv[1], "wattle-actuator")
    name = f"wattle-actuator-test-{os.getpid()}.service"
    burner = None
    folder = tempfile.mkdtemp(prefix="wattle-actuator-")
    os.chmod(folder, 0o755)
    cgroup = None
    try:
        try:
            cgroup = Cgroup(name)
        except OSError as error:
            print(f"skipped: no cgroup with a CPU quota can be created: {error}")
            return 77
        if not cgroup.path(cgroup.quota).exists():
            print(f"skipped: {cgroup.path(cgroup.quota)} does not exist")
            return 77
        burner = subprocess.Popen([sys.executable, "-c", BURN])
        cgroup.take(burner.pid)
        rig = Rig(binary, folder, cgroup)
        try:
            walk(rig, cgroup)
        finally:
            if rig.running and rig.running.poll() is None:
                rig.running.kill()
                rig.running.wait()
            if FAILED:
                print((rig.folder / "log").read_text(encoding="utf-8")[-3000:])
    finally:
        if burner:
            burner.kill()
            burner.wait()
        if cgroup:
            cgroup.remove()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
