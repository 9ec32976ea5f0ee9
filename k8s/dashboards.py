#!/usr/bin/env python3
"""dashboards: writes k8s/chart/dashboards, Wattle's Grafana dashboards, from the tables below.

Usage    dashboards.py [--check]     --check: only reports differences; exit 1 if there is one
Queries  of Prometheus. Each metric belongs to one program. Metrics of agents need the label `node`, which the chart's PodMonitor
         sets; other scrape configurations must set it too
Exit     0 fine, 1 tables and files differ, a metric is not in docs/reference/metrics.md, or a panel has no description
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "chart/dashboards"
RATE, NODE, OF = "[$__rate_interval]", 'node=~"$node"', 'node=~"$node", kind=~"$kind", name=~"$name"'
WIDE, HALF, THIRD, SMALL = 24, 12, 8, 4


def panel(kind, title, unit, *queries, width=HALF, height=8, about="", thresholds=()):
    """queries: (legend, expression)."""
    return {"kind": kind, "title": title, "unit": unit, "queries": queries, "width": width, "height": height, "about": about, "thresholds": thresholds}


def graph(title, unit, *queries, **more):
    return panel("timeseries", title, unit, *queries, **more)


def figure(title, unit, query, **more):
    return panel("stat", title, unit, ("", query), **({"width": SMALL, "height": 4} | more))


def table(title, unit, query, **more):
    return panel("table", title, unit, ("", query), **more)


def rate(name, selector=""):
    return f"rate({name}{{{selector}}}{RATE})" if selector else f"rate({name}{RATE})"


def mean_seconds(name, selector, by):
    return f"sum by ({by}) (rate({name}_sum{{{selector}}}{RATE})) / sum by ({by}) (rate({name}_count{{{selector}}}{RATE}))"


def quantile(share, name, selector="", by=""):
    return f"histogram_quantile({share}, sum by ({by + ', ' if by else ''}le) ({rate(name + '_bucket', selector)}))"


def by_source(source=""):
    """Returns the end of a query of nodes' watts: adds the source in force to each node, or keeps the nodes of one source."""
    chosen = f'{{source="{source}"}}' if source else ""
    return f" * on (instance, job, node) group_left (source) (wattle_controller_node_energy_source{chosen} == 1)"


IN_FORCE = "wattle_controller_mode == 1 or wattle_controller_policy == 1 or wattle_controller_reward == 1"
FLEET = [
    graph("Saving, modelled", "watt", ("{{bound}}", "wattle_controller_modelled_saving_watts"), width=HALF, height=4,
          about="Power that Wattle saves, or would save in mode shadow, against the default scheduler, with its 95% interval: a model, calibrated by canaries if there are any."),
    graph("Saving, modelled, as a share", "percentunit", ("{{bound}}", "wattle_controller_modelled_saving_ratio"), width=HALF, height=4),
    graph("Savings by lever", "watt", ("{{lever}}, in force: {{in_force}}", "wattle_controller_available_saving_watts{bound=\"mean\"}"), width=WIDE, height=4,
          about="Modelled power that each lever saves alone, or would save if it were in force, as in `wattle savings`."),
    graph("Cost per day at this power", "none", ("{{currency}}", "0.024 * sum(wattle_controller_node_power_watts) * on () group_right () wattle_controller_tariff_price_per_kwh"), height=4,
          about="Empty unless the controller has `tariff.price_per_kwh`."),
    graph("CO2 per day at this power", "massg", ("CO2", "0.024 * sum(wattle_controller_node_power_watts) * scalar(wattle_controller_tariff_co2_grams_per_kwh)"), height=4,
          about="Empty unless the controller has `tariff.co2_g_per_kwh`."),
    graph("Nodes by power state", "short", ("{{state}}", "wattle_controller_sleep_nodes"), height=4, about="Empty unless `sleep.mode` is `auto`. `wattle sleep status` names the nodes."),
    graph("Saved by sleep, net of transitions", "joule", ("saved", "wattle_controller_sleep_saved_joules"), height=4),
    graph("Sleeps", "short", ("round trips", f"increase(wattle_controller_sleep_cycles_total{RATE})"), ("failed: {{cause}}", f"increase(wattle_controller_sleep_failures_total{RATE})"), height=4),
    graph("Mean wait of pods for a wake", "s", ("wait", f"{rate('wattle_controller_sleep_waited_seconds_total')} / {rate('wattle_controller_sleep_waited_pods_total')}"), height=4),
    figure("Power now", "watt", "sum(wattle_controller_node_power_watts)"),
    figure("Estimated part of the power", "watt", f'sum(wattle_controller_node_power_watts{by_source("estimated")}) or vector(0)', about="A model, not a measurement: nodes without RAPL, PCM or a meter."),
    figure("Energy in this range", "kwatth", "sum(increase(wattle_controller_node_energy_joules_total[$__range])) / 3.6e6"),
    figure("Nodes connected", "short", "sum(wattle_controller_node_up)"),
    figure("Silent nodes", "short", "sum(wattle_controller_node_up == bool 0)", thresholds=(("green", None), ("red", 1))),
    figure("In force", "short", IN_FORCE, about="Mode, policy and reward preset."),
    graph("Power by source", "watt", ("{{source}}", f"sum by (source) (wattle_controller_node_power_watts{by_source()})"), about="Estimated and measured watts are shown separately."),
    graph("Nodes with the highest power", "watt", ("{{node}}", "topk(10, sum by (node) (wattle_controller_node_power_watts))")),
    graph("Power by consumer", "watt",
          ("workloads", f"sum({rate('wattle_workload_energy_joules_total')})"),
          ("workloads that ended or were folded", f"sum({rate('wattle_node_left_energy_joules_total')})"),
          ("idle", f"sum({rate('wattle_node_idle_energy_joules_total')})"),
          ("unattributed", f"sum({rate('wattle_node_unattributed_energy_joules_total')})"), about="As attributed by agents. The four add up to the power of the nodes."),
    graph("Workloads with the highest power", "watt", ("{{name}}", f"topk(10, sum by (name) ({rate('wattle_workload_energy_joules_total')}))")),
    graph("Cores in use", "short", ("{{node}}", "wattle_controller_node_cpu_used_cores")),
    graph("Pods", "short", ("{{node}}", "wattle_controller_node_pods"), ("in flight: {{node}}", "wattle_controller_node_in_flight_pods > 0 or wattle_controller_node_in_flight_pods * 0")),
    graph("Time that tasks waited for a CPU", "percentunit", ("{{node}}", f'rate(wattle_node_pressure_seconds_total{{resource="cpu", share="some"}}{RATE})'), about="PSI: share of time in which at least one task waited."),
    graph("Requests of pods", "short", ("{{kind}} cores", "wattle_controller_provision_cores"), about="Requests and use of pods, and the cores that suggestions would free."),
    graph("Memory requests of pods", "bytes", ("{{kind}}", "wattle_controller_provision_memory_bytes")),
    graph("Saving measured by the canary", "percentunit", ("{{bound}}", "wattle_controller_saving_ratio"),
          about="Energy per requested core-hour, treated against control blocks, with its 95% interval. Empty in other modes than canary, and until enough blocks are measured."),
]
NODES = [
    figure("Power", "watt", f"sum(wattle_controller_node_power_watts{{{NODE}}})"),
    figure("Cores in use", "short", f"sum(wattle_node_cpu_used_cores{{{NODE}}})"),
    figure("Cores", "short", f"sum(wattle_node_cpu_cores{{{NODE}}})"),
    figure("Memory in use", "percentunit", f"sum(wattle_node_memory_used_bytes{{{NODE}}}) / sum(wattle_node_memory_total_bytes{{{NODE}}})"),
    figure("Pods", "short", f"sum(wattle_controller_node_pods{{{NODE}}})"),
    figure("Age of telemetry", "s", f"max(wattle_controller_node_telemetry_age_seconds{{{NODE}}})", thresholds=(("green", None), ("red", 10))),
    graph("Power", "watt", ("{{node}} ({{source}})", f"wattle_controller_node_power_watts{{{NODE}}}{by_source()}")),
    graph("Power by domain", "watt", ("{{node}} {{domain}}", rate("wattle_energy_domain_joules_total", NODE)), about="Domains contain one another: do not add them."),
    graph("CPU", "short", ("{{node}} in use", f"wattle_node_cpu_used_cores{{{NODE}}}"), ("{{node}} in total", f"wattle_node_cpu_cores{{{NODE}}}")),
    graph("Workloads with the highest power", "watt", ("{{name}}", f"topk(10, sum by (name) ({rate('wattle_workload_energy_joules_total', NODE)}))")),
    graph("Time that tasks waited", "percentunit", ("{{node}} {{resource}}", f'rate(wattle_node_pressure_seconds_total{{{NODE}, share="some"}}{RATE})'), about="PSI some: CPU, memory, I/O."),
    graph("Mean wait for a CPU", "s", ("{{node}}", mean_seconds("wattle_node_run_queue_seconds", NODE, "node")), about="BPF: mean time from runnable to running."),
    graph("Mean round trip to users", "s", ("{{node}}", mean_seconds("wattle_node_tcp_srtt_seconds", NODE, "node")), about="BPF: TCP peers outside the cluster's networks."),
    graph("Mean time of a disk request", "s", ("{{node}}", mean_seconds("wattle_node_block_io_seconds", NODE, "node")), about="BPF: from issue to completion."),
    graph("Memory", "bytes", ("{{node}} in use", f"wattle_node_memory_used_bytes{{{NODE}}}"), ("{{node}} in total", f"wattle_node_memory_total_bytes{{{NODE}}}")),
    graph("Disk", "Bps", ("{{node}} {{disk}} {{direction}}", rate("wattle_node_disk_bytes_total", NODE))),
    graph("Network", "Bps", ("{{node}} {{interface}} {{direction}}", rate("wattle_node_network_bytes_total", NODE))),
    graph("Probes: round trip", "s", ("{{node}} to {{target}}, median", quantile(0.5, "wattle_probe_round_trip_seconds", NODE, "node, target")), ("{{node}} to {{target}}, 95%", quantile(0.95, "wattle_probe_round_trip_seconds", NODE, "node, target"))),
]
WORKLOADS = [
    graph("Power", "watt", ("{{name}} on {{node}}", rate("wattle_workload_energy_joules_total", OF)), about="Its share of the power of its node."),
    graph("CPU", "short", ("{{name}} on {{node}}", rate("wattle_workload_cpu_seconds_total", OF))),
    graph("Time that its tasks waited for a CPU", "percentunit", ("{{name}} on {{node}}", f'rate(wattle_workload_pressure_seconds_total{{{OF}, resource="cpu", share="some"}}{RATE})')),
    graph("Time throttled by its own CPU limit", "percentunit", ("{{name}} on {{node}}", rate("wattle_workload_cpu_throttled_seconds_total", OF)), about="cpu.max; neighbours do not cause it."),
    graph("Mean wait for a CPU", "s", ("{{name}} on {{node}}", mean_seconds("wattle_workload_run_queue_seconds", OF, "name, node"))),
    graph("Mean round trip to users", "s", ("{{name}} on {{node}}", mean_seconds("wattle_workload_tcp_srtt_seconds", OF, "name, node"))),
    graph("Mean time of a disk request", "s", ("{{name}} on {{node}}", mean_seconds("wattle_workload_block_io_seconds", OF, "name, node"))),
    graph("Disk", "Bps", ("{{name}} on {{node}} {{direction}}", rate("wattle_workload_io_bytes_total", OF))),
    graph("Memory", "bytes", ("{{name}} on {{node}}", f"wattle_workload_memory_bytes{{{OF}}}")),
    graph("OOM kills", "short", ("{{name}} on {{node}}", f"increase(wattle_workload_oom_kills_total{{{OF}}}[$__range])")),
    graph("Tasks", "short", ("{{name}} on {{node}}", f"wattle_workload_pids{{{OF}}}")),
    table("Energy in this range", "joule", f"sort_desc(sum by (kind, name, node, source) (increase(wattle_workload_energy_joules_total{{{OF}}}[$__range])))", width=WIDE),
]
DECISIONS = [
    figure("In force", "short", IN_FORCE),
    figure("Advice acts", "bool_yes_no", "wattle_controller_acting"),
    figure("Placements", "short", "wattle_controller_placements_total"),
    figure("Outcomes", "short", "wattle_controller_outcomes_total"),
    figure("Rollbacks", "short", "wattle_controller_rollbacks_total", thresholds=(("green", None), ("red", 1))),
    graph("State of each network", "short", ("{{network}}: {{state}}", "wattle_controller_network_state == 1")),
    graph("Asks, decisions, placements", "ops", ("asks", rate("wattle_controller_asks_total")), ("decisions", f"sum({rate('wattle_controller_decisions_total')})"),
          ("decisions without advice", rate("wattle_controller_decisions_total", 'decided_by="neutral"')), ("placements", rate("wattle_controller_placements_total")),
          ("placements without an ask", rate("wattle_controller_placements_unasked_total"))),
    graph("Decisions by decider", "ops", ("{{decided_by}}", rate("wattle_controller_decisions_total"))),
    graph("Time to decide", "s", ("p50", quantile(0.5, "wattle_controller_decide_seconds")), ("p99", quantile(0.99, "wattle_controller_decide_seconds"))),
    graph("Answers to kube-scheduler by source", "ops", ("{{source}}: {{reason}}", f"sum by (source, reason) ({rate('wattle_shim_answers_total')})")),
    graph("Extender's time to answer", "s", ("{{verb}} p99", quantile(0.99, "wattle_shim_request_duration_seconds", by="verb"))),
    graph("Reward of the last outcome", "none", ("reward", "wattle_controller_last_reward"), ("mean Q", "wattle_controller_mean_q"),
          ("centre", "wattle_controller_reward_centre")),
    graph("Loss", "none", ("loss", "wattle_controller_loss")),
    graph("Learning", "ops", ("gradient steps", rate("wattle_controller_gradient_steps_total"))),
    graph("Saving measured by the canary", "percentunit", ("{{bound}}", "wattle_controller_saving_ratio")),
    graph("Blocks of the canary", "short", ("treated", "wattle_controller_blocks_treated"), ("control", "wattle_controller_blocks_control")),
    graph("Budgets of waiting and lateness", "percentunit", ("{{budget}}", "wattle_controller_budget_ratio"), ("{{budget}} limit", "wattle_controller_budget_limit_ratio")),
    graph("Ignored annotations and quantities", "ops", ("{{pod}}", rate("wattle_shim_pod_problems_total"))),
    graph("Worse rewards while acting", "none", ("level", "wattle_controller_regression_level"), ("limit", "wattle_controller_regression_limit")),
]
HEALTH = [
    figure("Agents connected", "short", "sum(wattle_controller_node_up)"),
    figure("Records dropped by agents", "short", "sum(increase(wattle_agent_dropped_records_total[$__range]))", thresholds=(("green", None), ("red", 1))),
    figure("Records missing", "short", "sum(increase(wattle_controller_records_missing_total[$__range]))", thresholds=(("green", None), ("red", 1))),
    figure("Store accepts records", "bool_yes_no", "min(wattle_controller_store_ok)", thresholds=(("red", None), ("green", 1))),
    figure("Allow list in force", "bool_yes_no", "min(wattle_controller_allow_list_ok)", thresholds=(("red", None), ("green", 1))),
    figure("Shims connected", "short", 'sum(wattle_controller_shims{state="connected"})', thresholds=(("red", None), ("green", 1))),
    table("Sources that agents cannot read", "short", "sort(wattle_agent_source_ok)", about="0: `wattle-agent doctor` on that node says why."),
    table("Agents", "short", 'wattle_build_info{program="agent"}'),
    graph("Age of each node's telemetry", "s", ("{{node}}", "topk(10, wattle_controller_node_telemetry_age_seconds)")),
    graph("Nodes catching up after an outage", "short", ("{{node}}", "wattle_controller_node_catching_up")),
    graph("Records", "ops", ("accepted", rate("wattle_controller_records_total")), ("repeated", rate("wattle_controller_records_duplicate_total")), ("refused", rate("wattle_controller_records_refused_total"))),
    graph("Interval of records while the controller is overloaded", "s", ("interval", "wattle_controller_overload_tick_seconds")),
    graph("Records waiting at agents", "short", ("{{node}}", "wattle_agent_outbox_records")),
    graph("Ticks whose energy is a lower bound", "ops", ("{{node}}", rate("wattle_node_energy_gaps_total"))),
    graph("Age of the board in shims", "s", ("{{pod}}", "wattle_shim_board_age_seconds")),
    graph("Store", "bytes", ("size", "wattle_controller_store_bytes")),
    graph("Late ticks", "ops", ("{{node}}", rate("wattle_agent_late_ticks_total"))),
    graph("Failed reads", "ops", ("{{node}} {{source}}", rate("wattle_agent_collect_errors_total"))),
    graph("Spool", "bytes", ("{{node}}", "wattle_agent_spool_bytes")),
    graph("Store: waiting records", "short", ("records", "wattle_controller_store_queue_records")),
    graph("Refused", "ops", ("{{socket}}: {{reason}} ({{role}})", f"sum by (socket, reason, role) ({rate('wattle_controller_refused_total')})")),
    graph("Time of the controller's loop by role", "percentunit", ("{{role}}", rate("wattle_controller_peer_seconds_total"))),
]
BY_NODE = ("node", "label_values(wattle_controller_node_up, node)")
DASHBOARDS = {
    "fleet": ("Wattle: fleet", "Power of the fleet, its consumers, and the saving.", FLEET, []),
    "node": ("Wattle: node", "One or more nodes: power, pressure, latency, workloads.", NODES, [BY_NODE]),
    "workload": ("Wattle: workload", "One or more workloads: joules, CPU, waiting, memory.", WORKLOADS,
                 [BY_NODE, ("kind", 'label_values(wattle_workload_pids{node=~"$node"}, kind)'), ("name", 'label_values(wattle_workload_pids{node=~"$node", kind=~"$kind"}, name)')]),
    "decisions": ("Wattle: decisions and learning", "Requests and answers, the policy in use, and learning.", DECISIONS, []),
    "health": ("Wattle: health", "Agents, records, store, peers.", HEALTH, []),
}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
METRICS = (HERE.parent / "docs/reference/metrics.md").read_text(encoding="utf-8")
# Marks on all panels: (name, colour, series that are 1 while something is in force, text)
MARKS = [
    ("Mode", "blue", "wattle_controller_mode", "mode {{mode}}"),
    ("Policy", "purple", "wattle_controller_policy", "policy {{policy}}"),
    ("Network", "orange", 'wattle_controller_network_state{state=~"in_use|withdrawn"}', "network {{network}}: {{state}}"),
]


def marks():
    """Returns marks at the times at which something took effect: it is in force, and was not a minute before."""
    return [{"name": name, "datasource": SOURCE, "enable": True, "iconColor": colour, "expr": f"({series} == 1) unless ({series} offset 1m == 1)", "step": "60s", "titleFormat": text}
            for name, colour, series, text in MARKS]


def names_in(one):
    return list(dict.fromkeys(name for _, text in one["queries"] for name in re.findall(r"\bwattle_\w+", text)))


def described(one):
    """Returns the panel's own description, or else that of its metrics in docs/reference/metrics.md."""
    if one["about"]:
        return one["about"]
    lines = []
    for name in names_in(one):
        for end in ("", "_sum", "_count", "_bucket"):
            if row := re.search(rf"^\|[^|\n]*`{name.removesuffix(end)}`[^|\n]*\|[^|\n]*\|[^|\n]*\|([^\n]*)\|$", METRICS, re.M):
                meaning = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", row.group(1)).strip()
                lines.append(f"{name.removesuffix(end)}: {meaning}.")
                break
    return "\n".join(dict.fromkeys(lines))


def made_panel(number, at, one):
    field = {"unit": one["unit"]}
    if one["thresholds"]:
        field["thresholds"] = {"mode": "absolute", "steps": [{"color": color, "value": value} for color, value in one["thresholds"]]}
    options = {}
    if one["kind"] == "stat":
        states = one["queries"][0][1] == IN_FORCE
        options = {"colorMode": "value" if one["thresholds"] else "none", "textMode": "name" if states else "auto", "reduceOptions": {"calcs": ["lastNotNull"]}}
    targets = []
    for letter, (legend, expression) in zip("ABCDEF", one["queries"]):
        target = {"datasource": SOURCE, "expr": expression, "legendFormat": legend, "refId": letter}
        if one["kind"] != "timeseries":
            target |= {"instant": True, "range": False}
        if one["kind"] == "table":
            target["format"] = "table"
        if expression == IN_FORCE:
            target["legendFormat"] = "{{mode}}{{policy}}{{preset}}"
        targets.append(target)
    return {"id": number, "type": one["kind"], "title": one["title"], "description": described(one), "datasource": SOURCE, "gridPos": at,
            "fieldConfig": {"defaults": field, "overrides": []}, "options": options, "targets": targets}


def made(key):
    title, about, panels, variables = DASHBOARDS[key]
    x = y = tallest = 0
    laid = []
    for number, one in enumerate(panels, 1):
        if x + one["width"] > 24:
            x, y, tallest = 0, y + tallest, 0
        laid.append(made_panel(number, {"x": x, "y": y, "w": one["width"], "h": one["height"]}, one))
        x, tallest = x + one["width"], max(tallest, one["height"])
    asked = [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}]
    asked += [{"name": name, "label": name.capitalize(), "type": "query", "datasource": SOURCE, "query": {"query": query, "refId": name}, "definition": query,
               "includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}, "refresh": 2, "sort": 1} for name, query in variables]
    links = [{"type": "dashboards", "tags": ["wattle"], "title": "Wattle", "asDropdown": True, "includeVars": True, "keepTime": True}]
    return {"uid": f"wattle-{key}", "title": title, "description": about, "tags": ["wattle"], "schemaVersion": 39, "editable": True, "refresh": "15s",
            "time": {"from": "now-1h", "to": "now"}, "links": links, "annotations": {"list": marks()}, "templating": {"list": asked}, "panels": laid}


def undocumented():
    queried = {name for _, _, panels, _ in DASHBOARDS.values() for one in panels for name in names_in(one)}
    return sorted(name for name in queried if not any(f"`{name.removesuffix(end)}`" in METRICS for end in ("", "_sum", "_count", "_bucket")))


def main():
    unknown = undocumented()
    if unknown:
        print("\n".join(f"{name}: is not in docs/reference/metrics.md" for name in unknown))
        return 1
    silent = [f"{key}: {one['title']}" for key, (_, _, panels, _) in DASHBOARDS.items() for one in panels if not described(one)]
    if silent:
        print("\n".join(f"{panel}: has no description, and docs/reference/metrics.md has no row for its metrics" for panel in silent))
        return 1
    wanted = {f"{key}.json": json.dumps(made(key), indent=1, ensure_ascii=False) + "\n" for key in DASHBOARDS}
    there = {path.name: path.read_text(encoding="utf-8") for path in OUT.glob("*.json")}
    changed = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    if "--check" in sys.argv[1:]:
        print("\n".join(f"k8s/chart/dashboards/{name}: differs from the tables (run k8s/dashboards.py)" for name in changed) or "dashboards: match the tables")
        return 1 if changed else 0
    for name in changed:
        if name in wanted:
            (OUT / name).write_text(wanted[name], encoding="utf-8")
        else:
            (OUT / name).unlink()
        print(f"k8s/chart/dashboards/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
