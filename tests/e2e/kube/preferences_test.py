#!/usr/bin/env python3
"""preferences_test: soft preferences with live advice: 20 nodes in four zones, twelve pods of each kind at a time,
placed by three schedulers.

    plain      no extender
    bounded    the default profile, extender weight 6, a shim with bound_scores (the default)
    chart      profile, weight and bound_scores of k8s/base

Pods with preferences are placed as without an extender; pods without preferences follow the advice, and no node or zone
receives more than half of one owner's replicas. Prints the table of lab/docs/programs.md.

Usage    preferences_test.py FOLDER-OF-BINARIES [--version V] [--only plain,bounded,chart]
Skips    (77) if the control plane's programs can neither be found nor built, with the reason
"""
import argparse
import collections
import pathlib
import signal
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, wait_until  # noqa: E402
from kube_house import PATIENCE, KubeHouse  # noqa: E402

NODES, PODS = 20, 12
ZONES = ("a", "b", "c", "d")
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
BASE = HERE.parents[2] / "k8s/base/config"
SELECTOR = {"matchLabels": {"app": "web"}}
ANTI_AFFINITY = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
    {"weight": 100, "podAffinityTerm": {"topologyKey": HOST, "labelSelector": SELECTOR}}]}}}
NODE_AFFINITY = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
    {"weight": 100, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]}}}
ANTI_AFFINITY_ELSEWHERE = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
    {"weight": 100, "podAffinityTerm": {"topologyKey": HOST, "namespaceSelector": {}, "matchLabelKeys": ["app"], "labelSelector": {}}}]}}}
SPREAD = {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": SELECTOR}]}
SPREAD_BY_KEYS = {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {},
                                                 "matchLabelKeys": ["app"], "nodeTaintsPolicy": "Honor", "nodeAffinityPolicy": "Ignore"}]}
# At most one quiet pod per node, each of which prefers no loud pod beside it.
AVOIDS_LOUD = {"affinity": {"podAntiAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "quiet"}}}],
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "podAffinityTerm": {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "loud"}}}}]}}}


def owner(kind, name):
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True,
            "uid": "00000000-0000-4000-8000-000000000001"}


class Scenario:
    def __init__(self, house, claims):
        self.house, self.plane, self.claims = house, house.plane, claims
        self.rows = collections.defaultdict(dict)

    def make_nodes(self):
        """Creates nodes, a third of them with SSDs, and a Service, whose pods kube-scheduler spreads by default."""
        self.plane.call("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
        servers = self.house.servers()
        for i, server in enumerate(servers):
            self.house.make_one(server, labels={ZONE: ZONES[i % len(ZONES)]} | ({"disk": "ssd"} if i % 3 == 0 else {}))
        self.plane.nodes_ready(NODES)
        self.zone = {server["name"]: ZONES[i % len(ZONES)] for i, server in enumerate(servers)}
        self.ssd = {server["name"] for i, server in enumerate(servers) if i % 3 == 0}

    def place(self, scheduler, prefix, **more):
        """Creates pods one after the other. Returns pod -> node."""
        where = {}
        for i in range(PODS):
            name = f"{prefix}-{i}"
            self.plane.add_pod(name, scheduler=scheduler, cpu="250m", **more)
            where[name] = wait_until(f"{name} is placed", lambda n=name: next((p["spec"].get("nodeName") for p in self.plane.pods() if p["metadata"]["name"] == n), None), PATIENCE)
        return where

    def clear(self, where):
        for name in where:
            self.plane.delete_pod(name)
        wait_until("no pod requests anything", lambda: self.house.requested_cores() == 0, PATIENCE)

    def zones(self, where):
        counts = collections.Counter(self.zone[node] for node in where.values())
        return [counts[zone] for zone in ZONES]

    def set_taint(self, nodes):
        for name in self.zone:
            taints = [{"key": "spare", "value": "yes", "effect": "PreferNoSchedule"}] if name in nodes else None
            self.plane.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}})

    def measure(self, scheduler):
        row = self.rows[scheduler]
        labels = {"app": "web"}
        where = self.place(scheduler, "service", labels=labels, owner=owner("ReplicaSet", "web-5d9"))
        counts = collections.Counter(where.values())
        row["service"] = (len(counts), max(counts.values()))
        self.clear(where)
        where = self.place(scheduler, "zone", labels=labels, owner=owner("ReplicaSet", "web-5d9"), spec=SPREAD)
        row["zones"] = self.zones(where)
        row["explained"] = self.explained("zone-3") if scheduler != "plain" else ""
        self.clear(where)
        where = self.place(scheduler, "anti", labels=labels, owner=owner("ReplicaSet", "web-5d9"), spec=ANTI_AFFINITY)
        row["anti-affinity"] = len(set(where.values()))
        self.clear(where)
        where = self.place(scheduler, "node", spec=NODE_AFFINITY)
        row["node affinity"] = sum(node in self.ssd for node in where.values())
        self.clear(where)
        self.measure_variants(scheduler, row, labels)
        # Taints the nodes that the advice scores highest; those come first.
        where = self.place(scheduler, "bare")
        row["followed"] = self.followed(where) if scheduler != "plain" else 0
        row["bare"] = len(set(where.values()))
        self.clear(where)
        liked = list(dict.fromkeys(where.values())) if scheduler != "plain" else []
        self.set_taint(set((liked + [n for n in self.zone if n not in liked])[:NODES // 2]))
        tainted = {n["metadata"]["name"] for n in self.plane.nodes() if n["spec"].get("taints")}
        where = self.place(scheduler, "taint")
        row["tainted"] = sum(node in tainted for node in where.values())
        self.clear(where)
        self.set_taint(set())
        # Without labels, no Service selects the pods.
        where = self.place(scheduler, "owned", owner=owner("ReplicaSet", "copy-7c4"))
        row["owned"] = (len(set(where.values())), max(collections.Counter(where.values()).values()), max(self.zones(where)))
        row["owned followed"] = self.followed(where) if scheduler != "plain" else 0
        self.clear(where)
        print(scheduler, dict(row), flush=True)

    def measure_variants(self, scheduler, row, labels):
        """Tests other forms of the same preferences, and preferences of running pods."""
        where = self.place(scheduler, "by-keys", labels=labels, owner=owner("StatefulSet", "web"), spec=SPREAD_BY_KEYS)
        row["zones by keys"] = self.zones(where)
        self.clear(where)
        where = self.place(scheduler, "anti-ns", labels=labels, owner=owner("StatefulSet", "web"), spec=ANTI_AFFINITY_ELSEWHERE)
        row["anti-affinity by keys"] = len(set(where.values()))
        self.clear(where)
        quiet = self.place(scheduler, "quiet", labels={"app": "quiet"}, spec=AVOIDS_LOUD)
        where = self.place(scheduler, "loud", labels={"app": "loud"}, owner=owner("ReplicaSet", "loud-1a2"))
        row["beside quiet"] = sum(node in quiet.values() for node in where.values())
        self.clear(quiet | where)
        where = self.place(scheduler, "set", owner=owner("StatefulSet", "db"))
        row["set"] = (max(collections.Counter(where.values()).values()), max(self.zones(where)))
        self.clear(where)
        self.plane.kill("kwok")  # it completes the pods of Jobs immediately
        where = self.place(scheduler, "indexed", labels=labels, owner=owner("Job", "mpi"), spec={"subdomain": "web"})
        row["indexed job"] = (len(set(where.values())), max(collections.Counter(where.values()).values()))
        self.clear(where)
        where = self.place(scheduler, "batch", owner=owner("Job", "batch"))
        row["batch"] = (max(collections.Counter(where.values()).values()), max(self.zones(where)))
        self.clear(where)
        self.plane.start_kwok()

    def explained(self, name):
        return self.house.decision(f"default/{name}")["reason"]

    def followed(self, where):
        return sum(self.house.decision(f"default/{name}")["advice"] == node for name, node in where.items())

    def judge(self, scheduler):
        row, check = self.rows[scheduler], self.claims.check
        check(f"{scheduler}: a Deployment behind a Service is spread", row["service"][0] >= PODS - 1 and row["service"][1] <= 2, row["service"])
        # One point of the extender counts as sixty of kube-scheduler; one more pod in a zone of three costs forty.
        check(f"{scheduler}: ScheduleAnyway keeps the zones level", max(row["zones"]) - min(row["zones"]) <= (2 if scheduler == "bounded" else 1), row["zones"])
        check(f"{scheduler}: preferred anti-affinity is kept", row["anti-affinity"] == PODS, row["anti-affinity"])
        check(f"{scheduler}: preferred node affinity is kept", row["node affinity"] == PODS, row["node affinity"])
        check(f"{scheduler}: PreferNoSchedule is kept", row["tainted"] == 0, row["tainted"])
        check(f"{scheduler}: constraints with matchLabelKeys and nodeTaintsPolicy keep the zones level", max(row["zones by keys"]) - min(row["zones by keys"]) <= (2 if scheduler == "bounded" else 1), row["zones by keys"])
        check(f"{scheduler}: preferred anti-affinity with a namespaceSelector is kept", row["anti-affinity by keys"] == PODS, row["anti-affinity by keys"])
        check(f"{scheduler}: the pods of a Job behind a headless Service are spread", row["indexed job"][0] >= PODS - 1 and row["indexed job"][1] <= 2, row["indexed job"])
        check(f"{scheduler}: the preferred anti-affinity of running pods is kept", row["beside quiet"] == 0, row["beside quiet"])
        if scheduler == "plain":
            return
        for owned in ("set", "batch"):
            check(f"{scheduler}: no node and no zone gets more than half of the replicas ({owned})", max(row[owned]) <= PODS // 2, row[owned])
        check(f"{scheduler}: pods without preferences follow the advice", row["followed"] == PODS and row["bare"] < PODS, (row["followed"], row["bare"]))
        check(f"{scheduler}: replicas that no Service selects follow the advice", row["owned followed"] == PODS, row["owned followed"])
        check(f"{scheduler}: no node and no zone gets more than half of the unselected replicas", row["owned"][1] <= PODS // 2 and row["owned"][2] <= PODS // 2, row["owned"])
        check(f"{scheduler}: explain names the preference", "topology spread" in row["explained"], row["explained"])


def as_in_base(house):
    """The profile and the extender of k8s/base."""
    config = yaml.safe_load((BASE / "scheduler.yaml").read_text(encoding="utf-8"))
    return config["profiles"][0].get("plugins"), {**config["extenders"][0], "urlPrefix": house.shim(), "httpTimeout": "200ms"}


def run(binaries, version, schedulers, claims):
    with ControlPlane(assets.assets(version, assets.CONTROL_PLANE)) as plane, KubeHouse(binaries, plane, nodes=NODES) as house:
        house.start_controller()
        house.start_shim()
        house.start_swarm()
        plane.start_kwok()
        scenario = Scenario(house, claims)
        scenario.make_nodes()
        plugins, extender = as_in_base(house)
        plane.start_scheduler("plain", profile="plain")
        plane.start_scheduler("bounded", profile="bounded", extenders=[house.extender()])
        plane.start_scheduler("chart", profile="chart", plugins=plugins, extenders=[extender])
        wait_until("all agents are used", lambda: sum(n["connected"] and n["latency"] != [] for n in house.nodes()) == NODES, PATIENCE)
        house.set_mode("live")
        try:
            for scheduler in schedulers:
                if scheduler == "chart":
                    house.kill("shim", signal.SIGTERM)
                    base = yaml.safe_load((BASE / "shim.yaml").read_text(encoding="utf-8"))
                    with open(house.dir / "shim.yaml", "a", encoding="utf-8") as shim:
                        shim.write(f"bound_scores: {str(base['bound_scores']).lower()}\n")
                    house.start_shim()
                scenario.measure(scheduler)
                scenario.judge(scheduler)
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
    parser.add_argument("--only", default="plain,bounded,chart")
    options = parser.parse_args()
    claims = Claims()
    try:
        run(pathlib.Path(options.binaries).resolve(), options.version, options.only.split(","), claims)
    except assets.Missing as missing:
        print(f"[skipped] {missing}")
        return SKIPPED
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
