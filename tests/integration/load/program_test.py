#!/usr/bin/env python3
"""program_test: runs wattle-load from its command line. Errors name a fix, Ctrl-C prints the figures so far, a terminal
gets a line per second, and no process that it started outlives it.

Usage    program_test.py PROGRAM
Exit     0 fine, 1 a claim failed, 77 skipped in part: stress-ng is missing, and the rest is fine
"""
import http.server
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
sys.dont_write_bytecode = True
from demo_run import Claims  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import holds, LATE_S  # noqa: E402

PATIENCE = LATE_S


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen, gets = [], 0  # POST requests as (header, body); the number of GET requests

    def do_POST(self):
        Service.seen.append((self.headers["X-Who"], self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer()

    def do_GET(self):
        Service.gets += 1
        self.answer()

    def answer(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def wait_until(true):
    return holds(true, PATIENCE)


def children(pid):
    """Returns all descendants of `pid`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def bad_input(claims, run, url, folder):
    (folder / "bad.txt").write_text("100\n200\nmany\n")
    (folder / "empty.txt").write_text("")
    for words, code, reported in (
            (["http", "shop"], 2, "--rate"),
            (["http", "shop", "--users", "1"], 2, "shop: is not a URL: it starts with neither http:// nor https:// (for example http://"),
            (["http", "https://shop/", "--users", "1"], 2, "TLS"),
            (["http", url, "--users", "1", "--rate", "5"], 2, "one of --rate, --trace and --users"),
            (["http", url, "--rate", "0"], 2, "--rate"),
            (["http", url, "--rate", "5", "--speed", "2"], 2, "--trace"),
            (["http", url, "--rate", "5", "--think", "1s"], 2, "--users"),
            (["http", url, "--rate", "5", "--for", "30"], 2, "--for 30"),
            (["http", url, "--rate", "5", "-H", "Host: other"], 2, "Host: other"),
            (["http", url, "--trace", "bad.txt"], 2, "bad.txt:3: is not a rate (write one number of requests per second"),
            (["http", url, "--trace", "empty.txt"], 2, "empty.txt: contains no rates"),
            (["http", url, "--trace", "nowhere.txt"], 2, "nowhere.txt"),
            (["http", url, "--rate", "0.001", "--for", "10ms", "--arrivals", "even"], 1, "no request was due"),
            (["http", "http://127.0.0.1:1/", "--users", "1"], 1, "http://127.0.0.1:1: does not accept a connection"),
            (["resource"], 2, "one or more of --cpu"),
            (["resource", "--cpu", "much"], 2, "--cpu much: is not a number of cores from 0.01, for example 0.6"),
            (["resource", "--memory", "5"], 2, "--memory 5: is not a size from 1M, for example 512M"),
            (["resource", "--cpu", "4000"], 1, "cores"),
            (["resource", "--memory", "9T"], 1, "MB of free memory")):
        done = run(*words)
        claims.check(f"{' '.join(words).replace(url, 'URL')}: exit {code}, and why", done.returncode == code and reported in done.stderr, f"{done.returncode}: {done.stderr}")
    lost = run("resource", "--cpu", "0.1", env={"PATH": str(folder)})
    claims.check("without stress-ng it says how to get it", lost.returncode == 1 and "apt-get install stress-ng" in lost.stderr, lost.stderr)


def users(claims, program, run, url, folder):
    (folder / "body").write_bytes(b"\0\r\n\r\nbytes")
    done = run("http", "--rate", "50", "--for", "1s", "--method", "POST", "--body", "body", "-o", "json", "-H", "X-Who: me", url)
    reported = json.loads(done.stdout)
    claims.check("each request has the body and the header that were given", Service.seen == [("me", b"\0\r\n\r\nbytes")] * reported["answered"] and reported["answered"] > 0,
                 str(Service.seen[:3]))
    claims.check("without a terminal there is no progress output", done.stderr == "", done.stderr)
    (folder / "day.txt").write_text("30\n0\n60\n")
    reported = json.loads(run("http", url, "--trace", "day.txt", "--speed", "10", "--arrivals", "even", "-o", "json").stdout)
    claims.check("a trace sends as many requests as its lines sum to", reported["due"] == 90 == reported["answered"], str(reported))
    running = subprocess.Popen([program, "http", url, "--rate", "100", "--for", "1h", "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    before, posts = Service.gets, len(Service.seen)
    # The tenth request arrives only after earlier ones were answered.
    claims.check("a program that runs for an hour sends requests", wait_until(lambda: Service.gets >= before + 10), str(Service.gets))
    running.send_signal(signal.SIGINT)
    out, wrong = running.communicate(timeout=PATIENCE)
    reported = json.loads(out or "{}")
    claims.check("Ctrl-C ends it with the figures so far", running.returncode == 0 and reported["answered"] > 0 and reported["offered_s"] < 3600, f"{running.returncode}: {wrong}")
    claims.check("requests in flight at Ctrl-C are reported separately", reported["due"] == reported["answered"] + sum(reported["failed"].values()) + reported["cut_off"] and len(Service.seen) == posts, str(reported))
    leader, follower = pty.openpty()
    running = subprocess.Popen([program, "http", url, "--users", "2", "--for", "1h"], stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown = bytearray()

    def two_lines():
        if select.select([leader], [], [], 0)[0]:
            shown.extend(os.read(leader, 65536))
        return shown.count(b"\n") >= 2
    wait_until(two_lines)
    running.send_signal(signal.SIGINT)
    running.wait(PATIENCE)
    os.close(leader)
    lines = shown.decode().splitlines()
    claims.check("a terminal gets a line each second", len(lines) >= 2 and all("p99" in line and "in flight" in line for line in lines), str(lines))


def resources(claims, program, run, folder):
    started = [program, "resource", "--cpu", "0.3", "--memory", "32M", "--disk", "1M", "--network", "1M", "--for", "1h", "--directory", str(folder)]

    def begin():
        running = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        # Four workers, four stress-ng processes, and the watcher
        workers = ("stress-ng-cpu", "stress-ng-vm", "stress-ng-hdd", "stress-ng-sock")
        claims.check("all four work", wait_until(lambda: running.poll() is not None or set(workers) <= {name_of(pid) for pid in children(running.pid)}) and running.poll() is None,
                     str([name_of(pid) for pid in children(running.pid)]))
        return running, children(running.pid)

    def nothing_left(how, all_of_them):
        wait_until(lambda: not any(there(pid) for pid in all_of_them))
        left = [f"{pid} {name_of(pid)}" for pid in all_of_them if there(pid)]
        claims.check(f"{how}: none of its {len(all_of_them)} processes is left", len(all_of_them) >= 9 and not left, str(left))
        wait_until(lambda: not list(folder.glob("wattle-load-*")))
        claims.check(f"{how}: none of its files is left", not list(folder.glob("wattle-load-*")), str(list(folder.iterdir())))

    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        running, all_of_them = begin()
        running.send_signal(number)
        out, wrong = running.communicate(timeout=PATIENCE)
        nothing_left(number.name, all_of_them)
        if number != signal.SIGKILL:
            claims.check(f"{number.name}: the figures so far are reported", running.returncode == 0 and "reached" in out, out + wrong)
    running, all_of_them = begin()
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=PATIENCE)
    nothing_left("SIGKILL to its whole group", all_of_them)
    running, all_of_them = begin()
    # A started program, not one of the program's own workers that has no name yet
    victim = next(pid for pid in children(running.pid) if name_of(pid) == "stress-ng" and not name_of(parent_of(pid)).startswith("stress-ng"))
    os.kill(victim, signal.SIGKILL)
    _, wrong = running.communicate(timeout=PATIENCE)
    claims.check("a stress-ng process that exits is reported", running.returncode == 1 and "exited with 137" in wrong, f"{running.returncode}: {wrong}")
    nothing_left("with one stress-ng killed", all_of_them)
    reported = json.loads(run("resource", "--cpu", "0.2", "--memory", "64M", "--disk", "2M", "--for", "4s", "--directory", str(folder), "-o", "json").stdout)
    claims.check("the requested memory is held", reported["memory"]["reached_bytes"] >= 64e6, str(reported))
    # A pause lasts until the level is met again; the load is never ahead by more than a second.
    claims.check("CPU and disk load is above zero and at most one second above the level",
                 0 < reported["cpu"]["reached_cores"] * reported["lasted_s"] < 0.2 * (reported["lasted_s"] + 1) + 1
                 and 0 < reported["disk"]["reached_bytes_per_s"] * reported["lasted_s"] < 2e6 * (reported["lasted_s"] + 1) + 64e6, str(reported))


def without_watcher(claims, program, folder):
    """Kills the program together with its watcher. The watcher cannot clean up, and a grandchild gets no signal when
    its
    parent dies, but it must end too."""
    if os.geteuid() != 0:
        print("skipped: only root may create a PID namespace")
        return
    folder = folder / "alone"
    (folder / "bin").mkdir(parents=True)
    # Ignores the signals that the kernel sends to an orphaned, stopped process group.
    (folder / "bin/stress-ng").write_text("#!/bin/sh\ntrap '' HUP\nsleep 3600 &\nwait\n")
    (folder / "bin/stress-ng").chmod(0o755)
    running = subprocess.Popen([program, "resource", "--cpu", "0.1", "--for", "1h", "--directory", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"})
    claims.check("the stand-in for stress-ng runs", wait_until(lambda: "sleep" in {name_of(pid) for pid in children(running.pid)}), str(children(running.pid)))
    all_of_them = children(running.pid)
    watcher = next(pid for pid in all_of_them if os.getsid(pid) == pid)
    os.kill(watcher, signal.SIGSTOP)
    running.kill()
    os.kill(watcher, signal.SIGKILL)
    running.wait(PATIENCE)
    wait_until(lambda: not any(there(pid) for pid in all_of_them))
    left = [pid for pid in all_of_them if there(pid)]
    claims.check(f"killed with its watcher: none of its {len(all_of_them)} processes is left", not left, str([f"{pid} {name_of(pid)}" for pid in left]))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)  # includes the program's own files, because the watcher is dead


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    claims = Claims()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*words, env=None):
            return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False, env=env)
        bad_input(claims, run, url, folder)
        users(claims, program, run, url, folder)
        without_watcher(claims, program, folder)
        if shutil.which("stress-ng"):
            resources(claims, program, run, folder)
        else:
            print("skipped: stress-ng is not installed (scripts/setup installs it)")
    return 1 if claims.failed else 0 if shutil.which("stress-ng") else 77


if __name__ == "__main__":
    sys.exit(main())
