#!/usr/bin/env python3
"""preempt_test: the shim's verb preempt, called as by kube-scheduler: only nodes that the verb filter accepts keep
victims.

Usage    preempt_test.py FOLDER-OF-BINARIES
"""
import itertools
import json
import sys

from demo_run import Claims
from house import House, binaries_from, fetch, wait_until


PODS = itertools.count()


def pod(limit_ms=None, target=""):
    """Returns a new pod, because a node that was accepted for a pod stays accepted."""
    notes = {"wattle.dev/latency-hard-ms": limit_ms} if limit_ms else {}
    if target:
        notes["wattle.dev/latency-target"] = target
    return {"metadata": {"name": "high", "namespace": "default", "uid": f"u-{next(PODS)}", "annotations": notes},
            "spec": {"containers": [{"name": "c", "image": "web:1"}], "priority": 1000}}


def victims(*names):
    return {name: {"Pods": [{"UID": f"{name}-{i}"} for i in range(2)], "NumPDBViolations": len(name)} for name in names}


def ask(house, verb, body):
    status, text = fetch(f"{house.shim()}/{verb}", json.dumps(body).encode())
    return status, json.loads(text) if status == 200 else text


def kept(house, nodes, **more):
    status, answer = ask(house, "preempt", {"Pod": pod(**more), "NodeNameToVictims": None, "NodeNameToMetaVictims": victims(*nodes)})
    return answer["NodeNameToMetaVictims"] if status == 200 else status


def passed(house, nodes, **more):
    return ask(house, "filter", {"Pod": pod(**more), "Nodes": None, "NodeNames": list(nodes)})[1]["NodeNames"]


def main():
    claims = Claims()
    with House(binaries_from(sys.argv)) as house:
        with open(house.dir / "shim.yaml", "a", encoding="utf-8") as shim:
            shim.write("filter: true\ndeadline: 500ms\n")
        house.start_controller()
        house.start_agent()
        house.start_shim()
        near, both = house.node, [house.node, "unmeasured"]
        wait_until("the latency of the node is known", lambda: passed(house, both, limit_ms="60000") == [near])
        check = claims.check
        check("a node within the limit keeps its victims and their count of violations", kept(house, both, limit_ms="60000") == victims(near))
        wait_until("the shim has judged the node's latency", lambda: passed(house, [near], limit_ms="0.000001") == [])
        # An answer after the shim's deadline judges no node; the test then asks about another pod.
        check("a node above the limit loses its victims: no pod is evicted", wait_until("the shim has judged the node", lambda: kept(house, [near], limit_ms="0.000001") == {}))
        check("a node without measurements keeps its victims, because it passes the filter",
              wait_until("the nodes are judged", lambda: kept(house, both, limit_ms="0.000001") == victims("unmeasured")))
        check("without a limit all nodes keep their victims", kept(house, both) == victims(*both))
        check("with a target that no node measures all nodes keep their victims", kept(house, both, limit_ms="1", target="none") == victims(*both))
        status, answer = ask(house, "preempt", {"Pod": pod(limit_ms="0.000001"), "NodeNameToMetaVictims": None, "NodeNameToVictims": {
            near: {"Pods": [{"metadata": {"uid": "a", "name": "x"}, "spec": {}}], "NumPDBViolations": 1}}})
        check("victims as full objects all stay, because full node objects pass the filter",
              (status, answer) == (200, {"NodeNameToMetaVictims": {near: {"Pods": [{"UID": "a"}], "NumPDBViolations": 1}}}), (status, answer))
        for bad in ({}, {"Pod": pod()}, [], {"Pod": pod(), "NodeNameToMetaVictims": 3}):
            check("a malformed preemption is refused with 400", ask(house, "preempt", bad)[0] == 400, bad)
        house.kill("controller")
        wait_until("without the controller all nodes keep their victims", lambda: kept(house, [near], limit_ms="0.000001") == victims(near))
        _, page = fetch(f"{house.shim()}/metrics")
        check("answers are counted by reason", 'wattle_shim_preemptions_total{reason="judged"}' in page and 'wattle_shim_preemption_refused_nodes_total' in page)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
