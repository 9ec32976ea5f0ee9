"""joining: runs the commands of docs/how-to/install-debian.md, docs/how-to/join-nodes.md, docs/how-to/upgrade.md and
docs/start/ten-minutes.md on one host that is controller and node, and checks the answers of `wattle join` to invalid
tokens.

PID 1 of the host is not systemd: hand_systemctl.py replaces systemctl and starts the services that a package would
start.
"""
import base64
import hashlib
import os
import shutil
import socket

import documented
import keeping
from debs import PROGRAMS, ROOT, repository
from house import wait_until
from patience import LATE_S
from private_root import Root

HOME = "/home/reader"
PATIENCE = LATE_S


def sealed(words):
    """Returns a token with these fields, in the format of cli/token.cpp."""
    text = " ".join(words)
    return "wattle-" + base64.b64encode(f"{text} {hashlib.sha256(text.encode()).hexdigest()[:8]}".encode()).decode()


def opened(token):
    return base64.b64decode(token.removeprefix("wattle-")).decode().split(" ")[:-1]


class Host:
    def __init__(self, folder, packages):
        self.root = Root(folder / "pages", hosts=(socket.gethostname(),))
        for path in (HOME, "/packages", "/usr/local/bin"):
            self.root.inside(path).mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            shutil.copy(packages[name], self.root.inside("/packages"))
        self.root.inside("/etc/apt/sources.list.d/wattle.list").write_text(repository(self.root.inside("/packages")))
        shutil.copy2(ROOT / "tests/e2e/docs/hand_systemctl.py", self.root.inside("/usr/local/bin/systemctl"))
        self.root.inside("/usr/local/bin/systemctl").chmod(0o755)

    def run(self, text):
        env = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return self.root.shell(text, "/packages", env, PATIENCE)

    def tree(self):
        """Returns all written files of this machine, except those that the package's own controller and agent write
        meanwhile."""
        upper = self.root.at.parent / "upper"
        return {name for path in upper.rglob("*") if not (name := f"/{path.relative_to(upper)}").startswith(("/var/lib/wattle", "/var/log/"))}

    def log(self):
        return "\n".join(f"---- {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in sorted(self.root.inside("/var/log").glob("wattle-*.log")))


def last_line(said):
    return said.strip().splitlines()[-1]


def refusals(claims, host):
    """Checks that each invalid token is refused with one reason, without changes."""
    def token(*options):
        return last_line(host.run("wattle keys token new " + " ".join(options))[1])

    good = opened(token())
    expired = token("--valid 1s")
    host.run("sleep 2")
    used = token("fresh-1")
    host.run("mv /etc/wattle/agent.key /etc/wattle/agent.key.mine")
    claims.check("a token for one node admits only that node", host.run(f"wattle join --node fresh-2 {used}")[0] == 1)
    host.run("rm -f /etc/wattle/agent.key")
    closed = str(next(port for port in range(9000, 9100) if host.run(f"ss -Hltn 'sport = :{port}'")[1] == ""))
    for what, text, reason in (
        ("expired", expired, "has expired"),
        ("used by another key", used, "has been used"),
        ("truncated", sealed(good)[:-10], "is incomplete or was changed"),
        ("modified", sealed(good)[:40] + "A" + sealed(good)[41:], "is incomplete or was changed"),
        ("not in the format of a token", "hello", "is not a token of `wattle keys token new`"),
        ("shell", "'$(touch /tmp/hit); `touch /tmp/hit`'", "is not a token of `wattle keys token new`"),
        ("very long", "wattle-" + "A" * 100_000, "is not a token of `wattle keys token new`"),
        ("of another version", sealed(["2", *good[1:]]), "another version"),
        ("with a host of two lines of YAML", sealed([good[0], "evil\nhttp:", *good[2:]]), "contains invalid fields"),
        ("with a host that is an option", sealed([good[0], "--help", *good[2:]]), "contains invalid fields"),
        ("with an invalid port", sealed([*good[:2], "70000", *good[3:]]), "contains invalid fields"),
        ("with another fingerprint", sealed([*good[:5], "0" * 64, good[6]]), "the server's certificate differs from the expected one"),
        ("with another controller's key", sealed([*good[:4], "x" * 40, *good[5:]]), "the controller's key differs from the key in the token"),
        ("with an unknown secret", sealed([*good[:6], "wattle-enrol-" + "0" * 64]), "was not created by this controller"),
        ("whose controller is down", sealed([*good[:2], closed, *good[3:]]), "check that the server is running and that the port is right"),
    ):
        code, said = host.run(f"wattle join --node fresh-3 -- {text}" if what == "shell" else f"wattle join --node fresh-3 - <<'END'\n{text}\nEND")
        claims.check(f"a token {what}: {reason}", code in (1, 2) and reason in said and len(said.strip().splitlines()) <= 3, said[-600:])
        claims.check("     the secret is not printed", good[6] not in said, said[-300:])
    claims.check("no shell history has the token", not host.root.inside("/tmp/hit").exists())
    host.run("mv /etc/wattle/agent.key.mine /etc/wattle/agent.key")
    code, said = host.run(f"wattle join --node other {token()}")
    claims.check("a key of one node is not accepted for another", code == 1 and "use one key per node" in said, said)


def up_and_down(claims, host):
    """Runs a command as a user without root."""
    walk = documented.Walk("docs/start/ten-minutes.md", lambda text: host.run(f"setpriv --reuid=nobody --regid=nogroup --clear-groups bash -euc '{text}'"), None)
    # PID 1 here is the test, which does not reap children: zombies do not count as remaining processes.
    running = "ps -C wattle-agent,wattle-controller,wattle-shim -o pid=,stat= | awk '$2 !~ /^Z/ {print $1}'"
    before = host.run(running)[1].split()
    host.run(f"chown nobody: {HOME}")
    tree = host.tree()
    blocks = documented.blocks_below("docs/start/ten-minutes.md", "Try Wattle on one machine")
    said = walk.take(blocks[0])
    claims.check("`wattle up` reports that the node is live", "is live" in said, said)
    config = f"{HOME}/.local/state/wattle-up/cli.yaml"
    claims.check("`wattle nodes` shows the node", socket.gethostname() in host.run(f"WATTLE_CONFIG={config} wattle nodes")[1])
    again = f"wattle up --folder {HOME}/.local/state/wattle-up"
    code, said = host.run(f"setpriv --reuid=nobody --regid=nogroup --clear-groups {again}")
    claims.check("a second up is refused with a fix", code == 1 and "wattle down" in said, said)
    code, said = host.run(again)
    claims.check("up in a folder of another user is refused", code == 1 and "belongs to nobody" in said, said)
    code, said = host.run("wattle up --folder /etc")
    claims.check("a foreign folder is not changed", code == 1 and "is not empty" in said and host.run("test -e /etc/passwd")[0] == 0, said)
    said = walk.take(blocks[1])
    claims.check("`wattle down` leaves no process", host.run(running)[1].split() == before, said)
    claims.check(f"`wattle down` leaves no file or folder; {len(tree)} are unchanged", host.tree() == tree, str(sorted(host.tree() ^ tree)[:20]))
    code, said = host.run("wattle down --folder /etc")
    claims.check("down ends and removes only what up created", code == 1 and host.run("test -e /etc/passwd")[0] == 0, said)


def follow(claims, packages, folder):
    host = Host(folder, packages)
    install = documented.Walk("docs/how-to/install-debian.md", host.run, None)
    try:
        code, said = host.run("apt-get update -o Dir::Etc::sourcelist=sources.list.d/wattle.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0")
        claims.check("apt reads the repository", code == 0, said)
        install("The controller's machine")
        code, said = host.run("systemctl restart wattle-controller")  # as the package does with systemd
        claims.check("the controller's package is sufficient for a controller", code == 0, said + host.log())
        install("Each worker")
        install("A shim beside kube-scheduler")
        join = documented.Walk("docs/how-to/join-nodes.md", host.run, None, again={"wattle nodes": 30})
        token = last_line(join("On the controller's machine")[0])
        join.instead["wattle join -"] = (f"wattle join - <<'END'\n{token}\nEND", "the token is pasted")
        said = join("On the new node")[0]
        claims.check("`wattle join` ends with the first sample", "the first sample of this node" in last_line(said), said)
        claims.check("`wattle nodes` shows the node", any(line.startswith(socket.gethostname()) for line in join("See it")[0].splitlines()))
        join.finish()
        claims.check("only the agent can read the key", host.run("stat -c '%a %U' /etc/wattle/agent.key")[1].strip() == "400 wattle-agent")
        refusals(claims, host)
        claims.check("the node is still listed", wait_until("it is shown", lambda: socket.gethostname() in host.run("wattle nodes")[1]))
        up_and_down(claims, host)
        keeping.keep(claims, host)
        install("Upgrade packages", "docs/how-to/upgrade.md")
        install("Go back to older packages")
        host.run("systemctl stop wattle-agent wattle-controller")
        install("Remove packages")
        there = host.run("find /etc/wattle /var/lib/wattle* /usr/bin/wattle 2>/dev/null || true")[1]
        claims.check("after the documented purge, nothing of a joined node or a controller is left", there == "", there)
        install.finish()
    except (documented.Failed, documented.Undocumented) as error:
        claims.check("every command of the pages succeeds", False, f"{error}\n{host.log()}")
    finally:
        os.sync()
