#!/usr/bin/env python3
"""operate_test: runs the commands of docs/how-to and docs/start on one host that docs/how-to/install-debian.md has made
worker and control plane, without a cluster; kube_install_test.py runs the pages that need one. `--pages` starts
nothing: it only checks that a test runs every block of every page, or names a reason against it.

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
# Sections in the order of the walk, each with the parts of Walk that it needs.
HERE_SECTIONS = {
    ("docs/how-to/manage-keys.md", "Create, allow, list and revoke a key"): {},
    ("docs/how-to/troubleshoot.md", "Check and troubleshoot"): {
        "again": {"wattle doctor": PATIENCE},
        "instead": {"wattle-agent accept": ("wattle-agent accept --phase 2s --report accept.json || test -s accept.json",
                                            "ten seconds instead of ten minutes, and other tests load this machine")}},
    ("docs/how-to/install-debian.md", "Virtual machines"): {"files": {"estimate:": AGENT}},
    ("docs/start/ten-minutes.md", "Run the demo"): {"without": {"scripts/demo": "demo_test.py runs it"}},
    ("docs/start/ten-minutes.md", "Ask for a reason"): {
        "instead": {"wattle explain POD": (":", "no pod is placed without a scheduler; kube_install_test.py explains one")}},
    ("docs/start/ten-minutes.md", "Look at your own machine"): {},
    ("docs/how-to/adopt.md", "Adopt Wattle safely"): {
        "instead": {"wattle policy promote": ("! wattle policy promote", "the gate is closed on a host without decisions, and says so")},
        "without": {"kubectl": "there is no cluster; kube_install_test.py runs it", "127.0.0.1:7462 decisions": "kube_install_test.py runs it"}},
    ("docs/how-to/use-the-page.md", "Report energy by namespace, owner or team"): {},
    ("docs/how-to/measure-latency.md", "Probes"): {"files": {"probes:": AGENT}},
    ("docs/how-to/join-nodes.md", "With a token file"): {"files": {"tokens:": CONTROLLER, "token_file: /etc/wattle/enrol.token": AGENT}},
    ("docs/how-to/join-nodes.md", "With a service account"): {"files": {"kubernetes:": CONTROLLER}},
    ("docs/how-to/manage-keys.md", "Rotate the controller's key"): {"again": {"wattle nodes": PATIENCE}},
    ("docs/how-to/save-energy.md", "Find and apply savings"): {"without": {"kubectl patch": "there is no cluster"}},
    ("docs/how-to/sleep-nodes.md", "Find nodes that could sleep"): {
        "without": {"helm upgrade": "there is no cluster", "kubectl label": "there is no cluster",
                    "listen: 0.0.0.0:8086": "kube/autoscaler_test.py writes such a file", "grpc_timeout": "kube/autoscaler_test.py writes such a file"},
        "instead": {"wattle sleep exclude": ("! wattle sleep exclude worker-2", "sleep is off on this host, and the error says so"),
                    "wattle sleep allow": ("! wattle sleep allow worker-2", "sleep is off on this host, and the error says so"),
                    "wattle sleep history": ("! wattle sleep history worker-2", "this host has no such node, and the error says so"),
                    "wattle sleep test": ("! wattle sleep test worker-2", "sleep is off on this host, and the error says so")}},
    ("docs/how-to/prepare-nodes-for-sleep.md", "Prepare a node for sleep"): {
        "files": {"power: {sleep: true, depths": AGENT},
        "without": {"50-wake.link": "this host has no such network card", "polkitd": "this host has no logind",
                    "shallow.conf": "the file is part of the packages, which are not installed on this host",
                    "wattle-agent doctor": "this host has no such account; unit_agent_power checks the findings", "rtcwake": "this host has no clock that wakes it",
                    "extraVolumes": "there is no cluster"}},
    ("docs/how-to/back-up.md", "Back up and restore"): {"again": {"wattle nodes": PATIENCE}},
}
# Sections that other tests run; those of Kubernetes need programs of a control plane (ctest -C kube -L kube).
ELSEWHERE = {
    "../cluster/cluster_test.py": (("docs/start/real-cluster.md", "Start the cluster"),),
    "simulate_test.py": (("docs/how-to/extend.md", "3. Try it"), ("docs/how-to/train-a-network.md", "Train and judge a network")),
    "load_test.py": (("docs/reference/load.md", "Apply load"),),
    "../packages/joining.py": (
        ("docs/how-to/install-debian.md", "The controller's machine"), ("docs/how-to/install-debian.md", "Each worker"), ("docs/how-to/install-debian.md", "A shim beside kube-scheduler"),
        ("docs/how-to/join-nodes.md", "On the controller's machine"), ("docs/how-to/join-nodes.md", "On the new node"), ("docs/how-to/join-nodes.md", "See it"),
        ("docs/how-to/upgrade.md", "Upgrade packages"), ("docs/how-to/upgrade.md", "Go back to older packages"), ("docs/how-to/upgrade.md", "Remove packages"),
        ("docs/start/ten-minutes.md", "Try Wattle on one machine")),
    "../kube/resize_test.py": (("docs/how-to/set-requests.md", "Set the requests of running pods"),),
    "../../integration/actuator/kernel_test.py": (("docs/how-to/provision.md", "Set limits of services"),),
    "../packages/repositories_test.py": (("docs/how-to/install-debian.md", "The apt repository"),),
    "systemd_install_test.py": (("docs/how-to/install-debian.md", "Install without packages"),),
    "kube_install_test.py": (
        ("docs/how-to/install-kubernetes.md", "Install on Kubernetes"), ("docs/how-to/adopt.md", "Move Deployments to it"), ("docs/how-to/upgrade.md", "Upgrade on Kubernetes"),
        ("docs/how-to/upgrade.md", "Roll back"), ("docs/how-to/upgrade.md", "Remove from Kubernetes")),
    "../place_test.py": (("docs/how-to/place-without-kubernetes.md", "Place without Kubernetes"),),
    "../dashboards_test.py": (("docs/how-to/answer-alerts.md", "Monitor with Prometheus and answer alerts"),),
}
# Blocks with code that is not run.
SHOWN = {"cpp"}


def title(page):
    return (ROOT / page).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def check_pages(claims):
    """Checks that a test runs each block that a reader types or writes, and names the page."""
    elsewhere = [section for sections in ELSEWHERE.values() for section in sections]
    run = {(page, block.line) for page, heading in [*HERE_SECTIONS, *elsewhere] for block in blocks_below(page, heading)}
    for path in sorted([*(ROOT / "docs/how-to").rglob("*.md"), *(ROOT / "docs/start").rglob("*.md")]):
        page = path.relative_to(ROOT).as_posix()
        typed = [block.line for block in blocks_below(page, title(page)) if block.kind not in SHOWN | {"text"}]
        missing = [line for line in typed if (page, line) not in run]
        claims.check(f"{page}: a test runs its {len(typed)} blocks", not missing, f"not those in lines {missing}")
    for page, way in (("docs/how-to/install-debian.md", "apt"), ("docs/how-to/install-kubernetes.md", "helm")):
        first, *more = [block.text for block in blocks_below(page, title(page)) if block.kind == "sh"]
        claims.check(f"{page} begins with the base URL and the {way} repository below it, and has no other URL of a release",
                     first.startswith("WATTLE_URL=") and f"$WATTLE_URL/{way}" in first and not any("example.org" in text for text in more))
    for test, sections in ELSEWHERE.items():
        for page, _ in sections:
            claims.check(f"{page} is named by {test}", page in (HERE / test).read_text(encoding="utf-8"))
    for (page, heading), rules in HERE_SECTIONS.items():
        walk = Walk(page, lambda text: (0, text), lambda *_: None, **rules)
        walk(heading)
        claims.check(f"{page}, {heading}: matches its rules", walk.finish() + len(rules.get("files", {})) + len(rules.get("without", {})) > 0)


def merged(host, path, text):
    """Adds a fragment to the existing configuration; its program must accept the result. Existing keys stay
    unchanged."""
    whole = yaml.safe_load(host.root.inside(path).read_text(encoding="utf-8")) | yaml.safe_load(text)
    host.write("/tmp/merged.yaml", yaml.safe_dump(whole))
    code, said = host.run(CHECK[path].format("/tmp/merged.yaml"))
    if code != 0:
        raise Failed(f"{path} with this block is refused:\n{text}\n{said}")


def operate(claims, host):
    install = Walk(debian.PAGE, host.run, host.write, files=debian.FILES, again={"wattle nodes": debian.PATIENCE})
    install(debian.HEADING)
    wait_until("the agent is connected", lambda: "est" in host.run("wattle nodes")[1] or "rapl" in host.run("wattle nodes")[1], debian.PATIENCE)
    # From here on, the reader has the operator's key.
    host.run("wattle keys revoke --allow-list /var/lib/wattle-controller/allow ~/.config/wattle/cli.key.pub && wattle keys allow --allow-list /var/lib/wattle-controller/allow ~/.config/wattle/cli.key.pub operator boss")
    wait_until("the operator's key is accepted", lambda: host.run("wattle policy set --mode shadow --why test")[0] == 0, PATIENCE)
    for (page, heading), rules in HERE_SECTIONS.items():
        cwd = ROOT if page.startswith("docs/start/") else debian.HOME  # a new user works in the checkout
        walk = Walk(page, lambda text, cwd=cwd: host.run(text, cwd), lambda path, text: merged(host, path, text), **rules)
        walk(heading)
        claims.check(f"{page}, {heading}: every command was run and succeeded ({walk.finish()} blocks)", True)


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
        claims.check("every command of the pages succeeds", False, f"{error}\n{host.log()}")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
