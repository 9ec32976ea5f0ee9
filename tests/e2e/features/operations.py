"""operations: rows O1 to O7, V1 to V4, N1 to N4 and H1 to H4 of the feature list: installation, observation, savings,
sleep, several replicas."""
import json
import pathlib
import re
import shutil
import sys
import urllib.request

import yaml

from house import fetch, wait_until
from patience import SOON_S
from world import CO2_G, PRICE
from walk import ROOT, against_default, claim, elsewhere, missing, partly, row, shown_by

sys.path.append(str(ROOT / "tests/e2e/kube"))
import assets  # noqa: E402


@row("O1", "Helm chart, plain manifests, systemd units, Debian packages")
def o1(world):
    try:
        helm = assets.helm(may_build=False)
    except assets.Missing as reason:
        return elsewhere(f"no helm ({reason})", "tests/lint/chart_test.py", "tests/e2e/packages/packages_test.py")
    world.shell.typed.append("helm template wattle k8s/chart --set images.registry=registry.example")
    done = world.house.run(str(helm), "template", "wattle", str(ROOT / "k8s/chart"), "--kube-version", assets.VERSION, "--set", "images.registry=registry.example")
    claim("the chart renders", done.returncode == 0, done.stderr)
    kinds = [one["kind"] for one in yaml.safe_load_all(done.stdout) if one]
    claim("agents, controller and scheduler with the shim", kinds.count("DaemonSet") == 1 and kinds.count("Deployment") >= 2, kinds)
    base = [one["kind"] for path in sorted((ROOT / "k8s/base").glob("*.yaml")) for one in yaml.safe_load_all(path.read_text()) if one]
    claim("the plain manifests render", "DaemonSet" in base and "Deployment" in base, base)
    return f"{len(kinds)} objects; installed on a real API server, units and packages: " + \
        shown_by("tests/e2e/docs/kube_install_test.py", "tests/lint/units_test.py", "tests/e2e/packages/packages_test.py")


@row("O2", "CLI for live state in table, wide, json and yaml; completions; kubectl plugin")
def o2(world):
    shell = world.shell
    asked = ("nodes", f"node {world.house.node}", "pods", "top", "decisions", "policy get", "model list", "status")
    for words in asked:
        document = shell.json(f"wattle {words} -o json")
        claim(f"{words}: YAML is the same document", _shape(yaml.safe_load(shell(f"wattle {words} -o yaml"))) == _shape(document), words)
        claim(f"{words}: a table", len(shell(f"wattle {words}").splitlines()) > 1)
        shell(f"wattle {words} -o wide")
    claim("an unknown node is exit code 1", "nosuch" in shell("wattle node nosuch", code=1))
    claim("an unknown command is exit code 2", shell("wattle nonsense", code=2))
    for name in ("bash", "zsh", "fish"):
        claim(f"completion for {name}", "wattle" in shell(f"wattle completion {name}"))
    if pathlib.Path(world.house.binary("kubectl-wattle")).exists() and shutil.which("kubectl"):
        claim("the plugin queries the same controller", json.loads(shell("kubectl wattle status -o json"))["nodes"] == len(world.nodes))
    shell.typed[:] = ["wattle nodes|node|pods|top|decisions|policy|model|status -o table|wide|json|yaml", "wattle completion bash"]
    return f"{len(asked)} commands in four formats; lists with -w, explain and doctor in every state: " + shown_by("tests/e2e/cli_states_test.py", "tests/e2e/watch_test.py")


def _shape(document):
    """Returns the names of members, which two answers at different moments share."""
    if isinstance(document, dict):
        return {key: _shape(value) for key, value in document.items() if isinstance(value, (dict, list)) and key not in ("terms", "findings", "decided_by")} | \
            {"keys": sorted(key for key in document if key not in ("terms",))}
    return "list" if isinstance(document, list) else None


@row("O3", "live web page")
def o3(world):
    request = urllib.request.Request(f"{world.house.api()}/", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=SOON_S) as answer:
        claim("the page is served and allows only its own origin", "default-src" in answer.headers["Content-Security-Policy"] and answer.read(2) == b"\x1f\x8b")
    claim("a browser without gzip gets an explanation", world.shell.run(f"curl -s -o /dev/null -w '%{{http_code}}' {world.house.api()}/").stdout == "406")
    with urllib.request.urlopen(f"{world.house.api()}/api/v1/live", timeout=SOON_S) as live:
        event = next(line for line in iter(live.readline, b"") if line.startswith(b"data:"))
    claim("the page receives events", json.loads(event.removeprefix(b"data:")), event[:100])
    def history():
        status, text = fetch(f"{world.house.api()}/api/v1/history?node={world.simulated[0]}")
        return text if status == 200 else None
    claim("a node has curves", len(wait_until("there is a past to draw", history)) > 100)
    world.shell.typed[:] = [f"curl {world.house.api()}/", f"curl {world.house.api()}/api/v1/live"]
    return "in real Chromium: " + shown_by("tests/e2e/page/page_test.py", "tests/e2e/page/states_test.py")


@row("O4", "Grafana dashboards, alert rules, ServiceMonitor")
def o4(world):
    boards = [json.loads(path.read_text()) for path in sorted((ROOT / "k8s/chart/dashboards").glob("*.json"))]
    claim("dashboards have panels that query our series", boards and all("wattle_" in json.dumps(one["panels"]) for one in boards))
    rules = sorted((ROOT / "k8s/chart/alerts").glob("*.yaml"))
    if shutil.which("promtool"):
        world.shell("promtool check rules " + " ".join(map(str, rules)))
    claim("a ServiceMonitor", any("ServiceMonitor" in path.read_text() or "PodMonitor" in path.read_text() for path in (ROOT / "k8s/chart/templates").rglob("*.yaml")))
    return f"{len(boards)} dashboards, {len(rules)} files of rules; with data: " + shown_by("tests/e2e/dashboards_test.py", "tests/lint/alerts_test.py")


@row("O5", "doctor before and after installation")
def o5(world):
    world.shell.typed.append("wattle doctor --pre --node")
    before = json.loads(world.shell.run("wattle doctor --pre --node -o json || true").stdout)
    claim("before: this machine's findings, each with a state", before["findings"] and all(one["state"] in ("ok", "warn", "failed") for one in before["findings"]), before)
    world.shell.typed.append("wattle doctor")
    after = json.loads(world.shell.run("wattle doctor -o json || true").stdout)
    claim("after: findings of the controller and every node", after["controller"]["ok"] and {one["name"] for one in after["nodes"]} == set(world.nodes), after["controller"])
    wrong = world.house.write("scheduler.yaml", """
            apiVersion: kubescheduler.config.k8s.io/v1
            kind: KubeSchedulerConfiguration
            extenders:
              - {urlPrefix: "http://127.0.0.1:8888", filterVerb: filter, prioritizeVerb: prioritize, weight: 6, nodeCacheCapable: false}
            """)
    said = world.shell(f"wattle doctor --pre --scheduler {wrong.name}", code=1)
    claim("a scheduler that hands over whole nodes, and a filter without preempt, are found", "nodeCacheCapable" in said and "preempt" in said, said)
    return f"{len(before['findings'])} findings before, {sum(len(one['findings']) for one in after['nodes'])} of {len(after['nodes'])} nodes after"


@row("O6", "one command joins a node; one script makes packages, images and chart")
def o6(world):
    folder = world.house.dir / "tried"
    world.shell(f"wattle up --folder {folder}")
    world.shell.typed.append(f"wattle down --folder {folder}")
    done = world.shell.run(f"wattle down --folder {folder}")
    claim("down ends all processes and removes the folder", done.returncode == 0 and not folder.exists(), done.stderr)
    refused = world.shell("wattle join word", code=2)
    claim("an invalid token is refused", "token" in refused, refused)
    return "one machine up and down; joined as a node, and from packages that were made: " + \
        shown_by("tests/e2e/machine/join_test.py", "tests/e2e/packages/joining.py", "tests/e2e/packages/release_test.py")


@row("O7", "documentation in which every how-to command is tested")
def o7(world):
    text = world.shell(f"python3 {ROOT}/tests/e2e/docs/operate_test.py --pages")
    claim("every page with commands has a test that runs them", "FAIL" not in text and text.count("ok ") > 20, text[-400:])
    return f"{text.count('ok ')} pages and claims"


@row("V1", "wattle savings: every lever by size, each with its switch")
def v1(world):
    levers = {each["lever"]: each for each in world.shell.json("wattle savings -o json")["levers"]}
    claim("the list has sleep, drains, right sizes and replicas", {"sleep", "drain", "requests", "replicas"} <= set(levers), list(levers))
    said = world.shell("wattle savings")
    claim("the table lists each lever", all(name in said for name in levers), said)
    return ", ".join(levers)


@row("V2", "right sizes with a ladder of their own")
def v2(world):
    document = world.shell.json("wattle provision suggest -o json")
    claim("without an API server nothing is suggested", document["workloads"] == [] and document["followed"] is False, document)
    claim("the mode starts as off", world.shell.json("wattle provision mode -o json")["sizing"]["mode"] == "off")
    return elsewhere("needs an API server and kubelets", "tests/e2e/cluster/right_sizes.py", "tests/e2e/kube/resize_test.py", "tests/unit/controller/right_size_test.cpp")


@row("V3", "money and CO2 beside joules")
def v3(world):
    report = world.shell.json("wattle report -o json")
    nodes = report["nodes"]
    kwh = (nodes["measured_j"] + nodes["estimated_j"]) / 3.6e6
    claim("the report has money and CO2 of all joules", kwh > 0 and abs(nodes["cost"] - PRICE * kwh) < 1e-9 * PRICE and nodes["currency"] == "EUR" and
          abs(nodes["co2_g"] - CO2_G * kwh) < 1e-6, nodes)
    said = world.shell("wattle report")
    claim("cost and CO2 are columns of the table", re.search(r"\bCOST +CO2\b", said) and re.search(r"\(all nodes\).* EUR +[0-9.]+ k?g\b", said), said)
    claim("status has cost and CO2 per day", re.search(r"power .*: [0-9.]+ EUR, [0-9.]+ k?g CO2 per day", world.shell("wattle status")))
    return f"{nodes['cost']:.4f} EUR and {nodes['co2_g']:.2f} g CO2 of {kwh:.6f} kWh"


@row("V4", "as many pods a second as without Wattle, or 95% of a no-op extender")
def v4(_):
    return partly("a scheduler plugin that binds the same pods to the same nodes", "a measured rate", "tests/e2e/kube/scheduler_plugin_test.py", "tests/e2e/kube/kube_test.py")


def sleep_is_off(world, *words):
    done = world.house.cli("sleep", *words, key="operator", check=False)
    claim(f"`wattle sleep {' '.join(words)}` reports that sleep is off", done.returncode == 1 and "sleep is off" in done.stderr, done.stderr)


@row("N1", "drivers that put nodes to sleep and wake them")
def n1(world):
    sleep_is_off(world, "test", world.house.node)
    return elsewhere("needs BMCs, logind or nodes that may end", "tests/integration/power/CMakeLists.txt", "tests/integration/agent/CMakeLists.txt", "tests/e2e/cluster/sleep_cycles.py")


@row("N2", "a state machine of sleeping nodes that survives crashes")
def n2(world):
    sleep_is_off(world, "test", world.house.node)
    return elsewhere("needs nodes that may end", "tests/unit/controller/power_faults_test.cpp", "tests/e2e/cluster/sleep_cycles.py")


@row("N3", "nodes sleep only where that pays")
def n3(world):
    text = world.simulated_by("sleep")
    mean, low, high = against_default(text, "planner")
    claim("with sleeping nodes the planner saves energy, with its whole interval below zero", low <= mean <= high < 0, text)
    return partly(f"simulated, five seeds: {mean}% [{low}, {high}] with joules of waking", "real nodes")


@row("N4", "drains: one transaction empties a node")
def n4(world):
    claim("savings lists the planned drain", any(each["lever"] == "drain" for each in world.shell.json("wattle savings -o json")["levers"]))
    return elsewhere("needs an API server", "tests/unit/controller/power_cycles_test.cpp", "tests/e2e/kube/node_marks_test.py", "tests/e2e/cluster/sleep_cycles.py")


@row("H1", "standby controllers: every replica answers, one leads")
def h1(_):
    chart = yaml.safe_load((ROOT / "k8s/chart/values.yaml").read_text())
    claim("the chart has one controller; write this row when it has more", "replicas" not in chart.get("controller", {}), chart.get("controller"))
    return missing("one controller; pods are scheduled without it (D6)")


@row("H2", "versions N and N-1 work together")
def h2(_):
    return elsewhere("no version was released before this one", "tests/unit/common/golden_test.cpp", "tests/unit/common/codec_property_test.cpp")


@row("H3", "remote write and OTLP; a ledger of a year; reports by namespace, owner, node")
def h3(world):
    shown = {}
    for by in ("namespace", "owner", "node"):
        report = world.shell.json(f"wattle report --since 24h --by {by} -o json")
        total = sum(one["measured_j"] + one["estimated_j"] for one in report["rows"]) + sum(report[key]["measured_j"] + report[key]["estimated_j"]
                                                                                            for key in ("idle", "unattributed", "missing"))
        drawn = report["nodes"]["measured_j"] + report["nodes"]["estimated_j"]
        rest = report["rest"]["measured_j"] + report["rest"]["estimated_j"] if report["rest"] else 0
        if by != "node":
            claim(f"by {by}: rows, idle and unattributed add up to the nodes' energy", drawn > 0 and abs(total + rest - drawn) < 1e-3 * drawn, (total + rest, drawn))
        shown[by] = len(report["rows"])
    claim("every node has its row", shown["node"] == len(world.nodes), shown)
    return partly(f"reports by {shown}", "remote write, OTLP and a ledger of a year", "tests/unit/controller/usage_report_test.cpp")


@row("H4", "work that outgrows a machine runs as the cluster's own jobs")
def h4(_):
    return partly("wattle-sim improve --shard I/N", "no job is made for it", "tests/unit/lab/ablations")
