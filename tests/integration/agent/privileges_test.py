#!/usr/bin/env python3
"""privileges_test: the agent drops every capability once its BPF programs are loaded, and still reports their data: as
root, as a user with ambient capabilities (like under systemd), and as uid 0 with few capabilities (like a container).

Usage    privileges_test.py BIN_DIR
Needs    root, setpriv (Debian package util-linux), a kernel that loads our BPF programs
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import holds, SOON_S  # noqa: E402

SKIPPED = 77
NOBODY = 65534
FEW = "+bpf,+perfmon,+net_admin,+dac_read_search"
WAYS = {
    "root": ["env"],
    "an ordinary user with ambient capabilities": [
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", f"--inh-caps=-all,{FEW}", f"--ambient-caps=-all,{FEW}",
        f"--bounding-set=-all,{FEW}", "--no-new-privs"],
    "uid 0 with all dropped and the few added": ["setpriv", f"--bounding-set=-all,{FEW}", "--inh-caps=-all", "--no-new-privs"],
}
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"), flush=True)
    failures += 0 if truth else 1


def skip(why):
    print(f"[skipped] {why}")
    sys.exit(SKIPPED)


def status_of(thread):
    text = pathlib.Path(f"/proc/{thread}/status").read_text(encoding="utf-8")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def value(page, name):
    found = re.search(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", page, re.M)
    return float(found.group(1)) if found else None


def try_way(way, command, binary, folder):
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    state = folder / "state"
    state.mkdir()
    config = folder / "agent.yaml"
    config.write_text(f"node: n1\nstate_dir: {state}\nhttp: {{port: 0}}\n", encoding="utf-8")
    owner = NOBODY if "user" in way else 0
    for path in (folder, state, config):
        os.chown(path, owner, owner)
    agent = subprocess.Popen([*command, str(binary), "run", "--config", str(config)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said, port = [], None
        for line in agent.stdout:
            said.append(line)
            if '"agent.started"' in line:
                port = json.loads(line)["http_port"]
                break
        if port is None:
            check(f"{way}: the agent starts", False, "".join(said))
            return
        for thread in pathlib.Path(f"/proc/{agent.pid}/task").iterdir():
            held = status_of(f"{agent.pid}/task/{thread.name}")
            for what in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                check(f"{way}: thread {thread.name}: {what} is empty", int(held[what], 16) == 0, held[what])
            check(f"{way}: thread {thread.name}: no new privileges", held["NoNewPrivs"].strip() == "1")
        check(f"{way}: runs as uid {owner}", status_of(agent.pid)["Uid"].split()[0] == str(owner))

        def page():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SOON_S) as answer:
                return answer.read().decode()

        def on_cpu():
            return value(page(), "wattle_node_run_queue_seconds_count")

        first = holds(on_cpu)
        check(f"{way}: time on CPU is reported and grows after the drop", first and holds(lambda: on_cpu() > first), f"{first} {on_cpu()}")
        name = "wattle_node_run_queue_seconds_count"
        check(f"{way}: {name} is reported", value(page(), name) is not None)
    finally:
        agent.send_signal(signal.SIGTERM)
        check(f"{way}: exits with 0 after SIGTERM", agent.wait(SOON_S) == 0)


def main():
    if os.geteuid() != 0:
        skip("needs root")
    if not shutil.which("setpriv"):
        skip("needs setpriv (Debian package util-linux)")
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        binary = pathlib.Path(scratch) / "wattle-agent"  # where an ordinary user can reach it
        shutil.copy2(pathlib.Path(sys.argv[1]) / "wattle-agent", binary)
        found = json.loads(subprocess.run([binary, "doctor", "-o", "json"], capture_output=True, text=True, check=False).stdout)["findings"]
        lost = [f for f in found if f["source"] in ("bpf", "bpf-sched") and f["state"] != "ok"]
        if lost:
            skip(f"BPF does not load here: {lost[0]}")
        folder = pathlib.Path(scratch) / "run"
        folder.mkdir()
        for way, command in WAYS.items():
            try_way(way, command, binary, folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
