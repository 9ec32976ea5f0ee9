#!/usr/bin/env python3
"""kube_test: Wattle on a real control plane: etcd, kube-apiserver, kube-scheduler and KWOK nodes whose agents are a
swarm that follows their bindings.

Places pods with Wattle off, in shadow and live; decisions are joined by UID and explained by pod name; pods without an
ask are observed; each of several equal pods gets its own ask; hard latency limits hold; an agent enrols by a projected
token; and pods are scheduled while controller, shim or API server is down.

Usage    kube_test.py FOLDER-OF-BINARIES [--version V] [--no-kwok]
Skips    (77) if the control plane's programs can neither be found nor built, with the reason
"""
import argparse
import json
import pathlib
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, fetch, free_ports, wait_until  # noqa: E402
from kube_house import PATIENCE, KubeHouse  # noqa: E402
from patience import SOON_S  # noqa: E402

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9", "uid": "00000000-0000-4000-8000-000000000001", "controller": True}


class Scenario:
    def __init__(self, house: KubeHouse, claims: Claims):
        self.house, self.plane, self.claims = house, house.plane, claims
        self.made = []

    def make(self, prefix, count, **more):
        names = [f"{prefix}-{i}" for i in range(count)]
        for name in names:
            self.plane.add_pod(name, owner=OWNER, **({"scheduler": "wattle"} | more))
        self.made += names
        return names

    def bound(self, names, seconds=PATIENCE):
        def all_bound():
            found = {p["metadata"]["name"]: p["spec"].get("nodeName") for p in self.plane.pods()}
            return {name: found[name] for name in names} if all(found.get(name) for name in names) else None
        return wait_until(f"{len(names)} pods are bound", all_bound, seconds)

    def clear(self):
        for name in self.made:
            self.plane.delete_pod(name)
        self.made = []
        wait_until("nothing is requested", lambda: self.house.requested_cores() == 0, PATIENCE)

    def joined(self, where):
        """Returns the decisions of these pods, once each is joined to the node of the pod in the API server."""
        def all_joined():
            found = {name: self.house.decision(f"default/{name}") for name in where}
            return found if all(d and d["placed_on"] == where[name] for name, d in found.items()) else None
        return wait_until("each decision is joined by UID to the pod's node", all_joined, PATIENCE)

    # ---- claims

    def modes(self):
        check = self.claims.check
        where = self.bound(self.make("off", 6))
        wait_until("six pods are requested", lambda: abs(self.house.requested_cores() - 1.5) < 1e-9, PATIENCE)
        check("off: pods are scheduled without decisions", self.house.document("status")["decisions"] == 0)
        names = {p["name"] for p in wait_until("the agents report the pods", lambda: self.six_pods(), PATIENCE)}
        check("`wattle pods` shows them by name", names == set(where), names)
        self.clear()
        self.house.set_mode("shadow")
        decisions = self.joined(self.bound(self.make("shadow", 6)))
        check("shadow: each pod has an ask and is joined by UID", all(d["mode"] == "shadow" and d["advice"] for d in decisions.values()),
              [d["mode"] for d in decisions.values()])
        self.clear()
        self.house.set_mode("live")
        where = self.bound(self.make("live", 10))
        decisions = self.joined(where)
        followed = [name for name, d in decisions.items() if d["advice"] == where[name]]
        check("live: kube-scheduler follows the advice", len(followed) >= 9, f"{len(followed)} of 10")
        text = self.house.cli("explain", "live-3").stdout
        check("a decision is explained by the pod's name", "live-3" in text and where["live-3"] in text, text)
        wait_until("outcomes are measured", lambda: self.house.document("status")["outcomes"] >= 10, PATIENCE)
        check("outcomes are measured through the loop", True)
        self.clear()

    def six_pods(self):
        found = self.house.query("pods")["pods"]
        return found if len(found) == 6 and all(p["name"] and p["cpu_cores"] is not None for p in found) else None

    def observed(self):
        decisions = self.joined(self.bound(self.make("plain", 4, scheduler="plain")))
        self.claims.check("pods of another scheduler are observed decisions", all(d["mode"] == "observed" for d in decisions.values()),
                          [d["mode"] for d in decisions.values()])
        self.clear()

    def prioritized(self):
        """Returns the shim's number of scoring requests, from its page."""
        _, page = fetch(f"{self.house.shim()}/metrics")
        return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
                   if line.startswith("wattle_shim_requests_total{") and 'verb="prioritize"' in line)

    def one_call_each(self):
        """Equal pods, which opportunistic batching (1.35 and later) would place by one result; extenders disable it."""
        before, count = self.prioritized(), 50
        where = self.bound(self.make("alike", count, cpu="50m"))
        asked = self.prioritized() - before
        decisions = self.joined(where)
        self.claims.check(f"the shim is asked once for each of {count} equal pods, with no feature gate set", asked == count, asked)
        self.claims.check("each equal pod has its own decision", all(d["mode"] == "live" for d in decisions.values()), [d["mode"] for d in decisions.values()])
        self.clear()

    def latency(self):
        p50 = {n["name"]: n["latency"][0]["p50_ms"] for n in self.house.nodes() if n["latency"]}
        ordered = sorted(p50.values())
        # A limit between two distant values, because the probes' jitter is a few percent.
        gap = max(range(1, len(ordered) - 1), key=lambda i: ordered[i + 1] / ordered[i])
        limit = (ordered[gap] * ordered[gap + 1]) ** 0.5
        near = {name for name, ms in p50.items() if ms < limit}
        where = self.bound(self.make("near", 8, annotations={"wattle.dev/latency-hard-ms": f"{limit:.3f}"}))
        self.claims.check("a hard latency limit holds", set(where.values()) <= near, (limit, p50, where))
        name, = self.make("nowhere", 1, annotations={"wattle.dev/latency-hard-ms": "0.001"})

        def reported():
            conditions = next(p for p in self.plane.pods() if p["metadata"]["name"] == name)["status"].get("conditions", [])
            return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), None)
        self.claims.check("kube-scheduler's event reports a limit that no node meets", "above the hard limit" in wait_until("the event exists", reported, PATIENCE))
        _, page = fetch(f"{self.house.shim()}/metrics")
        self.claims.check("the veto is counted", 'wattle_shim_filters_total{reason="judged"}' in page and "wattle_shim_vetoed_nodes_total 0" not in page,
                          [line for line in page.splitlines() if line.startswith("wattle_shim_filter")])
        self.clear()

    def enrolment(self):
        self.plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": "wattle-agent"}})
        node = "spare"  # a node without an agent: a new key replaces the old one
        for account in ("wattle-agent", "other"):
            self.plane.call("POST", "/api/v1/namespaces/wattle-agent/serviceaccounts", {"metadata": {"name": account}})
        statuses = {}
        for account, audience in (("wattle-agent", "wattle"), ("wattle-agent", "https://kubernetes.default.svc"), ("other", "wattle")):
            name = f"{account}-{'right' if audience == 'wattle' else 'wrong'}"
            pod = self.plane.call("POST", "/api/v1/namespaces/wattle-agent/pods", {
                "metadata": {"name": name}, "spec": {"nodeName": node, "serviceAccountName": account, "automountServiceAccountToken": False,
                                                     "containers": [{"name": "agent", "image": "wattle-agent"}]}})
            made = self.plane.call("POST", f"/api/v1/namespaces/wattle-agent/serviceaccounts/{account}/token", {"spec": {
                "audiences": [audience], "expirationSeconds": 3600,
                "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": pod["metadata"]["uid"]}}})
            key = self.house.dir / f"{name}.key"
            self.house.wattle("keys", "new", str(key))
            public = key.with_suffix(".key.pub").read_text().split()[0]
            statuses[name] = self.enrol(made["status"]["token"], public)
            self.plane.call("DELETE", f"/api/v1/namespaces/wattle-agent/pods/{name}", {"gracePeriodSeconds": 0})
        answer = statuses["wattle-agent-right"]
        self.claims.check("a projected token enrols the node that its pod is bound to", answer[0] == 200 and json.loads(answer[1])["node"] == node, answer)
        self.claims.check("tokens of another audience or account do not enrol", [statuses[n][0] for n in ("wattle-agent-wrong", "other-right")] == [401, 401], statuses)

    def enrol(self, token, public_key):
        request = urllib.request.Request(f"http://127.0.0.1:{self.house.enrol_port}/api/v1/enrol", data=json.dumps({"public_key": public_key}).encode(),
                                         headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=SOON_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def deaths(self):
        house, check = self.house, self.claims.check
        before = self.make("before", 5)
        self.bound(before)
        house.kill("controller")
        self.bound(self.make("headless", 5))
        check("pods are scheduled while the controller is down", True)
        house.start_controller()
        wait_until("all ten are requested again", lambda: abs(house.requested_cores() - 2.5) < 1e-9, PATIENCE)
        check("a restarted controller knows the pods that were bound before and during its absence", True)

        def all_named():
            named = [p["name"] for p in house.document("pods")["pods"] if p["name"]]
            return named if len(named) == 10 else None
        names = wait_until("all pods have names", all_named, PATIENCE)
        check("the restarted controller knows the pods' names", set(names) == set(self.made), names)
        house.kill("shim")
        self.bound(self.make("shimless", 5))
        check("pods are scheduled while the shim is down", True)
        house.start_shim()
        self.plane.kill("kube-apiserver")
        wait_until("doctor reports the API server", lambda: house.cli("doctor", check=False).returncode == 1 and "kubernetes" in house.cli("doctor", check=False).stdout, PATIENCE)
        wait_until("all agents report", lambda: house.document("status")["nodes_connected"] == house.swarm_nodes, PATIENCE)
        check("the controller continues without the API server, and reports it", True)
        self.plane.start_apiserver()
        where = self.bound(self.make("again", 5), 2 * PATIENCE)
        self.joined(where)
        wait_until("all twenty are requested", lambda: abs(house.requested_cores() - 5.0) < 1e-9, PATIENCE)
        check("pods that are bound after the API server's return are known", True)
        self.clear()

    def nodes(self):
        house, check = self.house, self.claims.check
        last = house.servers()[-1]
        house.make_one(last)
        wait_until("the new node is known", lambda: (house.node_of(last["name"]) or {}).get("kubernetes"), PATIENCE)
        everyone = [n["metadata"]["name"] for n in self.plane.nodes()]
        others = [name for name in everyone if name != last["name"]]
        for name in others:
            self.plane.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
        wait_until("the controller knows the drained nodes", lambda: all(house.node_of(n)["kubernetes"]["schedulable"] is False for n in others), PATIENCE)
        where = self.bound(self.make("new", 4))
        check("a new node gets pods while the others are drained", set(where.values()) == {last["name"]}, where)
        for name in others:
            self.plane.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})
        wait_until("the controller knows the uncordoned nodes", lambda: all(house.node_of(n)["kubernetes"]["schedulable"] for n in others), PATIENCE)
        self.plane.call("DELETE", f"/api/v1/nodes/{last['name']}")
        wait_until("the controller knows the deleted node", lambda: house.node_of(last["name"])["kubernetes"].get("deleted"), PATIENCE)
        where = self.bound(self.make("after", 4))
        self.joined(where)
        check("a deleted node gets no pods", last["name"] not in where.values(), where)
        self.clear()

    def churn(self):
        """Runs the two shipped drivers: create thirty pods, delete all, repeat; a sliding window of thirty."""
        house, check = self.house, self.claims.check
        for driver, turns, created in (("test1", 2, 60), ("test2", 20, 50)):
            done = house.run(house.binary("wattle-sim"), "churn", driver, "--turns", str(turns), "--cpu", "100m", "--kube", self.plane.url,
                             "--kube-token", str(house.token), "--kube-ca", str(self.plane.ca), "-o", "json", timeout=2 * PATIENCE)
            reported = json.loads(done.stdout) if done.returncode == 0 else {}
            check(f"wattle-sim churn {driver}: each pod gets a node", (reported.get("created"), reported.get("bound"), reported.get("unbound")) == (created, created, 0),
                  done.stdout + done.stderr)
            check(f"{driver}: the pods are on the nodes of this cluster", set(reported.get("nodes", ())) <= {n["metadata"]["name"] for n in self.plane.nodes()}, reported)
            wait_until(f"{driver}: nothing is requested at the end", lambda: house.requested_cores() == 0, PATIENCE)
            check(f"{driver}: no pod is left", not [p for p in self.plane.pods() if p["metadata"]["name"].startswith("churn-")])


def run(binaries, version, kwok, claims):
    programs = tuple(p for p in assets.CONTROL_PLANE if kwok or p != "kwok")
    with ControlPlane(assets.assets(version, programs)) as plane:
        port, = free_ports(1)
        with KubeHouse(binaries, plane, nodes=6, controller_extra=f"enrol: {{port: {port}, kubernetes: {{}}}}") as house:
            house.enrol_port = port
            house.start_controller()
            house.start_shim()
            house.start_swarm()
            if kwok:
                plane.start_kwok()
            # One node joins later.
            house.make_nodes(house.swarm_nodes - 1)
            plane.start_scheduler("scheduler", profile="wattle", extenders=[house.extender()])
            plane.start_scheduler("plain-scheduler", profile="plain")
            wait_until("all agents report", lambda: sum(n["connected"] and n["latency"] != [] for n in house.nodes()) == house.swarm_nodes, PATIENCE)
            scenario = Scenario(house, claims)
            try:
                for part in (scenario.modes, scenario.observed, scenario.one_call_each, scenario.latency, scenario.enrolment, scenario.churn, scenario.nodes, scenario.deaths):
                    print(f"-- {part.__name__}", flush=True)
                    part()
            except BaseException:
                for name in ("controller", "shim", "swarm"):
                    print(f"---- {name}\n{house.log(name)[-3000:]}")
                for name in plane.processes:
                    print(f"---- {name}\n{plane.tail(name)}")
                raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--version", default=assets.VERSION)
    parser.add_argument("--no-kwok", action="store_true", help="without KWOK no program updates the status of nodes and pods; kube-scheduler works without it")
    options = parser.parse_args()
    claims = Claims()
    try:
        run(pathlib.Path(options.binaries).resolve(), options.version, not options.no_kwok, claims)
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
