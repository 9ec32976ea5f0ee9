#!/usr/bin/env python3
"""systemd_install_test: runs docs/how-to/install-debian.md from the first command to the first explained decision, on
one host that is worker and control plane, with a real API server and kube-scheduler with
k8s/default-scheduler/scheduler.yaml.

The host is an overlay of this machine's root in a private network (private_root.py). PID 1 is not systemd, so
hand_systemctl.py replaces systemctl.

Usage    systemd_install_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed, 77 skipped: no root, no overlays, or no programs of a control plane
"""
import argparse
import pathlib
import shutil
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "kube")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import Failed, Undocumented, Walk  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from patience import LATE_S  # noqa: E402
from private_root import Impossible, Root, enter  # noqa: E402

PATIENCE = LATE_S
PAGE, HEADING = "docs/how-to/install-debian.md", "Install without packages"
HOME = "/home/reader"
FILES = {"server: tcp://controller.example": "~/.config/wattle/cli.yaml"}


class Host:
    def __init__(self, folder, binaries, programs=None):
        self.root = Root(folder / "host", {str(ROOT): ROOT, str(ROOT / "build/release/bin"): binaries} | ({"/programs/kube": programs} if programs else {}),
                         (socket.gethostname(), "controller.example"))
        self.root.inside(HOME).mkdir(parents=True)
        shutil.copy2(HERE / "hand_systemctl.py", self.root.inside("/usr/local/bin/systemctl"))
        self.root.inside("/usr/local/bin/systemctl").chmod(0o755)

    def run(self, text, cwd=ROOT):
        env = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        return self.root.shell(text, cwd, env, PATIENCE)

    def write(self, path, text):
        target = self.root.inside(path.replace("~", HOME))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def log(self):
        return "\n".join(f"---- {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in sorted(self.root.inside("/var/log").glob("wattle-*.log")))


def start_scheduler(host, plane, programs):
    """Configures the cluster's scheduler as on the page."""
    host.write("/etc/kubernetes/scheduler.conf", plane.kubeconfig().read_text())
    host.root.bind(plane.dir, plane.dir)
    host.write("/etc/kubernetes/wattle/scheduler.yaml", (ROOT / "k8s/default-scheduler/scheduler.yaml").read_text(encoding="utf-8"))
    plane.start("kube-scheduler", *host.root.command("/programs/kube/kube-scheduler", "--config=/etc/kubernetes/wattle/scheduler.yaml", "--secure-port=0"))


def run(folder, binaries, programs):
    claims = Claims()
    with ControlPlane(programs) as plane:
        host = Host(folder, binaries, programs)
        walk = Walk(PAGE, host.run, host.write, files=FILES,
                    again={"wattle nodes": PATIENCE})  # the controller reads a changed allow list within two seconds
        try:
            walk(HEADING)
            claims.check(f"every command of the page was run and succeeded ({walk.finish()} blocks)", True)
            start_scheduler(host, plane, programs)
            code, said = host.run("wattle doctor --pre --scheduler /etc/kubernetes/wattle/scheduler.yaml")
            claims.check("doctor --pre reports no problem in the scheduler's file", code == 0, said)
            for name in (socket.gethostname(), "other-1"):
                plane.add_node(name)
            known = wait_until("the agent reports", lambda: [line for line in host.run("wattle nodes")[1].splitlines() if line.startswith(socket.gethostname())], PATIENCE)
            claims.check("`wattle nodes` shows this host", bool(known))
            wait_until("the shim, whose key was added last, is connected", lambda: '"connected":true' in host.run("wattle status -o json")[1].replace(" ", ""), PATIENCE)
            plane.add_pod("try")

            def explained():
                code, said = host.run("wattle explain try")
                return said if code == 0 and "try" in said else None
            print(wait_until("the first decision is explained", explained, PATIENCE))
            claims.check("`wattle explain` shows the first decision", True)
        except (Failed, Undocumented, HouseError, OSError) as error:
            claims.check("every command of the page succeeds", False, f"{error}\n{host.log()}\n{plane.tail('kube-scheduler') if 'kube-scheduler' in plane.processes else ''}")
    return 1 if claims.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver", "kube-scheduler"))
        folder = enter()
    except (assets.Missing, Impossible) as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    return run(folder, options.binaries.resolve(), programs)


if __name__ == "__main__":
    sys.exit(main())
