#!/usr/bin/env python3
"""install_test: a real API server accepts every object of `wattle install` with strict validation, and a second
`install` changes the permitted fields.

Usage    install_test.py BIN_DIR
Exit     0 fine, 1 a claim failed, 77 skipped: no kubectl, or no programs of a control plane
"""
import pathlib
import shutil
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402
from patience import LATE_S  # noqa: E402


def main():
    binaries = pathlib.Path(sys.argv[1]).resolve()
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        print("skipped: no kubectl (Debian package kubernetes-client; scripts/setup installs it)")
        return SKIPPED
    try:
        programs = assets.assets(programs=("etcd", "kube-apiserver"))
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    claims = Claims()
    with ControlPlane(programs) as plane:
        config = str(plane.kubeconfig())

        def install(*words):
            ran = subprocess.run([str(binaries / "wattle"), "install", "--registry", "registry.example/team", "--kubeconfig", config, *words],
                                 capture_output=True, text=True, check=False, timeout=LATE_S, env={"HOME": str(plane.dir), "PATH": "/usr/bin:/bin"})
            claims.check(f"wattle install {' '.join(words)} exits with 0", ran.returncode == 0, ran.stderr)
            return ran.stdout

        def apply(text):
            ran = subprocess.run([kubectl, "--kubeconfig", config, "apply", "--server-side", "--validate=strict", "-f", "-"], input=text, capture_output=True, text=True,
                                 check=False, timeout=LATE_S)
            claims.check("the API server accepts every object", ran.returncode == 0, ran.stderr)
            return ran.stdout.splitlines()

        version = plane.call("GET", "/version")["gitVersion"]
        text = install()
        objects = [each for each in yaml.safe_load_all(text) if each]
        claims.check("the scheduler's image has the cluster's version", f"kube-scheduler:{version.split('+')[0]}\n" in text, version)
        applied = apply(text)
        claims.check(f"install creates all {len(objects)} objects", len(applied) == len(objects) > 30, applied)
        spaces = {each["metadata"].get("namespace") for each in objects} - {None, "kube-system"}
        claims.check("the objects are in the two namespaces", spaces == {"wattle", "wattle-agent"}, spaces)
        maps = {each["metadata"]["name"] for each in plane.call("GET", "/api/v1/namespaces/wattle/configmaps")["items"]}
        used = {volume["configMap"]["name"] for each in objects if each["kind"] in ("Deployment", "DaemonSet") and each["metadata"]["namespace"] == "wattle"
                for volume in each["spec"]["template"]["spec"]["volumes"] if "configMap" in volume} - {"wattle-public"}
        claims.check("the pods mount ConfigMaps that exist", len(used) == 3 and used <= maps, f"{used} of {maps}")
        again = apply(install("--mode", "canary:10%", "--estimate", "60,240"))
        claims.check("a second install with another mode and an estimate is accepted", len(again) == len(objects), again)
        other = apply(install("--controller-namespace", "energy"))
        claims.check("a second install with another namespace is accepted", len(other) == len(objects), other)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
