#!/usr/bin/env python3
"""margins_test: minutes of a service under a CPU limit, from the kernel through actuator and agent to the controller's teacher and the command line.

All is real but the service's page of metrics, which counts requests that nobody sends. Takes two minutes: a minute is one.
Usage    margins_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: no right to make a cgroup, or none with a CPU quota
"""
import http.server
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]
sys.dont_write_bytecode = True
from house import House, binaries_from, fetch, wait_until  # noqa: E402
from kernel_test import BURN, FAILED, Cgroup, claim  # noqa: E402

NAME = f"wattle-margins-{os.getpid()}.service"
PER_S = 50


class Page(http.server.BaseHTTPRequestHandler):
    """A histogram of requests of which one in a hundred is late."""
    began = time.monotonic()

    def do_GET(self):
        count = int((time.monotonic() - self.began) * PER_S)
        text = "".join(f'answer_seconds_bucket{{le="{bound}"}} {value}\n' for bound, value in (("0.1", count - count // 100), ("+Inf", count)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def walk(house, page):
    socket = house.dir / "actuator.sock"
    house.write("actuator.yaml", f"{{state_dir: {house.dir}/actuator, socket: {socket}, workloads: []}}")
    with open(house.dir / "agent.yaml", "a", encoding="utf-8") as config:
        config.write(f"provisioning: {{socket: {socket}, limits: [{NAME}], margins: true, latency: [{{workload: {NAME}, "
                     f"url: 'http://127.0.0.1:{page}/metrics', histogram: answer_seconds, target: 100ms}}]}}\n")
    house.start("actuator", house.binary("wattle-actuator"), "run", "--config", str(house.dir / "actuator.yaml"))
    wait_until("the actuator listens", socket.exists)
    house.start_controller()
    house.start_agent()
    wait_until("this machine is a node", house.connected)
    told = house.cli("provision", "margins").stdout
    claim("before a minute has ended it says so, and what to configure", "no agent tells of a service" in told and "provisioning.limits" in told, told)
    services = wait_until("a minute has ended", lambda: house.query("provision", "margins")["services"], 300)
    wait_until("and one whose requests are known", lambda: house.query("provision", "margins")["services"][0]["requests_per_s"] is not None, 300)
    document = house.query("provision", "margins")
    row = document["services"][0]
    claim("it is that service's, of this node", len(services) == 1 and row["service"] == NAME and row["node"] == house.node, document)
    claim("with what it used and was granted", 0 < row["used_cores"] <= row["granted_cores"] * 1.2, row)
    claim("and its requests, of which some were late", 0 < row["requests_per_s"] < 4 * PER_S and 0 < row["over_ratio"] < 0.05, row)
    claim("rule and teacher each have a margin", all(-0.3 <= row[who]["margin_ratio"] <= 4 for who in ("rule", "teacher")), row)
    claim("in mode shadow the rule goes on", document["mode"] == "shadow" and row["next"] == "rule" and not row["steered"], document)
    text = house.cli("provision", "margins").stdout
    claim("the table has it, and the verdict", NAME in text and "Mode shadow: " in text and "the rule serves" in text, text)
    _, metrics = fetch(f"{house.api()}/metrics")
    claim("so have metrics", "wattle_controller_margin_services 1" in metrics)


def main():
    binaries = binaries_from(sys.argv)
    if os.geteuid() != 0:
        print("[skipped] only root may make cgroups")
        return 77
    try:
        cgroup = Cgroup(NAME)
    except (OSError, StopIteration) as error:
        print(f"[skipped] no cgroup with a CPU quota of our own here: {error}")
        return 77
    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    load = subprocess.Popen([sys.executable, "-c", BURN])
    cgroup.take(load.pid)
    try:
        with House(binaries, mode="off") as house:
            walk(house, page.server_address[1])
            for name in list(house.processes):
                house.kill(name)
    finally:
        load.kill()
        load.wait()
        cgroup.remove()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
