#!/usr/bin/env python3
"""render: writes k8s/base, the manifests for `kubectl apply -k`, from k8s/chart with its own values.

Usage    render.py [--check]     --check: only tells what would change; exit 1 if something would
Needs    helm 3 on the PATH or in the cache (tests/e2e/kube/assets.py --only helm)
Exit     0 fine, 1 base and chart differ, 77 there is no helm
"""
import pathlib
import re
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
BASE = HERE / "base"
sys.path.insert(0, str(HERE.parent / "tests/e2e/kube"))
import assets  # noqa: E402

# Annotations and labels that only Helm needs: kustomize names generated ConfigMaps by their content, and keeps no object of its own.
OF_HELM = re.compile(r"^ *annotations: \{helm\.sh/[^}]*\}\n|^ *wattle\.dev/config: .*\n"
                     r"|app\.kubernetes\.io/(?:instance|managed-by|version): [^,}]*, |, (?:app\.kubernetes\.io/version|helm\.sh/chart): [^,}]*(?=[,}])"
                     r"|^ *(?:app\.kubernetes\.io/(?:instance|managed-by|version)|helm\.sh/chart): .*\n", re.MULTILINE)
HEADLESS = re.compile(r"^( *)annotations:\n(?!\1 )", re.MULTILINE)  # of annotations that all were Helm's
REGISTRY = "registry.invalid"  # k8s/base names images without one: an overlay says where they are
# Within a file; whatever order a version of Helm gives them in.
ORDER = ("Namespace", "ResourceQuota", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "NetworkPolicy", "PersistentVolumeClaim",
         "DaemonSet", "Deployment", "Job", "PodDisruptionBudget", "Service", "ConfigMap")
KUBE = "v1.35.4"  # of the cluster that the base is rendered for; kustomize cannot ask one
HEAD = "# Made by k8s/render.py from k8s/chart: change the chart, or an overlay of your own.\n"
KUSTOMIZATION = HEAD + """\
# kubectl apply -k k8s/base      (docs/how-to/install-kubernetes.md)
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{resources}
configMapGenerator:
{generators}
# Where your images are, in an overlay of your own (k8s/overlay). The scheduler's must be of the cluster's own minor version.
images:
{images}
"""


def rendered(*options, kube=KUBE, registry=REGISTRY):
    """The chart's text for a cluster of that version, or a Missing; images without the registry, unless options name another."""
    ran = subprocess.run([str(assets.helm(may_build=False)), "template", "wattle", str(HERE / "chart"), "--namespace", "kube-system",
                          "--kube-version", kube, "--values", "-", *options],
                         input=f"images: {{registry: '{registry}'}}\n", capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    return ran.stdout.replace(f"{REGISTRY}/", "")


def version():
    """The chart's, which images are named by."""
    return yaml.safe_load((HERE / "chart/Chart.yaml").read_text(encoding="utf-8"))["appVersion"]


def documents(text):
    """(template's name, text) of each object."""
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        source = re.match(r"# Source: wattle/templates/(\S+)\n", part)
        if source and not source.group(1).startswith("tests/") and part[source.end():].strip():
            yield source.group(1), part[source.end():].strip("\n") + "\n"


def place(part):
    """Sorts (template's name, text)."""
    thing = yaml.safe_load(part[1])
    return part[0], ORDER.index(thing["kind"]), thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def base_files():
    """What k8s/base holds: path below it -> text."""
    files, maps, images = {}, [], {}
    for name, text in sorted(documents(rendered()), key=place):
        thing = yaml.safe_load(text)
        text = HEADLESS.sub("", OF_HELM.sub("", text))
        for image in re.findall(r"^ *image: (\S+)$", text, re.MULTILINE):
            images[image.rpartition(":")[0]] = image.rpartition(":")[2]
        if thing["kind"] == "ConfigMap":
            maps.append(thing)
            files |= {f"config/{key}": HEAD + content for key, content in thing["data"].items()}
        else:
            files[name] = files[name] + "---\n" + text if name in files else HEAD + text
    files["kustomization.yaml"] = KUSTOMIZATION.format(
        resources="\n".join(f"  - {name}" for name in sorted(files) if not name.startswith("config/")),
        generators="\n".join(f"  - name: {m['metadata']['name']}\n    namespace: {m['metadata']['namespace']}\n"
                             f"    files: [{', '.join(f'config/{key}' for key in m['data'])}]" for m in maps),
        images="\n".join(f"  - {{name: {name}, newName: {name}, newTag: {tag}}}" for name, tag in sorted(images.items())))
    return files


def differences(files):
    """Paths whose text is not what the chart renders."""
    there = {path.relative_to(BASE).as_posix(): path.read_text(encoding="utf-8") for path in BASE.rglob("*") if path.is_file()}
    return sorted(name for name in there.keys() | files.keys() if there.get(name) != files.get(name))


def main():
    try:
        files = base_files()
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    changed = differences(files)
    if "--check" in sys.argv[1:]:
        print("\n".join(f"k8s/base/{name}: is not what the chart renders (run k8s/render.py)" for name in changed) or "base: as the chart renders it")
        return 1 if changed else 0
    for name in changed:
        path = BASE / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name], encoding="utf-8")
        else:
            path.unlink()
        print(f"k8s/base/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
