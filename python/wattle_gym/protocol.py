"""Runs `wattle-sim env` and `wattle-sim provision-env` as child processes. Each request is a JSON object on one line
and gets one answer. Uses only the standard library."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

PACKED = pathlib.Path(__file__).parent / "bin/wattle-sim"  # in wheels; its libraries are in lib
MOST_TEXT = 2000  # characters of standard error in an exception


class Refused(Exception):
    """The simulator refused a request and changed no state. See `code`, `subject`, `what` and `fix` (the fix)."""

    def __init__(self, error):
        self.code, self.subject = error.get("code", ""), error.get("subject", "")
        self.what, self.fix = error.get("what", ""), error.get("fix", "")
        super().__init__(f"{self.code}: {self.subject}: {self.what}" + (f" ({self.fix})" if self.fix else ""))


class SimulatorGone(Exception):
    """The process ended or never started; the message has its last output."""


def find_simulator(path=None):
    """Returns the given path, else WATTLE_SIM, else the package's own, else wattle-sim on PATH."""
    found = path or os.environ.get("WATTLE_SIM") or (PACKED if PACKED.exists() else shutil.which("wattle-sim"))
    if not found:
        raise SimulatorGone("wattle-sim is not on PATH (set WATTLE_SIM or pass simulator=)")
    return found


class Lines:
    """A simulator process and its current episode. Not thread-safe. Close it, or use it in `with`."""

    def __init__(self, command, options):
        """Starts the simulator. Options with value None are omitted, so that the simulator's defaults apply."""
        for option, value in options:
            if value is not None:
                command += [option, str(value)]
        env = dict(os.environ)
        if command[0] == PACKED:
            env["LD_LIBRARY_PATH"] = str(PACKED.parents[1] / "lib")
        self._errors = tempfile.TemporaryFile("w+", errors="replace")
        try:
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, bufsize=1, env=env)
        except OSError as error:
            self._errors.close()
            raise SimulatorGone(f"{command[0]}: {error}") from error
        try:
            self.about = self._ask({"op": "hello"})
        except BaseException:
            self.close()
            raise

    def reset(self, seed):
        return self._ask({"op": "reset", "seed": int(seed)})

    def step(self, action):
        return self._ask({"op": "step", "action": int(action)})

    def close(self):
        child, self._child = getattr(self, "_child", None), None
        if child is None:
            return
        for stream in (child.stdin, child.stdout):
            try:
                stream.close()
            except OSError:
                pass
        child.wait()
        self._errors.close()

    def _ask(self, request):
        if self._child is None:
            raise SimulatorGone("the simulator was closed")
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except (BrokenPipeError, ValueError) as error:
            raise self._gone() from error
        if not line:
            raise self._gone()
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def _gone(self):
        """The exception for a process that has closed its output, with its exit code and last lines."""
        code = self._child.wait()
        self._errors.seek(0)
        text = self._errors.read()[-MOST_TEXT:].strip()
        return SimulatorGone(text or f"wattle-sim ended with code {code} and no message")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class Episode(Lines):
    """An episode of pod placement: `wattle-sim env`."""

    def __init__(self, simulator=None, scenario="churn_sleep", reward="weighted", weights=None, nodes=None,
                 placements=None, cluster_seed=None, trace=None):
        options = [("--scenario", scenario), ("--reward", reward)]
        options += [("--weight", f"{name}={value}") for name, value in (weights or {}).items()]
        options += [("--nodes", nodes), ("--placements", placements), ("--cluster-seed", cluster_seed), ("--trace", trace)]
        super().__init__([find_simulator(simulator), "env"], options)


class LimitEpisode(Lines):
    """An episode of setting CPU limits: `wattle-sim provision-env`. `traces`: files with requests per second."""

    def __init__(self, simulator=None, services=None, target_ms=None, work_ms=None, traces=(), scale=None, minutes=None,
                 synthetic_seed=None, over_price=None):
        options = [("--services", services), ("--target", target_ms), ("--work", work_ms), ("--scale", scale),
                   ("--minutes", minutes), ("--synthetic-seed", synthetic_seed), ("--over-price", over_price)]
        super().__init__([find_simulator(simulator), "provision-env"], options + [("--trace", trace) for trace in traces])
