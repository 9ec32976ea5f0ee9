"""sleeping: claims about the demo's sleeping node: it is off, draws little, and wakes for a pod that fits on no other
node."""
import guard
from house import wait_until
from real_cluster import is_ready


def check(claims, cluster):
    records = {node["name"]: node for node in cluster.wattle("sleep", "status")["nodes"]}
    asleep = [name for name, record in records.items() if record["state"] == "asleep"]
    claims.check("one node sleeps by the controller's decision, after one test", len(asleep) == 1 and records[asleep[0]]["round_trips"] == 1, records)
    name = asleep[0]
    claims.check("the sleeping node is off: its last process has exited", not guard.processes(cluster.identity, name))
    taints = [taint["key"] for taint in cluster.plane.call("GET", f"/api/v1/nodes/{name}")["spec"].get("taints", [])]
    claims.check("the sleeping node has its taint", "wattle.dev/sleep" in taints, taints)
    claims.check("the savings name the sleep", any(each["lever"] == "sleep" for each in cluster.wattle("savings")["levers"]), cluster.wattle("savings"))
    saving = cluster.wattle("status")["modelled"]
    claims.check("the saving starts with the sleep", saving["asleep_text"].startswith("1 node asleep saves ") and saving["asleep_saved_w"] > 10, saving)
    cluster.kubectl("scale", "deployment", "report", f"--replicas={len(cluster.names)}")
    pods = wait_until("every pod of the report runs", lambda: len(found := cluster.pods("report")) == len(cluster.names) and all(map(is_ready, found)) and found)
    claims.check("pods that fit on no awake node wake the node", name in {pod["spec"]["nodeName"] for pod in pods}, pods)
    trips = cluster.wattle("sleep", "history", name)["transitions"]
    print(f"     {name}: " + ", ".join(each["to"] for each in trips), flush=True)
    cluster.kubectl("scale", "deployment", "report", "--replicas=0")
    wait_until("the woken node accepts pods", lambda: is_ready(cluster.plane.call("GET", f"/api/v1/nodes/{name}"))
               and cluster.wattle("sleep", "status")["nodes"][sorted(records).index(name)]["state"] == "awake")
