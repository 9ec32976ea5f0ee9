#!/usr/bin/env python3
"""chart_test: the chart, the manifests made from it and the values that it takes hold together.

Always   values.yaml has what values.schema.json knows and nothing else, and what it refuses is refused there in words of its own;
         k8s/base is complete and hardened (manifests_test.faults_of), its names are those that the programs and docs use
With     helm 3: k8s/base is what the chart renders; every variant of values renders to something complete and hardened; wrong values are refused
Source   k8s/chart, k8s/base
Exit     0 fine, 1 breach
"""
import json
import pathlib
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "k8s/chart"
BASE = ROOT / "k8s/base"
sys.path += [str(ROOT / "tests/lint"), str(ROOT / "k8s"), str(ROOT / "tests/e2e/kube")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import manifests_test as manifests  # noqa: E402
import render  # noqa: E402

FREE = ("config", "labels", "scrapers", "nodeSelector", "global")  # objects of the user's own keys
VARIANTS = {
    "three schedulers": {"scheduler": {"replicas": 3}},
    "an older scheduler": {"scheduler": {"tag": "v1.30.2"}},
    "no scheduler": {"scheduler": {"enabled": False}},
    "no agents": {"agent": {"enabled": False}},
    "no BPF, other networks": {"agent": {"bpf": False, "clusterNetworks": ["10.0.0.0/8", "fd00::/8"]}},
    "filter": {"shim": {"filter": True}},
    "monitoring": {"monitoring": {"enabled": True, "labels": {"release": "prometheus"}}},
    "own claim, registry, secrets": {"controller": {"persistence": {"existingClaim": "mine"}},
                                     "images": {"registry": "registry.example/team", "tag": "1.2.3", "pullSecrets": ["password"]}},
    "own configuration": {"agent": {"config": {"probes": [{"name": "default", "host": "192.0.2.10", "port": 443}]}},
                          "controller": {"mode": "canary:10%", "config": {"store": {"max_bytes": 1000000000}}}},
    "no policies, no bootstrap": {"networkPolicy": {"enabled": False}, "keys": {"bootstrap": False}},
}
REFUSED = {
    "an unknown key": {"agents": {}},
    "an unknown key within": {"agent": {"tik": "1s"}},
    "a mode that is none": {"controller": {"mode": "alive"}},
    "a canary of odd size": {"controller": {"mode": "canary:7%"}},
    "no memory limit": {"shim": {"resources": {"limits": None}}},
    "the default scheduler's name": {"scheduler": {"name": "default-scheduler"}},
    "a tag without a version": {"scheduler": {"tag": "latest"}},
    "a scheduler that is too old": {"scheduler": {"tag": "v1.25.0"}},
    "a weight of nothing": {"scheduler": {"weight": 0}},
    "a span that is none": {"shim": {"deadline": "20"}},
    "one namespace for both": {"namespaces": {"agents": "wattle"}},
}


def check_schema(schema, values, at=""):
    """Both name the same keys, and every object of the schema is closed."""
    if schema.get("type") != "object" or (at and at.rpartition(".")[2] in FREE):
        return
    if schema.get("additionalProperties") is not False:
        manifests.breach(f"values.schema.json: {at or 'the top'} takes unknown keys")
    known = set(schema["properties"])
    for key in sorted(known ^ set(values)):
        if key not in FREE:
            manifests.breach(f"{at}.{key}: only in {'values.schema.json' if key in known else 'values.yaml'}")
    for key in known & set(values):
        part = schema["properties"][key]
        if "$ref" not in part and isinstance(values[key], dict):
            check_schema(part, values[key], f"{at}.{key}" if at else key)


def check_words(schema):
    """A value whose meaning its name does not tell has a description."""
    for group, part in schema["properties"].items():
        for name, value in part.get("properties", {}).items():
            plain = value.get("type") in ("integer", "boolean", "array") or "pattern" in value
            if plain and "description" not in value and name not in ("replicas", "percentageOfNodesToScore"):
                manifests.breach(f"values.schema.json: {group}.{name} has no description")


def base_objects():
    """Those of k8s/base, the generated ConfigMaps among them."""
    kustomization = yaml.safe_load((BASE / "kustomization.yaml").read_text(encoding="utf-8"))
    objects = [thing for name in kustomization["resources"] for thing in yaml.safe_load_all((BASE / name).read_text(encoding="utf-8"))]
    for made in kustomization["configMapGenerator"]:
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": made["name"], "namespace": made["namespace"]},
                        "data": {pathlib.Path(file).name: (BASE / file).read_text(encoding="utf-8") for file in made["files"]}})
    return objects, kustomization


def check_objects(objects, what):
    foreign = [o for o in objects if o["apiVersion"].startswith("monitoring.")]
    for fault in manifests.faults_of([o for o in objects if o not in foreign]):
        manifests.breach(f"{what}: {fault}")
    for thing in objects:
        template = manifests.pod_template(thing)
        for container in (template["spec"]["containers"] + template["spec"].get("initContainers", []) if template else []):
            if not container.get("command"):
                manifests.breach(f"{what}: {manifests.label(thing)}: {container['name']} names no command")
            elif container["command"][0] in ("sh", "/bin/sh", "bash", "install", "cp"):
                manifests.breach(f"{what}: {manifests.label(thing)}: {container['name']} needs a shell or its tools in the image")
        if thing["kind"] == "Deployment" and thing["metadata"]["name"] == "wattle-controller" and thing["spec"]["strategy"]["type"] != "Recreate":
            manifests.breach(f"{what}: two controllers would write one store")
        if thing["kind"] == "Namespace" and "pod-security.kubernetes.io/enforce" not in thing["metadata"]["labels"]:
            manifests.breach(f"{what}: {manifests.label(thing)}: no Pod Security")


def check_base():
    objects, kustomization = base_objects()
    check_objects(objects, "k8s/base")
    manifests.check_scheduler(objects)
    roles = {o["metadata"]["name"]: o["rules"] for o in objects if o["kind"] == "ClusterRole"}
    wanted = [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
              {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
              {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}]
    if roles != {"wattle-controller": wanted}:
        manifests.breach(f"k8s/base: roles of the cluster are {json.dumps(roles)}")
    images = {image["name"] for image in kustomization["images"]}
    used = {c["image"].rpartition(":")[0] for o in objects if manifests.pod_template(o)
            for c in manifests.pod_template(o)["spec"]["containers"] + manifests.pod_template(o)["spec"].get("initContainers", [])}
    if images != used:
        manifests.breach(f"k8s/base: kustomization.yaml names the images {sorted(images)}, the pods {sorted(used)}")
    print(f"k8s/base: {len(objects)} objects")


def check_rendering():
    for name in render.differences(render.base_files()):
        manifests.breach(f"k8s/base/{name}: is not what the chart renders (run k8s/render.py)")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "values.json"
        for what, values in {**VARIANTS, **REFUSED}.items():
            file.write_text(json.dumps(values), encoding="utf-8")
            try:
                text = render.rendered("--values", str(file))
            except ValueError as error:
                if what in VARIANTS:
                    manifests.breach(f"{what}: {error}")
                continue
            if what in REFUSED:
                manifests.breach(f"values with {what} were taken")
                continue
            manifests.EXPECTED.add(("PersistentVolumeClaim", "wattle", "mine"))
            check_objects([yaml.safe_load(part) for _, part in render.documents(text)], what)
    print(f"chart: as k8s/base, {len(VARIANTS)} variants render, {len(REFUSED)} mistakes are refused")


def main():
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    check_schema(schema, values)
    check_words(schema)
    check_base()
    try:
        check_rendering()
    except assets.Missing as missing:
        print(f"not checked, that k8s/base is what the chart renders: {missing}")
    print("chart: no breach" if not manifests.BREACHES else f"chart: {len(manifests.BREACHES)} breaches")
    return 1 if manifests.BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
