"""page: docs/how-to/install-packages.md as its reader types it, on one host that is controller and worker.

PID 1 of the host is no systemd: hand_systemctl.py stands in for systemctl.
"""
import shutil
import socket

from debs import PROGRAMS, ROOT
from documented import Failed, Undocumented, Walk
from house import HouseError, wait_until
from private_root import Root

PAGE = "docs/how-to/install-packages.md"
PATIENCE = 240


class Host:
    def __init__(self, folder, packages):
        self.root = Root(folder / "page", hosts=(socket.gethostname(),))
        self.root.inside("/packages").mkdir()
        for name in PROGRAMS:
            shutil.copy(packages[name], self.root.inside("/packages"))
        self.root.inside("/usr/local/bin").mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / "tests/e2e/docs/hand_systemctl.py", self.root.inside("/usr/local/bin/systemctl"))
        self.root.inside("/usr/local/bin/systemctl").chmod(0o755)

    def run(self, text):
        env = {"HOME": "/root", "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return self.root.shell(text, "/packages", env, PATIENCE)

    def log(self):
        return "\n".join(f"---- {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in sorted(self.root.inside("/var/log").glob("wattle-*.log")))


def follow(claims, packages, folder):
    host = Host(folder, packages)
    walk = Walk(PAGE, host.run, None)
    try:
        for heading in ("The controller's machine", "Each worker", "A shim beside kube-scheduler"):
            walk(heading)
        up = f'wattle_node_up{{node="{socket.gethostname()}"}} 1'
        wait_until("the node is up", lambda: up in host.run("curl -sf http://127.0.0.1:8050/metrics")[1], PATIENCE)
        claims.check("the page leads to a live node", True)
        host.run("systemctl stop wattle-agent wattle-controller")
        walk("Upgrade, go back, remove")
        there = host.run("ls -d /etc/wattle /var/lib/wattle* /usr/bin/wattle 2>/dev/null || true")[1]
        claims.check("purged as the page says, nothing of a worker or a controller is left", there == "", there)
        claims.check(f"every command of the page was run and succeeded ({walk.finish()} blocks)", True)
    except (Failed, Undocumented, HouseError) as error:
        claims.check("the page can be followed", False, f"{error}\n{host.log()}")
