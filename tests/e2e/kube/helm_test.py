#!/usr/bin/env python3
"""helm_test: Helm installs, upgrades and rolls back the chart on a real API server that admits the priorities system-*
only under a quota.

The API server limits these priorities as in the documentation of Kubernetes and in GKE: without a ResourceQuota it
refuses every pod of the chart, and `wattle doctor --pre` reports that in advance. An upgrade moves everything to a
namespace whose name is a number, a rollback moves it back. Names that YAML reads as numbers, booleans, null or dates
are strings in the API server's objects; the programs accept the configurations, and a real kube-scheduler with the
rendered configuration binds a pod with such a scheduler name. This test replaces the quota controller, which writes a
quota's status, and creates pods as dry runs.

Usage    helm_test.py BIN_DIR [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: no helm, or no programs of a control plane
"""
import argparse
import json
import pathlib
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "tests/lint")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import manifests_test as manifests  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
import house  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from patience import LATE_S  # noqa: E402

PATIENCE = LATE_S
# namespaces.control, namespaces.agents and scheduler.name, each of which YAML 1.1 or 1.2 reads as a non-string type
ODD_NAMES = [("0o17", "0b11", "1e3"), ("yes", "no", "null"), ("2024-11-27", "017", "0x1f"), ("0", "12e03", "true"), ("y", "n", "off")]
CONFIGS = {"controller.yaml": ("wattle-controller",), "shim.yaml": ("wattle-shim",), "agent.yaml": ("wattle-agent", "run")}
PRIORITIES = ["system-node-critical", "system-cluster-critical", "gold"]  # gold: a priority class of the cluster
LIMITED = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{"name": "ResourceQuota", "configuration": {
    "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": [
        {"resource": "pods", "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": PRIORITIES}]}]}}]}
claims = Claims()


class Plane(ControlPlane):
    """A control plane whose API server admits the priorities system-* only under a quota."""

    def start(self, name, *command):
        more = []
        if name == "kube-apiserver":
            path = self.dir / "admission.json"
            path.write_text(json.dumps(LIMITED), encoding="utf-8")
            more = [f"--admission-control-config-file={path}"]
        super().start(name, *command, *more)


class Desk:
    """Runs helm and wattle with this cluster's kubeconfig in a private folder."""

    def __init__(self, plane, binaries):
        self.plane, self.binaries, self.kubeconfig = plane, binaries, plane.kubeconfig()
        self.values = plane.dir / "mine.yaml"
        self.values.write_text("images: {registry: registry.example/team}\n", encoding="utf-8")

    def helm(self, *words):
        ran = subprocess.run([str(assets.helm(may_build=False)), *words, "--namespace", "kube-system", "--kubeconfig", str(self.kubeconfig)],
                             capture_output=True, text=True, check=False, env={"HOME": str(self.plane.dir), "PATH": "/usr/bin:/bin"})
        return ran.returncode, ran.stdout + ran.stderr

    def change(self, verb, *more):
        return self.helm(verb, "wattle", str(ROOT / "k8s/chart"), "--values", str(self.values), *more)

    def doctor(self, text):
        path = self.plane.dir / "doctor.yaml"
        path.write_text(text, encoding="utf-8")
        ran = subprocess.run([str(self.binaries / "wattle"), "doctor", "--pre", "--values", str(path), "--kubeconfig", str(self.kubeconfig), "-o", "json"],
                             capture_output=True, text=True, check=False)
        return {f["name"]: f for f in json.loads(ran.stdout)["findings"]} if ran.stdout else {"": ran.stderr}


def workloads(plane, space):
    return [{**thing, "kind": kind} for kind, path in (("Deployment", "deployments"), ("DaemonSet", "daemonsets"))
            for thing in plane.call("GET", f"/apis/apps/v1/namespaces/{space}/{path}")["items"]]


def admitted(plane, thing, space):
    template = manifests.pod_template(thing)
    return plane.raw("POST", f"/api/v1/namespaces/{space}/pods?dryRun=All",
                     {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "probe-", "labels": template["metadata"]["labels"]}, "spec": template["spec"]})


def count_quotas(plane, space):
    """Writes the quota's status like the quota controller: the limits, and no usage."""
    for quota in plane.call("GET", f"/api/v1/namespaces/{space}/resourcequotas")["items"]:
        hard = quota["spec"]["hard"]
        plane.call("PATCH", f"/api/v1/namespaces/{space}/resourcequotas/{quota['metadata']['name']}/status",
                   {"status": {"hard": hard, "used": {key: "0" for key in hard}}})


def check_quota(plane, desk):
    with_quotas, without = desk.doctor("images: {registry: r.example}\n"), desk.doctor("images: {registry: r.example}\nresourceQuotas: {enabled: false}\n")
    named = [f"priority.{space}" for space in ("wattle", "wattle-agent")]
    claims.check("doctor --pre reports that this cluster requires a quota, and that the chart creates one",
                 all(with_quotas.get(name, {}).get("state") == "ok" and "ResourceQuota" in with_quotas[name]["detail"] for name in named), with_quotas)
    claims.check("doctor --pre refuses values without quotas here", all(without.get(name, {}).get("state") == "failed" for name in named), without)
    code, said = desk.change("install")
    claims.check("helm installs", code == 0, said[-2000:])
    for space in ("wattle", "wattle-agent"):
        count_quotas(plane, space)
        for thing in workloads(plane, space):
            name = manifests.label(thing)
            wait_until(f"a pod of {name} is admitted", lambda thing=thing, space=space: admitted(plane, thing, space)[0] == 201, PATIENCE)
            claims.check(f"a pod of {name} is admitted", True)
    agent, = workloads(plane, "wattle-agent")
    code, said = admitted(plane, agent, "default")
    claims.check("the same pod is refused without a quota", code in (403, 500) and "insufficient quota to match these scopes" in str(said), f"{code} {said}")
    claims.check("doctor --pre accepts the priorities after the installation",
                 desk.doctor("images: {registry: r.example}\nresourceQuotas: {enabled: false}\n")["priority.wattle"]["state"] == "ok")


def check_classes(plane, desk):
    """Tests a priority class of the cluster, and limits in an existing namespace."""
    gold = "images: {registry: r.example}\nagent: {priorityClassName: gold}\n"
    missing = desk.doctor(gold)["priority.wattle-agent"]
    claims.check("doctor --pre names a class that does not exist", missing["state"] == "failed" and "no PriorityClass" in missing["detail"], missing)
    plane.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "gold"}, "value": 1000000})
    wait_until("the priority class exists", lambda: desk.doctor(gold + "resourceQuotas: {enabled: false}\n")["priority.wattle-agent"]["detail"].find("ResourceQuota") >= 0, PATIENCE)
    claims.check("doctor --pre reports that this class needs a quota too, which the chart creates", desk.doctor(gold)["priority.wattle-agent"]["state"] == "ok", desk.doctor(gold))
    code, said = desk.change("upgrade", "--set", "agent.priorityClassName=gold")
    count_quotas(plane, "wattle-agent")
    agent, = workloads(plane, "wattle-agent")
    claims.check("an upgrade accepts the class", code == 0 and manifests.pod_template(agent)["spec"]["priorityClassName"] == "gold", said[-2000:])
    wait_until("a pod of the class gold is admitted", lambda: admitted(plane, agent, "wattle-agent")[0] == 201, PATIENCE)
    plane.call("POST", "/api/v1/namespaces/wattle-agent/resourcequotas", {"metadata": {"name": "cpus"}, "spec": {"hard": {"limits.cpu": "10"}}})
    plane.call("PATCH", "/api/v1/namespaces/wattle-agent/resourcequotas/cpus/status", {"status": {"hard": {"limits.cpu": "10"}, "used": {"limits.cpu": "0"}}})
    wait_until("the API server refuses pods without a limit", lambda: admitted(plane, agent, "wattle-agent")[0] == 403, PATIENCE)
    refused = desk.doctor(gold)["priority.wattle-agent"]
    claims.check("doctor --pre names a quota that requires limits that the values lack", refused["state"] == "failed" and "limits.cpu" in refused["detail"], refused)
    limited = desk.doctor(gold.replace("gold}", "gold, resources: {limits: {cpu: 100m}}}"))["priority.wattle-agent"]
    claims.check("doctor --pre accepts values with these limits", limited["state"] == "ok", limited)
    plane.call("DELETE", "/api/v1/namespaces/wattle-agent/resourcequotas/cpus")
    code, said = desk.helm("rollback", "wattle", "1")
    claims.check("helm rolls back to the previous priorities", code == 0, said[-2000:])


def check_test(plane, desk):
    code, said = desk.helm("get", "hooks", "wattle")
    claims.check("`helm test` has a pod that asks the controller for problems", code == 0 and "helm.sh/hook: test" in said and "doctor" in said, said)
    code, answer = plane.raw("POST", "/api/v1/namespaces/wattle/pods?dryRun=All", yaml.safe_load(said))
    claims.check("the namespace admits that pod", code == 201, f"{code} {answer}")


def check_moves(plane, desk):
    code, said = desk.change("upgrade", "--set-string", "namespaces.control=4711,scheduler.name=1e3")
    claims.check("an upgrade moves the control plane to the namespace 4711, for a scheduler called 1e3", code == 0, said[-2000:])
    claims.check("the workloads are in the new namespace, and not in the old one", bool(workloads(plane, "4711")) and not workloads(plane, "wattle"))
    code, said = desk.helm("rollback", "wattle", "1")
    claims.check("helm rolls back to the previous namespace", code == 0, said[-2000:])
    claims.check("the workloads are back in the old namespace", bool(workloads(plane, "wattle")) and not workloads(plane, "4711"))
    kept = [plane.raw("GET", f"/api/v1/namespaces/{space}/persistentvolumeclaims/wattle-controller")[0] for space in ("wattle", "4711")]
    claims.check("the volumes of both namespaces were kept", kept == [200, 200], kept)
    code, said = desk.change("upgrade", "--set-string", "namespaces.agents=4712")
    claims.check("an upgrade moves the agents", code == 0 and bool(workloads(plane, "4712")) and not workloads(plane, "wattle-agent"), said[-2000:])
    code, said = desk.helm("rollback", "wattle", "1")
    claims.check("helm rolls the agents back immediately", code == 0 and bool(workloads(plane, "wattle-agent")) and not workloads(plane, "4712"), said[-2000:])
    code, said = desk.change("upgrade", "--set-string", "namespaces.control=4711")
    claims.check("another upgrade moves the control plane again", code == 0 and bool(workloads(plane, "4711")), said[-2000:])
    code, said = desk.helm("rollback", "wattle", "1")
    claims.check("helm rolls the control plane back", code == 0 and bool(workloads(plane, "wattle")), said[-2000:])


def mentions(value, name):
    """Returns whether a document has the name as a string value."""
    if isinstance(value, dict):
        return any(mentions(item, name) for item in value.values())
    return any(mentions(item, name) for item in value) if isinstance(value, list) else value == name


def refused_configs(desk, texts):
    """Returns the errors of the programs about the configurations of the release."""
    said = {}
    for name in CONFIGS.keys() & texts.keys():
        path = desk.plane.dir / name
        path.write_text(texts[name], encoding="utf-8")
        program, *words = CONFIGS[name]
        ran = subprocess.run([str(desk.binaries / program), *words, "--config", str(path), "--check-config"], capture_output=True, text=True, check=False)
        said |= {name: ran.stderr} if f"{name}:" in ran.stderr else {}
    return said


def check_names(plane, desk):
    plane.add_node("n1")
    for control, agents, scheduler in ODD_NAMES:
        names = f"namespaces {control} and {agents}, scheduler {scheduler}"
        code, said = desk.change("upgrade", "--set-string", f"namespaces.control={control},namespaces.agents={agents},scheduler.name={scheduler}")
        claims.check(f"helm installs with {names}", code == 0, said[-2000:])
        found = [len(workloads(plane, space)) for space in (control, agents)]
        claims.check("the workloads exist under these names", found == [2, 1], found)
        texts = {key: text for space in (control, agents) for each in plane.call("GET", f"/api/v1/namespaces/{space}/configmaps")["items"]
                 for key, text in each.get("data", {}).items() if key.endswith(".yaml")}
        refused = refused_configs(desk, texts)
        claims.check("the programs accept their configurations", {"controller.yaml", "shim.yaml", "agent.yaml"} <= texts.keys() and not refused, refused or list(texts))
        claims.check("the configurations have the scheduler's name as a string", mentions(yaml.safe_load(texts["scheduler.yaml"]), scheduler), texts["scheduler.yaml"])
        check_binding(plane, texts["scheduler.yaml"], scheduler)


def check_binding(plane, text, name):
    """Returns the chart's configuration with the address of the cluster."""
    path = plane.dir / "odd-scheduler.yaml"
    path.write_text(f"{text}\nclientConnection: {{kubeconfig: {plane.kubeconfig()}}}\n", encoding="utf-8")
    plane.start("odd-scheduler", str(plane.assets / "kube-scheduler"), "--config", str(path), "--bind-address", "127.0.0.1", "--secure-port", str(house.free_ports(1)[0]))
    plane.add_pod("odd", scheduler=name)
    try:
        wait_until(f"a pod is bound by the scheduler {name}", lambda: plane.pods()[0]["spec"].get("nodeName") == "n1", PATIENCE)
        claims.check(f"kube-scheduler accepts the configuration and binds a pod of the scheduler {name}", True)
    except HouseError as error:
        claims.check(f"kube-scheduler accepts the configuration and binds a pod of the scheduler {name}", False, f"{error}\n{plane.tail('odd-scheduler')}")
    plane.kill("odd-scheduler")
    plane.delete_pod("odd")


def check_labels(desk):
    """Tests an upgrade of labels: pod labels change with values and chart; a Job's pods and every selector are
    immutable."""
    code, said = desk.change("upgrade", "--set", "commonLabels.team=platform,keys.podLabels.a=b")
    claims.check("an upgrade changes the labels of every pod", code == 0, said[-2000:])


def check_records(plane, desk):
    """A namespace that is removed from the list keeps its record of requests, and a rollback restores it."""
    plane.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    code, said = desk.change("upgrade", "--set", "requests.namespaces={shop}")
    claims.check("an upgrade lets requests be set in a namespace", code == 0, said[-2000:])
    revision = len(json.loads(desk.helm("history", "wattle", "--output", "json")[1]))
    code, said = desk.change("upgrade")
    record = "/api/v1/namespaces/shop/configmaps/wattle-requests"
    claims.check("an upgrade removes the namespace from the list and keeps its record", code == 0 and plane.raw("GET", record)[0] == 200, said[-2000:])
    code, said = desk.helm("rollback", "wattle", str(revision))
    claims.check("helm rolls back to the previous list", code == 0, said[-2000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver", "kube-scheduler"))
        assets.helm(may_build=False)
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    with Plane(programs) as plane:
        desk = Desk(plane, options.binaries.resolve())
        check_quota(plane, desk)
        check_classes(plane, desk)
        check_test(plane, desk)
        check_moves(plane, desk)
        check_records(plane, desk)
        check_labels(desk)
        check_names(plane, desk)
    print("helm: every claim holds" if claims.failed == 0 else f"helm: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
