#!/usr/bin/env python3
"""node_test: a node with a stock Debian kernel, systemd and cgroup v2 only, which scripts/demo cluster has only on such
machines: a QEMU machine with containerd, kube-proxy and a kubelet with the cgroup driver `systemd` joins a control
plane and runs the objects that `kubectl kustomize k8s/base` renders. The test changes the probe delays and the number
of schedulers. `wattle pods` shows CPU, memory, pressure and joules of pods. The test compares CPU and memory with the
machine's cgroup files. tests/e2e/cluster covers what does not depend on the kernel: decisions, faults and resizes.

Replacements for parts of a cluster: dnsmasq for CoreDNS (names of Services), one manual volume for a provisioner, a
NodePort for `kubectl port-forward`. No component enforces network policies.

Usage    node_test.py FOLDER-OF-BINARIES [--keep]     --keep: stays up at the end until Enter is pressed
Version  of Kubernetes: that of the kube-scheduler in k8s/base
Needs    root; scripts/setup --long; Go, or KUBEBUILDER_ASSETS with kubelet, kube-proxy and kube-controller-manager too
Time     2 to 5 minutes with everything in the cache, 7 with nothing in it but the Go builds
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
import images  # noqa: E402
import manifests_test as manifests  # noqa: E402
import rendering  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from node_objects import CONSOLE, console, patient, volume  # noqa: E402
from node_plane import NodePlane  # noqa: E402
from patience import AGES_S, pace  # noqa: E402
from rbac_test import Server  # noqa: E402
from real_node import NAME, PAUSE, RealNode, prepared  # noqa: E402
from registry import Registry  # noqa: E402
from wattle_there import WattleThere  # noqa: E402

PATIENCE = 2 * AGES_S  # all pods start at once on two processors, possibly without KVM
LOAD = "registry.test/load:1"
SOURCES = ("cgroup", "psi", "bpf-sched", "bpf-tcp", "bpf-block")  # sources of the agent that a container could be denied
READINGS = 15  # per window
WINDOWS = 20  # windows; one may fall on seconds in which the emulated machine got no CPU time
# Two containers: one has two loops that exceed its CPU limit, one holds memory and sleeps.
WORKLOADS = {"busy": (["/bin/sh", "-c", "while :; do :; done & while :; do :; done"], {"cpu": "300m", "memory": "64Mi"}),
             "idle": (["/usr/bin/perl", "-e", "my $held = 'x' x (48 << 20); sleep"], {"cpu": "300m", "memory": "192Mi"})}
claims = Claims()


def images_named():
    """Returns local name -> full name of all images in k8s/base."""
    templates = filter(None, map(manifests.pod_template, rendering.kustomized()))
    named = {c["image"] for t in templates for c in t["spec"]["containers"] + t["spec"].get("initContainers", [])}
    return {name.rpartition("/")[2].partition(":")[0]: name if "/" in name else f"docker.io/library/{name}" for name in named}


def build_images(binaries, programs):
    """Returns all programs of the node. Cached ones are not built again."""
    cache = images.storage()
    with tempfile.TemporaryDirectory(prefix="wattle-node-images-") as folder, images.Buildah(cache) as buildah:
        base = buildah.base()
        context = images.context_of(binaries, folder, False)
        for target in ("libraries", *images.TARGETS):  # tags the first image, or it would be pruned
            buildah.build(target, base, context, "prebuilt")
        buildah.commit("kube-scheduler", "scratch", [(programs / "kube-scheduler", "/usr/local/bin/kube-scheduler")], env="PATH=/usr/local/bin")
        buildah.commit("pause", base, entrypoint='["/usr/bin/sleep","infinity"]')
        buildah.commit("load", base, entrypoint='["/usr/bin/sleep","infinity"]')
        buildah.prune()
        buildah.layout(images_named() | {"pause": PAUSE, "load": LOAD}, cache / "layout")
    return cache / "layout"


def eventually(claim, condition, node):
    try:
        found = wait_until(claim, lambda: node.alive() and condition(), PATIENCE)
    except HouseError as error:
        claims.check(claim, False, f"{error}\n{node.why()}")
        raise
    claims.check(claim, True)
    return found


def install(plane, admin, node):
    objects = patient(rendering.kustomized())
    refused = []
    for thing in sorted(objects, key=lambda o: o["kind"] != "Namespace"):
        code, said, _ = admin.apply(thing, False)
        refused += [] if code in (200, 201) else [f"{manifests.label(thing)}: {code} {said[:300]}"]
    claims.check(f"the {len(objects)} objects of k8s/base are accepted", not refused, "\n".join(refused))
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
    """Returns the pods of a workload, once all are ready and no other exists."""
    found = pods_of(plane, space, f"app.kubernetes.io/name={name}")
    return found if len(found) == count and all(map(is_ready, found)) else None


def check_came_up(plane, node):
    def keys_made():
        return any(job["status"].get("succeeded") for job in plane.call("GET", "/apis/batch/v1/namespaces/wattle/jobs")["items"])
    eventually("the Job creates the keys", keys_made, node)
    pods = []
    for space, name, what in (("wattle", "wattle-controller", "the Deployment's controller, on its volume"),
                              ("wattle-agent", "wattle-agent", "the DaemonSet's agent"),
                              ("wattle", "wattle-scheduler", "the Deployment's kube-scheduler, with the shim beside it,")):
        pods += eventually(f"{what} is ready", lambda space=space, name=name: all_ready(plane, space, name), node)
    return pods


def check_sound(plane, uids):
    """Checks that no container exceeded its memory limit or exited. A restart by the kubelet after a late probe is not
    a failure."""
    pods = [p for space in ("wattle", "wattle-agent") for p in plane.call("GET", f"/api/v1/namespaces/{space}/pods")["items"]]
    there = {p["metadata"]["uid"] for p in pods if p["status"]["phase"] == "Running"}
    claims.check("the initial pods still run", uids <= there, str(uids - there))
    for pod in pods:
        for status in pod["status"].get("containerStatuses", []):
            last = status.get("lastState", {}).get("terminated", {})
            print(f"     {pod['metadata']['name']}: {status['name']}: {status['restartCount']} restarts {last.get('reason', '')}")
            claims.check(f"{pod['metadata']['name']}: {status['name']} stayed within its memory limit and never exited",
                         last.get("reason") != "OOMKilled" and last.get("exitCode") in (None, 0, 137, 143), last)


def start_workloads(plane):
    for name, (command, limits) in WORKLOADS.items():
        labels = {"app.kubernetes.io/name": name}
        plane.call("POST", "/apis/apps/v1/namespaces/default/deployments", {
            "metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "schedulerName": "wattle", "terminationGracePeriodSeconds": 0, "containers": [{
                    "name": "main", "image": LOAD, "imagePullPolicy": "IfNotPresent", "command": command,
                    "resources": {"limits": limits, "requests": {"cpu": "100m", "memory": "32Mi"}}}]}}}})


def measured(there):
    """Returns name -> row of `wattle pods`, once both rows are complete."""
    found = {p["name"]: p for p in there.query("pods")["pods"] if p["namespace"] == "default"}
    whole = len(found) == len(WORKLOADS) and all(
        p[key] is not None for p in found.values() for key in ("cpu_cores", "memory_bytes", "power_w", "energy_j"))
    return found if whole and all(p["psi"]["cpu_some_ratio"] is not None for p in found.values()) else None


def cgroup_of(node, uid):
    """Returns the cgroup folder of a pod in the machine."""
    return node.run("find", "/sys/fs/cgroup/kubepods.slice", "-maxdepth", "2", "-name", f"*pod{uid.replace('-', '_')}.slice").strip()


def usage_us(node, folder):
    return int(node.run("sed", "-n", "s/^usage_usec //p", f"{folder}/cpu.stat"))


def check_pods(plane, node, there):
    start_workloads(plane)
    running = {name: eventually(f"{name} is scheduled by `wattle` and runs", lambda name=name: all_ready(plane, "default", name), node)[0] for name in WORKLOADS}
    names = {name: pod["metadata"]["name"] for name, pod in running.items()}
    shown = eventually("`wattle pods` names both, with CPU, memory, pressure and joules", lambda: measured(there), node)
    claims.check("`wattle pods` has the Kubernetes names and this node",
                 {(p["name"], p["uid"], p["node"]) for p in shown.values()} == {(p["metadata"]["name"], p["metadata"]["uid"], NAME) for p in running.values()}, shown)
    folders = {name: cgroup_of(node, pod["metadata"]["uid"]) for name, pod in running.items()}
    for _ in range(WINDOWS):
        seen = readings(node, there, names, folders)
        if all(truth for _, truth, _ in seen):
            break
    for claim, truth, detail in seen:
        claims.check(claim, truth, detail)
    check_table(there, names.values())
    for name in names.values():
        made = eventually(f"{name} has a decision", lambda name=name: decision_of(there, name), node)
        print(f"     {made['mode']}, {made['candidates']} candidates, {made['reason']}, on {made['placed_on']}")
        claims.check("recorded on the node of its scheduler, which had one candidate and sent no ask", made["mode"] == "observed" and made["placed_on"] == NAME, made)


def decision_of(there, name):
    """Returns the decision once the pod's placement is known."""
    return next((d for d in there.query("decisions")["decisions"] if d["pod_name"] == name and d["placed_on"]), None)


def readings(node, there, names, folders):
    """Returns [(claim, truth, detail)] of one window: compares `wattle pods` with the cgroup files of the same
    seconds."""
    used, began, reported = usage_us(node, folders["busy"]), time.monotonic(), []
    while len(reported) < READINGS:
        pace(1)
        pods = wait_until("`wattle pods` shows complete rows of both", lambda: measured(there), PATIENCE)
        reported.append({name: pods[names[name]] for name in WORKLOADS})
    cores = (usage_us(node, folders["busy"]) - used) / 1e6 / (time.monotonic() - began)
    held = int(node.run("cat", f"{folders['idle']}/memory.current"))
    mean = sum(t["busy"]["cpu_cores"] for t in reported) / len(reported)
    busy, idle = reported[-1]["busy"], reported[-1]["idle"]
    gained = {name: reported[-1][name]["energy_j"] - reported[0][name]["energy_j"] for name in WORKLOADS}
    pressures = busy["psi"]["cpu_some_ratio"], idle["psi"]["cpu_some_ratio"]
    print(f"     busy: {mean:.3f} cores shown, {cores:.3f} by its cgroup; CPU pressure {pressures[0]:.3f}; {busy['power_w']:.2f} W, {busy['energy_j']:.1f} J")
    print(f"     idle: {idle['cpu_cores']:.4f} cores, {idle['memory_bytes'] / 2**20:.1f} MiB shown, {held / 2**20:.1f} by its cgroup; CPU pressure {pressures[1]:.3f}; "
          f"{idle['power_w']:.2f} W, {idle['energy_j']:.1f} J")
    return [
        ("busy's CPU is within a fifth of its cgroup's usage", abs(mean - cores) <= 0.2 * cores, f"{mean} {cores}"),
        ("idle uses at most a hundredth of that", idle["cpu_cores"] <= 0.01 * mean, idle["cpu_cores"]),
        ("idle's memory is within a tenth of its cgroup's, and as large as allocated", abs(idle["memory_bytes"] - held) <= 0.1 * held and held >= 48 << 20,
         f"{idle['memory_bytes']} {held}"),
        ("busy has CPU pressure because of its two loops, and idle has none", pressures[0] > 0.1 > 0.01 > pressures[1], pressures),
        ("busy's joules grow by more than idle's", gained["busy"] > max(0, gained["idle"]), gained)]


def check_table(there, names):
    """Checks the table that an operator sees."""
    rows = {row.split()[0].rpartition("/")[2]: row for row in there("pods").splitlines()}
    for name in names:
        print(f"     {rows.get(name)}")
        claims.check(f"the table of `wattle pods` has {name}, with estimated watts, because the machine has no RAPL", " W est " in rows.get(name, ""), list(rows))


def check_node(there, node):
    def known():
        return [(n["name"], n["connected"], (n["kubernetes"] or {}).get("ready")) for n in there.query("nodes")["nodes"]] == [(NAME, True, True)]
    eventually("one node is enrolled by its projected token under its Kubernetes name", known, node)
    findings = {f["name"]: f for f in there.query("node", NAME)["node"]["findings"]}
    for source, finding in sorted(findings.items()):
        print(f"     {source}: {finding['state']}: {finding['detail']}")
    for source in SOURCES:
        claims.check(f"in its container, with the manifest's capabilities and the runtime's own seccomp profile, {source} works",
                     findings.get(source, {}).get("state") == "ok", findings.get(source))


def run(binaries, programs, keep):
    """Locks the cache: the images, the root with them and the registry are one set."""
    begun = time.monotonic()

    def reported(what):
        print(f"     {time.monotonic() - begun:.0f} s: {what}", flush=True)
    with open(images.storage() / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            layout = build_images(binaries, programs)
            reported("the images are there")
            with Registry(layout) as registry:
                prepared(registry)
                reported("the machine's root has them")
                run_on(registry, binaries, programs, keep)
        except (HouseError, OSError, images.ImageError) as error:
            claims.check("the test ran to its end", False, str(error)[:3000])
        reported("the end")
    print("node: every claim holds" if claims.failed == 0 else f"node: {claims.failed} claims failed")
    return 1 if claims.failed else 0


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
                check_node(there, node)
                check_pods(plane, node, there)
                check_sound(plane, uids)
                claims.check("only images of the manifests were pulled", not registry.asked, registry.asked)
            finally:
                if keep:
                    input(f"KUBECONFIG={plane.kubeconfig()}, guest agent {node.dir}/agent; Enter ends it")
            started = [node.process, *plane.processes.values()]
            folders = [node.dir, plane.dir]
    claims.check("no process of the node is left", all(process.returncode is not None for process in started))
    claims.check("no folder of the node is left", not [folder for folder in folders if folder.exists()], folders)
    mounts = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8")
    claims.check("no image is left mounted", f" {images.storage()}/" not in mounts, mounts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # runs the exits of the `with` blocks
    lacking = [tool for tool in ("qemu-system-x86_64", "mke2fs", "setpriv") if shutil.which(tool) is None]
    missing = images.missing_tools() or (f"{', '.join(lacking)} missing (scripts/setup --long installs them)" if lacking else "")
    try:
        version = images_named()["kube-scheduler"].rpartition(":v")[2]
        programs = assets.assets(version, assets.REAL_NODE) if not missing else None
    except assets.Missing as reason:
        missing = reason
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return run(options.binaries.resolve(), programs, options.keep)


if __name__ == "__main__":
    sys.exit(main())
