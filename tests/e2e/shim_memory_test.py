#!/usr/bin/env python3
"""shim_memory_test: the shim stays within its unit's memory limit when many clients send 5,000 full nodes at once: each
gets a score for every node, or an answer that the shim has no capacity.

Usage    shim_memory_test.py FOLDER-OF-BINARIES
"""
import concurrent.futures
import contextlib
import json
import sys
import urllib.error

from house import House, binaries_from, extender_args, fetch
from patience import LATE_S

NODES, REQUESTS, AT_ONCE = 5000, 16, 8
MEMORY_MAX_KIB = 256 << 10  # systemd/wattle-shim.service


def whole_node(name):
    """Returns a node of some 4 KB, as in a real cluster: labels, capacity, conditions and mainly images."""
    return {"metadata": {"name": name, "uid": f"uid-{name}", "labels": {f"node.example/label-{i}": f"value-{i}" for i in range(12)}},
            "spec": {"podCIDR": "10.1.2.0/24", "providerID": f"example:///{name}"},
            "status": {"capacity": {"cpu": "64", "memory": "263905444Ki", "pods": "110"}, "allocatable": {"cpu": "63", "memory": "260000000Ki", "pods": "110"},
                       "conditions": [{"type": kind, "status": "False", "reason": "KubeletHasNone", "message": "kubelet has none of that",
                                       "lastHeartbeatTime": "2024-11-21T05:20:31Z"} for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")],
                       "images": [{"names": [f"registry.example/some/image-{i}@sha256:{'0123456789abcdef' * 4}"], "sizeBytes": 10_000_000 + i}
                                  for i in range(18)]}}


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def ask(url, body):
    """Sends a request. A client that still sends when the shim has refused and closed gets a broken connection instead
    of the refusal, and repeats the request."""
    for _ in range(20):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return fetch(url, body, timeout=LATE_S)
    return 0, "the connection broke 20 times"


def main():
    args = json.loads(extender_args("pod-1", None))
    del args["NodeNames"]
    args["Nodes"] = {"items": [whole_node(f"node-{i}") for i in range(NODES)]}
    body = json.dumps(args).encode()
    failures = 0
    with House(binaries_from(sys.argv)) as house:
        house.start_shim()
        before = peak_kib(house.processes["shim"].pid)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(lambda _: ask(f"{house.shim()}/prioritize", body), range(REQUESTS)))
        after = peak_kib(house.processes["shim"].pid)
        house.alive("shim")
        good = [a for a in answers if a[0] == 200 and isinstance(json.loads(a[1]), list)]
        refused = [a for a in answers if a[0] == 503 and "bytes" in a[1]]
        for claim, truth, reported in (
                ("each request gets a complete answer, or an answer that there is no capacity", len(good) + len(refused) == REQUESTS, [(s, t[:80]) for s, t in answers]),
                ("some requests get scores", good, refused),
                ("the shim stays within the memory of its unit", after < MEMORY_MAX_KIB, after),
                ("afterwards the shim answers as before", ask(f"{house.shim()}/prioritize", body)[0] == 200, "")):
            print(("ok   " if truth else "FAIL ") + claim + ("" if truth else f": {reported}"), flush=True)
            failures += not truth
        print(f"{len(body) / 1e6:.1f} MB a request, {AT_ONCE} at once: {len(good)} answered, {len(refused)} refused; "
              f"peak memory {before / 1024:.0f} MiB before, {after / 1024:.0f} MiB after")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
