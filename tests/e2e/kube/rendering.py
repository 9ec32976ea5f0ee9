"""rendering: renders k8s/ with the real tools: `kubectl kustomize` for the base and overlays, `helm template` for the
chart.

Source   assets.py: the pinned programs if they are built, else those on the PATH
Gives    lists of objects, as the API server would receive them
Errors   assets.Missing without the tool; ValueError with the tool's output
"""
import pathlib
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "k8s")]
import assets  # noqa: E402
import render  # noqa: E402

BASE = ROOT / "k8s/base"
OVERLAY = ROOT / "k8s/overlay"


def kustomized(folder=BASE):
    ran = subprocess.run([str(assets.kubectl()), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    if "must be a file" in ran.stderr:  # the message about a folder among the resources
        raise assets.Missing("this kubectl is older than 1.21, whose kustomize knows no overlays like ours")
    if ran.returncode != 0:
        raise ValueError(f"kubectl kustomize {folder}: {ran.stderr.strip()}")
    return list(yaml.safe_load_all(ran.stdout))


def charted(*options, kube=render.KUBE):
    return [yaml.safe_load(part) for _, part in render.documents(render.rendered(*options, kube=kube))]


def texts_of(objects):
    """Returns the content of ConfigMaps: file name -> text."""
    return {key: text for o in objects if o["kind"] == "ConfigMap" for key, text in o.get("data", {}).items()}
