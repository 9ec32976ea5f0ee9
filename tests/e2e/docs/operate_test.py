#!/usr/bin/env python3
"""Runs the commands of docs/how-to and docs/start on one host, which docs/how-to/install-debian.md has made worker and
control plane. It needs no cluster; kube_install_test.py runs the pages that do. `--pages` starts nothing: it only
checks that a test runs every block of every page, or names a reason against it.

The host is an overlay of this machine's root in a private network (private_root.py); hand_systemctl.py replaces
systemctl.

Usage    operate_test.py FOLDER-OF-BINARIES | operate_test.py --pages
Exit     0 fine, 1 a claim failed, 77 skipped: no root or no overlays
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "kube")]
sys.dont_write_bytecode = True
import yaml  # noqa: E402
import systemd_install_test as debian  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import Failed, Undocumented, Walk, blocks_below  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from patience import LATE_S  # noqa: E402
from private_root import Impossible, enter  # noqa: E402

PATIENCE = LATE_S
CONTROLLER, AGENT = "/etc/wattle/controller.yaml", "/etc/wattle/agent.yaml"
CHECK = {CONTROLLER: "wattle-controller --config {} --check-config", AGENT: "wattle-agent run --config {} --check-config"}
# Pages in the order of the walk, each with the parts of Walk that it needs.
HERE_PAGES = {
    "docs/how-to/manage-keys.md": {},
    "docs/how-to/check-with-doctor.md": {},
    "docs/how-to/accept-a-machine.md": {"instead": {"wattle-agent accept": ("wattle-agent accept --phase 2s --report accept.json || test -s accept.json",
                                                                               "ten seconds for ten minutes, and its verdict is of a machine that other tests load")}},
    "docs/how-to/troubleshoot.md": {"again": {"wattle doctor": PATIENCE}},
    "docs/how-to/install-in-vms.md": {"files": {"estimate:": AGENT}},
    "docs/start/ten-minutes.md": {
        "without": {"scripts/demo": "demo_test.py runs it"},
        "instead": {"wattle explain POD": (":", "no pod is placed without a scheduler; kube_install_test.py explains one")}},
    "docs/how-to/adopt.md": {"instead": {"wattle policy promote": ("! wattle policy promote", "the gate is closed on a host that has decided nothing, and says so")}},
    "docs/how-to/see-what-it-costs.md": {},
    "docs/how-to/measure-latency.md": {"files": {"probes:": AGENT}},
    "docs/how-to/join-nodes.md": {"files": {"tokens:": CONTROLLER, "token_file: /etc/wattle/enrol.token": AGENT, "audience:": CONTROLLER}},
    "docs/how-to/rotate-keys.md": {"again": {"wattle nodes": PATIENCE}},
    "docs/how-to/back-up.md": {"again": {"wattle nodes": PATIENCE}},
}
# Pages that other tests run; those of Kubernetes need programs of a control plane (ctest -C kube -L kube).
ELSEWHERE = {
    "docs/how-to/add-a-policy.md": "simulate_test.py",
    "docs/how-to/apply-load.md": "load_test.py",
    "docs/how-to/resume-training.md": "simulate_test.py",
    "docs/how-to/install-packages.md": "../packages/joining.py",
    "docs/how-to/join.md": "../packages/joining.py",
    "docs/how-to/try-on-one-machine.md": "../packages/joining.py",
    "docs/how-to/set-requests.md": "../kube/resize_test.py",
    "docs/how-to/provision.md": "../../integration/actuator/kernel_test.py",
    "docs/how-to/install-debian.md": "systemd_install_test.py",
    "docs/how-to/install-kubernetes.md": "kube_install_test.py",
    "docs/how-to/move-deployments.md": "kube_install_test.py",
    "docs/how-to/upgrade.md": "kube_install_test.py",
    "docs/how-to/remove.md": "kube_install_test.py",
    "docs/how-to/place-without-kubernetes.md": "../place_test.py",
    "docs/how-to/watch-with-grafana.md": "../dashboards_test.py",
}


def title(page):
    return (ROOT / page).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def check_pages(claims):
    """Every page with something to type or to write has who types it; who is said to walk a page names it."""
    known = HERE_PAGES.keys() | ELSEWHERE.keys()
    for path in sorted([*(ROOT / "docs/how-to").rglob("*.md"), *(ROOT / "docs/start").rglob("*.md")]):
        page = path.relative_to(ROOT).as_posix()
        typed = [block for block in blocks_below(page, title(page)) if block.kind != "text"]
        if typed or page in known:
            claims.check(f"{page}: its {len(typed)} blocks are typed by a test", bool(typed) and page in known)
    for page, test in ELSEWHERE.items():
        claims.check(f"{page} is named by {test}", page in (HERE / test).read_text(encoding="utf-8"))
    for page, rules in HERE_PAGES.items():
        walk = Walk(page, lambda text: (0, text), lambda *_: None, **rules)
        walk(title(page))
        claims.check(f"{page} fits its rules", walk.finish() + len(rules.get("files", {})) + len(rules.get("without", {})) > 0)


def merged(host, path, text):
    """A fragment of a configuration goes into the one that is there; its program must accept the whole. What is there
    stays as it is."""
    whole = yaml.safe_load(host.root.inside(path).read_text(encoding="utf-8")) | yaml.safe_load(text)
    host.write("/tmp/merged.yaml", yaml.safe_dump(whole))
    code, said = host.run(CHECK[path].format("/tmp/merged.yaml"))
    if code != 0:
        raise Failed(f"{path} with this block is refused:\n{text}\n{said}")


def operate(claims, host):
    install = Walk(debian.PAGE, host.run, host.write, files=debian.FILES, again={"wattle nodes": debian.PATIENCE})
    install(debian.HEADING)
    wait_until("the agent is heard", lambda: "est" in host.run("wattle nodes")[1] or "rapl" in host.run("wattle nodes")[1], debian.PATIENCE)
    # From here on, the reader has the operator's key.
    host.run("wattle keys revoke --allow-list /var/lib/wattle-controller/allow ~/.config/wattle/cli.key.pub && wattle keys allow --allow-list /var/lib/wattle-controller/allow ~/.config/wattle/cli.key.pub operator boss")
    wait_until("the operator is known", lambda: host.run("wattle policy set --mode shadow --why test")[0] == 0, PATIENCE)
    for page, rules in HERE_PAGES.items():
        cwd = ROOT if page.startswith("docs/start/") else debian.HOME  # who begins sits in the checkout
        walk = Walk(page, lambda text, cwd=cwd: host.run(text, cwd), lambda path, text: merged(host, path, text), **rules)
        walk(title(page))
        claims.check(f"{page}: every command was run and succeeded ({walk.finish()} blocks)", True)


def main():
    claims = Claims()
    if sys.argv[1:] == ["--pages"]:
        check_pages(claims)
        return 1 if claims.failed else 0
    try:
        folder = enter()
    except Impossible as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    host = debian.Host(folder, pathlib.Path(sys.argv[1]).resolve())
    try:
        operate(claims, host)
    except (Failed, Undocumented, HouseError, OSError) as error:
        claims.check("the pages can be followed", False, f"{error}\n{host.log()}")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
