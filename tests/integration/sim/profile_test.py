#!/usr/bin/env python3
"""profile_test: `wattle-sim profile` on this kernel measures a small service under quotas, is killed and resumed.

Usage    profile_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped with the reason: a cgroup with a CPU quota cannot be created
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from house import free_ports  # noqa: E402
from patience import holds, LATE_S  # noqa: E402

BINARIES = pathlib.Path(sys.argv[1]).resolve()
GROUP = f"wattle-profile-test-{os.getpid()}"
SERVICE = """
import http.server, sys, time
class Answer(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  def do_GET(self):
    end = time.process_time() + 0.01
    while time.process_time() < end: pass
    self.send_response(200)
    self.send_header("Content-Length", "3")
    self.end_headers()
    self.wfile.write(b"ok\\n")
  def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def profile(folder, port, *more, quotas="0.05,1", rates="20"):
    return [BINARIES / "wattle-sim", "profile", "--out", folder / "out.jsonl", "--quotas", quotas, "--rates", rates, "--url",
            f"http://127.0.0.1:{port}/", "--for", "1s", "--settle", "200ms", "--group", GROUP, *more, "--", sys.executable, "-S",
            folder / "service.py", str(port)]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LATE_S, check=False)


def claim(what, true):
    print("ok:" if true else "FAILED:", what, flush=True)
    if not true:
        sys.exit(1)


def until(true, seconds=LATE_S):
    return bool(holds(true, seconds))


def alive(port):
    words = str(port).encode()
    for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            reported = line.read_bytes()
        except OSError:
            continue
        if b"service.py" in reported and reported.endswith(words + b"\0"):
            return True
    return False


def groups():
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        left, right = line.split(" - ")
        if right.split()[0].startswith("cgroup"):
            found.append(pathlib.Path(left.split()[4]) / GROUP)
    return [group for group in found if group.exists()]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder, port = pathlib.Path(name), free_ports(1)[0]
        out = folder / "out.jsonl"
        (folder / "service.py").write_text(SERVICE, encoding="utf-8")
        first = subprocess.Popen(profile(folder, port), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not until(lambda: first.poll() is not None or (out.exists() and out.read_text(encoding="utf-8").count("\n") > 0)):
            first.kill()
        if first.poll() is not None and first.returncode != 0:
            why = first.communicate()[1]
            if any(word in why for word in ("unsupported", "denied", "Read-only", "wattle-load")):
                print("skipped:", why.strip())
                return 77
            print(why)
        claim("the first cell is on disk before the second is measured", first.poll() is None)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        claim("the service ends with a killed profile run", until(lambda: not alive(port)))
        before = out.read_bytes()
        claim("an existing file is not overwritten", "resume" in run(profile(folder, port)).stderr and out.read_bytes() == before)
        out.write_bytes(before + b'{"service":')
        done = run(profile(folder, port, "--resume"))
        claim("--resume continues after the finished cells: " + done.stderr, done.returncode == 0 and "2 cells, 1 of them from before" in done.stdout)
        claim("earlier measurements are kept", out.read_bytes().startswith(before))
        cells = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        claim("the file has one line per cell", [cell["quota_cores"] for cell in cells] == [0.05, 1])
        starved, fed = cells
        claim(f"a small quota is enforced and throttles: {starved}", starved["used_cores"] < 0.075 and starved["throttled_ratio"] > 0.3)
        claim(f"a large quota answers more: {fed}", fed["answered_rps"] > starved["answered_rps"] and fed["p99_ms"] is not None)
        claim("service and cgroup are removed", not alive(port) and not groups())
        again = run(profile(folder, port, "--resume"))
        claim("with all cells measured, no service starts", again.returncode == 0 and "2 of them from before" in again.stdout)
        other = run(profile(folder, port, "--resume", quotas="0.3"))
        claim("a file of another profile is refused", other.returncode == 1 and "line 1" in other.stderr)
        out.unlink()
        gone = run([*profile(folder, port)[:-4], "/bin/false"])
        claim("a service that exits is reported: " + gone.stderr.strip(), gone.returncode == 1 and "ended with status 1" in gone.stderr)
        claim("an exited service leaves no cgroup", not groups())
    return 0


if __name__ == "__main__":
    sys.exit(main())
