"""waiting: pods that kube-scheduler binds late or together: gangs (alpha API of 1.35), and pods that claim a device.

Fake     the driver of the devices: its ResourceSlices exist, but no program of it answers the kubelet, so that the pods
         are bound and do not start
Claims   the scheduler `wattle` binds such pods like kube-scheduler alone; the extender is asked about the nodes that
         have a device and no others; the controller expects a pod on a node only while the scheduler holds it there
Skips    gangs where the cluster does not serve their API (real_cluster starts it with DEMO_GANGS)
"""
from house import wait_until
from patience import let_a_moment_pass
from real_cluster import TOOLS

DRIVER = "gpu.example.com"
GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true"
GANG = 3


def expected(cluster):
    """Returns the number of pods that the controller expects on nodes where they do not run yet."""
    return sum(node["in_flight"] for node in cluster.wattle("nodes")["nodes"])


def create(cluster, name, scheduler, cpu="20m", **spec):
    cluster.plane.add_pod(name, cpu=cpu, memory="16Mi", scheduler=scheduler, image=TOOLS, spec=spec)


def bound(cluster, names):
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in cluster.plane.pods()
            if pod["metadata"]["name"] in names and pod["spec"].get("nodeName")}


def unschedulable(cluster, name):
    pod = cluster.plane.call("GET", f"/api/v1/namespaces/default/pods/{name}")
    return any(each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable"
               for each in pod["status"].get("conditions", []))


# ---- devices


def make_devices(cluster, nodes):
    base = "/apis/resource.k8s.io/v1"
    cluster.plane.call("POST", f"{base}/deviceclasses", {
        "metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}})
    cluster.plane.call("POST", f"{base}/namespaces/default/resourceclaimtemplates", {
        "metadata": {"name": "one-gpu"}, "spec": {"spec": {"devices": {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}}})
    for node in nodes:
        cluster.plane.call("POST", f"{base}/resourceslices", {"metadata": {"name": f"gpu-{node}"}, "spec": {
            "driver": DRIVER, "nodeName": node, "devices": [{"name": "gpu-0"}],
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}})


def remove_devices(cluster, nodes):
    for node in nodes:
        cluster.plane.call("DELETE", f"/apis/resource.k8s.io/v1/resourceslices/gpu-{node}")
    cluster.plane.call("DELETE", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates/one-gpu")
    cluster.plane.call("DELETE", "/apis/resource.k8s.io/v1/deviceclasses/gpu")


def check_claims_of(claims, cluster, scheduler, nodes):
    """Tests two devices and three pods: two are bound to the nodes with devices, and the third when one is free."""
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]}
    names = [f"device-{scheduler}-{number}" for number in range(3)]
    for name in names[:2]:
        create(cluster, name, scheduler, **spec)
    found = wait_until("two pods with a claim are bound", lambda: len(found := bound(cluster, names)) == 2 and found)
    claims.check(f"{scheduler}: pods with a device claim are bound to the nodes that have a device",
                 sorted(found.values()) == sorted(nodes), found)
    create(cluster, names[2], scheduler, **spec)
    wait_until("the third pod is not schedulable", lambda: unschedulable(cluster, names[2]))
    claims.check(f"{scheduler}: a pod without a free device waits", names[2] not in bound(cluster, names))
    if scheduler == "wattle":
        made = [wait_until(f"the decision about {name}", lambda name=name: cluster.decision(name)) for name in found]
        # With one node left, kube-scheduler asks no extender to score.
        claims.check("the controller chose among the nodes with a device, and the pod was bound to its choice",
                     made[0]["candidates"] <= len(nodes) and made[0]["placed_on"] == made[0]["advice"], made)
        wait_until("no pod is expected", lambda: expected(cluster) == 0)
        let_a_moment_pass()
        claims.check("neither bound pods with a claim nor the waiting one are counted as expected",
                     expected(cluster) == 0, expected(cluster))
    cluster.delete(names[0])
    found = wait_until("the third pod is bound", lambda: bound(cluster, names[2:]))
    claims.check(f"{scheduler}: with a free device the pod is bound there", set(found.values()) <= set(nodes), found)
    cluster.delete(*names[1:])
    remaining = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    wait_until("their claims are deleted", lambda: not cluster.plane.call("GET", remaining)["items"])


def check_devices(claims, cluster):
    nodes = cluster.names[1:]
    make_devices(cluster, nodes)
    for scheduler in ("default-scheduler", "wattle"):
        check_claims_of(claims, cluster, scheduler, nodes)
    remove_devices(cluster, nodes)


# ---- gangs


def check_gangs(claims, cluster):
    cluster.upgrade("--set-json", f'scheduler.extraArgs=["{GATES}"]')
    cluster.plane.call("POST", "/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads", {
        "metadata": {"name": "job"},
        "spec": {"podGroups": [{"name": name, "policy": {"gang": {"minCount": GANG}}}
                               for name in ("fits", "too-large")]}})
    fits, large = ([f"{kind}-{number}" for number in range(GANG)] for kind in ("fits", "large"))
    for name in fits[:-1]:
        create(cluster, name, "wattle", workloadRef={"name": "job", "podGroup": "fits"})
    let_a_moment_pass()
    claims.check("members of a gang that is not complete are not bound, and not expected",
                 not bound(cluster, fits) and expected(cluster) == 0, expected(cluster))
    create(cluster, fits[-1], "wattle", workloadRef={"name": "job", "podGroup": "fits"})
    wait_until("the gang is bound", lambda: len(bound(cluster, fits)) == GANG)
    made = [wait_until(f"the decision about {name}", lambda name=name: cluster.decision(name)) for name in fits]
    claims.check("with the last member all are bound, and the controller decided about each",
                 all(each["mode"] == "live" for each in made), made)
    print("     advised and bound: " + ", ".join(f"{each['advice']} {each['placed_on']}" for each in made), flush=True)
    wait_until("no pod is expected", lambda: expected(cluster) == 0)
    for name in large:
        create(cluster, name, "wattle", cpu="1000" if name == large[-1] else "20m",
               workloadRef={"name": "job", "podGroup": "too-large"})
    wait_until("the members that fit are expected", lambda: expected(cluster) == GANG - 1)
    let_a_moment_pass()
    claims.check("members that wait for one that does not fit are expected on their nodes, and not bound",
                 not bound(cluster, large) and expected(cluster) == GANG - 1, bound(cluster, large))
    cluster.delete(*fits, *large)
    wait_until("no pod is expected", lambda: expected(cluster) == 0)
    claims.check("deleted members are not expected", True)
    cluster.upgrade("--set-json", "scheduler.extraArgs=[]")


def check(claims, cluster):
    check_devices(claims, cluster)
    status, _ = cluster.plane.raw("GET", "/apis/scheduling.k8s.io/v1alpha1")
    if status == 200:
        check_gangs(claims, cluster)
    else:
        print("     gangs: skipped, the cluster does not serve scheduling.k8s.io/v1alpha1 (DEMO_GANGS=1)", flush=True)
