#!/usr/bin/env python3
"""autoscaler_test: the provider for Cluster Autoscaler (autoscaler/) on a real API server, with nodes that sleep.

An increase wakes a sleeping node, and a repeated one wakes no more. A sleeping node is in no group, keeps its Node
object, and returns without the taint that Cluster Autoscaler left on it. An order against the plan is refused with the
reason. POST /api/v1/sleep/order requires the operator's token, and follows the rules.

Real     etcd, kube-apiserver, KWOK, controller, agents (of a captured server), the exec driver, the provider with mutual TLS
Fake     Cluster Autoscaler's calls, in the wire format and by the configuration file of its client (autoscaler_call.go);
         the machines: an agent runs while its machine is on
Usage    autoscaler_test.py FOLDER-OF-BINARIES [--version V]
Skips    (77) where the control plane's programs, or the provider, can neither be found nor built
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from captured_agent import CAPTURED  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import House, HouseError, free_ports, wait_until  # noqa: E402
from patience import AGES_S, LATE_S, SOON_S, pace  # noqa: E402
from resize_test import main  # noqa: E402

AUTOSCALER = HERE.parents[2] / "autoscaler"
NAMES = ("n1", "n2", "n3")
LEFT = "ToBeDeletedByClusterAutoscaler"
# The machine of a node is a file that contains "on" or "off".
POWER = r"""#!/bin/sh
request=$(cat)
node=${request#*\"node\":\"}
machine=$(dirname "$0")/machine-${node%%\"*}
case "$request" in
  *'"request":"probe"'*) echo '{"depths": ["suspend"], "wake_time_s": 5, "asleep_power_w": 1}' ;;
  *'"request":"sleep"'*) echo off >"$machine" ;;
  *'"request":"wake"'*) echo on >"$machine" ;;
  *) printf '{"state": "%s"}' "$(cat "$machine")" ;;
esac
"""


class Sleepers(House):
    """A controller that puts nodes to sleep, their agents, and the provider."""

    def __init__(self, binaries, plane):
        self.plane = plane
        token = plane.dir / "wattle.token"
        token.write_text(plane.token)
        super().__init__(binaries, mode="shadow", node=NAMES[0], controller_extra=f"""
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {token}}}
            sleep: {{mode: auto, drivers: PLACE/drivers.yaml, proven_trips: 1}}
            store: {{path: PLACE/store.db}}
            learn: {{enabled: false}}
            """)
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text().replace("PLACE", str(self.dir)).replace(
            f"http: {{port: {self.http}}}", f"http: {{port: {self.http}, operator_token_file: {self.dir}/operator-token}}"))
        self.write("operator-token", "a-word-of-operators").chmod(0o400)
        self.write("power", POWER).chmod(0o755)
        self.write("drivers.yaml", f'nodes: [{{node: "*", exec: {{command: [{self.dir}/power]}}}}]')
        self.port, = free_ports(1)
        for name in NAMES:
            self.write(f"machine-{name}", "on")
            self.add_agent(name)
        self.certify()
        self.write("provider.yaml", f"""
            listen: 127.0.0.1:{self.port}
            tls: {{certificate: {self.dir}/server.crt, key: {self.dir}/server.key, client_ca: {self.dir}/ca.crt}}
            controller: {{server: "{self.api()}", operator_token: {self.dir}/operator-token}}
            kubernetes: {{server: "{plane.url}", ca: {plane.ca}, token: {token}}}
            """)
        self.write("cloud-config.yaml", f"""
            address: 127.0.0.1:{self.port}
            key: {self.dir}/client.key
            cert: {self.dir}/client.crt
            cacert: {self.dir}/ca.crt
            grpc_timeout: 60s
            """)

    def add_agent(self, name):
        key, port = self.dir / "agent.key", free_ports(1)[0]
        if name != self.node:
            key = self.dir / f"{name}.key"
            self.wattle("keys", "new", str(key))
            self.wattle("keys", "allow", "--allow-list", str(self.dir / "allow"), f"{key}.pub", "agent", name)
        # Without pods, because this machine may run pods of another cluster.
        shutil.copytree(CAPTURED, self.dir / f"root-{name}", ignore=shutil.ignore_patterns("kubepods*"))
        self.write(f"{name}.yaml", f"""
            node: {name}
            tick: 500ms
            root: {self.dir}/root-{name}
            state_dir: {self.dir}/state-{name}
            controller: {{endpoint: "tcp://127.0.0.1:{self.telemetry}", key: {key}, server_key: {self.dir}/controller.key.pub}}
            http: {{port: {port}}}
            """)

    def certify(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.dir)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca", "-days", "2")
        self.write("extensions", "subjectAltName = IP:127.0.0.1")
        for name in ("server", "client"):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.crt",
                    "-days", "2", "-extfile", "extensions")

    def machines(self):
        """Runs the agents of exactly the machines that are on."""
        for name in NAMES:
            on = (self.dir / f"machine-{name}").read_text().strip() == "on"
            if on and name not in self.processes:
                self.start(name, self.binary("wattle-agent"), "run", "--config", str(self.dir / f"{name}.yaml"))
            elif not on and name in self.processes:
                self.kill(name, signal.SIGKILL)

    def until(self, what, condition, seconds=AGES_S):
        def look():
            self.machines()
            pace(0.5)
            for name in ("controller", "provider"):
                if name in self.processes:
                    self.alive(name)
            return condition()
        try:
            return wait_until(what, look, seconds)
        except HouseError as error:
            plan = self.cli("sleep", "plan", check=False).stdout + self.cli("sleep", "status", check=False).stdout
            raise HouseError(f"{error}\n{plan}\n{self.log('provider') if 'provider' in self.processes else ''}") from error

    def record(self, name):
        return next((each for each in self.query("sleep", "status")["nodes"] if each["name"] == name), {"state": None, "round_trips": 0})

    def state(self, name):
        return self.record(name)["state"]

    def order(self, order, node, token="a-word-of-operators"):
        """Returns (status, answer) of POST /api/v1/sleep/order. Repeats the request while a plan is in progress."""
        def asked():
            request = urllib.request.Request(f"{self.api()}/api/v1/sleep/order", json.dumps({"order": order, "node": node}).encode(),
                                             {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
            try:
                with urllib.request.urlopen(request, timeout=SOON_S) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as error:
                return None if error.code == 503 else (error.code, json.loads(error.read()))
        return self.until(f"{order} of {node} is decided", asked)

    # ---- calls of Cluster Autoscaler

    def call(self, method, **request):
        """(answer, error)"""
        done = self.run(self.programs / "call", str(self.dir / "cloud-config.yaml"), method, json.dumps(request))
        return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr)

    def answer(self, method, **request):
        answer, error = self.call(method, **request)
        if answer is None:
            raise HouseError(f"{method}: {error}")
        return answer

    def group(self):
        """Returns (id, target size, maximum size) after a Refresh."""
        self.answer("Refresh")
        groups = self.answer("NodeGroups")["NodeGroups"] or []
        if len(groups) != 1:
            raise HouseError(f"groups: {groups}")
        target = self.answer("NodeGroupTargetSize", ID=groups[0]["ID"])["TargetSize"]
        return groups[0]["ID"], target, groups[0]["MaxSize"]

    def members(self):
        return {name for name in NAMES if self.answer("NodeGroupForNode", Node={"Name": name})["NodeGroup"]["ID"]}

    # ---- the cluster

    def object_of(self, name):
        return self.plane.call("GET", f"/api/v1/nodes/{name}")

    def taints(self, name):
        return {taint["key"] for taint in self.object_of(name)["spec"].get("taints", [])}

    def hold(self, name):
        """Creates a pod that must not be disrupted, which keeps its node awake."""
        self.plane.add_pod(f"stays-{name}", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
                           owner={"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "stays", "uid": "u", "controller": True}, spec={"nodeName": name})


def go(*arguments, cwd=AUTOSCALER):
    done = subprocess.run(["go", *arguments], cwd=cwd, env=os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"autoscaler/: go {arguments[0]}:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def build(folder):
    missing = assets.run_go("mod", "download", cwd=AUTOSCALER) if assets.shutil.which("go") else None
    if missing is None or missing.returncode != 0:
        raise assets.Missing(f"Go or the modules of autoscaler/ are missing: {missing.stderr[-500:] if missing else ''}")
    for name, package in (("wattle-autoscaler", "."), ("call", "../tests/e2e/kube/autoscaler_call.go")):
        go("build", "-trimpath", "-o", str(folder / name), package)


def prove(house):
    """Runs one sleep cycle of each node; then pods keep the first two awake."""
    house.until("the nodes report", lambda: {each["name"] for each in house.query("sleep", "status")["nodes"]} == set(NAMES))
    for name in NAMES:
        house.until(f"the sleep test of {name} starts", lambda n=name: house.cli("sleep", "test", n, key="operator", check=False).returncode == 0)
        house.until(f"{name} is proven", lambda n=name: (found := house.record(n))["round_trips"] == 1 and found["state"] == "awake")
    for name in NAMES[:2]:
        house.hold(name)


def check(house, claim):
    """n3 sleeps by an operator's order, after whose end the controller would wake the node."""
    group, target, most = house.group()
    claim("all nodes run and are in one group", (target, most) == (3, 3) and house.members() == set(NAMES), (target, most, house.members()))
    template = house.answer("NodeGroupTemplateNodeInfo", ID=group)
    claim("the template has the nodes' resources", template["status"]["allocatable"]["cpu"] == "8", template)
    answer, error = house.call("NodeGroupDeleteNodes", ID=group, Nodes=[{"Name": "n3"}])
    claim("an order for a node that the plan keeps awake is refused with the reason", answer is None and "FailedPrecondition" in error and "stays awake: " in error, error)
    before = house.object_of("n3")["metadata"]["uid"]
    house.plane.call("PATCH", "/api/v1/nodes/n3", {"spec": {"taints": [{"key": LEFT, "value": "1", "effect": "NoSchedule"}]}})
    house.cli("sleep", "test", "n3", key="operator")
    house.until("n3 starts to sleep", lambda: house.state("n3") in ("idle", "suspending", "asleep") and LEFT in house.taints("n3") and "wattle.dev/sleep" in house.taints("n3"))
    _, target, most = house.group()
    claim("a sleeping node is not counted and in no group", (target, most) == (2, 3) and house.members() == {"n1", "n2"}, (target, most, house.members()))
    house.answer("NodeGroupDeleteNodes", ID=group, Nodes=[{"Name": "n3"}])
    for _ in range(2):
        house.answer("NodeGroupIncreaseSize", ID=group, Delta=1)
        claim("an increase counts immediately and once", house.answer("NodeGroupTargetSize", ID=group)["TargetSize"] == 3)
    house.until("n3 is in its group again", lambda: house.group()[1] == 3 and house.members() == set(NAMES))
    claim("n3 kept its Node object, without a taint", house.object_of("n3")["metadata"]["uid"] == before and not house.taints("n3")
          and not house.object_of("n3")["spec"].get("unschedulable"), house.object_of("n3"))


def check_orders(house, claim):
    """Checks orders of POST /api/v1/sleep/order that the rules refuse; the plan's decision stays."""
    house.cli("sleep", "exclude", "n3", "--why", "a test", key="operator")
    house.until("n3 is awake", lambda: house.state("n3") == "awake" and house.group()[1] == 3)
    claim("an order without the operator's token is refused", house.order("sleep-empty", "n3", "a-guess")[0] == 401)
    status, answer = house.order("sleep-empty", "n3")
    claim("an order for an excluded node is refused with the reason", status == 409 and "a test" in answer["error"], (status, answer))
    status, answer = house.order("sleep-empty", "n1")
    claim("an order for a node with an undisruptable pod is refused", status == 409 and "stays awake: " in answer["error"] and house.state("n1") == "awake", (status, answer))


def run(binaries, version, claims):
    programs = assets.assets(version, ("etcd", "kube-apiserver", "kwok"))
    with ControlPlane(programs) as plane:
        build(plane.dir)
        plane.start_kwok()
        for name in NAMES:
            plane.add_node(name, labels={"wattle.dev/sleep": "auto"})
        plane.nodes_ready(len(NAMES))
        with Sleepers(binaries, plane) as house:
            house.programs = plane.dir
            house.start_controller()
            prove(house)
            house.start("provider", str(plane.dir / "wattle-autoscaler"), "--config", str(house.dir / "provider.yaml"))
            house.until("the provider answers", lambda: house.group()[1] == 3)
            check(house, claims.check)
            check_orders(house, claims.check)


if __name__ == "__main__":
    sys.exit(main("autoscaler", run))
