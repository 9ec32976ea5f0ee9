"""Runs `wattle-sim env` and `wattle-sim provision-env` as child processes. Each request is a JSON object on one line
and gets one answer. Uses only the standard library."""
import json
import os
import shutil
import subprocess


class Refused(Exception):
    """The simulator refused a request and changed no state. See `code`, `subject`, `what` and `fix` (the fix)."""

    def __init__(self, error):
        self.code, self.subject = error.get("code", ""), error.get("subject", "")
        self.what, self.fix = error.get("what", ""), error.get("fix", "")
        super().__init__(f"{self.code}: {self.subject}: {self.what}" + (f" ({self.fix})" if self.fix else ""))


class SimulatorGone(Exception):
    """The process ended or never started; the message has its last output."""


def find_simulator(path=None):
    """Returns the given path, else WATTLE_SIM, else wattle-sim on PATH."""
    found = path or os.environ.get("WATTLE_SIM") or shutil.which("wattle-sim")
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
        try:
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        except OSError as error:
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

    def _ask(self, request):
        if self._child is None:
            raise SimulatorGone("the simulator was closed")
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except (BrokenPipeError, ValueError) as error:
            raise SimulatorGone("wattle-sim ended; its standard error says why") from error
        if not line:
            raise SimulatorGone("wattle-sim ended; its standard error says why")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

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
