#!/usr/bin/env python3
"""cli_states_test: runs each command of `wattle` in each state, in a pipe and in a terminal: the answer, an empty one,
a wrong argument, an unknown name, no controller, a key that is not allowed or has the wrong role, and each form of -o;
compares text and exit code. Fails for commands that --help lists and cli_states.py does not have.

Usage    cli_states_test.py FOLDER-OF-BINARIES
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from captured_agent import start_captured  # noqa: E402
from cli_states import COMMANDS  # noqa: E402
from house import CLI_TIMEOUT, House, binaries_from, extender_args, fetch, free_ports, wait_until  # noqa: E402
from patience import SOON_S  # noqa: E402
from screen import Screen  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
POD = "states-1"
WIDE, NARROW = 200, 60  # columns
failures = 0
checks = 0


def check(claim, truth, detail=""):
    global failures, checks
    checks += 1
    failures += 0 if truth else 1
    if not truth:
        print(f"FAIL {claim}: {str(detail)[:1200]}", flush=True)


class World(House):
    """A controller with a store; `puts` has the values of the words in cli_states.py."""

    def __init__(self, binaries, name):
        super().__init__(binaries, mode="live" if name == "fleet" else "off", controller_extra="decide: {settle_window: 2s, start_cap: {least: 1000}}")
        self.name = name
        config = self.dir / "controller.yaml"
        config.write_text(config.read_text() + f"store: {{path: {self.dir}/controller/store.db}}\n")
        (self.dir / "own-list").write_text((self.dir / "allow").read_text())
        self.nowhere = f"tcp://127.0.0.1:{free_ports(1)[0]}"
        self.puts = {"dir": str(self.dir), "root": str(ROOT), "node": self.node, "pod": POD, "nowhere": self.nowhere}
        # No file of this machine's user is read.
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.dir / "home"), "LANG": "C.UTF-8"}

    def begin(self):
        self.start_controller()
        if self.name != "fleet":
            return
        self.start_agent()
        self.start_shim()
        start_captured(self)
        wait_until("both nodes are connected and have pods", lambda: self.connected() and self.query("status")["nodes_connected"] == 2 and any(pod["node"] == "captured" for pod in self.query("pods")["pods"]))
        self.decided(POD, [self.node])
        wait_until("a decision is recorded", lambda: self.query("report")["rows"] or self.query("report")["nodes"]["estimated_j"])
        self.puts["captured"] = next(pod["uid"] for pod in self.query("pods")["pods"] if pod["node"] == "captured")
        self.cli("model", "save", "kept", key="operator")

    def put(self, text):
        for name, value in self.puts.items():
            text = text.replace("{" + name + "}", value)
        return text

    def pattern(self, text):
        for name, value in self.puts.items():
            text = text.replace("{" + name + "}", re.escape(value))
        return text

    def options(self, who, words=(), **other):
        """Returns options that reach the controller, unless the words set them; `other` replaces them."""
        given = {"server": f"tcp://127.0.0.1:{self.ask}", "feed": f"tcp://127.0.0.1:{self.feed}", "key": str(self.dir / f"{who}.key"),
                 "server_key": str(self.dir / "controller.key.pub"), "timeout": CLI_TIMEOUT} | other
        options = {"--" + name.replace("_", "-"): value for name, value in given.items()}
        return [part for name, value in options.items() if name not in words for part in (name, value)]

    def piped(self, *words):
        return subprocess.run([self.binary("wattle"), *words], capture_output=True, text=True, timeout=SOON_S, check=False, env=self.environment, stdin=subprocess.DEVNULL)

    def shown(self, *words, columns=WIDE):
        """Runs a command in a terminal. Returns (exit code, text of the screen, bytes)."""
        with Screen([self.binary("wattle"), *words], lines=400, columns=columns, **self.environment) as screen:
            code = screen.ended()
            while screen.read(0.05) and screen.raw and len(screen.raw) < 1 << 20:
                before = len(screen.raw)
                if not screen.read(0.05) or len(screen.raw) == before:
                    break
            return code, re.sub(r"\s+", " ", screen.text()), screen.raw


def listed(world, *path):
    """Yields (path, its help) of each command without subcommands, as --help lists them."""
    reported = world.piped(*path, "--help").stdout
    found = re.findall(r"^  (\w+)(?:, \w+)? {2,}(\S.*)$", reported.partition("Subcommands:\n")[2].partition("\n\n")[0], re.M)
    for name, about in found:
        below = list(listed(world, *path, name))
        yield from below or [((*path, name), about)]


def served(world, words):
    """Runs the command, and repeats it while the controller refuses it because earlier requests of this key exceeded
    its share of time: on a slow disk one request can (docs/reference/fairness.md). Refusals end within ten seconds."""
    for _ in range(3):
        done = world.piped(*words)
        if "busy: exceeds the limit of waiting requests of a peer" not in done.stderr:
            break
    return done


def look_at(world, what, words, code, pattern, terminal=True):
    """Checks that a pipe and a terminal get the same content."""
    done = served(world, words)
    here, other = (done.stdout, done.stderr) if done.returncode == 0 or not done.stderr else (done.stderr, done.stdout)
    check(f"{what}: exit code", code is None or done.returncode == code, f"{done.returncode}, not {code}: {done.stdout}{done.stderr}")
    check(f"{what}: expected text", re.search(pattern, here, re.S | re.M), f"no /{pattern}/ in {here!r}, beside {other!r}")
    check(f"{what}: a pipe gets no colours", "\x1b" not in done.stdout + done.stderr)
    if done.returncode:
        check(f"{what}: errors are not on standard output", not (done.stdout and done.stderr), done.stdout)
        check(f"{what}: no internal error text", not re.search(r"tcp://\S+ [\w-]+: ", done.stderr), done.stderr)
    if not terminal:
        return
    shown_code, screen, _ = world.shown(*words)
    check(f"{what}: the same exit code in a terminal", shown_code == done.returncode or code is None, shown_code)
    # Amounts change between runs, but the reported items do not.
    first = re.split(r"[\d\n]", here.strip())[0].strip()
    check(f"{what}: the same in a terminal", "".join(first.split()) in "".join(screen.split()), f"no {first!r} in {screen}")


def any_command(world, path, about):
    """Checks --help, an unknown option and missing arguments of every command."""
    name = " ".join(path)
    look_at(world, f"{name} --help", (*path, "--help"), 0, "^" + re.escape(about))
    look_at(world, f"{name}, an unknown option", (*path, "--no-such-option"), 2, r'unknown option "--no-such-option" \(see wattle .*--help\)')
    usage = world.piped(*path, "--help").stdout
    if re.search(r"^  \S.* REQUIRED ", usage, re.M):
        look_at(world, f"{name}, nothing given", path, 2, "is required")


def one_state(world, path, command, state):
    what, _, words, code, pattern = state
    options = world.options(command.asks or "reader", words) if command.asks or path[0] in ("model", "provision") else []
    look_at(world, f"{' '.join(path)}, {what}", [*options, *path, *map(world.put, words)], code, world.pattern(pattern), not (command.once and code == 0))


def titles(text):
    """Returns the titles of columns, or of lines if there is no table. Values change between two outputs, titles do not."""
    lines = text.splitlines()
    return {word for line in lines if line.isupper() for word in line.split()} or {line.split("  ")[0] for line in lines if re.match(r"\S.*  ", line)}


def formats(world, path, command):
    """Checks the first state of the fleet in each output form."""
    state = next(each for each in command.states if each[1] == "fleet" and each[3] != 2 and each[3] != 1)
    words = [*(world.options(command.asks, state[2]) if command.asks else []), *path, *map(world.put, state[2])]
    for form in ("wide", "json", "yaml"):
        if form not in command.formats:
            continue
        done = world.piped(*words, "-o", form)
        claim = f"{' '.join(path)} -o {form}"
        check(f"{claim}: exit code", state[3] is None or done.returncode == state[3], f"{done.returncode}, not {state[3]}: {done.stdout}{done.stderr}")
        try:
            reported = json.loads(done.stdout) if form == "json" else yaml.safe_load(done.stdout) if form == "yaml" else done.stdout
            check(f"{claim}: output is not empty", reported, done.stdout)
        except ValueError as error:
            check(f"{claim}: is {form}", False, f"{error}: {done.stdout[:500]}")
        if form == "wide":
            plain = world.piped(*words).stdout
            check(f"{claim}: has all titles of the table", titles(plain) <= titles(done.stdout), f"{done.stdout}\n{plain}")


def asks(world, path, command):
    """Checks keys that are not allowed, keys with the wrong role, and an unreachable controller."""
    state = next(each for each in reversed(command.states) if each[3] != 2 and "--feed" not in each[2])
    name, words = " ".join(path), [*path, *map(world.put, state[2])]
    look_at(world, f"{name}, a key that is not allowed", [*world.options("stranger2"), *words], 1, r"does not allow your key \S+ .*wattle keys allow KEY ROLE NAME")
    if command.asks == "operator":
        look_at(world, f"{name}, a key with the wrong role", [*world.options("reader"), *words], 1, r"reader/cli: permission denied: .*\(needs role (shim or )?operator\)")
    away = world.options(command.asks, server=world.nowhere, feed=world.nowhere, timeout="10m")
    look_at(world, f"{name}, no answer", [*away, *words], 1, rf"no answer from {re.escape(world.nowhere)} \(check that the controller is running and that the endpoint is its ask port\)")


def watched(world):
    """Checks that only Ctrl-C ends -w."""
    for what, pattern in (("nodes", "NODE +STATE"), ("pods", "POD +NODE|no pods"), ("decisions", "")):
        with Screen([world.binary("wattle"), *world.options("reader"), what, "-w"], lines=60, columns=WIDE, **world.environment) as screen:
            if pattern:
                screen.until(f"{what} -w", lambda rows: re.search(pattern, "\n".join(rows)))
            else:
                def reported(_):
                    fetch(f"{world.shim()}/prioritize", extender_args(f"watched-{len(screen.raw)}-{id(_)}", [world.node]))
                    return "default/pod-watched" in screen.text()
                screen.until("decisions -w", reported)
            screen.type("\x03")
            check(f"{what} -w: Ctrl-C ends it with 0", screen.ended() == 0, screen.text())


def narrow(world):
    """Checks that no line is wider than a narrow terminal, except for one that ends with a long word, such as the name of a pod, or is a single
    word."""
    for words in (("nodes",), ("pods",), ("decisions",), ("explain", POD), ("status",), ("savings",), ("report",), ("policy", "get"), ("doctor",),
                  ("model", "list"), ("help",), ("policy", "set", "--help")):
        raw = world.shown(*world.options("operator"), *words, columns=NARROW)[2]
        lines = re.sub(r"\x1b\[[0-9;]*m", "", raw.decode()).splitlines()
        check(f"{' '.join(words)} fits in {NARROW} columns",
              lines and all(len(line) <= NARROW or len(line.split()) == 1 or len(line.split()[-1]) > 24 for line in lines),
              [line for line in lines if len(line) > NARROW])


def waits_for_feed(world):
    """Checks that a lost feed is reported once and awaited."""
    world.start("watch", world.binary("wattle"), *world.options("reader", timeout="500ms"), "decisions", "-w")

    def heard():
        fetch(f"{world.shim()}/prioritize", extender_args(f"before-{os.urandom(4).hex()}", [world.node]))
        return "pod-before" in world.log("watch")
    wait_until("the feed reports", heard)
    world.kill("controller", signal.SIGTERM)
    wait_until("the lost feed is reported", lambda: "retrying" in world.log("watch"))
    world.start_controller()
    wait_until("the restored feed is reported", lambda: "the feed is available again" in world.log("watch"))
    check("a lost feed is reported once", world.log("watch").count("retrying") == 1, world.log("watch"))
    check("a watch that lost its feed ends with 0 on Ctrl-C", world.kill("watch", signal.SIGINT) == 0)


def of_all(world):
    """Checks errors that belong to no single command."""
    good = world.options("reader")
    cases = [
        ("no command", (), 0, r"(?s)^Shows the state .*Usage: wattle \[OPTIONS\] SUBCOMMAND.*\bnodes\b"),
        ("an unknown command", ("clouds",), 2, r'^wattle: unknown command "clouds" \(see wattle --help\)'),
        ("help of an unknown command", ("clouds", "--help"), 2, r'^wattle: unknown command "clouds" \(see wattle --help\)'),
        ("a misspelt command", ("ndoes", "--help"), 2, r'^wattle: unknown command "ndoes" \(did you mean "nodes"\? see wattle --help\)'),
        ("help of an unknown command of policy", ("policy", "promot", "--help"), 2, r'^wattle: policy: unknown command "promot" \(did you mean "promote"\? commands: get, '),
        ("an unknown command of keys", ("keys", "clouds"), 2, r'^wattle: keys: unknown command "clouds" \(commands: new, list, '),
        ("no command of policy", ("policy",), 0, r"(?s)Usage: wattle policy \[OPTIONS\] SUBCOMMAND.*\bget\b.*\brollback\b"),
        ("unknown output form", (*good, "nodes", "-o", "xml"), 2, r'--output: unknown value "xml" \(use one of table, wide, json, yaml, name, jsonpath=\)'),
        ("invalid duration", (*world.options("reader", timeout="soon"), "nodes"), 2, r"--timeout: 'soon' is not a duration of 10ms to 10m \(for example 250ms, 5s or 1m\)"),
        ("no key file", (*world.options("reader", key="/none.key"), "nodes"), 2, r"/none\.key: No such file or directory \(create a key pair with `wattle keys new`\)"),
        ("no key of the controller", (*world.options("reader", server_key="/none.pub"), "nodes"), 2, r"/none\.pub: No such file or directory"),
        ("another controller's key", (*world.options("reader", server_key=str(world.dir / "stranger2.key.pub")), "nodes"), 1, r"its key is not \S+, or it is not a Wattle server"),
        ("no endpoint", (*world.options("reader", server="controller:7462"), "nodes"), 2, r"controller:7462"),
        ("an unknown host name", (*world.options("reader", server="tcp://no.such.host.invalid:7462", timeout="500ms"), "nodes"), 1, r"no\.such\.host\.invalid"),
        ("another service at the endpoint", (*world.options("reader", server=f"tcp://127.0.0.1:{world.agent_http}", timeout="500ms"), "nodes"), 1,
         r"the endpoint is its ask port"),
        ("nothing configured", ("nodes",), 2, r"^wattle: nodes: no configuration: none of WATTLE_CONFIG, "),
        ("its version", ("--version",), 0, r"^\d+\.\d+\.\d+"),
        ("an alias", (*good, "check", "--pre", "--scheduler", "/none"), 2, r"^wattle: doctor: /none: No such file"),
        ("unknown key in a path", (*good, "nodes", "-o", "jsonpath={.nodes[*].nmae}"), 1, r'^wattle: nodes: -o jsonpath: column 11: unknown key "nmae" \(did you mean "name"\?'),
        ("a syntax error in a path", (*good, "nodes", "-o", "jsonpath={.nodes[*}"), 2, r'^wattle: nodes: -o jsonpath: column 10: "\]" is missing'),
        ("-o name without a list", (*good, "status", "-o", "name"), 2, r"^wattle: status: -o name: only lists and `place` have this output"),
        ("unknown sort key", (*good, "nodes", "--sort-by", "nmae"), 1, r'^wattle: nodes: --sort-by: column 1: unknown key "nmae" \(did you mean "name"\?'),
    ]
    for what, words, code, pattern in cases:
        look_at(world, what, words, code, pattern)
    settings = pathlib.Path(world.environment["HOME"], ".config/wattle/cli.yaml")
    settings.parent.mkdir(parents=True)
    settings.write_text("servre: tcp://127.0.0.1:1\ntimeout: soon\n")
    look_at(world, "a configuration with errors", ("nodes",), 2, r"cli\.yaml:1: servre: unknown key[\s\S]*cli\.yaml:2: timeout")
    settings.unlink()
    raw = world.shown(*good, "nodes")[2]
    check("a terminal gets colours", b"\x1b[" in raw, raw)
    world.environment["NO_COLOR"] = "1"
    raw = world.shown(*good, "nodes")[2]
    check("not with NO_COLOR", b"\x1b[3" not in raw, raw)
    del world.environment["NO_COLOR"]


def main():
    binaries = binaries_from(sys.argv)
    with World(binaries, "empty") as empty, World(binaries, "fleet") as fleet:
        for world in (empty, fleet):
            world.wattle("keys", "new", str(world.dir / "stranger2.key"))
            world.begin()
        there = dict(listed(empty))
        for path in sorted(there.keys() ^ {tuple(name.split()) for name in COMMANDS}):
            check(f"wattle {' '.join(path)}", False, "has no states in cli_states.py" if path in there else "is no longer a command")
        for path, about in there.items():
            any_command(empty, path, about)
        for world in (empty, fleet):
            for name, command in COMMANDS.items():
                path = tuple(name.split())
                if world is fleet and command.asks:
                    asks(world, path, command)
                for state in command.states:
                    if state[1] == world.name:
                        one_state(world, path, command, state)
                if world is fleet and command.formats:
                    formats(world, path, command)
                if command.elsewhere and world is fleet:
                    check(f"{name}: {command.elsewhere} tests it", path[-1] in (ROOT / command.elsewhere).read_text(encoding="utf-8"))
        of_all(fleet)
        watched(fleet)
        narrow(fleet)
        waits_for_feed(fleet)
    print(f"{checks - failures} of {checks} checks hold, of {len(COMMANDS)} commands")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
