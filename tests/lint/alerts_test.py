#!/usr/bin/env python3
"""alerts_test: the shipped alert rules are valid, each fires exactly when it should, and its metrics and remedy are
documented.

Source   k8s/chart/alerts, the files of the chart and the Debian package; with helm 3, the rendered chart has the same
         rules
Exit     0 fine, 1 breach, 77 promtool is missing (skipped)
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "k8s/chart/alerts"
TEMPLATE = ROOT / "k8s/chart/templates/alerts.yaml"
sys.path[:0] = [str(ROOT / "tests/e2e/kube"), str(ROOT / "k8s")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import render  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from patience import SOON_S  # noqa: E402

DAY = 86400
RUNBOOK = "how-to/answer-alerts.md"
BREACHES = []

WELL = [
    ("wattle_controller_records_total", "0+60x40"), ('wattle_controller_shims{state="connected"}', "1x40"),
    ('wattle_controller_pods_bound_total{asked="yes"}', "0+10x40"), ('wattle_controller_pods_bound_total{asked="no"}', "0+1x40"),
    ('wattle_shim_breaker_state{state="closed"}', "1x40"), ('wattle_shim_refused_total{reason="path"}', "0x40"),
    ('wattle_controller_node_telemetry_age_seconds{node="n"}', "1x40"), ("wattle_controller_store_ok", "1x40"),
    ("wattle_controller_overload_tick_seconds", "0x40"),
    ("wattle_agent_dropped_records_total", "3x40"), ("wattle_controller_allow_list_ok", "1x40"), ("wattle_controller_rollbacks_total", "1x40"),
    ('wattle_controller_certificate_end_timestamp_seconds{whose="f"}', f"{90 * DAY}x40"),
]
BOUND = "wattle_controller_pods_bound_total{asked=%s}"
CLOSED = 'wattle_shim_breaker_state{state="closed"}'
PATHS = 'wattle_shim_refused_total{reason="path"}'
AGE = 'wattle_controller_node_telemetry_age_seconds{node="n"}'
ENDS = 'wattle_controller_certificate_end_timestamp_seconds{whose="f"}'
BUDGET = 'wattle_controller_budget_ratio{budget="late"}'
LIMIT = 'wattle_controller_budget_limit_ratio{budget="late"}'
WITHDRAWN = 'wattle_controller_network_state{network="learned", state="withdrawn"}'
CONNECTED = 'wattle_controller_shims{state="connected"}'
FAILED = 'wattle_controller_sleep_nodes{state="failed"}'
BLOCKED = 'wattle_controller_sleep_nodes{state="blocked"}'
# For each alert: Prometheus' input, one value a minute, and whether the alert fires at that minute, with its labels.
# Each alert has a case that fires and one that does not.
CASES = {
    "WattleControllerDown": [
        ("no Prometheus scrapes a controller", [("other", "1x40")], {10: {}}),
        ("a controller restarts", [("wattle_controller_records_total", "1 _x8 1x40")], {8: None, 12: None})],
    "WattleNoShim": [
        ("no shim is connected, then one", [(CONNECTED, "0x9 1x40")], {3: {"state": "connected"}, 12: None}),
        ("the only shim restarts", [(CONNECTED, "1 0 1x40")], {1: None, 3: None})],
    "WattlePodsNotAskedFor": [
        ("pods are bound without an ask", [(BOUND % '"yes"', "0x40"), (BOUND % '"no"', "0+2x40")], {25: {}}),
        ("a few pods are bound without an ask", [(BOUND % '"yes"', "0x40"), (BOUND % '"no"', "0x10 5x30")], {20: None}),
        ("a minority of pods is bound without an ask", [(BOUND % '"yes"', "0+3x40"), (BOUND % '"no"', "0+2x40")], {25: None})],
    "WattleShimWithoutController": [
        ("a shim's breaker stays open, then closes", [(CLOSED, "1 1 0x8 1x40")], {5: {"state": "closed"}, 12: None}),
        ("a shim's breaker opens once", [(CLOSED, "1 0 1x40")], {1: None, 2: None, 5: None})],
    "WattleShimUnknownPaths": [
        ("kube-scheduler asks for another path", [(PATHS, "0+5x40")], {20: {"reason": "path"}}),
        ("kube-scheduler asked for another path long ago", [(PATHS, "5x40")], {20: None})],
    "WattleNodeSilent": [
        ("a node falls silent and returns", [(AGE, "1 61+60x10 1x40")], {7: {"node": "n"}, 14: None}),
        ("a node is late once", [(AGE, "1 70 70 1x40")], {2: None, 7: None})],
    "WattleStoreRefuses": [
        ("disk writes fail until there is space", [("wattle_controller_store_ok", "1 0x8 1x40")], {4: {}, 12: None}),
        ("one disk write fails", [("wattle_controller_store_ok", "1 0 1x40")], {1: None, 3: None})],
    "WattleControllerOverloaded": [
        ("agents send less for a quarter of an hour, then normally", [("wattle_controller_overload_tick_seconds", "0 2x20 0x20")], {5: None, 13: {}, 25: None}),
        ("agents send less for a few minutes", [("wattle_controller_overload_tick_seconds", "0 2x4 0x20")], {5: None, 12: None})],
    "WattleRecordsLost": [
        ("a spool was full", [("wattle_agent_dropped_records_total", "0x5 7x40")], {10: {}, 40: None}),
        ("a spool was full long ago", [("wattle_agent_dropped_records_total", "7x40")], {10: None})],
    "WattleAllowListNotInForce": [
        ("the allow list cannot be read, then it can", [("wattle_controller_allow_list_ok", "1 0x8 1x40")], {4: {}, 12: None}),
        ("the allow list could not be read once", [("wattle_controller_allow_list_ok", "1 0 1x40")], {1: None, 3: None})],
    "WattleRolledBack": [
        ("a monitor rolled back", [("wattle_controller_rollbacks_total", "0x5 1x40")], {10: {}, 40: None}),
        ("a monitor rolled back long ago", [("wattle_controller_rollbacks_total", "1x40")], {10: None})],
    "WattleBudgetExceeded": [
        ("pods wait beyond the budget, until they do not", [(BUDGET, "0.05x30 0.001x40"), (LIMIT, "0.01x70")], {10: None, 20: {"budget": "late"}, 40: None}),
        ("the budget is not in force", [(BUDGET, "0.05x40")], {30: None})],
    "WattleNetworkWithdrawn": [
        ("a network is withdrawn and returns", [(WITHDRAWN, "0 1x10 0x40")], {3: None, 8: {"network": "learned", "state": "withdrawn"}, 14: None}),
        ("another state", [(WITHDRAWN.replace("withdrawn", "in_use"), "1x40")], {20: None})],
    "WattleNodeFailedToWake": [
        ("a node does not wake until it is repaired", [(FAILED, "0x4 1x10 0x40")], {3: None, 6: {"state": "failed"}, 20: None}),
        ("nodes sleep", [(FAILED.replace("failed", "asleep"), "3x40")], {10: None})],
    "WattleNodeBlocked": [
        ("a node is blocked, then may sleep again", [(BLOCKED, "0x4 1x10 0x40")], {3: None, 6: {"state": "blocked"}, 20: None}),
        ("nodes are awake", [(BLOCKED.replace("blocked", "awake"), "3x40")], {10: None})],
    "WattlePodsNeedSleepers": [
        ("pods wait while nodes sleep", [("wattle_controller_sleep_waiting_pods", "0 2x20 0x40")], {5: None, 15: {}, 25: None}),
        ("pods wait for as long as a wake takes", [("wattle_controller_sleep_waiting_pods", "0 2x4 0x40")], {3: None, 15: None})],
    "WattleCertificateEnds": [
        ("a certificate expires within a month, then is renewed", [(ENDS, f"{29 * DAY}x5 {90 * DAY}x40")], {1: {"whose": "f"}, 10: None}),
        ("a certificate expires after a month", [(ENDS, f"{31 * DAY}x40")], {1: None, 30: None})],
}


def breach(text):
    BREACHES.append(text)
    print(f"BREACH {text}")


def groups_of(files):
    return [group for file in files for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]


def rules_of(groups):
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def check_cases(rules):
    for name in sorted(rules.keys() ^ CASES.keys()):
        breach(f"{name}: {'has no case here' if name in rules else 'is a case here but not a rule'}")
    for name, cases in CASES.items():
        wanted = [labels is not None for _, _, reported in cases for labels in reported.values()]
        if len(set(wanted)) < 2:
            breach(f"{name}: its cases show only that it {'fires' if wanted[0] else 'does not fire'}")


def check_documented(rules):
    known = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for name, rule in rules.items():
        for metric in re.findall(r"\bwattle_\w+", rule["expr"]):
            if f"`{metric}`" not in known:
                breach(f"{name}: {metric} is not in docs/reference/metrics.md")
        if set(rule["annotations"]) != {"summary"} or rule["labels"].get("severity") not in ("warning", "critical"):
            breach(f"{name}: needs exactly a summary and a severity")


def check_runbooks(rules):
    """Checks that each alert has a section with content, and that no section is for a removed alert."""
    page = f"docs/{RUNBOOK}"
    parts = re.split(r"^## (.*)\n", (ROOT / page).read_text(encoding="utf-8"), flags=re.M)[1:]
    sections = {name: text for name, text in zip(parts[::2], parts[1::2]) if name.startswith("Wattle")}
    for name in sorted(rules.keys() ^ sections.keys()):
        breach(f"{name}: {page} has no section for it" if name in rules else f"{page}: {name} is no alert")
    for name in sorted(rules.keys() & sections.keys()):
        if len(sections[name].split()) < 20:
            breach(f"{name}: {page} does not describe the problem and the remedy")


def check_runbook_urls(groups):
    """Checks that the chart adds runbook URLs if the docs are served, and no dangling ones otherwise."""
    address = "https://docs.example.org/wattle/how-to/answer-alerts/"
    for options, wanted in (((), lambda name: None), (("--set", f"monitoring.runbooks={address}"), lambda name: f"{address}#{name.lower()}")):
        text = render.rendered("--set", "monitoring.enabled=true", "--show-only", "templates/alerts.yaml", *options)
        for name, rule in rules_of(yaml.safe_load(text)["spec"]["groups"]).items():
            if rule["annotations"].get("runbook_url") != wanted(name):
                breach(f"{name}: the chart gives it the runbook_url {rule['annotations'].get('runbook_url')}, not {wanted(name)}")
        missing = rules_of(groups).keys() - rules_of(yaml.safe_load(text)["spec"]["groups"]).keys()
        if missing:
            breach(f"the chart leaves out {sorted(missing)}")


def check_shipped(files):
    """Checks that the chart renders exactly these files, unchanged."""
    read = re.findall(r'\.Files\.Get "alerts/([\w.]+)"', TEMPLATE.read_text(encoding="utf-8"))
    if sorted(read) != [file.name for file in files]:
        breach(f"k8s/chart/templates/alerts.yaml reads {sorted(read)}, k8s/chart/alerts has {[file.name for file in files]}")
    try:
        for options, wanted in (((), files), (("--set", "scheduler.enabled=false"), [file for file in files if file.name != "scheduler.yaml"])):
            text = render.rendered("--set", "monitoring.enabled=true", "--show-only", "templates/alerts.yaml", *options)
            if yaml.safe_load(text)["spec"]["groups"] != groups_of(wanted):
                breach(f"the chart renders different rules from {[file.name for file in wanted]} has ({' '.join(options) or 'with a scheduler'})")
        check_runbook_urls(groups_of(files))
    except assets.Missing as missing:
        print(f"not checked: the rendered chart: {missing}")


def promtool(*arguments):
    ran = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=SOON_S)
    if ran.returncode != 0:
        breach(f"promtool {arguments[0]} {arguments[1]}: {ran.stdout}{ran.stderr}")


def expected(name, rule, minute, labels):
    """Returns a case in promtool's format; `labels` are None if the alert does not fire."""
    summary = rule["annotations"]["summary"].replace("{{ $value | humanizePercentage }}", "100%")
    for label, value in (labels or {}).items():
        summary = summary.replace("{{ $labels." + label + " }}", value)
    sounding = [] if labels is None else [{"exp_labels": rule["labels"] | labels, "exp_annotations": rule["annotations"] | {"summary": summary}}]
    return {"eval_time": f"{minute}m", "alertname": name, "exp_alerts": sounding}


def check_sounds(files, rules, folder):
    promtool("check", "rules", *files)
    cases = [("all alerts are quiet", WELL, [expected(name, rule, 30, None) for name, rule in rules.items()])]
    for name in rules.keys() & CASES.keys():
        cases += [(what, shown, [expected(name, rules[name], minute, labels) for minute, labels in reported.items()]) for what, shown, reported in CASES[name]]
    tests = [{"name": what, "interval": "1m", "input_series": [{"series": s, "values": v} for s, v in shown], "alert_rule_test": wanted}
             for what, shown, wanted in cases]
    file = folder / "cases.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(f) for f in files], "evaluation_interval": "1m", "tests": tests}), encoding="utf-8")
    promtool("test", "rules", file)
    return len(tests)


def main():
    if shutil.which("promtool") is None:
        print("skipped: no promtool (Debian package prometheus)")
        return 77
    files = sorted(RULES.glob("*.yaml"))
    rules = rules_of(groups_of(files))
    for check in (check_cases, check_documented, check_runbooks):
        check(rules)
    check_shipped(files)
    with tempfile.TemporaryDirectory() as folder:
        cases = check_sounds(files, rules, pathlib.Path(folder))
    print(f"{len(BREACHES)} breaches" if BREACHES else f"alerts: no breach in {len(rules)} rules, {cases} cases")
    return 1 if BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
