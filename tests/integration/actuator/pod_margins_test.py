#!/usr/bin/env python3
"""pod_margins_test: reports minutes of pods under CPU limits from the kernel through actuator and agent to the
controller's teacher, which gets replicas and autoscalers from an API server and request rates from a Prometheus.

API server and Prometheus are a fake that supports list, watch and instant queries; all other parts are real, including
the kernel's cgroups. Takes two minutes, because minutes are real time.
Usage    pod_margins_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: a cgroup with a CPU quota cannot be created
"""
import json
import os
import pathlib
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]
sys.dont_write_bytecode = True
from house import House, binaries_from, wait_until  # noqa: E402
from kernel_test import FAILED, claim  # noqa: E402
from patience import AGES_S  # noqa: E402
from pod_levels_test import Answer, Api, Kubepods, Pod  # noqa: E402

RATE = 100
OWNED, FREE = "shop/StatefulSet/web", "shop/StatefulSet/db"
SCALER = "HorizontalPodAutoscaler shop/web"


class Server(Answer):
    """Serves lists of the objects, and acts as a Prometheus that reports RATE requests per second for each workload."""

    def do_GET(self):
        if self.path.partition("?")[0].rsplit("/", 1)[1] not in self.server.objects:
            self.send_error(404)
            return
        super().do_GET()

    def do_POST(self):
        asked = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["query"][0]
        value = str(RATE) if asked == "rate" else "0.001"
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"namespace": "shop", "workload": f"StatefulSet/{name}"}, "value": [time.time(), value]} for name in ("web", "db")]}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def configure(house, api):
    socket = house.dir / "actuator.sock"
    house.write("actuator.yaml", f"{{state_dir: {house.dir}/actuator, socket: {socket}, workloads: []}}")
    with open(house.dir / "agent.yaml", "a", encoding="utf-8") as config:
        config.write(f"provisioning: {{socket: {socket}, pod_limits: true, margins: true}}\n")
    url, token = f"http://127.0.0.1:{api.server_address[1]}", house.dir / "api.token"
    token.write_text("word")
    with open(house.dir / "controller.yaml", "a", encoding="utf-8") as config:
        config.write(f"\nkubernetes: {{server: \"{url}\", token: {token}}}\n"
                     f"provisioning: {{replicas: suggest, prometheus: {{url: \"{url}\", interval: 5s, rate_query: rate, late_query: late}}}}\n")
    return socket


def walk(house, api, pods):
    socket = configure(house, api)
    api.put("nodes", {"metadata": {"name": house.node}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    for pod in pods:
        api.put("pods", pod.thing("limits"))
    api.put("horizontalpodautoscalers", {"metadata": {"name": "web", "namespace": "shop"},
                                         "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}}})
    house.start("actuator", house.binary("wattle-actuator"), "run", "--config", str(house.dir / "actuator.yaml"))
    wait_until("the actuator listens", socket.exists)
    house.start_controller()
    house.start_agent()
    wait_until("the agent has connected", house.connected)

    def rows():
        found = {row["workload"]: row for row in house.query("provision", "margins")["services"] if row["cost"] is not None}
        # The list of autoscalers is read once a minute.
        return found if set(found) == {OWNED, FREE} and SCALER in (found[OWNED]["replicas_withheld"] or "") else None

    reported = wait_until("a minute of both pods is reported with its requests", rows, AGES_S)
    claim("the rows name this node's pods by UID", {(row["node"], row["service"]) for row in reported.values()} == {(house.node, pod.uid) for pod in pods}, reported)
    claim("each pod's requests are those of its workload", all(row["requests_per_s"] == RATE and row["requests_by"] == row["latency_by"] == "prometheus" for row in reported.values()), reported)
    claim("the autoscaler of one is named, and its replicas are left alone", reported[OWNED]["replicas"] is None and reported[OWNED]["replicas_withheld"] == f"{SCALER} owns the number", reported)
    claim("the replicas of the other workload are not known in the first ten minutes", "not known yet" in (reported[FREE]["replicas_withheld"] or "") or reported[FREE]["replicas"], reported)
    claim("rule and teacher have a margin and an action for each", all(row[who]["action"] and -0.3 <= row[who]["margin_ratio"] <= 4 for row in reported.values() for who in ("rule", "teacher")), reported)
    claim("no reason against replicas holds for all workloads", house.query("provision", "margins")["replicas_withheld"] is None)
    text = house.cli("provision", "margins").stdout
    claim("the table names both workloads", OWNED in text and FREE in text and "It chooses among CPU and memory" not in text, text)


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
    api = Api()
    api.objects["horizontalpodautoscalers"], api.watchers["horizontalpodautoscalers"] = {}, []
    api.RequestHandlerClass = Server
    with above, House(binaries, mode="off") as house:
        pods = [Pod(name, house.node) for name in ("web", "db")]
        try:
            walk(house, api, pods)
        finally:
            for name in list(house.processes):
                house.kill(name)
            for pod in pods:
                pod.remove()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
