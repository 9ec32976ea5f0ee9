"""`wattle-sim env` and `wattle-sim provision-env` as child processes: one JSON object a line, one answer for each. Standard
library only."""
import json
import os
import shutil
import subprocess


class Refused(Exception):
    """The simulator refused a request; nothing changed. `code`, `subject`, `what` and `mend` say why."""

    def __init__(self, error):
        self.code, self.subject = error.get("code", ""), error.get("subject", "")
        self.what, self.mend = error.get("what", ""), error.get("mend", "")
        super().__init__(f"{self.code}: {self.subject}: {self.what}" + (f" ({self.mend})" if self.mend else ""))


class SimulatorGone(Exception):
    """The process ended or never started; its last words are in the message."""


def find_simulator(path=None):
    """The path given, else WATTLE_SIM, else wattle-sim on PATH."""
    found = path or os.environ.get("WATTLE_SIM") or shutil.which("wattle-sim")
    if not found:
        raise SimulatorGone("wattle-sim is not on PATH (set WATTLE_SIM or pass simulator=)")
    return found


class Lines:
    """A simulator and its present episode. Not for several threads at once; close it, or use it in `with`."""

    def __init__(self, command, options):
        """Options whose value is None are left to the simulator."""
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
    """Pods that are placed: `wattle-sim env`."""

    def __init__(self, simulator=None, scenario="churn_sleep", reward="weighted", weights=None, nodes=None,
                 placements=None, cluster_seed=None, trace=None):
        options = [("--scenario", scenario), ("--reward", reward)]
        options += [("--weight", f"{name}={value}") for name, value in (weights or {}).items()]
        options += [("--nodes", nodes), ("--placements", placements), ("--cluster-seed", cluster_seed), ("--trace", trace)]
        super().__init__([find_simulator(simulator), "env"], options)


class LimitEpisode(Lines):
    """Services whose CPU limits are set: `wattle-sim provision-env`. `traces`: files of requests a second."""

    def __init__(self, simulator=None, services=None, target_ms=None, work_ms=None, traces=(), scale=None, minutes=None,
                 synthetic_seed=None, over_price=None):
        options = [("--services", services), ("--target", target_ms), ("--work", work_ms), ("--scale", scale),
                   ("--minutes", minutes), ("--synthetic-seed", synthetic_seed), ("--over-price", over_price)]
        super().__init__([find_simulator(simulator), "provision-env"], options + [("--trace", trace) for trace in traces])
