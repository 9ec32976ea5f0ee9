#!/usr/bin/env python3
"""dashboard_and_completion_test: `wattle dashboard` prints the page's address, opens a browser and ends with Ctrl-C or
with kubectl; completion offers names from the running controller.

A script replaces kubectl and reports the controller's own port as the forwarded one. tests/e2e/cluster/running.py uses
the real kubectl.

Usage    dashboard_and_completion_test.py FOLDER-OF-BINARIES
"""
import json
import os
import signal
import socket
import subprocess
import sys

from captured_agent import start_captured
from demo_run import Claims
from house import CLI_TIMEOUT, House, binaries_from, fetch, free_ports, wait_until
from patience import SOON_S

KUBECTL = """#!/bin/sh
echo "$@" >{folder}/kubectl.words
echo $$ >{folder}/kubectl.pid
echo "Forwarding from 127.0.0.1:{port} -> 8050"
exec sleep 1000
"""


class Desk:
    """The environment of wattle: a fake kubectl, a fake browser and a private home."""

    def __init__(self, house):
        self.house = house
        self.folder = house.dir / "desk"
        self.folder.mkdir()
        self.program("kubectl", KUBECTL.format(folder=self.folder, port=house.http))
        self.program("browser", f'#!/bin/sh\necho "$1" >>{self.folder}/opened\n')
        self.environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder), "BROWSER": str(self.folder / "browser")}
        self.direct = ["--server", f"tcp://127.0.0.1:{house.ask}", "--key", str(house.dir / "reader.key"), "--server-key", str(house.dir / "controller.key.pub"),
                       "--timeout", CLI_TIMEOUT]

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run(self, *words):
        return subprocess.run([self.house.binary("wattle"), *words], capture_output=True, text=True, check=False, timeout=SOON_S, env=self.environment)

    def start(self, *words):
        return subprocess.Popen([self.house.binary("wattle"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    def opened(self):
        path = self.folder / "opened"
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    def kubectl_runs(self):
        try:
            os.kill(int((self.folder / "kubectl.pid").read_text(encoding="utf-8")), 0)
            return True
        except (OSError, ValueError):
            return False


def dashboard(claims, house, desk):
    url = f"http://127.0.0.1:{house.http}/"
    ran = desk.run(*desk.direct, "dashboard")
    claims.check("the page of a controller with another port is found", (ran.returncode, ran.stdout) == (0, url + "\n"), f"{ran.stdout}{ran.stderr}")
    process = desk.start("--context", "there", "--controller-namespace", "energy", "dashboard", "--open")
    claims.check("the address of the page is printed", process.stdout.readline() == url + "\n")
    claims.check("the page is served at the address", fetch(url + "page/pass")[0] == 200)
    wait_until("the browser opens the page", lambda: desk.opened() == [url])
    words = (desk.folder / "kubectl.words").read_text(encoding="utf-8")
    claims.check("kubectl forwards the page's port with the caller's context", words == "--context there --namespace energy port-forward --address 127.0.0.1 service/wattle-controller :8050\n", words)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON_S)
    claims.check("Ctrl-C ends it with 0", process.returncode == 0, out + err)
    wait_until("Ctrl-C ends kubectl too", lambda: not desk.kubectl_runs())

    process = desk.start("--context", "there", "dashboard")
    process.stdout.readline()
    os.kill(int((desk.folder / "kubectl.pid").read_text(encoding="utf-8")), signal.SIGKILL)
    out, err = process.communicate(timeout=SOON_S)
    claims.check("an end of kubectl is reported", process.returncode == 1 and "wattle: dashboard: kubectl port-forward: has ended" in err, f"{process.returncode}: {err}")
    claims.check("without a terminal no browser is opened without --open", desk.opened() == [url])
    desk.environment.pop("BROWSER")
    ran = desk.run("--context", "there", "dashboard", "--open")
    claims.check("--open without a browser is an error", ran.returncode == 1 and "--open: no browser was found (set BROWSER" in ran.stderr, ran.stderr)


def completion(claims, house, desk):
    def offers(*typed, options=desk.direct):
        ran = desk.run("--complete", *options, *typed)
        claims.check(f"completing {' '.join(typed)} prints nothing and exits with 0", ran.returncode == 0 and not ran.stderr, ran.stderr)
        return [line.split("\t")[0] for line in ran.stdout.splitlines()]
    claims.check("names of nodes", offers("node", "") == ["captured", house.node])
    claims.check("names of nodes as an option's value", offers("pods", "--node", house.node[:2]) == [house.node])
    claims.check("names of nodes in --option=VALUE", offers("pods", f"--node={house.node[:2]}") == [f"--node={house.node}"])
    claims.check("only names that begin with the word", offers("node", "zzz") == [])
    house.cli("model", "save", "kept", key="operator")
    claims.check("names of networks", "kept" in offers("model", "load", ""))
    pod = next(pod["uid"] for pod in house.query("pods")["pods"] if pod["node"] == "captured")
    claims.check("names of pods", offers("pod", pod[:8]) == [pod])
    port, = free_ports(1)
    claims.check("no names without a controller", offers("node", "", options=["--server", f"tcp://127.0.0.1:{port}", *desk.direct[2:]]) == [])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        claims.check("no names from a controller that does not answer", offers("node", "", options=["--server", f"tcp://{where}", *desk.direct[2:]]) == [])
        config = desk.folder / "kubeconfig"
        config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": f"https://{where}"}}],
                                      "users": [{"name": "u", "user": {"token": "t"}}], "contexts": [{"name": "there", "context": {"cluster": "c", "user": "u"}}]}))
        config.chmod(0o600)
        claims.check("no names from a cluster that does not answer", offers("node", "", options=["--context", "there", "--kubeconfig", str(config)]) == [])


def main():
    binaries = binaries_from(sys.argv)
    claims = Claims()
    with House(binaries) as house:
        desk = Desk(house)
        house.start_controller()
        house.start_agent()
        start_captured(house)
        wait_until("both nodes are connected and have pods", lambda: house.connected() and any(pod["node"] == "captured" for pod in house.query("pods")["pods"]))
        completion(claims, house, desk)
        desk.program("kubectl", KUBECTL.format(folder=desk.folder, port=house.http))
        dashboard(claims, house, desk)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
