#!/usr/bin/env python3
"""dashboards_test: every query of the Grafana dashboards returns data from a real Prometheus that scrapes real programs
as in docs/how-to/answer-alerts.md, and every series in an alert rule exists with the rule's labels. Runs a controller
in canary, an agent, a shim, simulated nodes with changing pods, and a second agent that reads a captured machine.

Usage    dashboards_test.py FOLDER-OF-BINARIES
Needs    prometheus, promtool (scripts/setup); skips (77) with the reason without them
"""
import json
import pathlib
import re
import shutil
import sys
import urllib.parse

from captured_agent import captured_tree  # noqa: E402
from house import SKIPPED, House, HouseError, binaries_from, fetch, free_ports, wait_until

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE / "docs"), str(HERE / "kube")]
import assets  # noqa: E402
from documented import Walk  # noqa: E402

PAGE = "docs/how-to/answer-alerts.md"
DASHBOARDS = HERE.parents[1] / "k8s/chart/dashboards"
ALERTS = HERE.parents[1] / "k8s/chart/alerts"
NODES = 6
# Series that no program exports here: without TLS, without an API server (tests/e2e/kube/kube_test.py has one), without
# users on other machines, and before pods have waited for minutes.
NOT_HERE = ("wattle_controller_certificate_end_timestamp_seconds", "wattle_controller_pods_bound_total", "wattle_node_tcp_srtt_seconds",
            "wattle_workload_tcp_srtt_seconds", "wattle_controller_budget_ratio")
# Variables that Grafana substitutes in a query.
PUT_IN = {"$__rate_interval": "10s", "$__range": "1m", "${datasource}": "prometheus"}

# Present once the controller has power records of nodes.
OF_SLEEPERS = re.compile(r"wattle_controller_sleep_(nodes|waiting_pods|saved_joules|cycles_total|failures_total|waited_)")

def queries():
    """Yields (where, expression) of panels and variables."""
    for file in sorted(DASHBOARDS.glob("*.json")):
        board = json.loads(file.read_text(encoding="utf-8"))
        named = {variable["name"]: ".+" for variable in board["templating"]["list"]}
        asked = [(f"{file.name}: {panel['title']}", target["expr"]) for panel in board["panels"] for target in panel["targets"]]
        # A mark has a value only just after its change, so the query includes its underlying series.
        asked += [(f"{file.name}: mark {mark['name']}", f"({mark['expr']}) or {mark['expr'].partition(' == 1')[0].removeprefix('(')}") for mark in board["annotations"]["list"]]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
                asked.append((f"{file.name}: variable {variable['name']}", f'count by ({label}) ({series})'))
        for where, text in asked:
            for what, value in (PUT_IN | {f"${name}": value for name, value in named.items()}).items():
                text = text.replace(what, value)
            if "$" in text:
                raise HouseError(f"{where}: a variable is not substituted: {text}")
            if not any(name in text for name in NOT_HERE):
                yield where, text


def of_alerts():
    """Yields (where, expression) of the series in alert rules."""
    for file in sorted(ALERTS.glob("*.yaml")):
        for name, text in re.findall(r"- alert: (\w+)\n\s+expr: (.*?)\n\s+(?:for|labels):", file.read_text(encoding="utf-8"), re.S):
            for one in sorted(set(re.findall(r"wattle_\w+(?:\{[^}]*\})?", text))):
                if not one.startswith(NOT_HERE):
                    yield f"{file.name}: {name}", one


def walk_page(house, targets):
    """Runs the page's commands; writes its Prometheus configuration to the house with these targets instead of the
    page's."""
    def run(text):
        done = house.run("sh", "-ec", text)
        return done.returncode, done.stdout + done.stderr

    def write(name, text):
        for shown, real in targets.items():
            if text.count(shown) > 1:
                raise HouseError(f"{PAGE}: {shown} appears twice")
            text = text.replace(shown, real)
        house.write(name, text)

    rules = {"without": {"helm upgrade": "helm is not installed"}}
    try:
        helm = assets.helm(may_build=False)
        rules = {"instead": {"helm upgrade": (f"{helm} template wattle {HERE.parents[1]}/k8s/chart --kube-version {assets.VERSION} --set monitoring.enabled=true --set images.registry=registry.example | grep -c grafana_dashboard",
                                              "no release to upgrade: its objects are rendered")}}
    except assets.Missing:
        pass
    walk = Walk(PAGE, run, write, files={"scrape_configs": "prometheus.yaml", "providers": "provider.yaml"}, **rules)
    walk((HERE.parents[1] / PAGE).read_text(encoding="utf-8").splitlines()[0].removeprefix("# "))
    walk.finish()


def main():
    binaries = binaries_from(sys.argv)
    if shutil.which("prometheus") is None:
        print("skipped: no prometheus (Debian package prometheus; scripts/setup installs it)")
        return SKIPPED
    every = [*queries(), *of_alerts()]
    asked = [(where, text) for where, text in every if not OF_SLEEPERS.search(text)]
    print(f"{len(every) - len(asked)} queries need sleeping nodes (tests/e2e/cluster/sleep_cycles.py has them)")
    port, swarm_port = free_ports(2)
    blocks = "canary: {block: 2s}\n            shadow: {block: 1s}\n            decide: {settle_window: 2s}\n            learn: {warmup: 16}\n            tariff: {price_per_kwh: 0.3, currency: EUR, co2_g_per_kwh: 380}"
    with House(binaries, mode="canary:50%", controller_extra=blocks) as house:
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text() + f"store: {{path: {house.dir}/controller/store.db}}\n")
        (house.dir / "nodes").mkdir(mode=0o700)
        house.write("swarm.yaml", f"""
            nodes: {NODES}
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {house.dir}/nodes
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{swarm_port}
            seed: 7
            """)
        captured = captured_tree(house)
        captured_port, = free_ports(1)
        house.write("captured.yaml", f"""
            node: captured
            tick: 500ms
            state_dir: {house.dir}/captured-state
            root: {captured}
            http: {{port: {captured_port}}}
            """)
        walk_page(house, {"controller:8050": f"127.0.0.1:{house.http}", "scheduler:8888": f"127.0.0.1:{house.shim_port}",
                          "worker-1:9460": f"127.0.0.1:{house.agent_http}", "worker-2:9460": f"127.0.0.1:{captured_port}",
                          "/usr/share/wattle/alerts": str(ALERTS), "scrape_configs:": "global: {scrape_interval: 1s, evaluation_interval: 1s}\nscrape_configs:"})
        swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
        made = house.run(*swarm, "--make-keys", str(house.dir / "allow"))
        if made.returncode != 0:
            raise HouseError(made.stderr)
        house.start_controller()
        house.start("swarm", *swarm)
        house.start_agent()
        house.start("captured", house.binary("wattle-agent"), "run", "--config", str(house.dir / "captured.yaml"))
        house.start_shim()
        house.start("prometheus", "prometheus", f"--config.file={house.dir}/prometheus.yaml", f"--storage.tsdb.path={house.dir}/prometheus",
                    f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn")
        wait_until("all nodes report", lambda: house.query("status")["nodes_connected"] == NODES + 1)
        mount = next((line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"), None)
        real = ("--real-node", house.node, "--cgroup-root", mount) if mount else ()
        house.start("drive", house.binary("wattle-sim"), "drive", "--shim", house.shim(), "--swarm", f"http://127.0.0.1:{swarm_port}",
                    "--controller", house.api(), "--period", "0.5", "--seconds", "300", *real)

        def answer(text):
            status, body = fetch(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text}))
            reported = json.loads(body)
            if status != 200 or reported["status"] != "success":
                raise SystemExit(f"FAIL Prometheus refuses {text}: {reported.get('error', body)}")
            return reported["data"]["result"]

        def all_there():
            """In mode canary the modelled saving is shown only once it is calibrated, which takes a cluster with a
            saving; mode shadow shows it without calibration."""
            house.alive("prometheus")
            for where, text in list(asked):
                if answer(text):
                    asked.remove((where, text))
            if asked and modes == ["canary"] and all("modelled_saving" in text for _, text in asked):
                modes.append("shadow")
                house.cli("policy", "set", "--mode", "shadow", "--why", "to model", key="operator")
            return not asked

        total = len(asked)
        modes = ["canary"]
        try:
            wait_until("every query has data", all_there)
        except HouseError as error:
            for where, text in asked:
                print(f"FAIL {where}: no data for {text}")
            if not asked:
                raise error
        print(f"{total - len(asked)} of {total} queries of {len(list(DASHBOARDS.glob('*.json')))} dashboards and of the alert rules have data")
        groups = json.loads(fetch(f"http://127.0.0.1:{port}/api/v1/rules")[1])["data"]["groups"]
        sick = [f"{rule['name']}: {rule['health']} {rule.get('lastError', '')}" for group in groups for rule in group["rules"] if rule["health"] != "ok"]
        print(f"Prometheus judges {sum(len(group['rules']) for group in groups)} rules" + (f"; FAIL {sick}" if sick or not groups else ""))
        return 1 if asked or sick or not groups else 0


if __name__ == "__main__":
    sys.exit(main())
