#!/usr/bin/env python3
"""load_test: runs the commands of docs/reference/load.md against a service of this test, with shorter durations.

Usage    load_test.py FOLDER-OF-BINARIES
"""
import http.server
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading

import yaml

from documented import Failed, Undocumented, Walk

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from demo_run import Claims  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import LATE_S  # noqa: E402

PAGE = "docs/reference/load.md"
CHURN = pathlib.Path(__file__).resolve().parents[3] / "lab/real/workloads/churn.yaml"
SHORT = "the page's durations are too long for a test"


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def main():
    claims = Claims()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    binaries = pathlib.Path(sys.argv[1]).resolve()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as folder:
        def run(text):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"SERVICE={url}\n{text}"], cwd=folder, capture_output=True, text=True, timeout=LATE_S, check=False,
                                  env=os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "TMPDIR": folder})
            return done.returncode, done.stdout + done.stderr
        walk = Walk(PAGE, run, None, instead={
            "SERVICE=http": (f"SERVICE={url}", "the test's service has its own port"),
            "--rate 50 --for 30s": ('wattle-load http "$SERVICE" --rate 50 --for 2s', SHORT),
            "--users 10": ('wattle-load http "$SERVICE" --users 10 --think 1s --for 3s', SHORT),
            "--for 60s": ("wattle-load resource --cpu 0.6 --memory 64M --disk 2M --network 5M --for 3s", SHORT)})
        job, = yaml.safe_load_all(CHURN.read_text(encoding="utf-8"))
        args = job["spec"]["template"]["spec"]["containers"][0]["args"]
        code, said = run(shlex.join(["wattle-load", *(folder if word == "/tmp" else "1s" if word == "60s" else word for word in args)]))
        claims.check(f"a pod of {CHURN.name} ends by itself with 0, so that the Job creates the next", code == 0 and "60s" in args, said)
        try:
            said = walk("Apply load")
            claims.check(f"{PAGE}: every command was run and succeeded ({walk.finish()} blocks)", True)
            claims.check("the output has the users' waiting times", "from due to answer" in said[1] and "from due to answer" in said[3], said)
            claims.check("the output has the reached load of each resource", all(name in said[4] for name in ("reached", "cpu", "memory", "disk", "network")), said[4])
            day = json.loads((pathlib.Path(folder) / "day.json").read_text())
            claims.check("all due requests are accounted for", day["due"] > 0 and day["due"] == day["answered"] + sum(day["failed"].values()), day)
        except (Failed, Undocumented) as error:
            claims.check(f"{PAGE} can be followed", False, error)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
