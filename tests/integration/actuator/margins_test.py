#!/usr/bin/env python3
"""margins_test: reports minutes of a service under a CPU limit from the kernel through actuator and agent to the
controller's teacher and the command line.

All parts are real, except for a metrics page that counts fake requests. The node does not know the latency of a second
service; a real Prometheus provides it, if its package is installed. Takes two minutes, because minutes are real time.
Usage    margins_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: a cgroup with a CPU quota cannot be created
"""
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]
sys.dont_write_bytecode = True
from house import House, binaries_from, fetch, free_ports, wait_until  # noqa: E402
from kernel_test import BURN, FAILED, Cgroup, claim  # noqa: E402

NAME = f"wattle-margins-{os.getpid()}.service"
OTHER = f"wattle-margins-other-{os.getpid()}.service"
PER_S = 50


class Page(http.server.BaseHTTPRequestHandler):
    """A latency histogram in which one request in a hundred is late."""
    began = time.monotonic()

    def do_GET(self):
        count = int((time.monotonic() - self.began) * PER_S)
        text = "".join(f'answer_seconds_bucket{{le="{bound}"}} {value}\n' for bound, value in (("0.1", count - count // 100), ("+Inf", count)))
        text += f'web_requests_total{{workload="{OTHER}"}} {2 * count}\nweb_late_total{{workload="{OTHER}"}} {count // 20}\n'
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def start_prometheus(house, page, port):
    """Starts a Prometheus that scrapes the page each second. Returns False if its package is not installed."""
    if shutil.which("prometheus") is None:
        print("[skipped in part] no prometheus: apt-get install prometheus")
        return False
    house.write("prometheus.yaml", f"{{scrape_configs: [{{job_name: web, scrape_interval: 1s, static_configs: [{{targets: ['127.0.0.1:{page}']}}]}}]}}")
    house.start("prometheus", shutil.which("prometheus"), f"--config.file={house.dir}/prometheus.yaml", f"--storage.tsdb.path={house.dir}/prometheus",
                f"--web.listen-address=127.0.0.1:{port}")
    return True


def walk_prometheus(house):
    def other():
        return next((row for row in house.query("provision", "margins")["services"] if row["service"] == OTHER and row["requests_by"] == "prometheus"), None)

    row = wait_until("Prometheus reports the other service", other)
    claim("Prometheus provides the request rate and the share of requests that are late", PER_S < row["requests_per_s"] < 4 * PER_S and 0 < row["over_ratio"] < 0.1 and row["latency_by"] == "prometheus", row)
    reported = house.query("provision", "margins")["prometheus"]["queries"]
    claim("two queries are answered", [query["series"] for query in reported[:2]] == [1, 1], reported)
    claim("the failing query reports its error", "latency_query" in reported[2]["problem"] and "parse error" in reported[2]["problem"], reported)
    text = house.cli("provision", "margins").stdout
    claim("the command line reports the same query states", "rate_query: 1 workloads" in text and "parse error" in text and "prometheus" in text, text)
    _, metrics = fetch(f"{house.api()}/metrics")
    claim("the metrics count the Prometheus series", "wattle_controller_prometheus_series 2" in metrics, metrics)


def walk(house, page, port):
    socket = house.dir / "actuator.sock"
    house.write("actuator.yaml", f"{{state_dir: {house.dir}/actuator, socket: {socket}, workloads: []}}")
    with open(house.dir / "agent.yaml", "a", encoding="utf-8") as config:
        config.write(f"provisioning: {{socket: {socket}, limits: [{NAME}, {OTHER}], margins: true, latency: [{{workload: {NAME}, "
                     f"url: 'http://127.0.0.1:{page}/metrics', histogram: answer_seconds, target: 100ms}}]}}\n")
    house.start("actuator", house.binary("wattle-actuator"), "run", "--config", str(house.dir / "actuator.yaml"))
    wait_until("the actuator listens", socket.exists)
    asked = start_prometheus(house, page, port)
    house.start_controller()
    house.start_agent()
    wait_until("the agent has connected", house.connected)
    reported = house.cli("provision", "margins").stdout
    claim("before the first minute ends, the report says so and names the setting", "no agent reports a service" in reported and "provisioning.limits" in reported, reported)
    claim("without an API server it chooses no replicas and says why", "not replicas: no API server is followed (kubernetes.watch)" in reported, reported)
    services = wait_until("a minute has ended", lambda: house.query("provision", "margins")["services"])

    def known():
        found = house.query("provision", "margins")
        return next(((found, row) for row in found["services"] if row["service"] == NAME and row["requests_per_s"] is not None), None)

    document, row = wait_until("a minute with known requests is reported", known)
    claim("the minute belongs to the service on this node", len(services) <= 2 and row["node"] == house.node and row["requests_by"] == "node", document)
    claim("the minute has used and granted cores", 0 < row["used_cores"] <= row["granted_cores"] * 1.2, row)
    claim("the minute has a request rate and some late requests", 0 < row["requests_per_s"] < 4 * PER_S and 0 < row["over_ratio"] < 0.05, row)
    claim("rule and teacher each have a margin", all(-0.3 <= row[who]["margin_ratio"] <= 4 for who in ("rule", "teacher")), row)
    memory = row["memory"]
    claim("memory is reported if it has a controller, and is not limited in the first ten minutes",
          memory is None or (memory["used_bytes"] > 0 and memory["granted_bytes"] > 0 and (memory["margin_ratio"] is None or row["minute"] >= 9)), row)
    claim("no service is excluded", document["out"] == [] and not row["student_out"] and not row["guarded"], document)
    claim("in mode shadow the rule stays in use", document["mode"] == "shadow" and row["next"] == "rule" and not row["steered"], document)
    text = house.cli("provision", "margins").stdout
    claim("the table lists the service and the verdict", NAME in text and "Mode shadow: " in text and "the rule is in use" in text, text)
    _, metrics = fetch(f"{house.api()}/metrics")
    claim("the metrics have the service count", "wattle_controller_margin_services " in metrics)
    if asked:
        walk_prometheus(house)


def main():
    binaries = binaries_from(sys.argv)
    if os.geteuid() != 0:
        print("[skipped] only root may create cgroups")
        return 77
    try:
        cgroups = [Cgroup(NAME), Cgroup(OTHER)]
    except (OSError, StopIteration) as error:
        print(f"[skipped] a cgroup with a CPU quota cannot be created: {error}")
        return 77
    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    loads = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in cgroups]
    for cgroup, load in zip(cgroups, loads):
        cgroup.take(load.pid)
    port = free_ports(1)[0]
    asked = (f"provisioning: {{prometheus: {{url: 'http://127.0.0.1:{port}', interval: 5s, rate_query: 'sum by (workload) (rate(web_requests_total[1m]))', "
             "late_query: 'sum by (workload) (rate(web_late_total[1m])) / sum by (workload) (rate(web_requests_total[1m]))', "
             "latency_query: 'sum by (', target: 100ms}}")
    try:
        with House(binaries, mode="off", controller_extra=asked) as house:
            walk(house, page.server_address[1], port)
            for name in list(house.processes):
                house.kill(name)
    finally:
        for cgroup, load in zip(cgroups, loads):
            load.kill()
            load.wait()
            cgroup.remove()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
