#!/usr/bin/env python3
"""json_limits_test: JSON that is nested too deeply or needs too much memory is refused and ends no program: neither the
shim that receives it from an unknown client, nor the controller that receives it from its API server.

Usage    json_limits_test.py FOLDER-OF-BINARIES
"""
import concurrent.futures
import contextlib
import http.server
import json
import sys
import threading
import urllib.error

from house import House, binaries_from, extender_args, fetch, wait_until
from patience import LATE_S

DEEP = 75_000
MEMORY_MAX_KIB = 256 << 10  # systemd/wattle-shim.service
AT_ONCE = 8


def nested(depth, begin="[", end="]"):
    return begin * depth + "1" + end * depth


def asks(value):
    """Builds requests with this JSON in place of a string, a quantity or any value."""
    whole = json.loads(extender_args("pod-1", ["node-1"]))
    mark = "here-it-goes"
    for put in (lambda pod: pod["metadata"].setdefault("annotations", {}).update({"wattle.dev/latency-hard-ms": mark}),
                lambda pod: pod["spec"].update({"containers": [{"name": "a", "resources": {"requests": {"cpu": mark}}}]}),
                lambda pod: pod["metadata"].update({"uid": mark}),
                lambda pod: pod["metadata"].update({"labels": {"app": mark}}),
                lambda pod: pod["metadata"].update({"ownerReferences": [{"kind": mark, "name": mark}]}),
                lambda pod: pod["spec"].update({"overhead": {"memory": mark}, "resources": {"requests": {"cpu": mark}}}),
                lambda pod: pod["spec"].update({"tolerations": mark, "topologySpreadConstraints": [mark], "affinity": {"podAffinity": mark}}),
                lambda pod: pod["spec"].update({"volumes": mark, "resourceClaims": mark, "schedulingGroup": mark}),
                lambda pod: pod.update({"status": mark})):
        changed = json.loads(json.dumps(whole))
        put(changed["Pod"])
        yield json.dumps(changed).replace(f'"{mark}"', value).encode()
    yield json.dumps({**whole, "NodeNames": mark}).replace(f'"{mark}"', value).encode()
    yield json.dumps({**whole, "NodeNames": None, "Nodes": {"items": mark}}).replace(f'"{mark}"', value).encode()
    yield json.dumps({**whole, "NodeNameToMetaVictims": {"node-1": {"Pods": mark, "NumPDBViolations": mark}}}).replace(f'"{mark}"', value).encode()
    yield value.encode()


def large(piece, bytes_=6 << 20):
    return ('{"Pod":[' + piece + ("," + piece) * (bytes_ // (len(piece) + 1)) + "]}").encode()


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def ask(url, body):
    for _ in range(20):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return fetch(url, body, timeout=LATE_S)
    return 0, "the connection broke 20 times"


class Lists(http.server.BaseHTTPRequestHandler):
    """An API server that lists one pod, with `value` as an annotation."""
    value, lists = '"10"', 0

    def do_GET(self):
        kind = self.path.split("?")[0].rsplit("/", 1)[-1]
        if "watch=" in self.path:
            body = b""
        else:
            item = ('{"metadata":{"name":"web","namespace":"shop","uid":"uid-web","annotations":{"wattle.dev/latency-hard-ms":' +
                    Lists.value + '}},"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":' + Lists.value + "}}}]}}")
            items = item if kind == "pods" else ""
            body = ('{"metadata":{"resourceVersion":"7"},"items":[' + items + "]}").encode()
            Lists.lists += kind == "pods"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    failures = 0

    def claim(text, truth, reported=""):
        nonlocal failures
        print(("ok   " if truth else "FAIL ") + text + ("" if truth else f": {reported}"), flush=True)
        failures += not truth

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lists)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    extra = f'kubernetes: {{watch: "on", server: "http://127.0.0.1:{server.server_address[1]}"}}'
    with House(binaries_from(sys.argv), controller_extra=extra) as house:
        house.start_shim()
        shim = house.processes["shim"].pid
        good = extender_args("pod-1", ["node-1"])
        good = good if isinstance(good, bytes) else good.encode()
        for path in ("prioritize", "filter", "preempt"):
            for value in (nested(DEEP), nested(DEEP, '{"a":', "}"), "[" * DEEP):
                answers = [ask(f"{house.shim()}/{path}", body) for body in asks(value)]
                claim(f"/{path} refuses {value[:5]}... {DEEP} deep at each position",
                      all(status in (200, 400) for status, _ in answers), [(s, t[:80]) for s, t in answers])
                house.alive("shim")
        claim("within 64 levels a value of the wrong type is an error of the pod, not of the request",
              all(ask(f"{house.shim()}/prioritize", body)[0] == 200 for body in list(asks(nested(20)))[:2]))
        for piece in ("[]", "{}", "0", '""', "[[[[[]]]]]", '{"a":{}}', '"0123456789abcdef"'):
            body = large(piece)
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                answers = list(pool.map(lambda _, body=body: ask(f"{house.shim()}/prioritize", body), range(2 * AT_ONCE)))
            house.alive("shim")
            claim(f"6 MiB of {piece} are refused", all(status in (400, 503) for status, _ in answers), [(s, t[:80]) for s, t in answers])
            peak = peak_kib(shim)
            claim(f"the shim stays within the memory of its unit ({peak >> 10} MiB)", peak < MEMORY_MAX_KIB)
        claim("afterwards the shim answers as before", ask(f"{house.shim()}/prioritize", good)[0] == 200)

        for value in (nested(DEEP), nested(DEEP, '{"a":', "}")):
            Lists.value, before = value, Lists.lists
            if "controller" not in house.processes:
                house.start_controller()
            wait_until("the controller lists pods", lambda before=before: Lists.lists >= before + 2)
            house.alive("controller")
            claim(f"the controller survives an API server that answers {value[:5]}..., {len(value)} bytes", True)
        Lists.value = nested(40)
        wait_until("the controller follows the API server", lambda: "api_server.followed" in house.log("controller"))
        house.alive("controller")
        claim("the controller follows the API server again when answers are within the limits", True)
    server.shutdown()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
