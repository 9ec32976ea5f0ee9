#!/usr/bin/env python3
"""One real node: a QEMU machine with a stock Debian kernel, containerd, kube-proxy and a kubelet joins a real control plane and runs our
images from k8s/base, of which it changes how long probes wait and nothing else: the Job that makes the keys, the DaemonSet of agents, the
controller on a volume, the second kube-scheduler with the shim beside it. Pods that choose Wattle are placed by it, and `wattle pods` shows
them by name with their CPU, memory, pressure and joules; CPU and memory are held against the cgroup files of the machine.

In place of a cluster's own: dnsmasq for CoreDNS (names of Services), one volume made by hand for a provisioner, a NodePort for `kubectl
port-forward`. Enforced by nobody here: network policies.

Usage    node_test.py FOLDER-OF-BINARIES [--version 1.35.4] [--keep]     --keep: stays up at the end until Enter is pressed
Needs    root; scripts/setup --long; Go, or KUBEBUILDER_ASSETS with kubelet, kube-proxy and kube-controller-manager too
Time     with nothing in the cache, 10 minutes for the images and the root, and the Go builds
Exit     0 fine, 1 a claim failed, 77 skipped, with the reason
"""
import argparse
import fcntl
import pathlib
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE / "node"), str(HERE.parent), str(HERE.parent / "images"), str(ROOT / "tests/lint")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import chart_test  # noqa: E402
import images  # noqa: E402
import manifests_test as manifests  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from node_plane import NodePlane  # noqa: E402
from rbac_test import Server  # noqa: E402
from real_node import NAME, PAUSE, RealNode, prepared  # noqa: E402
from registry import Registry  # noqa: E402
from wattle_there import WattleThere  # noqa: E402

PATIENCE = 1800  # everything starts at once on two processors, perhaps without KVM
CONSOLE = {30462: 7462, 30850: 8050}  # NodePort -> the controller's
LOAD = "registry.test/load:1"
# What a container does; one that uses more than it may and has two loops wait for one another, one that holds memory and sleeps
WORKLOADS = {"busy": (["/bin/sh", "-c", "while :; do :; done & while :; do :; done"], {"cpu": "300m", "memory": "64Mi"}),
             "idle": (["/usr/bin/perl", "-e", "my $held = 'x' x (48 << 20); sleep"], {"cpu": "300m", "memory": "192Mi"})}
claims = Claims()


def build_images(binaries, programs, version):
    """All that the node runs, by the names that the manifests say. What is in the cache is not built again."""
    cache = images.storage()
    with open(cache / "lock", "w", encoding="utf-8") as lock, tempfile.TemporaryDirectory(prefix="wattle-node-images-") as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        buildah = images.Buildah(cache)
        base = buildah.base()
        context = images.context_of(binaries, folder, False)
        names = {}
        for target in images.TARGETS:
            buildah.build(target, base, context, "prebuilt")
            names[f"wattle-{target}"] = f"docker.io/library/wattle-{target}:0.1.0"
        buildah.commit("scheduler", "scratch", [(programs / "kube-scheduler", "/usr/local/bin/kube-scheduler")], env="PATH=/usr/local/bin")
        buildah.commit("pause", base, entrypoint='["/usr/bin/sleep","infinity"]')
        buildah.commit("load", base, entrypoint='["/usr/bin/sleep","infinity"]')
        names |= {"scheduler": f"registry.k8s.io/kube-scheduler:v{version}", "pause": PAUSE, "load": LOAD}
        buildah.layout(names, cache / "layout")
    return cache / "layout"


def eventually(claim, condition, node):
    try:
        found = wait_until(claim, lambda: node.alive() and condition(), PATIENCE)
    except HouseError as error:
        claims.check(claim, False, f"{error}\n{node.why()}")
        raise
    claims.check(claim, True)
    return found


def volume():
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "by-hand"}, "spec": {
        "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/var/lib/wattle-volume"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [NAME]}]}]}}}}


def console():
    """What stands in for `kubectl port-forward`."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "console", "namespace": "wattle"}, "spec": {
        "type": "NodePort", "selector": {"app.kubernetes.io/name": "wattle-controller"},
        "ports": [{"name": f"p{port}", "port": port, "nodePort": there} for there, port in CONSOLE.items()]}}


def patient(objects):
    """As an overlay would: an emulated processor may answer a probe minutes late, and a restart makes it later."""
    for template in filter(None, map(manifests.pod_template, objects)):
        for container in template["spec"]["containers"]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container:
                    container[probe] |= {"timeoutSeconds": 60, "failureThreshold": 300 if probe == "startupProbe" else 30}
    return objects


def install(plane, admin, node):
    objects = patient(chart_test.base_objects()[0])
    refused = []
    for thing in sorted(objects, key=lambda o: o["kind"] != "Namespace"):
        code, said, _ = admin.apply(thing, False)
        refused += [] if code in (200, 201) else [f"{manifests.label(thing)}: {code} {said[:300]}"]
    claims.check(f"the {len(objects)} objects of k8s/base are taken", not refused, "\n".join(refused))
    plane.call("POST", "/api/v1/persistentvolumes", volume())
    plane.call("POST", "/api/v1/namespaces/wattle/services", console())
    services = plane.call("GET", "/api/v1/services")["items"]
    node.write("/run/names/services", "".join(
        f"{s['spec']['clusterIP']} {s['metadata']['name']}.{s['metadata']['namespace']}.svc.cluster.local\n" for s in services))


def pods_of(plane, space, label):
    return plane.call("GET", f"/api/v1/namespaces/{space}/pods?labelSelector={label}")["items"]


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def all_ready(plane, space, name, count=1):
    """The pods of a workload once they are ready, and no more are there."""
    found = pods_of(plane, space, f"app.kubernetes.io/name={name}")
    return found if len(found) == count and all(map(is_ready, found)) else None


def check_came_up(plane, node):
    def keys_made():
        return any(job["status"].get("succeeded") for job in plane.call("GET", "/apis/batch/v1/namespaces/wattle/jobs")["items"])
    eventually("the Job makes the keys", keys_made, node)
    pods = []
    for space, name, what in (("wattle", "wattle-controller", "the Deployment's controller, on its volume"),
                              ("wattle-agent", "wattle-agent", "the DaemonSet's agent"),
                              ("wattle", "wattle-scheduler", "the Deployment's kube-scheduler, with the shim beside it,")):
        pods += eventually(f"{what} is ready", lambda space=space, name=name: all_ready(plane, space, name), node)
    return pods


def check_sound(plane, uids):
    """Ready in the end is not enough: nothing was too much for the manifests' limits, and nothing gave up. That a probe was not answered in time
    even so, and the kubelet started a container again, is no claim of ours."""
    pods = [p for space in ("wattle", "wattle-agent") for p in plane.call("GET", f"/api/v1/namespaces/{space}/pods")["items"]]
    there = {p["metadata"]["uid"] for p in pods if p["status"]["phase"] == "Running"}
    claims.check("the same pods run as came up", uids <= there, str(uids - there))
    for pod in pods:
        for status in pod["status"].get("containerStatuses", []):
            last = status.get("lastState", {}).get("terminated", {})
            print(f"     {pod['metadata']['name']}: {status['name']}: {status['restartCount']} restarts {last.get('reason', '')}")
            claims.check(f"{pod['metadata']['name']}: {status['name']} kept to its memory and never ended by itself",
                         last.get("reason") != "OOMKilled" and last.get("exitCode") in (None, 0, 137, 143), last)


def add_other(plane):
    """A node of nobody's, without a kubelet: with one candidate kube-scheduler asks no extender. It is let be by who has a choice, and by the
    DaemonSet for want of a label."""
    plane.add_node("other-1")
    plane.call("PATCH", "/api/v1/nodes/other-1", {"spec": {"taints": [{"key": "test", "value": "nobody", "effect": "PreferNoSchedule"}]}})


def prioritized(node, pod):
    """How often the scheduler has asked its shim to score: by the shim's own page, read from within the machine."""
    page = node.run("python3", "-c", f"import urllib.request; print(urllib.request.urlopen('http://{pod['status']['podIP']}:8888/metrics', timeout=60).read().decode())")
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith("wattle_shim_requests_total{") and 'verb="prioritize"' in line and 'code="200"' in line)


def start_workloads(plane):
    for name, (command, limits) in WORKLOADS.items():
        labels = {"app.kubernetes.io/name": name}
        plane.call("POST", "/apis/apps/v1/namespaces/default/deployments", {
            "metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "schedulerName": "wattle", "terminationGracePeriodSeconds": 0, "containers": [{
                    "name": "main", "image": LOAD, "imagePullPolicy": "IfNotPresent", "command": command,
                    "resources": {"limits": limits, "requests": {"cpu": "100m", "memory": "32Mi"}}}]}}}})


def measured(there):
    """name -> what `wattle pods` shows, once it shows everything of both."""
    found = {p["name"]: p for p in there.query("pods")["pods"] if p["namespace"] == "default"}
    whole = len(found) == len(WORKLOADS) and all(
        p[key] is not None for p in found.values() for key in ("cpu_cores", "memory_bytes", "power_w", "energy_j"))
    return found if whole and all(p["psi"]["cpu_some_ratio"] is not None for p in found.values()) else None


def cgroup_of(node, uid):
    """The folder of a pod in the machine's hierarchy."""
    return node.run("find", "/sys/fs/cgroup/kubepods.slice", "-maxdepth", "2", "-name", f"*pod{uid.replace('-', '_')}.slice").strip()


def usage_us(node, folder):
    return int(node.run("sed", "-n", "s/^usage_usec //p", f"{folder}/cpu.stat"))


def check_pods(plane, node, there):
    add_other(plane)
    start_workloads(plane)
    running = {name: eventually(f"{name} is scheduled by `wattle` and runs", lambda name=name: all_ready(plane, "default", name), node)[0] for name in WORKLOADS}
    names = {name: pod["metadata"]["name"] for name, pod in running.items()}
    shown = eventually("`wattle pods` names both, with CPU, memory, pressure and joules", lambda: measured(there), node)
    claims.check("by the names that Kubernetes gave them, and on this node",
                 {(p["name"], p["uid"], p["node"]) for p in shown.values()} == {(p["metadata"]["name"], p["metadata"]["uid"], NAME) for p in running.values()}, shown)
    folders = {name: cgroup_of(node, pod["metadata"]["uid"]) for name, pod in running.items()}
    before = {p["name"]: p["energy_j"] for p in shown.values()}
    used, began, told = usage_us(node, folders["busy"]), time.monotonic(), []
    while len(told) < 15:
        time.sleep(1)
        told.append({p["name"]: p for p in there.query("pods")["pods"]})
    cores = (usage_us(node, folders["busy"]) - used) / 1e6 / (time.monotonic() - began)
    mean = sum(t[names["busy"]]["cpu_cores"] for t in told) / len(told)
    last = {name: told[-1][names[name]] for name in WORKLOADS}
    print(f"     busy: {mean:.3f} cores shown, {cores:.3f} by its cgroup; {last['busy']['psi']}, {last['busy']['power_w']:.2f} W, {last['busy']['energy_j']:.1f} J")
    print(f"     idle: {last['idle']['cpu_cores']:.4f} cores, {last['idle']['memory_bytes'] / 2**20:.1f} MiB; {last['idle']['power_w']:.2f} W, {last['idle']['energy_j']:.1f} J")
    claims.check("busy's CPU is what its cgroup used, within a fifth", abs(mean - cores) <= 0.2 * cores, f"{mean} {cores}")
    claims.check("idle uses a hundredth of it, if that", last["idle"]["cpu_cores"] <= 0.01 * mean, last["idle"]["cpu_cores"])
    held = int(node.run("cat", f"{folders['idle']}/memory.current"))
    claims.check("idle's memory is what its cgroup holds, within a tenth, and more than it asked for",
                 abs(last["idle"]["memory_bytes"] - held) <= 0.1 * held and held >= 48 << 20, f"{last['idle']['memory_bytes']} {held}")
    claims.check("busy's two loops wait for one another: CPU pressure, and idle has none",
                 last["busy"]["psi"]["cpu_some_ratio"] > 0.1 > 0.01 > last["idle"]["psi"]["cpu_some_ratio"], f"{last['busy']['psi']} {last['idle']['psi']}")
    claims.check("busy's joules grow, by more than idle's", last["busy"]["energy_j"] - before[names["busy"]] > max(0, last["idle"]["energy_j"] - before[names["idle"]]))
    shown_node = next(n for n in there.query("nodes")["nodes"] if n["name"] == NAME)
    claims.check("its watts are marked as estimated: no RAPL is here", shown_node["energy_source"] == "estimated", shown_node["energy_source"])
    scheduler, = pods_of(plane, "wattle", "app.kubernetes.io/name=wattle-scheduler")
    claims.check("the shim was asked to score both", prioritized(node, scheduler) >= len(names), prioritized(node, scheduler))
    decisions = {d["pod_name"]: d for d in there.query("decisions")["decisions"]}
    for name in names.values():
        # An emulated shim's answer may be due before the controller's is there: the binding is then the first that is seen of the pod
        decision = decisions.get(name, {})
        print(f"     {name}: {decision.get('mode')}, {decision.get('candidates')} candidates, {decision.get('reason')}, on {decision.get('placed_on')}")
        claims.check(f"{name} is among the decisions, placed where it runs", decision.get("mode") in ("shadow", "observed") and decision.get("placed_on") == NAME, decision)


def check_node(there):
    shown = there.query("nodes")["nodes"]
    claims.check("one node, enrolled by its projected token, that Kubernetes knows too",
                 [(n["name"], n["connected"], (n["kubernetes"] or {}).get("ready")) for n in shown] == [(NAME, True, True)], shown)
    findings = {f["name"]: f for f in there.query("node", NAME)["node"]["findings"]}
    for source, finding in sorted(findings.items()):
        print(f"     {source}: {finding['state']}: {finding['detail']}")
    for source in ("cgroup", "psi", "bpf-sched", "bpf-tcp", "bpf-block"):
        claims.check(f"in its container, with the manifest's capabilities and the runtime's own seccomp profile, {source} works",
                     findings.get(source, {}).get("state") == "ok", findings.get(source))


def run(binaries, programs, version, keep):
    with Registry(build_images(binaries, programs, version)) as registry:
        prepared(registry)
        return run_on(registry, binaries, programs, keep)


def run_on(registry, binaries, programs, keep):
    with NodePlane(programs) as plane:
        plane.start_controller_manager()
        plane.start_scheduler()
        plane.show_api_to_pods()
        with RealNode(plane, programs, registry, tuple(CONSOLE)) as node:
            try:
                eventually("the kubelet joins and its node is ready", lambda: plane.nodes_ready(1, 5), node)
                install(plane, Server(plane), node)
                uids = {p["metadata"]["uid"] for p in check_came_up(plane, node)}
                there = WattleThere(binaries, plane, node.ports[30462])
                eventually("the agent is connected", lambda: [n for n in there.query("nodes")["nodes"] if n["connected"] and n["cpu_used_cores"] is not None], node)
                check_node(there)
                check_pods(plane, node, there)
                check_sound(plane, uids)
                claims.check("no image was asked for that the manifests do not name", not registry.asked, registry.asked)
            except HouseError as error:
                claims.check("it ran to its end", False, str(error)[:300])
            if keep:
                input(f"KUBECONFIG={plane.kubeconfig()}, guest agent {node.dir}/agent; Enter ends it")
    print("node: every claim holds" if claims.failed == 0 else f"node: {claims.failed} claims failed")
    return 1 if claims.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # by way of the `with` blocks
    missing = images.missing_tools() or ("" if shutil.which("qemu-system-x86_64") else "qemu-system-x86_64 missing (scripts/setup --long installs it)")
    try:
        programs = assets.assets(options.version, assets.REAL_NODE) if not missing else None
    except assets.Missing as lacking:
        missing = lacking
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return run(options.binaries.resolve(), programs, options.version, options.keep)


if __name__ == "__main__":
    sys.exit(main())
