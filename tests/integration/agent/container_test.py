#!/usr/bin/env python3
"""container_test: runs the agent as in k8s/base/agent.yaml, without a cluster: uid 0 with only the manifest's
capabilities, no new privileges, a read-only root, and the host's /sys, cgroups and /proc mounted read-only elsewhere.
The agent must find the same sources as root does on the host.

Usage    container_test.py BIN_DIR
Needs    root that may create mount namespaces, setpriv and unshare (Debian package util-linux)
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from house import free_ports  # noqa: E402
from patience import holds, SOON_S  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
SKIPPED = 77
NUMBERS = {"DAC_READ_SEARCH": 2, "NET_ADMIN": 12, "PERFMON": 38, "BPF": 39}
# $1: an empty folder; the rest: the program. Mounts the manifest's /host mounts below $1, and makes the rest read-only.
CONTAINER = """\
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/sys" "$1/proc" "$1/state"
cp "$1.yaml" "$1/agent.yaml"
mount --rbind /sys "$1/sys"
mount --bind /proc "$1/proc"
for at in $(awk -v under="$1/sys" 'index($5, under) == 1 {print $5}' /proc/self/mountinfo) "$1/proc" /; do mount -o remount,bind,ro "$at" 2>/dev/null || true; done
cd /
shift
exec setpriv --bounding-set="-all,$CAPABILITIES" --inh-caps=-all --ambient-caps=-all --no-new-privs "$@"
"""
TOKEN = "shown-by-who-may-read-metrics"
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def manifest_capabilities():
    for thing in yaml.safe_load_all((ROOT / "k8s/base/agent.yaml").read_text(encoding="utf-8")):
        for container in thing["spec"]["template"]["spec"]["containers"]:
            if container["name"] == "agent":
                return container["securityContext"]["capabilities"]["add"]
    raise ValueError("k8s/base/agent.yaml: no container named agent")


def config_in(folder, port):
    """The manifest's own configuration, with the container's paths in `folder` and without a controller."""
    config = yaml.safe_load((ROOT / "k8s/base/config/agent.yaml").read_text(encoding="utf-8"))
    config["root"] = config["root"].replace("/host", str(folder), 1)
    config["state_dir"] = f"{folder}/state"
    config["controller"] = {"endpoint": ""}
    token = pathlib.Path(f"{folder}.token")
    token.write_text(TOKEN, encoding="utf-8")
    token.chmod(0o400)
    config["http"] = {**config["http"], "address": "127.0.0.1", "port": port, "token_file": str(token)}
    return yaml.safe_dump(config)


def confined(folder, capabilities, *program):
    environment = {**os.environ, "CAPABILITIES": ",".join(f"+{name.lower()}" for name in capabilities)}
    return {"args": ["unshare", "--mount", "--propagation", "private", "sh", "-euc", CONTAINER, "sh", str(folder), *program], "env": environment}


def states(text):
    return {f["source"]: f["state"] for f in json.loads(text)["findings"]}


def fetch(url):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"}), timeout=SOON_S) as answer:
            return answer.read().decode()
    except (OSError, urllib.error.URLError):
        return ""


def status_of(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines() if ":\t" in line)


def run_agent(agent, folder, capabilities, config):
    """The process runs, serves metrics, and has dropped the manifest's capabilities once it has started."""
    allowed = sum(1 << NUMBERS[name] for name in capabilities)
    port = int(re.search(r"port: (\d+)", config).group(1))
    with open(f"{folder}.log", "wb") as log:
        process = subprocess.Popen(**confined(folder, capabilities, str(agent), "run", "--config", f"{folder}/agent.yaml"), stdout=log, stderr=log)
    try:
        holds(lambda: "wattle_agent_ticks_total 2" in fetch(f"http://127.0.0.1:{port}/metrics") or process.poll() is not None)
        page = fetch(f"http://127.0.0.1:{port}/metrics")
        check("the agent runs and serves /metrics", "wattle_node_cpu_seconds_total" in page, pathlib.Path(f"{folder}.log").read_text(errors="replace")[-2000:])
        if process.poll() is not None:
            return
        status = status_of(process.pid)
        check("the agent runs as uid 0", status["Uid"].split() == ["0"] * 4, status["Uid"])
        check("the agent cannot gain privileges", status["NoNewPrivs"] == "1")
        check("the agent's bounding set holds only the manifest's capabilities", int(status["CapBnd"], 16) & ~allowed == 0, status["CapBnd"])
        threads = {thread.name: status_of(f"{process.pid}/task/{thread.name}") for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir()}
        held = {(name, key): each[key].strip() for name, each in threads.items() for key in ("CapEff", "CapPrm", "CapInh", "CapAmb")}
        check(f"none of its {len(threads)} threads holds a capability", len(threads) > 1 and all(int(caps, 16) == 0 for caps in held.values()), str(held))
        # For mounts on the same path, the last one counts.
        mounts = {m.split()[4]: m.split()[5].split(",") for m in pathlib.Path(f"/proc/{process.pid}/mountinfo").read_text(encoding="utf-8").splitlines()}
        writable = [at for at, how in mounts.items() if (at == "/" or at.startswith((f"{folder}/sys", f"{folder}/proc"))) and "ro" not in how]
        check("root, /sys, cgroups and /proc of the host are read-only for the agent", not writable, str(writable))
    finally:
        process.terminate()
        check("the agent exits with 0 after SIGTERM", process.wait(timeout=SOON_S) == 0, str(process.returncode))


def main():
    agent = pathlib.Path(sys.argv[1]).resolve() / "wattle-agent"
    capabilities = manifest_capabilities()
    missing = [tool for tool in ("unshare", "setpriv") if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        print(f"skipped: {'not root' if os.geteuid() != 0 else ' '.join(missing) + ' missing (Debian package util-linux)'}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wattle-container-") as outer:
        folder = pathlib.Path(outer) / "host"
        folder.mkdir()
        config = config_in(folder, free_ports(1)[0])
        pathlib.Path(f"{folder}.yaml").write_text(config, encoding="utf-8")
        tried = subprocess.run(**confined(folder, capabilities, "true"), capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            print(f"skipped: no mount namespace, or capabilities that this process cannot grant: {tried.stderr.strip()[-300:]}")
            return SKIPPED
        within = subprocess.run(**confined(folder, capabilities, str(agent), "doctor", "--config", f"{folder}/agent.yaml", "-o", "json"),
                                capture_output=True, text=True, check=False, timeout=SOON_S)
        outside = subprocess.run([agent, "doctor", "-o", "json"], capture_output=True, text=True, check=False, timeout=SOON_S)
        check("doctor answers in the container", within.stdout.startswith("{"), within.stderr)
        seen, known = states(within.stdout), states(outside.stdout)
        for source, state in known.items():
            check(f"{source}: {state} for root on the host and in the container", seen.get(source) == state,
                  next((f"{f['why']} {f['fix']}" for f in json.loads(within.stdout)["findings"] if f["source"] == source), "not reported"))
        run_agent(agent, folder, capabilities, config)
    print("container: every claim holds" if failures == 0 else f"container: {failures} claims failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
