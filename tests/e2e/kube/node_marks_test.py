#!/usr/bin/env python3
"""node_marks_test: the laws of marks, evictions and Events (tests/integration/marks) on a real API server, with exactly
the rights that the chart gives the controller with sleep.mode auto.

Usage    node_marks_test.py BIN_DIR [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs or helm can neither be found nor built
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import rendering  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import SKIPPED  # noqa: E402

CONTROLLER = "wattle-controller"


def grant(plane):
    """Applies the chart's cluster roles of the controller, and the accounts that the laws use."""
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": "wattle"}})
    for thing in rendering.charted("--set", "sleep.mode=auto,controller.config.sleep.drivers=/etc/power/drivers.yaml"):
        subjects = [subject["name"] for subject in thing.get("subjects", [])]
        if thing["kind"] == "ClusterRole" and thing["metadata"]["name"].startswith("wattle-") or subjects == [CONTROLLER]:
            if thing["kind"] in ("ClusterRole", "ClusterRoleBinding"):
                plane.call("POST", f"/apis/rbac.authorization.k8s.io/v1/{thing['kind'].lower()}s", thing)
    tokens = {"admin": plane.token}
    for name, account in (("wattle", CONTROLLER), ("stranger", "stranger")):
        plane.call("POST", "/api/v1/namespaces/wattle/serviceaccounts", {"metadata": {"name": account}})
        made = plane.call("POST", f"/api/v1/namespaces/wattle/serviceaccounts/{account}/token", {"spec": {"expirationSeconds": 3600}})
        tokens[name] = made["status"]["token"]
    return tokens


def run(binaries, programs):
    with ControlPlane(programs) as plane:
        folder = plane.dir / "marks"
        folder.mkdir()
        for name, token in grant(plane).items():
            (folder / name).write_text(token, encoding="utf-8")
        shutil.copy(plane.ca, folder / "ca.pem")
        env = os.environ | {"MARKS_SERVER": plane.url, "MARKS_FOLDER": str(folder)}
        return subprocess.run([binaries / "kube_marks_laws"], env=env, check=False).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver"))
        rendering.charted()
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return 1 if run(options.binaries.resolve(), programs) else 0


if __name__ == "__main__":
    sys.exit(main())
