"""releases: Helm upgrades, rolls back, tests, uninstalls and installs the release on real nodes.

Claims   pods keep running through each step; the controller keeps its volume and the agents keep their keys; after the
         removal only the objects that `helm uninstall` keeps are left
"""
import json

from house import HouseError, wait_until
from patience import LATE_S
from real_cluster import ROOT, is_ready

VALUES = ROOT / "scripts/cluster/values.yaml"


def volume(cluster):
    return json.loads(cluster.kubectl("get", "pvc", "wattle-controller", "--namespace", "wattle", "--output", "json"))["metadata"]["uid"]


def restarts(cluster):
    """Returns restarts of the workloads' pods, which no step of the release may change."""
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in cluster.pods("web") + cluster.pods("store")}


def decides(cluster, what):
    wait_until("every agent is connected", lambda: cluster.connected() == set(cluster.names))
    return bool(cluster.decided(what))


def decided(cluster):
    """Returns the pods of the decisions in the controller's store."""
    return {each["pod_uid"] for each in cluster.wattle("decisions", "--since", "24h", "--limit", "1000")["decisions"]}


def history(cluster):
    return json.loads(cluster.helm("history", "wattle", "--output", "json"))


def check_upgrade(claims, cluster):
    before, kept, decisions = restarts(cluster), volume(cluster), decided(cluster)
    agents = {pod["metadata"]["uid"] for pod in cluster.part("agent")}
    cluster.upgrade("--set", "agent.tick=2s,shim.deadline=900ms,commonLabels.team=platform")
    claims.check("the upgrade is rolled out", {pod["metadata"]["labels"].get("team") for name in ("agent", "controller", "scheduler") for pod in cluster.part(name)} == {"platform"})
    claims.check("every agent is a new pod", not agents & {pod["metadata"]["uid"] for pod in cluster.part("agent")})
    claims.check("the controller decides after the upgrade", decides(cluster, "upgraded"))
    claims.check("the controller has its volume and its earlier decisions", volume(cluster) == kept and decisions < decided(cluster))
    cluster.helm("rollback", "wattle", history(cluster)[-2]["revision"], "--wait", f"--timeout={LATE_S:.0f}s", seconds=2 * LATE_S)
    claims.check("a rollback is rolled out", not any(pod["metadata"]["labels"].get("team") for name in ("agent", "controller", "scheduler") for pod in cluster.part(name)))
    claims.check("the controller decides after the rollback", decides(cluster, "rolled-back"))
    claims.check("the workloads were not disturbed", restarts(cluster) == before, (before, restarts(cluster)))


def check_test(claims, cluster):
    try:
        cluster.helm("test", "wattle", f"--timeout={LATE_S:.0f}s", seconds=2 * LATE_S)
        claims.check("`helm test` passes", True)
    except HouseError as error:
        claims.check("`helm test` passes", False, error)


def check_removal(claims, cluster):
    before, kept = restarts(cluster), volume(cluster)
    values = cluster.helm("get", "values", "wattle", "--output", "json")
    cluster.helm("uninstall", "wattle", "--wait", f"--timeout={LATE_S:.0f}s", seconds=2 * LATE_S)

    def left():  # Helm keeps the pod of `helm test` for its log
        found = cluster.kubectl("get", "pods,deployments,daemonsets,services,jobs", "--all-namespaces", "--selector", "app.kubernetes.io/part-of=wattle", "--output", "name")
        return set(found.split()) - {"pod/wattle-test"}
    wait_until("nothing of the release runs", lambda: not left())
    claims.check("after `helm uninstall` no workload and no Service of the release is left", True)
    claims.check("the volume is kept", volume(cluster) == kept)
    wait_until("the workloads are ready", lambda: all(map(is_ready, cluster.pods("web"))))
    claims.check("running pods are not disturbed", restarts(cluster) == before, (before, restarts(cluster)))
    cluster.plane.add_pod("alone", cpu="20m", memory="16Mi", image="wattle.demo/tools:1")
    wait_until("the default scheduler places a pod", lambda: [pod for pod in cluster.plane.pods() if pod["metadata"]["name"] == "alone" and pod["spec"].get("nodeName")])
    claims.check("the default scheduler continues", True)
    cluster.delete("alone")
    path = cluster.plane.dir / "values.json"
    path.write_text(values, encoding="utf-8")
    cluster.helm("install", "wattle", ROOT / "k8s/chart", "--values", path, "--wait", f"--timeout={LATE_S:.0f}s", seconds=2 * LATE_S)
    claims.check("a new installation on the same volume decides", decides(cluster, "again") and volume(cluster) == kept)


def check(claims, cluster):
    check_upgrade(claims, cluster)
    check_test(claims, cluster)
    check_removal(claims, cluster)
