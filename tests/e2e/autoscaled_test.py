#!/usr/bin/env python3
"""autoscaled_test: a workload that a HorizontalPodAutoscaler scales by CPU utilisation keeps its requests, because
utilisation is use over request and the two controllers would interfere. Other workloads are resized below the
kubeconfig's path, and restored.

Usage    autoscaled_test.py FOLDER-OF-BINARIES
"""
import pathlib
import subprocess
import sys

from demo_run import Claims
from house import binaries_from
from patience import LATE_S
from resizing import OF_CPU, Resizing


def main():
    claims, wattle = Claims(), str(pathlib.Path(binaries_from(sys.argv), "wattle"))

    def provision(world, *words):
        return subprocess.run([wattle, "provision", *words, "--namespace", "shop", "--kubeconfig", str(world.kubeconfig)], capture_output=True, text=True, timeout=LATE_S, check=False)

    with Resizing() as world:
        done = provision(world, "set", "--from", world.page, "--dry-run")
        claims.check("a dry run prints the change and makes none", done.returncode == 0 and "900m" in done.stdout + done.stderr and not world.patches, done.stdout + done.stderr)
        done = provision(world, "set", "--from", world.page)
        claims.check("the request is raised", done.returncode == 0 and world.requested() == "900m", (world.requested(), done.stdout + done.stderr))
        claims.check("the resize request is below the kubeconfig's path", [path for path, _ in world.patches] == ["/api/v1/namespaces/shop/pods/web-5f7c9d-abcde/resize"], world.patches)
        done = provision(world, "restore")
        claims.check("the request is restored", done.returncode == 0 and world.requested() == "500m", (world.requested(), done.stdout + done.stderr))
    with Resizing([OF_CPU]) as world:
        done = provision(world, "set", "--from", world.page)
        claims.check("a HorizontalPodAutoscaler by CPU utilisation keeps the request unchanged", world.requested() == "500m" and not world.patches, world.patches)
        claims.check("the autoscaler is named as the reason", "horizontalpodautoscaler" in (done.stdout + done.stderr).lower(), done.stdout + done.stderr)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
