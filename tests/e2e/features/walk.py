"""walk: performs the rows of the feature list in order with the commands of the documentation, and prints one line per
row.

Row      a function with an ID and a title. It runs commands (`shell`), checks their output (`claim`), and returns a
         short detail
Ends     ok; partly (the line names the missing part); elsewhere (not on this machine: the reason, and the test that
         covers it); missing (not implemented); FAIL
Exit     1 if a row failed, or if a row has no function or two
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from patience import AGES_S, LATE_S  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]


class RowFailed(Exception):
    pass


@dataclasses.dataclass
class Ended:
    how: str  # "partly", "elsewhere" or "missing"
    why: str


@dataclasses.dataclass
class Row:
    id: str
    title: str
    perform: object


ROWS = {}


def row(name, title):
    def keep(function):
        if name in ROWS:
            raise SystemExit(f"row {name} has two functions")
        ROWS[name] = Row(name, title, function)
        return function
    return keep


def claim(statement, truth, seen=""):
    if not truth:
        raise RowFailed(f"not so: {statement}: {str(seen)[:600]}")


def against_default(table, policy):
    """Returns (mean, low, high) in percent of a policy's energy over the default scheduler's, from the table of
    `wattle-lab bench consolidation_*`."""
    line = next(one for one in table.splitlines() if one.startswith(policy + " "))
    return tuple(float(number) for number in re.search(r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]", line).groups())


def shown_by(*tests):
    for test in tests:
        if not (ROOT / test).exists():
            raise RowFailed(f"there is no test {test}")
    return ", ".join(tests)


def elsewhere(why, *tests):
    return Ended("elsewhere", f"{why}; covered by {shown_by(*tests)}")


def partly(detail, lacks, *tests):
    return Ended("partly", f"{detail}; not here: {lacks}" + (f"; covered by {shown_by(*tests)}" if tests else ""))


def missing(why):
    return Ended("missing", why)


class Shell:
    """Runs commands with `bash` in a private folder, with the built programs on PATH."""

    def __init__(self, folder, binaries, **environment):
        self.folder = folder
        self.environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "TMPDIR": str(folder)} | environment
        self.typed = []
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.begun, self.running, self.closed = {}, None, False

    def start(self, text):
        return subprocess.Popen(["bash", "-eo", "pipefail", "-c", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, text, timeout=LATE_S):
        process = self.start(text)
        out, wrong = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(text, process.returncode, out, wrong)

    def __call__(self, text, code=0):
        """Runs a command that must exit with this code or one of these. Returns its output."""
        self.typed.append(text)
        done = self.run(text)
        codes = code if isinstance(code, tuple) else (code,)
        claim(f"`{text}` exits with {code}", done.returncode in codes, f"exit {done.returncode}: {done.stdout[-300:]}{done.stderr[-500:]}")
        return done.stdout if code == 0 else done.stdout + done.stderr

    def json(self, text, code=0):
        return json.loads(self(text, code))

    def in_background(self, text):
        if self.closed:
            return None
        self.running = self.start(text)
        out, wrong = self.running.communicate()
        return subprocess.CompletedProcess(text, self.running.returncode, out, wrong)

    def ahead(self, name, text):
        """Starts a long command; `later` waits for it."""
        self.begun[name] = self.pool.submit(self.in_background, text)

    def later(self, name, text):
        if name not in self.begun:
            self.ahead(name, text)
        self.typed.append(text)
        done = self.begun[name].result(AGES_S)
        claim(f"`{text}` exits with 0", done.returncode == 0, done.stdout[-300:] + done.stderr[-500:])
        return done.stdout

    def close(self):
        self.closed = True
        self.pool.shutdown(wait=False, cancel_futures=True)
        if self.running is not None and self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGKILL)


def perform_all(world, wanted, titles):
    """Prints one line per row, in the order of the list. Returns the number of failures."""
    if not wanted:
        world.begin_simulations()
    ends = {"ok": 0, "partly": 0, "elsewhere": 0, "missing": 0, "FAIL": 0}
    for name in titles:
        if wanted and name not in wanted:
            continue
        one = ROWS[name]
        world.shell.typed.clear()
        begun = time.monotonic()
        try:
            done = one.perform(world)
            how, detail = (done.how, done.why) if isinstance(done, Ended) else ("ok", done or "")
        except Exception as error:  # pylint: disable=broad-except
            how, detail = "FAIL", f"{type(error).__name__}: {error}"
        ends[how] += 1
        typed = " ; ".join(" ".join(text.split()) for text in world.shell.typed)
        command = f"`{typed if len(typed) < 160 else typed[:157] + '...'}`" if typed else "-"
        print(f"{one.id:4} {how:9} {one.title}: {command}: {' '.join(str(detail).split())} [{time.monotonic() - begun:.1f} s]", flush=True)
    print(", ".join(f"{count} {how}" for how, count in ends.items()))
    return ends["FAIL"]
