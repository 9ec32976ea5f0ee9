#!/usr/bin/env python3
"""api_test: every route of a running controller is in docs/reference/openapi.yaml and answers as documented.

Routes   GET /api/v1/ lists documents and routes; the second listener has one route, for enrolment
Answers  every status is documented; every JSON answer has all required keys and no undocumented ones
Usage    api_test.py FOLDER-OF-BINARIES
"""
import json
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from captured_agent import NODE, start_captured  # noqa: E402
from house import House, binaries_from, extender_args, fetch, free_ports, wait_until  # noqa: E402
from patience import SOON_S  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/openapi.yaml"
TOKEN = "a-word-for-this-test-alone"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}
# Queries for routes that require an argument, or that answer differently with one.
ASKED = {
    "/api/v1/node": [{"name": "this-machine"}, {"name": "nobody"}, {}],
    "/api/v1/nodes": [{}, {"limit": "1", "sort": "power_w"}, {"sort": "colour"}],
    "/api/v1/pods": [{}, {"limit": "1"}, {"node": "nobody"}],
    "/api/v1/pod": [{"pod": "nobody"}, {}],
    "/api/v1/history": [{}, {"span": "24h"}, {"node": "this-machine"}, {"node": "this-machine", "span": "24h"}, {"span": "1y"}, {"span": "3h", "until": "1"}, {"until": "99999999999"}, {"node": "nobody"}],
    "/api/v1/heat": [{}, {"label": "zone"}],
    "/api/v1/decisions": [{}, {"since": "1h"}, {"limit": "0"}],
    "/api/v1/explain": [{"pod": "1"}, {"pod": "nobody"}, {}],
    "/api/v1/what-if": [{"pod": "1", "cpu": "2"}, {"pod": "1", "weight.energy": "3"}, {"pod": "1"}, {"pod": "nobody", "cpu": "1"}],
    "/api/v1/report": [{}, {"by": "node"}, {"by": "label", "label": "team"}, {"by": "container"}, {"pod": "shop/web"}, {"by": "colour"}],
    "/api/v1/record": [{"of": "nodes"}, {"of": "pods"}, {"of": "hours", "since": "2d"}, {"of": "colours"}, {}],
    "/api/v1/provision": [{}, {"workload": "nobody"}, {"only": "colour"}, {"only": "replicas"}, {"only": "sized"}, {"namespace": "shop"}],
}
OPERATOR_TOKEN = "another-word-for-who-may-change"
BODIES = {("post", "/page/pass"): {"token": TOKEN}, ("post", "/page/change"): {"cpu_wait": "40%", "why": "test"}, ("post", "/api/v1/enrol"): {"public_key": "no key"},
          ("post", "/api/v1/sleep/order"): {"order": "sleep-wake", "node": "none-that-sleeps"}, ("post", "/api/v1/provision"): {"namespace": "shop", "workloads": {"shop/Deployment/web": {"state": "refused", "why": "no right"}}}}

NEVER_200 = {"/api/v1/sleep/order"}  # no node of this controller sleeps


class Api:
    def __init__(self, document):
        self.document = document

    def resolved(self, schema):
        while "$ref" in schema:
            found = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def flat(self, schema):
        """Merges allOf into one object."""
        schema = self.resolved(schema)
        if "allOf" not in schema:
            return schema
        parts = [self.flat(part) for part in schema["allOf"]]
        return {"type": "object", "required": [key for part in parts for key in part.get("required", [])],
                "properties": {key: value for part in parts for key, value in part.get("properties", {}).items()}}

    def wrong(self, value, schema, where):
        schema = self.flat(schema)
        if "anyOf" in schema:
            tried = [self.wrong(value, each, where) for each in schema["anyOf"]]
            return [] if any(not found for found in tried) else min(tried, key=len)
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(isinstance(value, TYPES[kind]) and (kind in ("boolean",) or not isinstance(value, bool)) for kind in kinds):
            return [f"{where} is {json.dumps(value)[:80]}, not {' or '.join(kinds)}"]
        if "enum" in schema and value not in schema["enum"]:
            return [f"{where} is {value!r}, none of {schema['enum']}"]
        if isinstance(value, list):
            return [text for i, each in enumerate(value[:50]) for text in self.wrong(each, schema.get("items", {}), f"{where}[{i}]")]
        if not isinstance(value, dict) or not kinds:
            return []
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        found = [f"{where}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, each in value.items():
            if key in known:
                found += self.wrong(each, known[key], f"{where}.{key}")
            elif more is None:
                found.append(f"{where}.{key} is not documented")
            elif isinstance(more, dict):
                found += self.wrong(each, more, f"{where}.{key}")
        return found


def ask(method, url, body):
    headers = {"X-Wattle": "page", "Content-Type": "application/json", "Accept-Encoding": "gzip", "Authorization": f"Bearer {OPERATOR_TOKEN}"}
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode(), method=method.upper(), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SOON_S) as answer:
            kind = answer.headers.get_content_type()
            return answer.status, kind, b"" if kind == "text/event-stream" else answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read()


def ask_all(api, house, enrol):
    """Returns the breaches and the number of requests."""
    breaches, asked = [], 0
    for path, methods in api.document["paths"].items():
        for method, operation in methods.items():
            server = enrol if "servers" in operation else house.api()
            documented = {int(code): api.resolved(answer) for code, answer in operation["responses"].items()}
            reported = set()
            for query in ASKED.get(path, [{}]) if method == "get" else [{}]:
                given = {parameter["name"] for parameter in map(api.resolved, operation.get("parameters", []))}
                breaches += [f"{method} {path}: argument {name} is not documented" for name in query
                             if name not in given and not (name.startswith("weight.") and "weight.NAME" in given)]
                url = f"{server}{path.replace('{file}', 'app.js')}{'?' + urllib.parse.urlencode(query) if query else ''}"
                status, kind, body = ask(method, url, BODIES.get((method, path)))
                asked += 1
                reported.add(status)
                if status not in documented:
                    breaches.append(f"{method} {url}: {status} is not documented: {body[:300]!r}")
                    continue
                content = documented[status].get("content", {})
                if content and kind not in content:
                    breaches.append(f"{method} {url}: {status} is {kind}, not {' or '.join(content)}")
                elif kind == "application/json" and content:
                    breaches += [f"{method} {url}: {text}" for text in api.wrong(json.loads(body), content[kind]["schema"], "answer")]
            if 200 not in reported and "servers" not in operation and path not in NEVER_200:
                breaches.append(f"{method} {path}: never succeeded: {sorted(reported)}")
    return breaches, asked


def ignored(api, house):
    """Questions with an argument or field that no document describes, and that are answered all the same."""
    breaches = []
    for path, methods in api.document["paths"].items():
        if not path.startswith("/api/v1/") or "get" not in methods:
            continue
        names = [parameter["name"] for parameter in map(api.resolved, methods["get"].get("parameters", []))]
        for name in ["nosuch", *(each[:-1] for each in names if len(each) > 3 and not each.startswith("weight."))]:
            given = {**ASKED.get(path, [{}])[0], name: "1"}
            status, _, body = ask("get", f"{house.api()}{path}?{urllib.parse.urlencode(given)}", None)
            if status != 400 or name not in body.decode() or [each for each in names if each not in body.decode()]:
                breaches.append(f"get {path}?{name}=1: {status}, not an error with all of {names}: {body[:300]!r}")
        for name in names:
            status, _, body = ask("get", f"{house.api()}{path}?{name}=1&{name}=2", None)
            if status != 400 or "more than once" not in body.decode():
                breaches.append(f"get {path}?{name}=1&{name}=2: {status}: {body[:300]!r}")
    for (method, path), fields in BODIES.items():
        if path.endswith(("/enrol", "/pass")):
            continue
        for query, given in (("", {**fields, "nosuch": "1"}), ("?nosuch=1", fields)):
            status, _, body = ask(method, f"{house.api()}{path}{query}", given)
            if status != 400 or "nosuch" not in body.decode():
                breaches.append(f"{method} {path}{query} {given}: {status}: {body[:300]!r}")
    return breaches


def undocumented(api, index):
    """Yields undocumented routes, and documented routes that do not exist."""
    routes = {f"{method.upper()} {path}" for path, methods in api.document["paths"].items() for method, operation in methods.items() if "servers" not in operation}
    there = {"GET /api/v1/" + name for name in index["documents"]}
    for route in index["routes"]:
        there.add("GET /page/{file}" if route.startswith("GET /page/") and route != "GET /page/pass" else route)
    return [f"{route}: is not documented" for route in sorted(there - routes)] + [f"{route}: is documented and does not exist" for route in sorted(routes - there)]


def main():
    api = Api(yaml.safe_load(PAGE.read_text(encoding="utf-8")))
    enrol_port, = free_ports(1)
    with House(binaries_from(sys.argv), mode="shadow") as house:
        config = house.dir / "controller.yaml"
        tokens = house.dir / "tokens"
        tokens.write_text("")
        operators = house.write("operator.token", OPERATOR_TOKEN)
        operators.chmod(0o400)
        config.write_text(config.read_text().replace(f"http: {{port: {house.http}}}", f"http: {{port: {house.http}, operator_token_file: {operators}}}") + f"store: {{path: {house.dir}/store.db}}\ndecide: {{settle_window: 1s}}\n"
                          f"enrol: {{tokens: {tokens}, port: {enrol_port}}}\n")
        house.start_controller()
        house.start_agent()
        house.start_shim()
        start_captured(house)
        wait_until("the node reports", house.connected)
        pods = wait_until("pods are reported", lambda: [pod["uid"] for pod in house.query("pods")["pods"] if pod["node"] == NODE])
        ASKED["/api/v1/pod"].append({"pod": pods[0]})
        assert house.decided("uid-1", [house.node, "nobody"])[0] == 200
        house.cli("confirm", "uid-1", house.node, key="operator")
        wait_until("the decision has an outcome", lambda: house.query("explain", "uid-1")["decision"]["outcome"])
        wait_until("the node has a history", lambda: fetch(f"{house.api()}/api/v1/history?node={house.node}")[0] == 200)
        breaches = undocumented(api, json.loads(fetch(f"{house.api()}/api/v1/")[1]))
        found, asked = ask_all(api, house, f"http://127.0.0.1:{enrol_port}")
        breaches += found + ignored(api, house)
        for breach in breaches:
            print(f"FAIL {breach}")
        print(f"{asked} requests to {len(api.document['paths'])} paths, {len(breaches)} breaches")
        return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
