"""kubelet: simulates a kubelet's reports on pods whose requests change: writes pods/status, without containers.

Does     same as Kubernetes 1.35: Infeasible beyond the node's capacity; Deferred while other pods hold the resources;
         else in progress and then in force, reported in allocatedResources and resources. Conditions and reasons are
         the real ones
Not      cgroups, restarts, the CPU manager, a memory limit below the usage
"""

CAPACITY_M = 4000
STARTED = "2026-01-01T00:00:00Z"


def milli(quantity):
    return int(quantity[:-1]) if quantity.endswith("m") else int(float(quantity) * 1000)


class Kubelet:
    def __init__(self, plane, space, node):
        self.plane, self.space, self.node = plane, space, node
        self.hold = False  # holds resizes in progress

    def pods(self):
        return [p for p in self.plane.call("GET", f"/api/v1/namespaces/{self.space}/pods")["items"] if p["spec"].get("nodeName") == self.node]

    def write_status(self, pod, resources, condition=None):
        name = pod["spec"]["containers"][0]["name"]
        status = {"name": name, "image": "i", "imageID": "i", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": STARTED}},
                  "resources": resources, "allocatedResources": resources.get("requests", {})}
        conditions = [{"type": "Ready", "status": "True"}] + ([{"status": "True", "observedGeneration": pod["metadata"]["generation"]} | condition] if condition else [])
        self.plane.call("PATCH", f"/api/v1/namespaces/{self.space}/pods/{pod['metadata']['name']}/status",
                        {"status": {"phase": "Running", "startTime": STARTED, "containerStatuses": [status], "conditions": conditions}})

    def sync(self):
        pods = self.pods()
        has = {p["metadata"]["uid"]: (p["status"].get("containerStatuses") or [{}])[0].get("allocatedResources") for p in pods}
        for pod in pods:
            uid, wanted = pod["metadata"]["uid"], pod["spec"]["containers"][0].get("resources", {})
            asked = milli(wanted.get("requests", {}).get("cpu", "0"))
            others = sum(milli((has[other] or {}).get("cpu", "0")) for other in has if other != uid)
            if has[uid] is None:
                self.write_status(pod, wanted)
            elif asked > CAPACITY_M:
                self.write_status(pod, {"requests": has[uid]}, {"type": "PodResizePending", "reason": "Infeasible",
                                                        "message": f"Node didn't have enough capacity: cpu, requested: {asked}, capacity: {CAPACITY_M}"})
            elif others + asked > CAPACITY_M:
                self.write_status(pod, {"requests": has[uid]}, {"type": "PodResizePending", "reason": "Deferred",
                                                        "message": f"Node didn't have enough resource: cpu, requested: {asked}, used: {others}, capacity: {CAPACITY_M}"})
            elif self.hold and has[uid] != wanted.get("requests", {}):
                self.write_status(pod, {"requests": has[uid]}, {"type": "PodResizeInProgress"})
            else:
                self.write_status(pod, wanted)
                has[uid] = wanted.get("requests", {})
