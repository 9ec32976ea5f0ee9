"""sleepers: lets nodes without work sleep by the steps of docs/how-to/sleep-nodes.md: a file of power drivers, a label,
one test of each node, and then the controller's own decision.

Nodes    all but two, and neither the controller's nor the second scheduler's; none if a cluster has two nodes
Gives    `Switch`, the power of one node, which power.py serves as its BMC
Errors   a node that stays awake is reported with the controller's reason, and the cluster continues
"""
import base64
import json
import pathlib
import secrets
import subprocess

import guard
import network
import power
from house import HouseError, wait_until
from patience import LATE_S, SOON_S

VALUES = pathlib.Path(__file__).with_name("sleep.yaml")
LABEL = "wattle.dev/sleep"
PORT = 8443
FOLDER = "/etc/wattle-power"  # path in the controller's pod


class Switch:
    """A node is off while its folder has the file `off`; cluster.py follows the file."""

    def __init__(self, run, name):
        self.file, self.identity, self.name = run / name / "off", run.name[4:], name

    def wanted(self):
        return not self.file.exists()

    def is_on(self):
        return bool(guard.processes(self.identity, self.name))

    def turn(self, on):
        if on:
            self.file.unlink(missing_ok=True)
        else:
            self.file.touch()


def start_bmc(cluster):
    """Serves the nodes' BMC and stores the drivers in the Secret that sleep.yaml mounts."""
    host = cluster.families[0].host
    certificate, key = cluster.plane.authority.issue("bmc", "/CN=bmc", f"IP:{host}")
    login = ("wattle", secrets.token_urlsafe(18))
    power.serve(host, PORT, certificate, key, ":".join(login), {name: Switch(cluster.run, name) for name in cluster.names})
    address = f"https://{network.bracketed(host)}:{PORT}"
    drivers = {"nodes": [{"node": "*", "asleep_power_w": power.ASLEEP_W, "redfish": {
        "address": address, "system": "/redfish/v1/Systems/{node}", "credentials_file": f"{FOLDER}/login", "ca_file": f"{FOLDER}/ca.pem"}}]}
    files = {"drivers.yaml": json.dumps(drivers), "login": "\n".join(login) + "\n", "ca.pem": cluster.plane.ca.read_text(encoding="utf-8")}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wattle-power", "namespace": "wattle"},
                   "data": {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}})


def ask(cluster, *words):
    """Returns the output of `wattle sleep`, or its error."""
    done = subprocess.run([str(pathlib.Path(cluster.settings["bin"]) / "wattle"), "--timeout", f"{SOON_S:.0f}s", "sleep", *words, "--output", "json"],
                          capture_output=True, text=True, check=False, env=cluster.inside())
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip())


def choose(cluster):
    busy = {pod["spec"].get("nodeName") for pod in cluster.pods("wattle", "wattle-scheduler")} | {cluster.names[0]}
    return [name for name in cluster.names if name not in busy][-(len(cluster.names) - 2):]


def begin(cluster):
    """Orders the test of each node that may sleep. Returns these nodes once they are cordoned, so that no pod starts on
    them."""
    names = choose(cluster)
    for name in names:
        cluster.plane.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {LABEL: "auto"}}})
    refused = {}

    def tested(name):
        refused[name] = ask(cluster, "test", name)[1]
        return not refused[name]
    try:
        for name in names:
            wait_until(f"{name} takes the order to sleep", lambda name=name: cluster.check() and tested(name))
            wait_until(f"{name} is cordoned", lambda name=name: cluster.check() and cluster.get(f"/api/v1/nodes/{name}")["spec"].get("unschedulable"))
    except HouseError as error:
        cluster.say(f"{error} {refused}; `wattle sleep plan` has the reasons")
    return names


def rest(cluster, names):
    """Returns those of the nodes that sleep now."""
    asleep = set()
    try:
        wait_until("idle nodes sleep", lambda: cluster.tend() and asleep_for_good(cluster, names, asleep), LATE_S)
    except HouseError as error:
        cluster.say(f"{error}; `wattle sleep plan` has the reasons")
    return sorted(asleep)


def asleep_for_good(cluster, names, asleep):
    """Returns whether each node sleeps by the controller's decision: its test has ended, and it sleeps again."""
    answer, _ = ask(cluster, "status")
    for node in answer["nodes"] if answer else ():
        if node["name"] in names and node["round_trips"] > 0:
            if node["state"] == "awake":
                ask(cluster, "allow", node["name"])  # makes a plan immediately instead of within a minute
            elif node["state"] == "asleep":
                asleep.add(node["name"])
    return asleep == set(names)
