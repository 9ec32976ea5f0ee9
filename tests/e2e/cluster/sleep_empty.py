"""sleep_empty: orders `sleep-empty`, which Cluster Autoscaler's provider uses to put a node to sleep, and which the
plan accepts.

Claims   a node with pods is drained and sleeps; a node that another client has drained like Cluster Autoscaler, with
         its taint and the Eviction API, sleeps immediately and returns without that taint. Only the node's pods move
Source   POST /api/v1/sleep/order of the controller's pod, with the operator's token in the controller's volume
"""
import json
import os
import pathlib
import re
import sys
import time

from house import HouseError, wait_until
from patience import AGES_S, SOON_S, pace
from power_switch import PLACE, VOLUME
from real_cluster import is_ready

LEFT = "ToBeDeletedByClusterAutoscaler"
TOKEN = "a-word-of-operators"
# Runs in the cluster's network; prints status and answer
POST = """
import json, sys, urllib.error, urllib.request
url, token, body, limit_s = sys.argv[1:]
request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json", "Authorization": "Bearer " + token})
try:
    with urllib.request.urlopen(request, timeout=float(limit_s)) as answer:
        print(json.dumps([answer.status, json.load(answer)]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, json.load(error)]))
"""


class EmptyOrders:
    def __init__(self, sleepers):
        self.sleepers, self.cluster, self.claims = sleepers, sleepers.cluster, sleepers.claims

    def set_up(self):
        controller, = self.cluster.processes(self.sleepers.home, "wattle-controller")
        token = pathlib.Path(f"/proc/{self.cluster.first(self.sleepers.home)}/root{VOLUME}/power/operator-token")
        token.write_text(TOKEN, encoding="utf-8")
        token.chmod(0o400)
        status = pathlib.Path(f"/proc/{controller}/status").read_text(encoding="utf-8")
        os.chown(token, int(re.search(r"^Uid:\t(\d+)", status, re.MULTILINE)[1]), -1)
        self.cluster.upgrade("--set", f"controller.config.http.operator_token_file={PLACE}/operator-token,controller.config.http.insecure=true")
        for node in self.sleepers.names:
            self.hold(node)

    def hold(self, node):
        """Keeps the node awake, so that only the order puts it to sleep."""
        wait_until(f"the order for {node} is accepted", lambda: self.cluster.wattle("sleep", "exclude", node, "--why", "test"))
        self.sleepers.comes_back(node)

    def post(self, node):
        pod, = self.cluster.part("controller")
        host = pod["status"]["podIP"]
        url = f"http://{f'[{host}]' if ':' in host else host}:8050/api/v1/sleep/order"
        return json.loads(self.cluster.run("nsenter", "--target", self.cluster.first("plane"), "--net", sys.executable, "-c", POST, url, TOKEN,
                                           json.dumps({"order": "sleep-empty", "node": node}), SOON_S))

    def order(self, node):
        """Repeats the order as Cluster Autoscaler does, until the plan accepts it."""
        self.cluster.wattle("sleep", "allow", node)
        begun, refusals = time.monotonic(), []

        def accepted():
            pace(1)
            status, answer = self.post(node)
            if status == 409 and answer["error"] not in refusals:
                refusals.append(answer["error"])
            return answer if status == 200 else None
        try:
            answer = wait_until(f"the order for {node} is accepted", accepted, AGES_S)
        except HouseError as error:
            raise HouseError(f"{error}: {refusals}") from error
        took_s = time.monotonic() - begun
        self.sleepers.reaches(node, "asleep", seconds=AGES_S)
        print(f"     {node}: accepted after {took_s:.0f} s as {answer['state']}, asleep after {time.monotonic() - begun:.0f} s; refused before: {refusals or 'never'}", flush=True)
        return answer

    def evictions(self):
        return sum(1 for each in self.cluster.objects("events", "--namespace", "default") if each["reason"] == "EvictedByWattle")

    def check_with_pods(self, node):
        before, evicted = self.sleepers.one_on_each("ordered", node), self.evictions()
        answer = self.order(node)
        self.claims.check("an order for a node with a pod is accepted: the plan drains it", answer["state"] == "draining", answer)
        self.moved("ordered", node, before)
        self.claims.check("one pod is evicted, with an Event", self.evictions() == evicted + 1)

    def moved(self, name, node, before):
        after = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in self.sleepers.runs(name, 2)}
        gone = [uid for uid in before if uid not in after]
        self.claims.check(f"{node} sleeps, off and with its marks", not self.sleepers.power.is_on(node) and {"cordon", "taint", "label"} <= set(self.sleepers.marks(node)))
        self.claims.check(f"both pods of {name} run, and only the node's pod has moved", [before[uid] for uid in gone] == [node] and node not in after.values(), (before, after))
        self.sleepers.remove(name)

    def check_drained(self, node):
        before, evicted = self.sleepers.one_on_each("drained", node), self.evictions()
        identity = self.sleepers.node(node)["metadata"]["uid"]
        self.cluster.plane.call("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": [{"key": LEFT, "value": "1", "effect": "NoSchedule"}]}})
        pod = next(pod for pod in self.cluster.pods("drained") if pod["spec"]["nodeName"] == node)["metadata"]
        self.cluster.plane.call("POST", f"/api/v1/namespaces/default/pods/{pod['name']}/eviction",
                                {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod["name"], "namespace": "default"}})
        wait_until("its pod runs on another node", lambda: len(pods := self.cluster.pods("drained")) == 2 and all(is_ready(each) and each["spec"]["nodeName"] != node for each in pods))
        answer = self.order(node)
        self.claims.check("an order for a node that Cluster Autoscaler has drained is accepted, without a drain", answer["state"] != "draining", answer)
        self.moved("drained", node, before)
        self.claims.check("Wattle evicted no pod", self.evictions() == evicted)
        self.cluster.wattle("sleep", "wake", node)
        self.sleepers.comes_back(node)
        back = self.sleepers.node(node)
        self.claims.check("the awake node has the same Node object, without Cluster Autoscaler's taint", back["metadata"]["uid"] == identity and not back["spec"].get("taints"), back["spec"])


def check(sleepers):
    sleepers.prove()
    orders = EmptyOrders(sleepers)
    orders.set_up()
    other, node = sleepers.names
    orders.check_with_pods(node)
    orders.hold(node)
    orders.check_drained(other)
    for each in sleepers.names:
        orders.cluster.wattle("sleep", "allow", each)
