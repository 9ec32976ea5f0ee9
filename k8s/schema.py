#!/usr/bin/env python3
"""schema: writes the definitions of the three programs' configurations into k8s/chart/values.schema.json, by the programs' own rules.

Source   config_keys (each key with its kind and range), the errors of the programs (the names that a key accepts), k8s/base/config
         (the values that the chart's pods, probes and Services rely on); FORMS below for texts whose form only a parser knows
Usage    schema.py [--check] [FOLDER-OF-BINARIES]     default build/release/bin; --check only reports what would change
Test     tests/lint/chart_values.py feeds boundary values of every key to the schema and to the programs
Exit     0 fine, 1 the schema and the programs differ
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SCHEMA = HERE / "chart/values.schema.json"
PROGRAMS = {"agent": ("wattle-agent", "run"), "controller": ("wattle-controller",), "shim": ("wattle-shim",)}
UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)}
MOST_WHOLE = 9 * 10**15  # common/config.cpp refuses whole numbers beyond
WIDTH = 170

OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{OCTET}(\.{OCTET}){{3}}"
H = "[0-9a-fA-F]{1,4}"
IPV6 = ("(" + "|".join([f"({H}:){{7}}{H}", f"({H}:){{1,7}}:"] + [f"({H}:){{1,{7 - n}}}(:{H}){{1,{n}}}" for n in range(1, 7)] + [f":(:{H}){{1,7}}", "::"]) + ")")
BITS4, BITS6 = "(3[0-2]|[12]?[0-9])", "(12[0-8]|1[01][0-9]|[1-9]?[0-9])"
PORT = "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
HOST = r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?)"
PATH = "/[!-~]{0,1000}"


def text(pattern, **more):
    return {"type": "string", "pattern": f"^{pattern}$"} | more


NETWORK = text(f"({IPV4}(/{BITS4})?|{IPV6}(/{BITS6})?)")
CIDR = text(f"({IPV4}/{BITS4}|{IPV6}/{BITS6})")
ADDRESS = text(f"({IPV4}|{IPV6})")
REACHED = ADDRESS | {"not": {"pattern": r"^(127\.|::1$)"}}  # probes come from outside of the pod
TARGET = {"type": "string", "pattern": rf"^(tcp://{HOST}:{PORT}|ipc:///.+)?$"}
URL = text(rf"(https?://{HOST}(:{PORT})?({PATH})?)?")
# Forms of texts that config_keys does not describe, and further limits of keys. chart_values.py compares them with the
# programs.
FORMS = {
    "agent": {
        "node": text("[a-zA-Z0-9._-]{1,253}"),
        "pod_parents": {"type": "array", "items": text(r"/(.*/)?([^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+)(/.*)?") | {"not": {"pattern": r"(^|/)\.\.(/|$)"}}},
        "cluster_networks": {"type": "array", "maxItems": 30, "items": NETWORK},
        "controller.endpoint": TARGET,
        "controller.enrol.url": text(rf"https://{HOST}:{PORT}({PATH})?"),
        "spool.max_bytes": {"anyOf": [{"const": 0}, {"type": "integer", "minimum": 8388608, "maximum": 10**12}]},
        "http.address": REACHED,
        "echo.address": ADDRESS,
        "probes[].name": {"type": "string", "minLength": 1},
        "probes[].url": text(rf"tcp://{HOST}:{PORT}|http://{HOST}(:{PORT})?({PATH})?|icmp://{HOST}"),
        "estimate.curve": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}, "minItems": 2},
        "pcm.endpoint": text(rf"(http://{HOST}:{PORT}/?)?"),
        "provisioning.socket": {"type": "string", "maxLength": 107},
        "power.depths": {"type": "array", "minItems": 1, "items": {"enum": ["suspend", "off", "shallow"]}},
        "provisioning.latency[].url": text(rf"http://(127(\.{OCTET}){{3}}|\[::1\])(:{PORT})?({PATH})?"),
        "provisioning.latency[].histogram": text("[a-zA-Z_:][a-zA-Z0-9_:]*") | {"not": {"pattern": "_bucket$"}},
        "provisioning.latency[].labels": {"type": "object", "properties": {"le": {"not": {}}}, "additionalProperties": {"type": "string"}},
    },
    "controller": {
        "http.address": REACHED,
        "learn.pretrained": {"type": "string", "minLength": 1},
        "enrol.address": ADDRESS,
        "enrol.kubernetes.accounts": {"type": "array", "items": text("[^/]+/[^/]+")},
        "enrol.kubernetes.reader": text("([^/]+/[^/]+)?"),
        "kubernetes.server": URL,
        "tariff.currency": text("[A-Z]{3}"),
        "provisioning.prometheus.url": URL,
        **{f"provisioning.prometheus.{key}": {"type": "string", "maxLength": 16384} for key in ("rate_query", "late_query", "latency_query")},
    },
    "shim": {
        "http.address": REACHED,
        "listen.insecure": {"const": False},
        "controller.ask": TARGET | {"minLength": 1},
        "controller.feed": TARGET | {"minLength": 1},
    },
}
# Texts with a fixed set of names, which the program lists when it rejects another one.
NAMED = {"agent": [], "controller": ["mode", "policy", "reward.preset", "reward.load"], "shim": []}
# Keys that the chart's volumes, Services, probes and schedulers depend on: only the chart's own value is valid. A key
# that base does not set stays empty.
OWNED = {
    "agent": ["state_dir", "root", "http.port", "http.token_file", "controller.enrol.token_file", "controller.enrol.ca_file"],
    "controller": ["data_dir", "key", "allow_list", "store.path", "http.port", "http.token_file", "enrol.port", "enrol.tls.certificate", "enrol.tls.key"],
    "shim": ["listen.address", "listen.port", "listen.plugin_socket", "listen.tls.certificate", "listen.tls.key", "listen.tls.client_ca", "http.port",
             "http.token_file", "controller.key", "controller.server_key"],
}
PORTS = {"controller": ["telemetry.endpoint", "feed.endpoint", "ask.endpoint"]}  # an endpoint whose port a Service leads to
# Keys of one section that need or exclude each other.
TLS = {"dependencies": {"certificate": ["key"], "key": ["certificate"]}}
TOGETHER = {
    "agent": {
        "estimate": {"dependencies": {"idle_w": ["max_w"], "max_w": ["idle_w"], "curve": ["idle_w", "max_w"]}},
        "echo": {"dependencies": {"address": ["port"]}},
        "http.tls": TLS,
    },
    "controller": {
        "http.tls": TLS,
        "tariff": {"dependencies": {"price_per_kwh": ["currency"], "currency": ["price_per_kwh"]}},
        "provisioning.prometheus": {"dependencies": {"url": ["rate_query"], "rate_query": ["url"], "late_query": ["url"], "latency_query": ["url", "target"]}},
    },
    "shim": {"http.tls": TLS},
}
MOST_ITEMS = {"agent": {"probes": 64, "provisioning.latency": 32, "provisioning.connections": 32}}


# ---- spans of time

def whole(low, high):
    """Returns a pattern that matches the whole numbers from low to high, without leading zeros."""
    parts = []
    while low <= high:
        # The largest block 10^k that begins at low and ends within.
        k = 0
        while low % 10 ** (k + 1) == 0 and low + 10 ** (k + 1) - 1 <= high and low >= 10 ** (k + 1):
            k += 1
        head = low // 10**k
        last = min(head // 10 * 10 + 9, (high + 1) // 10**k - 1)
        digit = f"[{head % 10}-{last % 10}]" if last > head else str(head % 10)
        parts.append((str(head // 10) if head >= 10 else "") + digit + ("[0-9]" if k == 1 else f"[0-9]{{{k}}}" if k else ""))
        low = (last + 1) * 10**k
    return f"({'|'.join(parts)})" if parts else ""


def beyond_point(low, high):
    """Returns a pattern that matches the digits after a point, from `low` to `high`; None: no bound."""
    if low is not None and not low.strip("0"):
        low = None
    if low is None and high is None:
        return "[0-9]*"
    if high is not None and not high.strip("0"):
        return "0*" if low is None else None
    first, last = int(low[0]) if low else 0, int(high[0]) if high else 9
    rest_low, rest_high = low[1:] if low else None, high[1:] if high is not None else None
    parts = [""] if low is None else []
    if first == last:
        parts.append((str(first), beyond_point(rest_low, rest_high)))
    else:
        begin, end = first, last
        if low:
            parts.append((str(first), beyond_point(rest_low, None)))
            begin += 1
        if high is not None:
            parts.append((str(last), beyond_point(None, rest_high)))
            end -= 1
        if begin <= end:
            parts.append((f"[{begin}-{end}]" if begin < end else str(begin), "[0-9]*"))
    words = [part if isinstance(part, str) else part[0] + part[1] for part in parts if isinstance(part, str) or part[1] is not None]
    return f"({'|'.join(words)})"


def digits(value, up, places):
    """Formats the value with this number of digits after the point, rounded inwards."""
    scaled = value * 10**places
    return f"{-(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator:0{places}d}"


def decimal(low, high, places=6):
    """Returns a pattern that matches decimal numbers of one or more from low to high; empty: there is none."""
    first, last = low.numerator // low.denominator, high.numerator // high.denominator
    under, over = digits(low - first, True, places), digits(high - last, False, places)
    if len(under) > places:
        first, under = first + 1, "0" * places
    if first > last or last == 0:
        return ""
    if first == last:
        tail = beyond_point(under, over) if under <= over else None
        return "" if tail is None else rf"{first}(\.{tail})?" if not under.strip("0") else rf"{first}\.{tail}"
    parts = [rf"{first}(\.{beyond_point(under, None)})?" if not under.strip("0") else rf"{first}\.{beyond_point(under, None)}"]
    between = whole(first + 1, last - 1)
    parts += [rf"{between}(\.[0-9]+)?"] if between else []
    parts.append(rf"{last}(\.{beyond_point(None, over)})?")
    return "|".join(parts)


def span(low, high, units=UNITS):
    """A span of time of common/parse.hpp, from low to high seconds, as people write it, since the refusal of a value shows this pattern: without
    microseconds, and without fractions of a single minute, hour or day."""
    low, high = Fraction(low), Fraction(high)
    least = {unit: max(low / factor, Fraction(1 if factor > 1 else 0)) for unit, factor in units.items()}
    by_unit = {unit: decimal(least[unit], high / units[unit]) for unit in least}
    found = {"type": "string", "pattern": "^(" + "|".join(f"({pattern}){unit}" for unit, pattern in by_unit.items() if pattern) + ")$"}
    return {"anyOf": [found, {"const": 0}]} if low == 0 else found


# ---- the programs

def bounds(key):
    """Returns the range of a key as numbers; None: unbounded."""
    words = key["range"].removesuffix(" s").split()
    if not words:
        return None, None
    number = lambda word: Fraction(word) if "e" not in word else Fraction(float(word)).limit_denominator(10**12)
    if words[0] == "at":
        return (number(words[2]), None) if words[1] == "least" else (None, number(words[2]))
    return number(words[0]), number(words[2])


def plain(number):
    return int(number) if number.denominator == 1 else float(number)


def of_kind(key):
    """Returns the schema of a key from its description by the program."""
    low, high = bounds(key)
    limits = {name: plain(value) for name, value in (("minimum", low), ("maximum", high)) if value is not None}
    kind = key["kind"]
    if kind == "time":
        return span(low, high)
    if kind == "whole number":
        return {"type": "integer", "maximum": MOST_WHOLE} | limits
    if kind == "number":
        return {"type": "number"} | limits
    simple = {"text": {"type": "string"}, "boolean": {"type": "boolean"}, "list of texts": {"type": "array", "items": {"type": "string"}},
              "list of numbers": {"type": "array", "items": {"type": "number"} | limits}, "map of texts": {"type": "object", "additionalProperties": {"type": "string"}}}
    return simple[kind] if kind in simple else {"enum": kind.split(", ")}


def nested(path, value):
    for word in reversed(path.split(".")):
        value = {word.removesuffix("[]"): [value] if word.endswith("[]") else value}
    return value


def refusals(binaries, part, document):
    """Returns the mistakes that the program reports in a configuration: lines 'key: what (fix)' without file and line."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(yaml.safe_dump(document, sort_keys=False))
        file.flush()
        program, *words = PROGRAMS[part]
        said = subprocess.run([str(binaries / program), *words, "--config", file.name, "--check-config"], capture_output=True, text=True, check=False).stderr
        return re.findall(re.escape(file.name) + r":\d+: (.*)", said)


def names_of(binaries, part, path):
    """Returns the names that a key accepts, which the program lists when it rejects another one."""
    found = next((line for line in refusals(binaries, part, nested(path, "zzz")) if line.startswith(path + ":")), "")
    listed = re.search(r"\((?:did you mean \"[^\"]*\"\? )?(?:use )?(?:one of )?([^()]*(?:\([^()]*\)[^()]*)*)\)$", found)
    if not listed:
        raise ValueError(f"wattle-{part} lists no names for {path}: {found}")
    if path == "mode":  # canary:P% stands for nineteen names
        return text("(off|shadow|live|canary(:(5|[1-8][05]|9[05])%)?)")
    return {"enum": [word.strip() for word in listed.group(1).split(",")]}


def formula(binaries):
    """Returns the schema of a reward expression: terms, numbers and functions of muParser with operators between them.
    wattle.checkController counts its brackets."""
    refused = next(line for line in refusals(binaries, "controller", nested("reward.expression", "zzz")) if line.startswith("reward.expression:"))
    terms = "|".join(re.search(r"\((?:use )?(?:a formula|one) of ([^()]*)\)$", refused).group(1).split(", "))
    functions = "a?(sin|cos|tan)h?|log2|log10|log|ln|exp|sqrt|sign|rint|abs|min|max|sum|avg"
    opened, operand = rf"([-+]? *(({functions}) *)?\( *)*", rf"[-+]? *([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|\.[0-9]+|_pi|_e|{terms})( *\))*"
    operator = r"([-+*/^<>?:,]|<=|>=|==|!=|&&|\|\|)"
    return {"type": "string", "maxLength": 1000, "allOf": [text(f"( *{opened}{operand}( *{operator} *{opened}{operand})* *)?"), {"pattern": f"^$|({terms})"}]}


def closed():
    return {"type": "object", "additionalProperties": False, "properties": {}}


def place(root, path, schema):
    """Inserts the schema of a key at its place, and creates the sections above it."""
    at, *words = root, *path.split(".")
    for word in words[:-1]:
        name = word.removesuffix("[]")
        if name not in at["properties"]:
            at["properties"][name] = {"type": "array", "items": closed()} if word.endswith("[]") else closed()
        at = at["properties"][name]
        at = at["items"] if word.endswith("[]") else at
    at["properties"][words[-1]] = schema


def section(root, path):
    at = root
    for word in path.split("."):
        at = at["properties"][word.removesuffix("[]")]
        at = at["items"] if word.endswith("[]") else at
    return at


def definition(binaries, part, keys):
    base = yaml.safe_load((HERE / f"base/config/{part}.yaml").read_text(encoding="utf-8"))
    root = closed()
    root["description"] = f"Keys of systemd/etc/{part}.yaml, laid over those that the chart writes, by the program's own rules (k8s/schema.py)"
    rules = {key["key"]: of_kind(key) for key in keys}
    rules |= {"reward.expression": formula(binaries)} if part == "controller" else {}
    rules |= FORMS[part] | {path: names_of(binaries, part, path) for path in NAMED[part]}
    for path in OWNED[part] + PORTS.get(part, []):
        value = base
        for word in path.split("."):
            value = value.get(word, "") if isinstance(value, dict) else ""
        rules[path] = text(rf"tcp://.+:{value.rpartition(':')[2]}") if path in PORTS.get(part, []) else {"const": value}
    unknown = set(rules) - {key["key"] for key in keys}
    if unknown:
        raise ValueError(f"k8s/schema.py: wattle-{part} has no key {sorted(unknown)}")
    for path, rule in rules.items():
        place(root, path, rule)
    for key in keys:
        if key["required"] and "[]" in key["key"]:
            owner, _, name = key["key"].rpartition(".")
            section(root, owner).setdefault("required", []).append(name)
    for path, rule in TOGETHER[part].items():
        section(root, path).update(rule)
    for path, most in MOST_ITEMS.get(part, {}).items():
        section(root, path)["maxItems"] = most
    return root


def wanted(binaries):
    """Returns the text that the schema should have."""
    keys = json.loads(subprocess.run([str(binaries / "config_keys")], capture_output=True, text=True, check=True).stdout)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for part in PROGRAMS:
        schema["definitions"][f"{part}Config"] = definition(binaries, part, keys[part])
    schema["definitions"]["networks"] = {"type": "array", "items": CIDR, "description": "Networks, as in 10.0.0.0/8"}
    # The kube-scheduler's own spans have no days.
    schema["definitions"]["schedulerSpan"] = span(Fraction(2, 1000), 30, {unit: UNITS[unit] for unit in ("ms", "s", "m")})
    return written(schema) + "\n"


def written(value, indent=0):
    """Formats JSON; a value that fits on one line gets one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    pad, end = " " * (indent + 2), "\n" + " " * indent
    if isinstance(value, list):
        return "[\n" + ",\n".join(pad + written(item, indent + 2) for item in value) + end + "]"
    return "{\n" + ",\n".join(f"{pad}{json.dumps(key)}: {written(item, indent + 2)}" for key, item in value.items()) + end + "}"


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    text_now, text_wanted = SCHEMA.read_text(encoding="utf-8"), wanted(pathlib.Path(words[0]) if words else ROOT / "build/release/bin")
    if text_now == text_wanted:
        print("schema: matches the programs")
        return 0
    if "--check" in sys.argv[1:]:
        print("k8s/chart/values.schema.json: differs from the programs (run k8s/schema.py)")
        return 1
    SCHEMA.write_text(text_wanted, encoding="utf-8")
    print("k8s/chart/values.schema.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
