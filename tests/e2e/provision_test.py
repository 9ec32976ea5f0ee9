#!/usr/bin/env python3
"""provision_test: pod requests from an API server to the command line. `wattle provision` with a controller that
watches an API server, and with one that does not.
"""
import http.server
import json
import sys
import threading
import time

from house import House, binaries_from, fetch, wait_until
from patience import pace

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def pod(name, node, owner, **annotations):
    return {"metadata": {"uid": f"uid-{name}", "name": name, "namespace": "shop", "annotations": annotations, "labels": {"pod-template-hash": "5d9"},
                         "ownerReferences": [{"kind": "ReplicaSet", "name": f"{owner}-5d9", "controller": True}]},
            "spec": {"nodeName": node, "containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "1500m", "memory": "512Mi"}}}]},
            "status": {"phase": "Running", "qosClass": "Burstable"}}


class Api(http.server.ThreadingHTTPServer):
    """Lists fixed objects, and acts as a Prometheus that reports 100 requests per second for each workload; watches
    report no events."""
    daemon_threads = True

    def __init__(self):
        self.objects = {"nodes": [], "pods": [], "horizontalpodautoscalers": []}
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        objects = self.server.objects.get(path.rsplit("/", 1)[1])
        self.send_response(200 if objects is not None else 404)
        self.send_header("Content-Type", "application/json")
        if "watch=1" in query:
            self.end_headers()
            pace(300)
            return
        self.answer({"metadata": {"resourceVersion": "7"}, "items": objects})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.answer({"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"namespace": "shop", "workload": f"Deployment/{name}"}, "value": [time.time(), "100"]} for name in ("web", "db")]}})

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def followed(binaries):
    api = Api()
    with House(binaries, mode="off") as house:
        api.objects["nodes"] = [{"metadata": {"name": house.node}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}]
        api.objects["pods"] = [pod("web-1", house.node, "web", **{"wattle.dev/shrink": "allowed"}), pod("db-1", house.node, "db"),
                               pod("far-1", "a-node-without-agent", "far"), pod("db-2", "a-node-without-agent", "db"), pod("db-3", "", "db")]
        api.objects["horizontalpodautoscalers"] = [{"metadata": {"name": "web", "namespace": "shop"},
                                                    "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}]
        token = house.dir / "api.token"
        token.write_text("word")
        with open(house.dir / "controller.yaml", "a", encoding="utf-8") as config:
            config.write(f"\nkubernetes: {{server: \"{api.url()}\", token: {token}}}\n")
            config.write(f"provisioning: {{replicas: suggest, prometheus: {{url: \"{api.url()}\", rate_query: rate}}}}\n")
        house.start_controller()
        house.start_agent()
        wait_until("the agent has connected", house.connected)
        document = wait_until("its pods are described", lambda: (d := house.query("provision", "list")) and len(d["workloads"]) == 2 and d)
        by_name = {w["workload"]: w for w in document["workloads"]}
        check("workloads are reported by namespace, kind and name", set(by_name) == {"shop/Deployment/web", "shop/Deployment/db"}, by_name)
        web = by_name["shop/Deployment/web"]
        check("workloads have the requests of their pods", web["request"] == {"cpu_cores": 1.5, "memory_bytes": 512 << 20}, web)
        check("workloads report whether their requests may be lowered", web["shrink_allowed"] and not by_name["shop/Deployment/db"]["shrink_allowed"], by_name)
        check("a workload without enough telemetry has no suggestion", web["state"] == "learning" and web["suggested"]["cpu_cores"] is None, web)
        check("workloads without a suggestion are not listed as suggestions", house.query("provision", "suggest")["workloads"] == [])
        text = house.cli("provision", "why", "web").stdout
        check("why says how much telemetry is missing", "Needs 60 more minutes of telemetry before any suggestion" in text, text)
        text = house.cli("provision", "list").stdout
        check("the table lists the workloads", "shop/Deployment/web" in text and "1.500" in text and "learning" in text, text)
        unknown = house.cli("provision", "why", "nobody", check=False)
        check("an unknown workload is refused with a fix", unknown.returncode == 1 and "wattle provision list" in unknown.stderr, unknown.stderr)
        # The controller reads rates, usage and autoscalers once a minute each.
        states = {"shop/Deployment/web": ("owned", "HorizontalPodAutoscaler shop/web", None, 1), "shop/Deployment/db": ("learning", None, None, 3)}
        wait_until("replicas have their autoscaler or no owner; waiting pods and pods on nodes without agents count",
                   lambda: {row["workload"]: tuple(row["replicas"][key] for key in ("state", "owner", "suggested", "now"))
                            for row in house.query("provision", "replicas")["workloads"]} == states)
        text = house.cli("provision", "replicas").stdout
        check("the table of replicas lists the workloads", "HorizontalPodAutoscaler shop/web" in text and "learning" in text, text)
        text = house.cli("provision", "why", "web").stdout
        check("why names the owner of the replicas", "no suggestion, because HorizontalPodAutoscaler shop/web sets their number" in " ".join(text.split()), text)
        wait_until("metrics count both", lambda: {'wattle_controller_replica_workloads{state="evaluated"} 2', 'wattle_controller_replica_workloads{state="withheld"} 1'} <=
                   set(fetch(f"{house.api()}/metrics")[1].splitlines()))
        _, page = fetch(f"{house.api()}/metrics")
        check("metrics are there", "wattle_controller_provision_workloads" in page)
        status, body = fetch(f"{house.api()}/api/v1/provision?only=suggested")
        check("the document is served over HTTP", status == 200 and json.loads(body)["followed"] is True, body)


def alone(binaries, level):
    with House(binaries, mode="off", controller_extra=f"provisioning: {{level: {level}}}") as house:
        house.start_controller()
        wait_until("the controller answers", lambda: house.query("status"))
        said = house.cli("provision", "list", check=False)
        if level == "off":
            check("at level off the answer says so and names the key", said.returncode == 1 and "provisioning.level" in said.stderr, said.stderr)
        else:
            replicas = house.cli("provision", "replicas").stdout
            check("with replicas off the answer says so and names the key", "provisioning.replicas" in replicas, replicas)
            check("without an API server the answer says so and names the key", "the controller follows no API server" in said.stdout and "kubernetes.watch" in said.stdout, said.stdout)


def main():
    binaries = binaries_from(sys.argv)
    followed(binaries)
    for level in ("suggest", "off"):
        alone(binaries, level)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
