#!/usr/bin/env python3
"""metrics_test: the /metrics pages of agent, controller and shim pass `promtool check metrics`, and an OpenMetrics
parser accepts them, after a decision.

Each name except process_* belongs to one program, every program exports its build and its process, quantiles are
histograms, and a state has one series per value, of which one is 1.
"""
import re
import shutil
import subprocess
import sys
import time
import urllib.request

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

from house import SKIPPED, House, binaries_from, extender_args, fetch, wait_until
from patience import AGES_S, SOON_S

failures = 0
# Families with one series per state value: the label with the value, and the labels that distinguish objects.
STATES = {"wattle_controller_mode": ("mode", ()), "wattle_controller_policy": ("policy", ()), "wattle_controller_reward": ("preset", ()),
          "wattle_controller_node_energy_source": ("source", ("node",)), "wattle_agent_energy_source": ("source", ()), "wattle_shim_breaker_state": ("state", ())}
PROCESS = {"process_cpu_seconds_total", "process_start_time_seconds", "process_resident_memory_bytes", "process_open_fds",
           "process_max_fds"}


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def families(page):
    """name -> (type, [(labels, value)]), parsed from the text format."""
    found = {}
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            found[name] = (kind, [])
        elif line and not line.startswith("#"):
            name, labels, value = re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?', line).groups()
            family = name if name in found else re.sub(r"_(bucket|sum|count)$", "", name)
            found[family][1].append((dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")), float(value)))
    return found


def check_names(pages):
    owners = {}
    for program, found in pages.items():
        for name in found:
            owners.setdefault(name, []).append(program)
    shared = {name: programs for name, programs in owners.items() if len(programs) > 1 and not name.startswith("process_") and name != "wattle_build_info"}
    check("each name belongs to one program", not shared, str(shared))
    for program, found in pages.items():
        check(f"the {program} exports its build", [(labels["program"], value) for labels, value in found.get("wattle_build_info", ("", []))[1]] == [(program, 1.0)], str(sorted(found)[:5]))
        check(f"the {program} exports its process", PROCESS <= found.keys(), str(PROCESS - found.keys()))
        values = {name: found[name][1][0][1] for name in PROCESS & found.keys()}
        check(f"the {program}'s process metrics are numbers", all(values[name] > 0 for name in values.keys() - {"process_cpu_seconds_total"}), str(values))
        check(f"the {program} has a start time within this test", abs(time.time() - values["process_start_time_seconds"]) < AGES_S, str(values))
        quantiles = [name for name, (kind, _) in found.items() if kind == "gauge" and re.search(r"_p\d+_", name)]
        check(f"the {program} has no gauge of a quantile", not quantiles, str(quantiles))
        changing = [name for name, (kind, series) in found.items() if name.endswith("_info") and name != "wattle_build_info"]
        check(f"the {program} has no state in changing labels", not changing, str(changing))
    for name, (label, of) in STATES.items():
        series = next(found[name][1] for found in pages.values() if name in found)
        groups = {}
        for labels, value in series:
            groups.setdefault(tuple(labels[each] for each in of), []).append(value)
        check(f"{name} has one {label} that is 1, the others 0", groups and all(sorted(values) == [0.0] * (len(values) - 1) + [1.0] for values in groups.values()), str(series))
        check(f"{name} has more than one {label}", all(len(values) > 1 for values in groups.values()), str(series))


def check_open_metrics(program, url, found):
    """Checks with the parser of Prometheus' client library that the OpenMetrics page has the same families and
    series."""
    if text_string_to_metric_families is None:
        print("skipped: OpenMetrics, without the parser (Debian package python3-prometheus-client; scripts/setup installs it)")
        return
    request = urllib.request.Request(f"{url}/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"})
    with urllib.request.urlopen(request, timeout=SOON_S) as answer:
        kind, page = answer.headers["Content-Type"], answer.read().decode()
    check(f"the {program} answers with OpenMetrics to a client that prefers it", kind == "application/openmetrics-text; version=1.0.0; charset=utf-8", kind)
    try:
        parsed = {family.name + ("_total" if family.type == "counter" else ""): family for family in text_string_to_metric_families(page)}
    except ValueError as error:
        check(f"the {program}'s OpenMetrics is valid", False, repr(error))
        return
    check(f"the {program}'s OpenMetrics has the same {len(found)} families", parsed.keys() == found.keys(), str(parsed.keys() ^ found.keys()))
    differing = [name for name, (kind, series) in found.items() if name in parsed and (parsed[name].type != kind or bool(parsed[name].samples) != bool(series))]
    check(f"the {program}'s OpenMetrics has the same types, and samples of the same families", not differing, str(differing))


def main():
    binaries = binaries_from(sys.argv)
    promtool = shutil.which("promtool")
    if promtool is None:
        print("skipped: no promtool (Debian package prometheus; scripts/setup installs it)")
        return SKIPPED
    with House(binaries) as house:
        house.start_controller()
        house.start_agent()
        house.start_shim()
        wait_until("the agent has connected", house.connected)
        asked = fetch(f"{house.shim()}/prioritize", extender_args("11111111-1111-1111-1111-111111111111", [house.node, "unknown"]))
        check("the shim answers", asked[0] == 200, str(asked))
        pages = {}
        for name, url in (("agent", f"http://127.0.0.1:{house.agent_http}"), ("controller", house.api()), ("shim", house.shim())):
            status, page = fetch(f"{url}/metrics")
            done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, timeout=SOON_S, check=False)
            check(f"/metrics of the {name} is served and has numbers", status == 200 and "# TYPE wattle_" in page, page[:200])
            # promtool reports errors with exit code 1; style warnings go to stderr with exit code 3.
            check(f"promtool reports no problem in /metrics of the {name}", done.returncode == 0 and not done.stderr.strip(),
                  f"exit {done.returncode}: {done.stderr or done.stdout}")
            pages[name] = families(page)
            check_open_metrics(name, url, pages[name])
        check_names(pages)
    return 1 if failures else 0


sys.exit(main())
