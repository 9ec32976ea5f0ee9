#!/usr/bin/env python3
"""alerts_test: the chart's alert rules are rules, they sound when they should and not otherwise, and their metrics are documented ones.

Source   k8s/chart/templates/alerts.yaml, as helm renders it
Exit     0 fine, 1 breach, 77 helm or promtool is missing (skipped)
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e/kube"))
import assets  # noqa: E402

BREACHES = []


def breach(text):
    BREACHES.append(text)
    print(f"BREACH {text}")


def series(name, values):
    return {"series": name, "values": values}


def alert(name, at, sounds, **labels):
    return {"eval_time": at, "alertname": name, "sounds": sounds, "labels": labels}


# What Prometheus is shown, and what follows. Values are one a minute.
CASES = [
    ("all is well",
     [series("wattle_controller_records_total", "0+60x40"), series('wattle_controller_shims{state="connected"}', "1x40"),
      series('wattle_controller_pods_bound_total{asked="yes"}', "0+10x40"), series('wattle_controller_pods_bound_total{asked="no"}', "0+1x40"),
      series('wattle_shim_breaker_state{state="closed"}', "1x40"), series('wattle_shim_refused_total{reason="path"}', "0x40"),
      series('wattle_node_telemetry_age_seconds{node="n"}', "1x40"), series("wattle_controller_store_ok", "1x40"),
      series("wattle_agent_dropped_records_total", "3x40"), series("wattle_controller_allow_list_ok", "1x40"), series("wattle_controller_rollbacks_total", "1x40"),
      series('wattle_controller_certificate_end_timestamp_seconds{whose="f"}', "9000000x40")],
     None),
    ("nobody scrapes a controller", [series("other", "1x40")], [alert("WattleControllerDown", "10m", True)]),
    ("no shim is connected", [series('wattle_controller_shims{state="connected"}', "0x40")], [alert("WattleNoShim", "3m", True, state="connected")]),
    ("pods are bound without an ask",
     [series('wattle_controller_pods_bound_total{asked="yes"}', "0x40"), series('wattle_controller_pods_bound_total{asked="no"}', "0+2x40")],
     [alert("WattlePodsNotAskedFor", "25m", True)]),
    ("a few pods are bound without an ask",
     [series('wattle_controller_pods_bound_total{asked="yes"}', "0x40"), series('wattle_controller_pods_bound_total{asked="no"}', "0x10 5x30")],
     [alert("WattlePodsNotAskedFor", "20m", False)]),
    ("a shim's breaker stays open", [series('wattle_shim_breaker_state{state="closed"}', "1 1 0x40")],
     [alert("WattleShimWithoutController", "5m", True, state="closed")]),
    ("kube-scheduler asks for another path", [series('wattle_shim_refused_total{reason="path"}', "0+5x40")],
     [alert("WattleShimUnknownPaths", "20m", True, reason="path")]),
    ("a node falls silent", [series('wattle_node_telemetry_age_seconds{node="n"}', "1 61+60x40")], [alert("WattleNodeSilent", "7m", True, node="n")]),
    ("a node is late once", [series('wattle_node_telemetry_age_seconds{node="n"}', "1 70 70 1x40")], [alert("WattleNodeSilent", "7m", False)]),
    ("the disk refuses", [series("wattle_controller_store_ok", "1 0x40")], [alert("WattleStoreRefuses", "4m", True)]),
    ("a spool was full", [series("wattle_agent_dropped_records_total", "0x5 7x40")], [alert("WattleRecordsLost", "10m", True)]),
    ("the allow list cannot be read", [series("wattle_controller_allow_list_ok", "1 0x40")], [alert("WattleAllowListNotInForce", "4m", True)]),
    ("a monitor rolled back", [series("wattle_controller_rollbacks_total", "0x5 1x40")], [alert("WattleRolledBack", "10m", True)]),
    ("a certificate ends within a month", [series('wattle_controller_certificate_end_timestamp_seconds{whose="f"}', "86400x40")],
     [alert("WattleCertificateEnds", "1m", True, whose="f")]),
]


def rules():
    """Of the PrometheusRule."""
    ran = subprocess.run([str(assets.helm(may_build=False)), "template", "wattle", str(ROOT / "k8s/chart"), "--namespace", "kube-system", "--kube-version",
                          assets.VERSION, "--set", "monitoring.enabled=true", "--show-only", "templates/alerts.yaml"],
                         capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    return yaml.safe_load(ran.stdout)["spec"]


def check_documented(spec):
    known = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    table = (ROOT / "docs/reference/alerts.md").read_text(encoding="utf-8")
    for rule in (rule for group in spec["groups"] for rule in group["rules"]):
        for metric in re.findall(r"\bwattle_\w+", rule["expr"]):
            if f"`{metric}`" not in known:
                breach(f"{rule['alert']}: {metric} is not in docs/reference/metrics.md")
        if f"| `{rule['alert']}` |" not in table:
            breach(f"{rule['alert']}: is not in docs/reference/alerts.md")
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        if anchor != rule["alert"].lower() or f"## {rule['alert']}\n" not in (ROOT / page).read_text(encoding="utf-8"):
            breach(f"{rule['alert']}: {page} has no section of its own for it")


def promtool(*arguments):
    ran = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)
    if ran.returncode != 0:
        breach(f"promtool {arguments[0]} {arguments[1]}: {ran.stdout}{ran.stderr}")


def check_sounds(spec, folder):
    said = {rule["alert"]: rule for group in spec["groups"] for rule in group["rules"]}
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(spec), encoding="utf-8")
    promtool("check", "rules", file)
    tests = []
    for name, shown, wanted in CASES:
        expected = []
        for one in wanted or [alert(name, "30m", False) for name in said]:
            rule = said[one["alertname"]]
            summary = rule["annotations"]["summary"].replace("{{ $value | humanizePercentage }}", "100%")
            for label in ("whose", "node"):
                summary = summary.replace("{{ $labels." + label + " }}", one["labels"].get(label, ""))
            sounding = [{"exp_labels": rule["labels"] | one["labels"], "exp_annotations": rule["annotations"] | {"summary": summary}}] if one["sounds"] else []
            expected.append({"eval_time": one["eval_time"], "alertname": one["alertname"], "exp_alerts": sounding})
        tests.append({"name": name, "interval": "1m", "input_series": shown, "alert_rule_test": expected})
    cases = folder / "cases.yaml"
    cases.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}), encoding="utf-8")
    promtool("test", "rules", cases)


def main():
    if shutil.which("promtool") is None:
        print("skipped: no promtool (Debian package prometheus)")
        return 77
    try:
        spec = rules()
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    check_documented(spec)
    with tempfile.TemporaryDirectory() as folder:
        check_sounds(spec, pathlib.Path(folder))
    print(f"{len(BREACHES)} breaches" if BREACHES else f"alerts: no breach in {sum(len(group['rules']) for group in spec['groups'])} rules, {len(CASES)} cases")
    return 1 if BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
