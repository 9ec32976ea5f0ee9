#!/usr/bin/env python3
"""chart_values: compares the chart's validation of values with the rules of the programs that use them.

Inputs       values at and beyond the bounds of every key of every program, of other types, and texts that only a parser
             can judge; contradictory keys; the chart's own keys that become part of a configuration
Claims       Helm refuses every value that a program refuses, by the schema or with a message, before the installation;
             Helm accepts every value that a program accepts in its usual spelling, unless the chart's volumes, ports or
             probes depend on the key (k8s/schema.py, OWNED)
Usage        chart_values.py FOLDER-OF-BINARIES
Exit         0 fine, 1 a breach, 77 no helm or no programs
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "k8s"), str(ROOT / "tests/e2e/kube")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import render  # noqa: E402
import schema  # noqa: E402

BREACHES = []
# Keys that accompany a key so that the program judges only that key.
BESIDE = {
    "agent": {"probes[]": {"name": "a", "url": "tcp://192.0.2.1:443"}, "estimate": {"idle_w": 10, "max_w": 100000},
              "provisioning.latency[]": {"workload": "w", "url": "http://127.0.0.1:9102/metrics", "histogram": "h", "target": "1s"},
              "provisioning.connections[]": {"workload": "w", "target": "1s"}},
    "controller": {"provisioning.prometheus": {"url": "http://prometheus:9090", "rate_query": "r"},
                   "tariff": {"price_per_kwh": 0.3, "currency": "EUR"}},
    "shim": {},
}
BESIDE_KEY = {"echo.address": {"port": 9461}, "http.operator_token_file": {"tls": {"certificate": "/a", "key": "/b"}}, "provisioning.prometheus.token": {"url": "https://p"}, "estimate.max_w": {"idle_w": 0}}
# Texts that a program judges by more than their type: (accepted by it, refused by it).
TEXTS = {
    "agent": {
        "pod_parents": ([["/jobs"], ["/a/b"], ["/jobs/"], ["//a/./b"], ["/.a"], ["/..a"], []], [["jobs"], ["/"], ["/."], ["/a/../b"], ["/.."]]),
        "cluster_networks": ([["10.0.0.0/8"], ["fd00::/8"], ["192.0.2.1"], ["::1"], ["0.0.0.0/0"], ["10.0.0.0/32"], ["fd00::1:2/128"], [f"10.{n}.0.0/16" for n in range(30)]],
                             [["10.0.0.0/33"], ["fd00::/129"], ["10.0.0/8"], ["10.0.0.256/8"], ["010.0.0.1/8"], ["here"], ["10.0.0.0/"], ["10.0.0.0/-1"], [":::/8"], ["1:2:3/64"],
                              [f"10.{n}.0.0/16" for n in range(31)]]),
        "spool.max_bytes": ([0, 8388608, 10**12], [1, 8388607, -1, 10**12 + 1]),
        "probes[].url": (["tcp://192.0.2.1:443", "tcp://[fd00::1]:443", "http://example.org", "http://example.org:8080/healthz?a=b", "icmp://example.org", "icmp://[::1]"],
                         ["example.org:443", "tcp://example.org", "tcp://a:1/b", "tcp://a:70000", "udp://a:1", "icmp://a:1", "http://a b/", "http://a/b c", ""]),
        "estimate.curve": ([[0, 1], [0, 0.5, 1]], [[0], [0, 2], [-1, 1], "x"]),
        "pcm.endpoint": (["", "http://127.0.0.1:9738", "http://[::1]:9738/"], ["127.0.0.1:9738", "https://a:1", "http://a", "http://a:0", "http://a:70000", "http://a:1/b"]),
        "provisioning.socket": (["", "/run/wattle-actuator/socket"], ["/" + "a" * 107]),
        "power.depths": ([["suspend"], ["off", "suspend"], ["shallow"]], [[], ["hibernate"]]),
        "provisioning.latency[].url": (["http://127.0.0.1:9102/metrics", "http://[::1]:9102/m"], ["http://example.org/m", "https://127.0.0.1/m", "http://10.0.0.1:1/m", "x"]),
        "provisioning.latency[].histogram": (["http_request_duration_seconds"], ["a-b", "a_bucket", "1a"]),
        "provisioning.latency[].labels": ([{"a": "b"}, {}], [{"le": "1"}]),
        "http.address": (["0.0.0.0", "::"], []), "echo.address": (["0.0.0.0", "::1"], []),
    },
    "controller": {
        "http.address": (["0.0.0.0", "::"], []),
        "mode": (["off", "shadow", "live", "canary:5%", "canary:95%", "canary:50%", "canary"], ["on", "canary:0%", "canary:7%", "canary:100%", ""]),
        "learn.pretrained": (["auto", "none"], [""]),
        "reward.preset": (["weighted"], ["zzz"]),
        "reward.load": ([], ["zzz"]),
        "reward.expression": (["energy + latency", "energy", "2*max(energy, latency)^2 - 0.5", "(energy+(latency))/3", "energy > 1 ? latency : -balance", ""],
                              ["/a", "energy +", "joules", "energy latency", "1 + 2", "energy = 1", "foo(energy)", "'energy'", "e" * 5000]),
        "policy": (["dqn", "planner"], ["zzz", ""]),
        "enrol.kubernetes.accounts": ([["a/b"]], [["a"], ["a/b/c"]]),
        "enrol.kubernetes.reader": (["", "a/b"], ["a", "a/b/c"]),
        "tariff.currency": (["EUR", "USD"], ["eur", "EURO", "E1R", ""]),
        "kubernetes.server": (["", "https://10.96.0.1:443"], ["10.96.0.1:443", "ftp://a"]),
        "provisioning.prometheus.url": (["http://prometheus:9090", "https://p/x"], ["prometheus:9090", "ftp://p"]),
        "provisioning.prometheus.rate_query": (["r"], ["r" * 16385]),
        "sleep.drivers": ([""], []),  # the program reads the file, which Helm cannot see
        "sleep.mode": (["off", "recommend"], ["zzz", False, ""]),  # auto needs drivers: CONTRADICTIONS
    },
    "shim": {"http.address": (["0.0.0.0", "::"], []), "controller.ask": (["tcp://c:7462"], ["c:7462", "http://c:7462", ""]), "controller.feed": (["tcp://c:7461"], ["c:7461"])},
}
# The chart refuses these because it sets them itself, although the program accepts them.
STRICTER = {"agent": {"controller.endpoint", "http.insecure", "controller.enrol.url", "node"},
            "controller": {"http.insecure", "provisioning.prometheus.late_query"}, "shim": {"listen.insecure", "http.insecure"}}
# Keys that contradict each other, or the chart's own: part, values, words of the refusal.
TOGETHER = [
    ("agent", {"agent": {"config": {"probes": [{"name": "a", "url": "tcp://b:1"}, {"name": "a", "url": "tcp://c:1"}]}}}, "twice"),
    ("agent", {"agent": {"config": {"probes": [{"name": "a"}]}}}, "url"),
    ("agent", {"agent": {"config": {"estimate": {"idle_w": 10}}}}, "max_w"),
    ("agent", {"agent": {"config": {"estimate": {"idle_w": 10, "max_w": 5}}}}, "max_w"),
    ("agent", {"agent": {"config": {"estimate": {"curve": [0, 1]}}}}, "idle_w"),
    ("agent", {"agent": {"config": {"echo": {"address": "0.0.0.0"}}}}, "port"),
    ("agent", {"agent": {"bpf": False, "config": {"provisioning": {"connections": [{"workload": "w", "target": "1s"}]}}}}, "bpf"),
    ("agent", {"agent": {"tick": "6s", "config": {"provisioning": {"socket": "/run/a"}}}}, "5s"),
    ("agent", {"agent": {"config": {"provisioning": {"connections": [{"workload": "w", "target": "1s"}, {"workload": "w", "target": "2s"}]}}}}, "twice"),
    ("agent", {"agent": {"config": {"http": {"tls": {"certificate": "/a"}}}}}, "key"),
    ("controller", {"controller": {"config": {"reward": {"preset": "expression"}}}}, "expression"),
    ("controller", {"controller": {"config": {"reward": {"expression": "(energy"}}}}, "expression"),
    ("controller", {"controller": {"config": {"reward": {"expression": "energy) + (latency"}}}}, "expression"),
    ("controller", {"controller": {"config": {"reward": {"expression": "energy, latency"}}}}, "expression"),
    ("controller", {"controller": {"config": {"tariff": {"price_per_kwh": 0.3}}}}, "currency"),
    ("controller", {"controller": {"config": {"tariff": {"currency": "EUR"}}}}, "price_per_kwh"),
    ("controller", {"controller": {"config": {"provisioning": {"prometheus": {"url": "http://p:9090"}}}}}, "rate_query"),
    ("controller", {"controller": {"config": {"provisioning": {"prometheus": {"rate_query": "r"}}}}}, "url"),
    ("controller", {"controller": {"config": {"provisioning": {"prometheus": {"url": "http://p:9090", "rate_query": "r", "latency_query": "l"}}}}}, "target"),
    ("controller", {"controller": {"config": {"provisioning": {"prometheus": {"url": "http://p:9090", "rate_query": "r", "token": "/t"}}}}}, "unencrypted"),
    ("controller", {"controller": {"config": {"http": {"operator_token_file": "/t"}}}}, "unencrypted"),
    ("controller", {"controller": {"config": {"http": {"operator_token_file": "/run/wattle/metrics.token", "tls": {"certificate": "/a", "key": "/b"}}}}}, "token_file"),
]
# A key of the chart and the same in `config`: the rendered configuration would contradict the objects.
CONTRADICTIONS = [
    ({"controller": {"mode": "shadow", "config": {"mode": "live"}}}, "controller.mode"), ({"controller": {"config": {"mode": "live"}}}, "controller.mode"),
    ({"agent": {"config": {"tick": "5s"}}}, "agent.tick"), ({"agent": {"config": {"bpf": {"enabled": False}}}}, "agent.bpf"),
    ({"agent": {"clusterNetworks": ["10.0.0.0/8"], "config": {"cluster_networks": ["fd00::/8"]}}}, "agent.clusterNetworks"),
    ({"shim": {"config": {"deadline": "30ms"}}}, "shim.deadline"), ({"shim": {"config": {"filter": True}}}, "shim.filter"),
    ({"requests": {"namespaces": ["shop"]}, "controller": {"config": {"provisioning": {"level": "suggest"}}}}, "provisioning.level"),
    ({"controller": {"config": {"provisioning": {"replicas": "suggest"}}}}, "replicas.suggest"),
    ({"sleep": {"mode": "recommend"}, "controller": {"config": {"sleep": {"mode": "off"}}}}, "sleep.mode"),
    ({"controller": {"config": {"sleep": {"mode": "recommend"}}}}, "sleep.mode"), ({"sleep": {"mode": "auto"}}, "sleep.drivers"),
]
# The chart's own keys that a configuration or an API server judges later: values, the key in the refusal; None:
# accepted.
OWN = [
    ({"agent": {"tick": "90s"}}, "/agent/tick"), ({"agent": {"tick": "99ms"}}, "/agent/tick"), ({"agent": {"tick": "100ms"}}, None), ({"agent": {"tick": "1m"}}, None),
    ({"agent": {"clusterNetworks": ["10.0.0.0/33"]}}, "/agent/clusterNetworks"), ({"agent": {"clusterNetworks": ["fd00::/8", "10.1.0.0/16"]}}, None),
    ({"agent": {"maxUnavailable": 0}}, "/agent/maxUnavailable"), ({"agent": {"maxUnavailable": "0%"}}, "/agent/maxUnavailable"), ({"agent": {"maxUnavailable": 3}}, None),
    ({"images": {"registry": "https://registry.example/team"}}, "/images/registry"), ({"images": {"registry": "registry.example/team/"}}, "/images/registry"),
    ({"images": {"registry": "registry.example/Team"}}, "/images/registry"), ({"images": {"registry": "registry.example:5000/team"}}, None),
    ({"images": {"registry": "[::1]:5000"}}, None), ({"images": {"registry": ""}}, "images.registry"), ({"images": {"registry": "", "pullPolicy": "Never"}}, None),
    ({"images": {"agent": "wattle-agent:0.1.0"}}, "/images/agent"), ({"scheduler": {"image": "https://registry.k8s.io/kube-scheduler"}}, "/scheduler/image"),
    ({"controller": {"config": {"data_dir": "/tmp/x"}}}, "/controller/config/data_dir"), ({"agent": {"config": {"state_dir": "/tmp/x"}}}, "/agent/config/state_dir"),
    ({"controller": {"config": {"data_dir": "/var/lib/wattle-controller"}}}, None), ({"shim": {"config": {"listen": {"port": 9000}}}}, "/shim/config/listen/port"),
    ({"controller": {"config": {"telemetry": {"endpoint": "tcp://0.0.0.0:9000"}}}}, "/controller/config/telemetry/endpoint"),
    ({"shim": {"deadline": "2s"}}, "/shim/deadline"), ({"scheduler": {"httpTimeout": "1d"}}, "/scheduler/httpTimeout"), ({"monitoring": {"interval": "1.5s"}}, "/monitoring/interval"),
    ({"networkPolicy": {"egress": {"enabled": True, "apiServer": ["10.96.0.1/33"]}}}, "/networkPolicy/egress/apiServer"),
    ({"namespaces": {"control": 4711}}, "/namespaces/control"), ({"scheduler": {"name": 1000}}, "/scheduler/name"),
]


def breach(text):
    BREACHES.append(text)
    print(f"BREACH {text}")


def just_beyond(value, factor):
    """Returns a value slightly above or below a bound, with few digits."""
    step = Fraction(1, 1000)
    return value + factor * max(step, abs(value) * step).limit_denominator(1000)


def spelled(seconds):
    """Returns a duration in the smallest and in the largest unit in which it needs few digits."""
    found = []
    for unit, size in schema.UNITS.items():
        number = Fraction(seconds) / size
        if 1000 % number.denominator == 0 and 0 <= number < 10**7 and (number >= 1 or unit in ("ms", "s")):
            found.append(f"{float(number):.15g}{unit}")
    return sorted({found[0], found[-1]}) if found else []


def samples(part, key):
    """Returns values for a key: at its bounds, beyond them and of other types."""
    if key["key"] in TEXTS[part]:
        taken, refused = TEXTS[part][key["key"]]
        return taken + refused
    low, high = schema.bounds(key)
    edges = [edge for bound, factor in ((low, -1), (high, 1)) if bound is not None for edge in (bound, just_beyond(bound, factor), just_beyond(bound, -factor))]
    kind = key["kind"]
    if kind == "time":
        return [text for edge in edges if edge >= 0 for text in spelled(edge)] + ["30", 30, "-1s", "x", "1.5s", "1,5s", "1 s", 0, [], "1w"]
    if kind == "whole number":
        return [schema.plain(edge) for edge in edges] + [schema.plain(low) - 1 if low is not None else -1, 1.5, "x", [], True] + ([schema.plain(high) + 1] if high else [10**16])
    if kind == "number":
        return [schema.plain(edge) for edge in edges] + ["x", [], True]
    if kind == "boolean":
        return [True, False, "yes", 1, []]
    simple = {"text": ["/a", [], {}], "list of texts": [["a"], "a", [["a"]]], "map of texts": [{"a": "b"}, "a", {"a": ["b"]}], "list of numbers": [[0, 1], "a", ["a"]]}
    return simple[kind] if kind in simple else [*kind.split(", "), "zzz", False, ""]


def document(part, key, value):
    """Returns (configuration for the program, `config` of the chart's values)."""
    owner, _, name = key.rpartition(".")
    found = {name: value}
    beside = next((more for section, more in BESIDE[part].items() if owner == section), {}) | BESIDE_KEY.get(key, {})
    found = schema.nested(owner, {**beside, **found}) if owner else found
    base = yaml.safe_load((ROOT / f"k8s/base/config/{part}.yaml").read_text(encoding="utf-8"))
    return laid_over(base, found), found


def laid_over(base, over):
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return {**base, **{key: laid_over(base.get(key), value) for key, value in over.items()}}


def key_of(line):
    """Returns the key of a refusal, without indices."""
    return re.sub(r"\[\d+\]", "[]", line.partition(": ")[0])


def pointer(part, key):
    return "/" + "/".join([part, "config", *key.replace("[]", "/0").replace(".", "/").split("/")])


def helm(values):
    """Returns Helm's refusal of values; empty if it renders them."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(values, file)
        file.flush()
        try:
            render.rendered("--values", file.name)
            return ""
        except ValueError as error:
            return str(error)


def merged(first, second):
    """Merges both documents; lists of one section become one item. Returns None if both set the same key."""
    if isinstance(first, dict) and isinstance(second, dict):
        out = dict(first)
        for key, value in second.items():
            out[key] = merged(first[key], value) if key in first else value
        return out
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second) == 1 and isinstance(first[0], dict) and isinstance(second[0], dict):
        return [merged(first[0], second[0])]
    return second


def check_part(binaries, part, keys):
    """Passes all first samples in one document to both, all second ones in the next, and so on: each names every key
    that it refuses. A key with different verdicts is judged again separately, because another key of the document may
    be the cause."""
    rounds = {}
    for key in keys:
        for at, value in enumerate(samples(part, key)):
            rounds.setdefault(at, {})[key["key"]] = value
    count = 0
    for each in rounds.values():
        config = {}
        for key, value in each.items():
            config = merged(config, document(part, key, value)[1])
        lines = schema.refusals(binaries, part, laid_over(yaml.safe_load((ROOT / f"k8s/base/config/{part}.yaml").read_text(encoding="utf-8")), config))
        answer = helm({part: {"config": config}})
        for key, value in each.items():
            count += 1
            judge(binaries, part, keys, key, value, lines, answer)
    print(f"wattle-{part}: {count} values of {len(keys)} keys, judged equally by the program and by Helm", flush=True)


def judge(binaries, part, keys, key, value, lines, answer, alone=False):
    said = [line for line in lines if key_of(line) == key]
    refused = bool(re.search(re.escape(f"'{pointer(part, key)}") + r"[/']", answer)) or f"{part}.config.{key}: " in answer
    free = key not in schema.OWNED[part] + schema.PORTS.get(part, []) and key not in STRICTER[part]
    if bool(said) == refused or (refused and not said and not (free and usual(keys, key, value))):
        return
    if not alone:
        whole, part_of = document(part, key, value)
        judge(binaries, part, keys, key, value, schema.refusals(binaries, part, whole), helm({part: {"config": part_of}}), True)
    elif said:
        breach(f"{part}: {key}: {json.dumps(value)[:80]}: Helm accepts a value that the program refuses: {said[0]}")
    else:
        breach(f"{part}: {key}: {json.dumps(value)[:80]}: Helm refuses a value that the program accepts: {next(line for line in answer.splitlines() if pointer(part, key) in line)[:200]}")


def usual(keys, key, value):
    """Returns whether a value has its usual spelling: a program accepts any scalar as a string, but Helm only strings,
    so that no string is read as a number."""
    kind = next(k for k in keys if k["key"] == key)["kind"]
    if isinstance(value, bool):
        return kind == "boolean"
    return kind in ("number", "whole number", "time") or not isinstance(value, (int, float))


def check_together(binaries):
    for part, values, words in TOGETHER:
        base = yaml.safe_load((ROOT / f"k8s/base/config/{part}.yaml").read_text(encoding="utf-8"))
        its = copy.deepcopy(values[part])
        config = laid_over(base, its.get("config", {}))
        config |= {"tick": its["tick"]} if "tick" in its else {}
        config |= {"bpf": {"enabled": its["bpf"]}} if "bpf" in its else {}
        if not schema.refusals(binaries, part, config):
            breach(f"{part}: {json.dumps(values)}: the program accepts it")
        answer = helm(values)
        if words not in answer:
            breach(f"{part}: {json.dumps(values)}: Helm says '{answer[:300]}', not {words}")
    for values, words in CONTRADICTIONS:
        if words not in helm(values):
            breach(f"{json.dumps(values)}: Helm accepts contradictory values, or does not name {words}")
    for values, words in OWN:
        answer = helm(values)
        if (words is None and answer) or (words and words not in answer):
            breach(f"{json.dumps(values)}: Helm says '{answer[:300]}', not {words}")
    print(f"{len(TOGETHER)} combinations, {len(CONTRADICTIONS)} contradictions, {len(OWN)} keys of the chart")


def main():
    binaries = pathlib.Path(sys.argv[1])
    programs = ["config_keys", *(words[0] for words in schema.PROGRAMS.values())]
    lacking = [name for name in programs if not (binaries / name).exists()]
    try:
        assets.helm(may_build=False)
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    if lacking:
        print(f"skipped: {', '.join(lacking)} was not built")
        return 77
    if schema.wanted(binaries) != schema.SCHEMA.read_text(encoding="utf-8"):
        breach("k8s/chart/values.schema.json differs from the programs' rules (run k8s/schema.py)")
    keys = json.loads(subprocess.run([str(binaries / "config_keys")], capture_output=True, text=True, check=True).stdout)
    for part in schema.PROGRAMS:
        check_part(binaries, part, keys[part])
    check_together(binaries)
    print("values: no breach" if not BREACHES else f"values: {len(BREACHES)} breaches")
    return 1 if BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
