#!/usr/bin/env python3
"""pod_levels_test: a pod's annotation wattle.dev/provision takes effect, from an API server through controller, agent
and actuator to the CPU quota of its cgroup.

The API server is a fake that supports list and watch; all other parts are real, including the kernel's cgroups.
Usage    pod_levels_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: a cgroup with a CPU quota cannot be created
"""
import http.server
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]
sys.dont_write_bytecode = True
from cgroups import Cgroup, until  # noqa: E402
from house import House, binaries_from, wait_until  # noqa: E402
from kernel_test import BURN, FAILED, claim  # noqa: E402

LEVEL = "wattle.dev/provision"
SETTER = {"manager": "wattle-requests", "subresource": "resize"}


class Api(http.server.ThreadingHTTPServer):
    """Serves lists of the current objects; a watch reports later changes."""
    daemon_threads = True

    def __init__(self):
        self.objects, self.watchers, self.version = {"nodes": {}, "pods": {}}, {"nodes": [], "pods": []}, 7
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def put(self, kind, thing):
        name, self.version = thing["metadata"]["name"], self.version + 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        reported = {"type": "MODIFIED" if name in self.objects[kind] else "ADDED", "object": json.loads(json.dumps(thing))}
        self.objects[kind][name] = reported["object"]
        for watcher in self.watchers[kind]:
            watcher.put(reported)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        kind = path.rsplit("/", 1)[1]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if "watch=1" in query:
            self.end_headers()
            news = queue.Queue()
            self.server.watchers[kind].append(news)
            while True:
                self.wfile.write(json.dumps(news.get()).encode() + b"\n")
        body = json.dumps({"metadata": {"resourceVersion": str(self.server.version)}, "items": list(self.server.objects[kind].values())}).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Pod:
    """A pod's cgroup as a kubelet creates it, with a container cgroup below it that runs a process."""

    def __init__(self, name, node):
        self.name, self.node, self.uid = name, node, str(uuid.uuid4())
        self.cgroup = Cgroup(f"kubepods/pod{self.uid}")
        self.container = Cgroup(f"kubepods/pod{self.uid}/{uuid.uuid4().hex * 2}")
        self.load = subprocess.Popen([sys.executable, "-c", BURN])
        self.container.take(self.load.pid)
        self.there = self.cgroup.state()

    def thing(self, level=None, managers=()):
        return {"metadata": {"uid": self.uid, "name": self.name, "namespace": "shop", "annotations": {} if level is None else {LEVEL: level},
                             "managedFields": list(managers), "ownerReferences": [{"kind": "StatefulSet", "name": self.name, "controller": True}]},
                "spec": {"nodeName": self.node, "containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]},
                "status": {"phase": "Running", "qosClass": "Burstable"}}

    def limited(self):
        return self.cgroup.state() != self.there

    def remove(self):
        self.load.kill()
        self.load.wait()
        self.container.remove()
        self.cgroup.remove()


class Kubepods:
    """Creates the parent cgroup of pods on each hierarchy that lacks it."""

    def __init__(self):
        self.made = Cgroup("kubepods")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.made.remove()


def said_of(house, name):
    return {w["owner"]: w for w in house.query("provision", "list")["workloads"]}[f"StatefulSet/{name}"]


def walk(binaries, house, api, web, plain):
    socket = house.dir / "actuator.sock"
    house.write("actuator.yaml", f"{{state_dir: {house.dir}/actuator, socket: {socket}, workloads: []}}")
    provisioning = f"provisioning: {{socket: {socket}, pod_limits: true}}\n"
    plain_config = (house.dir / "agent.yaml").read_text(encoding="utf-8")
    (house.dir / "agent.yaml").write_text(plain_config + provisioning, encoding="utf-8")
    token = house.dir / "api.token"
    token.write_text("word")
    with open(house.dir / "controller.yaml", "a", encoding="utf-8") as config:
        config.write(f"\nkubernetes: {{server: \"http://127.0.0.1:{api.server_address[1]}\", token: {token}}}\n")
    api.put("nodes", {"metadata": {"name": house.node}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    api.put("pods", web.thing("limits"))
    api.put("pods", plain.thing("requests"))
    house.start("actuator", house.binary("wattle-actuator"), "run", "--config", str(house.dir / "actuator.yaml"))
    wait_until("the actuator listens", socket.exists)
    house.start_controller()
    house.start_agent()
    wait_until("the agent has connected", house.connected)

    def why(pod):
        return " ".join(house.cli("provision", "why", pod.name).stdout.split())

    claim("a pod at level limits gets a CPU quota if the node allows it", until(web.limited), house.log("agent") + house.log("actuator"))
    claim("a pod at level requests gets no CPU quota", not plain.limited(), plain.cgroup.state())
    wait_until("both are listed", lambda: len(house.query("provision", "list")["workloads"]) == 2)
    claim("the list shows each pod's level as its state", said_of(house, "web")["state"] == "limits" and said_of(house, "plain")["state"] == "learning", house.query("provision", "list"))
    claim("why says that Kubernetes does not support it", "1 with limits instead of requests" in why(web) and "which Kubernetes does not support" in why(web), why(web))
    for program, words in (("wattle-agent", "Kubernetes supports only limits that the kubelet sets"),
                           ("wattle-actuator", "level `limits` on its pods is unsupported, because only the kubelet may manage them")):
        config = house.dir / f"{program.removeprefix('wattle-')}.yaml"
        reported = house.run(house.binary(program), "doctor", "--config", str(config)).stdout
        claim(f"{program} doctor says that Kubernetes does not support it", "pod_limits" in reported and words in reported, reported)

    api.put("pods", web.thing("requests"))
    claim("a change to level requests restores the original quota", until(lambda: not web.limited()), web.cgroup.state())
    api.put("pods", web.thing("limits"))
    claim("a change back to level limits sets the quota again", until(web.limited), web.cgroup.state())
    api.put("pods", web.thing("limits", [SETTER]))
    claim("a pod whose requests were set gets no limits", until(lambda: not web.limited()), web.cgroup.state())
    claim("why says that Wattle set the requests and so sets no limits", until(lambda: "limits but with requests set by Wattle; Wattle does not set both" in why(web)), why(web))
    api.put("pods", web.thing("off"))
    claim("a pod at level off has state off", until(lambda: said_of(house, "web")["state"] == "off"), said_of(house, "web"))
    api.put("pods", web.thing("limits"))
    claim("the quota is set again", until(web.limited), web.cgroup.state())
    house.kill("controller")
    claim("the pod's quota is restored after the controller was away for a minute", until(lambda: not web.limited()), web.cgroup.state())
    house.start_controller()
    claim("the quota is set again when the controller is back", until(web.limited), web.cgroup.state())

    house.kill("agent", signal.SIGTERM)
    claim("the quota is restored when the agent is gone", until(lambda: not web.limited()), web.cgroup.state())
    (house.dir / "agent.yaml").write_text(plain_config + provisioning.replace(", pod_limits: true", ""), encoding="utf-8")
    house.start_agent()
    wait_until("the agent is back", house.connected)
    suggested = house.binary("wattle-actuator")

    def row():
        reported = house.run(suggested, "status", "--config", str(house.dir / "actuator.yaml")).stdout
        return next((line for line in reported.splitlines() if web.uid in line), "")

    claim("a node that does not allow limits suggests them", until(lambda: "suggested" in row()), row())
    claim("a node that does not allow limits sets none", not web.limited(), web.cgroup.state())


def main():
    binaries = binaries_from(sys.argv)
    if os.geteuid() != 0:
        print("[skipped] only root may create cgroups")
        return 77
    try:
        above = Kubepods()
    except (OSError, StopIteration) as error:
        print(f"[skipped] a cgroup with a CPU quota cannot be created: {error}")
        return 77
    with above, House(binaries, mode="off") as house:
        pods = [Pod(name, house.node) for name in ("web", "plain")]
        try:
            walk(binaries, house, Api(), *pods)
        finally:
            for name in list(house.processes):
                house.kill(name)
            for pod in pods:
                pod.remove()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
