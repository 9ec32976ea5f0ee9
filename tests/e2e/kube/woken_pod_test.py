#!/usr/bin/env python3
"""woken_pod_test: a pod that waits for a sleeping node gets it in one attempt of the scheduler, once the marks are
removed.

Why      each failed attempt lengthens the pod's backoff on a scheduler that has other pods to place
Real     etcd, kube-apiserver, kube-scheduler, kube-controller-manager with its node controller, and the code that marks
         nodes
Fake     the node's kubelet: its condition Ready
Usage    woken_pod_test.py BIN_DIR [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs can neither be found nor built
"""
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "node"), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from house import wait_until  # noqa: E402
from node_plane import NodePlane  # noqa: E402
from patience import let_a_moment_pass  # noqa: E402
from resize_test import main  # noqa: E402

SLEEPER = "sleeper"
NODE = f"/api/v1/nodes/{SLEEPER}"
CORDON = "node.kubernetes.io/unschedulable"
SILENT = "node.kubernetes.io/unreachable"


class Plane(NodePlane):
    def ready(self, status):
        """Sets the condition like the kubelet, or like the node controller for a silent kubelet."""
        self.call("PATCH", f"{NODE}/status", {"status": {"conditions": [
            {"type": "Ready", "status": status, "reason": "Played", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}})

    def taints(self):
        return {(taint["key"], taint["effect"]) for taint in self.call("GET", NODE)["spec"].get("taints", [])}

    def order(self, binaries, order):
        env = os.environ | {"MARKS_SERVER": self.url, "MARKS_FOLDER": str(self.dir), "MARKS_NODE": SLEEPER, "MARKS_ORDER": order}
        subprocess.run([binaries / "kube_marks_laws", "-tc=order: *"], env=env, check=True, capture_output=True)

    def attempts(self, port):
        """Returns the number of attempts to schedule a pod."""
        context = ssl._create_unverified_context()  # noqa: S323
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/metrics", context=context) as answer:
            text = answer.read().decode()
        return sum(float(value) for value in re.findall(r"^scheduler_schedule_attempts_total{.*} (\S+)$", text, re.MULTILINE))

    def settled(self, port):
        before = self.attempts(port)
        let_a_moment_pass()
        return before if self.attempts(port) == before else None

    def pod(self):
        return self.call("GET", "/api/v1/namespaces/default/pods/waits")


def run(binaries, version, claims):
    programs = assets.assets(version, ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager"))
    with Plane(programs) as plane:
        (plane.dir / "wattle").write_text(plane.token, encoding="utf-8")
        shutil.copy(plane.ca, plane.dir / "ca.pem")
        plane.start_controller_manager()
        port = plane.start_scheduler()
        plane.add_node(SLEEPER)
        wait_until("the node accepts pods", lambda: not plane.taints())
        plane.order(binaries, "mark")
        plane.ready("Unknown")
        wait_until("the node controller adds its taints", lambda: {(CORDON, "NoSchedule"), (SILENT, "NoSchedule"), (SILENT, "NoExecute")} < plane.taints())
        plane.add_pod("waits", spec={"nodeSelector": {"kubernetes.io/hostname": SLEEPER}})
        wait_until("the pod waits", lambda: any(each["type"] == "PodScheduled" and each["status"] == "False" for each in plane.pod()["status"].get("conditions", [])))
        plane.ready("True")
        wait_until("the node controller removes its taints", lambda: not {key for key, _ in plane.taints()} & {SILENT})
        before = wait_until("the scheduler has processed these changes", lambda: plane.settled(port))
        claims.check("the marks keep the pod from a node that is Ready again", not plane.pod()["spec"].get("nodeName"))
        plane.order(binaries, "unmark")
        wait_until("the pod has its node", lambda: plane.pod()["spec"].get("nodeName"))
        taken = wait_until("the attempt is counted", lambda: plane.attempts(port) - before)
        claims.check("after the marks are removed, one attempt schedules the pod there", taken == 1, taken)
        claims.check("no taint is left", not plane.taints(), plane.taints())


if __name__ == "__main__":
    sys.exit(main("woken pod", run))
