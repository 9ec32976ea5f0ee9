#!/usr/bin/env python3
"""render: writes k8s/base, the manifests for `kubectl apply -k`, and k8s/install.yaml, those of `wattle install`, from k8s/chart with its default values.

Usage    render.py [--check]     --check: only report which files would change
Needs    helm 3 on the PATH or in the cache (tests/e2e/kube/assets.py --only helm)
Exit     0 success; 1 with --check, if they and the chart differ; 77 without helm
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

# Annotations and labels that only Helm needs. kustomize hashes the content of ConfigMaps into their names and owns no
# objects.
OF_HELM = re.compile(r"^ *annotations: \{helm\.sh/[^}]*\}\n|^ *wattle\.dev/config: .*\n"
                     r"|app\.kubernetes\.io/(?:instance|managed-by|version): [^,}]*, |, (?:app\.kubernetes\.io/version|helm\.sh/chart): [^,}]*(?=[,}])"
                     r"|^ *(?:app\.kubernetes\.io/(?:instance|managed-by|version)|helm\.sh/chart): .*\n", re.MULTILINE)
HEADLESS = re.compile(r"^( *)annotations:\n(?!\1 )", re.MULTILINE)  # an `annotations:` key whose entries were all removed
REGISTRY = "registry.invalid"  # removed from the output: an overlay sets the registry
# Order of kinds within a file, independent of the order that a version of Helm uses.
ORDER = ("Namespace", "ResourceQuota", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "NetworkPolicy", "PersistentVolumeClaim",
         "DaemonSet", "Deployment", "Job", "PodDisruptionBudget", "Service", "ConfigMap")
KUBE = "v1.35.4"  # cluster version that the base is rendered for, because kustomize cannot query a cluster
INSTALL = HERE / "install.yaml"
# Values that `wattle install` replaces (cli/manifests.cpp); the mode is replaced as the line `mode: "shadow"`.
PLACEHOLDERS = {"namespaces": {"control": "placeholder-control", "agents": "placeholder-agents"},
                "images": {"registry": "placeholder.invalid", "tag": "placeholder-tag"}, "scheduler": {"tag": f"{KUBE}-placeholder"}}
HEAD = "# Made by k8s/render.py from k8s/chart: change the chart, or an overlay of your own.\n"
KUSTOMIZATION = HEAD + """\
# kubectl apply -k k8s/base      (docs/how-to/install-kubernetes.md)
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{resources}
configMapGenerator:
{generators}
# Set your registry in an overlay (k8s/overlay). The scheduler's image must have the minor version of the cluster.
images:
{images}
"""


def rendered(*options, kube=KUBE, values=None):
    """Renders the chart for a cluster of version `kube`. Removes the placeholder registry from image names."""
    ran = subprocess.run([str(assets.helm(may_build=False)), "template", "wattle", str(HERE / "chart"), "--namespace", "kube-system",
                          "--kube-version", kube, "--values", "-", *options],
                         input=yaml.safe_dump(values or {"images": {"registry": REGISTRY}}), capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    return ran.stdout.replace(f"{REGISTRY}/", "")


def version():
    """The chart's appVersion, which is the tag of the images."""
    return yaml.safe_load((HERE / "chart/Chart.yaml").read_text(encoding="utf-8"))["appVersion"]


def documents(text):
    """Yields (template name, text) for each rendered object, except tests."""
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        source = re.match(r"# Source: wattle/templates/(\S+)\n", part)
        if source and not source.group(1).startswith("tests/") and part[source.end():].strip():
            yield source.group(1), part[source.end():].strip("\n") + "\n"


def place(part):
    """Sort key of a (template name, text) pair."""
    thing = yaml.safe_load(part[1])
    return part[0], ORDER.index(thing["kind"]), thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def base_files():
    """The files of k8s/base: {path below it: text}."""
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


def install_text():
    """All objects in one file, in the order in which `kubectl apply` creates them."""
    parts = sorted(documents(rendered(values=PLACEHOLDERS)), key=lambda part: (ORDER.index(yaml.safe_load(part[1])["kind"]), *place(part)))
    return HEAD + "".join("---\n" + HEADLESS.sub("", OF_HELM.sub("", text)) for _, text in parts)


def all_files():
    """{path below this folder: text} of everything that this script writes."""
    return {f"base/{name}": text for name, text in base_files().items()} | {INSTALL.name: install_text()}


def differences(files):
    """Paths whose text differs from the rendered text."""
    there = {path.relative_to(HERE).as_posix(): path.read_text(encoding="utf-8") for path in [*BASE.rglob("*"), INSTALL] if path.is_file()}
    return sorted(name for name in there.keys() | files.keys() if there.get(name) != files.get(name))


def main():
    try:
        files = all_files()
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    changed = differences(files)
    if "--check" in sys.argv[1:]:
        print("\n".join(f"k8s/{name}: differs from the rendered chart (run k8s/render.py)" for name in changed) or "base, install: match the chart")
        return 1 if changed else 0
    for name in changed:
        path = HERE / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name], encoding="utf-8")
        else:
            path.unlink()
        print(f"k8s/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
