"""advisor: serves the controller's document `provision` with figures set by the test, because the rule needs 12 hours
of telemetry before it lowers requests.

Owners, UIDs and the level come from the controller.
"""
import http.server
import json
import threading

from house import fetch


class Advisor(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, controller):
        self.controller = controller
        self.wanted = {}  # workload -> (cores, MiB)
        self.orders = {}  # workload -> order of right sizes; without one only the rule applies
        self.reports = []  # reports of the client that sets requests, in order
        self.level = None
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        status, body = fetch(self.server.controller + self.path)
        if status == 200:
            document = json.loads(body)
            document["level"] = self.server.level or document["level"]
            for workload in document["workloads"]:
                cores, mib = self.server.wanted.get(workload["workload"], (None, None))
                workload["rule"] = {"cpu_cores": cores, "memory_bytes": mib and mib * 2**20}
                order = self.server.orders.get(workload["workload"])
                workload["sizing"] = order and {"order": order | ({"pods": workload["pod_uids"]} if order["kind"] == "lower" else {})}
            body = json.dumps(document)
        self.answer(status, body)

    def do_POST(self):  # pylint: disable=invalid-name
        self.server.reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(200, "{}")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass
