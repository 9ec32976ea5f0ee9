#!/usr/bin/env python3
"""chart_test: consistency of the chart, the manifests that are rendered from it, and the accepted values.

Always   values.yaml has exactly the keys of values.schema.json, and templates refuse the other invalid values with a
         message
kubectl  the output of `kubectl kustomize` for k8s/base and k8s/overlay is complete and hardened
         (manifests_test.faults_of)
helm 3   k8s/base equals the rendered chart, also after kustomize; every variant of values renders to complete and
         hardened objects; wrong values are refused with a message that names the key; numeric names stay strings, and
         no label of a metric is one that a Prometheus operator sets
See also chart_values.py, which compares the values with the programs' rules
Source   k8s/chart, k8s/base, k8s/overlay
Exit     0 fine, 1 breach
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "k8s/chart"
sys.path += [str(ROOT / "tests/lint"), str(ROOT / "k8s"), str(ROOT / "tests/e2e/kube")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import manifests_test as manifests  # noqa: E402
import render  # noqa: E402
import rendering  # noqa: E402

FREE = ("config", "labels", "commonLabels", "podLabels", "annotations", "scrapers", "nodeSelector", "affinity", "podAnnotations", "dns", "global")  # objects with the user's keys
VARIANTS = {
    "three schedulers": {"scheduler": {"replicas": 3}},
    "values of an earlier chart, as with --reuse-values": {
        "commonLabels": None, "resourceQuotas": None, "improve": None, "images": {"sim": None, "scheduler": None}, "monitoring": {"enabled": True, "runbooks": None}, "keys": {"serviceAccount": None, "podLabels": None},
        "requests": {"namespaces": ["shop"], "serviceAccount": None, "podLabels": None},
        **{part: dict.fromkeys(("serviceAccount", "podLabels", "extraEnv", "extraArgs", "extraVolumes", "extraVolumeMounts") if part != "scheduler"
                               else ("kind", "serviceAccount", "podLabels", "extraEnv", "extraArgs")) for part in ("agent", "controller", "scheduler")}},
    "one scheduler": {"scheduler": {"replicas": 1}},
    "the plugin": {"scheduler": {"kind": "plugin"}, "images": {"registry": "registry.example"}},
    "the plugin, and a filter": {"scheduler": {"kind": "plugin"}, "shim": {"filter": True}},
    "labels, accounts, environment, arguments": {
        "commonLabels": {"team": "platform", "cost-centre": "4711"},
        **{part: {"podLabels": {"app.kubernetes.io/name": "other", "on": "yes"}, "serviceAccount": {"create": True, "name": "" if part == "agent" else f"mine-{part}", "annotations": {"a/b": "c"}},
                  "extraEnv": [{"name": "A", "value": "1"}], "extraArgs": ["--v=2"]} for part in ("agent", "controller", "scheduler")},
        "shim": {"extraEnv": [{"name": "A", "value": "1"}], "extraVolumes": [{"name": "mine", "secret": {"secretName": "wattle-shim"}}],
                 "extraVolumeMounts": [{"name": "mine", "mountPath": "/mine", "readOnly": True}]}},
    "no quotas": {"resourceQuotas": {"enabled": False}},
    "custom priorities": {part: {"priorityClassName": "mine"} for part in ("agent", "controller", "scheduler")},
    "an older scheduler": {"scheduler": {"tag": "v1.34.2"}},
    "no egress": {"networkPolicy": {"egress": {"enabled": True, "apiServer": ["10.96.0.1/32"], "probes": ["192.0.2.0/24"]}}},
    "places and annotations": {part: {"priorityClassName": "mine", "podAnnotations": {"example.com/a": "b"},
                                      "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                                          {"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}} for part in ("agent", "controller", "scheduler")},
    "no scheduler": {"scheduler": {"enabled": False}},
    "no agents": {"agent": {"enabled": False}},
    "no BPF, other networks": {"agent": {"bpf": False, "clusterNetworks": ["10.0.0.0/8", "fd00::/8"]}},
    "filter": {"shim": {"filter": True}},
    "requests are set": {"requests": {"namespaces": ["shop", "web"]},
                              "networkPolicy": {"egress": {"enabled": True, "apiServer": ["10.96.0.1/32"]}}},
    "replicas are suggested": {"replicas": {"suggest": True}, "requests": {"namespaces": ["shop"]},
                                    "controller": {"config": {"provisioning": {"prometheus": {"url": "http://prometheus.monitoring:9090", "rate_query": "r"}}}}},
    "rates, and no other egress": {"controller": {"config": {"provisioning": {"prometheus": {"url": "http://p:9090", "rate_query": "r"}}}},
                                         "networkPolicy": {"egress": {"enabled": True, "apiServer": ["10.96.0.1/32"], "prometheus": [
                                             {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]}}},
    "sleep is recommended": {"sleep": {"mode": "recommend"}},
    "automatic sleep": {"sleep": {"mode": "auto"}, "controller": {"config": {"sleep": {"drivers": "/etc/power/drivers.yaml"}}}},
    "days to learn from": {"improve": {"claim": "mine", "shards": 3, "options": ["--sleep"]}, "networkPolicy": {"egress": {"enabled": True, "apiServer": ["10.96.0.1/32"]}}},
    "monitoring": {"monitoring": {"enabled": True, "labels": {"release": "prometheus"}}},
    "own claim, registry, secrets": {"controller": {"persistence": {"existingClaim": "mine"}},
                                     "images": {"registry": "registry.example/team", "tag": "1.2.3", "pullSecrets": ["password"]}},
    "own configuration": {"agent": {"config": {"probes": [{"name": "default", "url": "tcp://192.0.2.10:443"}]}},
                          "controller": {"mode": "canary:10%", "config": {"store": {"max_bytes": 1000000000}}}},
    "no policies, no bootstrap": {"networkPolicy": {"enabled": False}, "keys": {"bootstrap": False}},
}
# name -> (values, expected text of the refusal)
REFUSED = {
    "an unknown key": ({"agents": {}}, "agents"),
    "an unknown nested key": ({"agent": {"tik": "1s"}}, "tik"),
    "an invalid mode": ({"controller": {"mode": "alive"}}, "mode"),
    "an invalid canary share": ({"controller": {"mode": "canary:7%"}}, "mode"),
    "no memory limit": ({"shim": {"resources": {"limits": None}}}, "limits"),
    "the default scheduler's name": ({"scheduler": {"name": "default-scheduler"}}, "name"),
    "a tag without a version": ({"scheduler": {"tag": "latest"}}, "tag"),
    "a scheduler of an old version": ({"scheduler": {"tag": "v1.25.0"}}, "scheduler.tag"),
    "a scheduler newer than the cluster": ({"scheduler": {"tag": "v1.36.0"}}, "not newer"),
    "a scheduler two versions older": ({"scheduler": {"tag": "v1.33.9"}}, "one minor version older"),
    "an unknown kind of scheduler": ({"scheduler": {"kind": "webhook"}}, "kind"),
    "a weight of nothing": ({"scheduler": {"weight": 0}}, "weight"),
    "an invalid duration": ({"shim": {"deadline": "20"}}, "deadline"),
    "a deadline equal to the scheduler's timeout": ({"shim": {"deadline": "200ms"}, "scheduler": {"httpTimeout": "0.2s"}}, "shim.deadline"),
    "such a deadline in the program's configuration": ({"shim": {"config": {"deadline": "1s"}}}, "shim.deadline"),
    "a key unknown to the controller": ({"controller": {"config": {"polcy": "dqn"}}}, "polcy"),
    "a nested key unknown to the controller": ({"controller": {"config": {"store": {"max_byte": 1}}}}, "max_byte"),
    "a key unknown to the agent": ({"agent": {"config": {"probes": [{"name": "a", "hots": "b"}]}}}, "hots"),
    "a key unknown to the shim": ({"shim": {"config": {"deadlin": "20ms"}}}, "deadlin"),
    "one namespace for both": ({"namespaces": {"agents": "wattle"}}, "namespaces"),
    "replicas without a known request rate": ({"replicas": {"suggest": True}}, "controller.config.provisioning.prometheus"),
    "replicas without observed workloads": ({"replicas": {"suggest": True}, "controller": {"config": {"provisioning": {
        "level": "off", "prometheus": {"url": "http://p", "rate_query": "r"}}}}}, "provisioning.level is off"),
    "no egress to the Prometheus": ({"controller": {"config": {"provisioning": {"prometheus": {"url": "http://p", "rate_query": "r"}}}},
        "networkPolicy": {"egress": {"enabled": True, "apiServer": ["10.96.0.1/32"]}}}, "networkPolicy.egress.prometheus"),
    "days without a shard": ({"improve": {"claim": "mine", "shards": 0}}, "shards"),
    "no egress to the API server": ({"networkPolicy": {"egress": {"enabled": True}}}, "networkPolicy.egress.apiServer"),
}
# A section whose lines are all comments is null, and Helm then removes its defaults.
REFUSED |= {f"nothing below {name}": ({name: None}, f"missing property '{name}'") for name in ("sleep", "agent", "scheduler", "networkPolicy")}
REFUSED |= {f"nothing below {part}.config": ({part: {"config": None}}, "missing property 'config'") for part in ("agent", "controller", "shim")}


def check_schema(schema, values, at=""):
    """Checks that both name the same keys, and that every object of the schema is closed."""
    if schema.get("type") != "object" or (at and at.rpartition(".")[2] in FREE):
        return
    if schema.get("additionalProperties") is not False:
        manifests.breach(f"values.schema.json: {at or 'the top'} accepts unknown keys")
    known = set(schema["properties"])
    for key in sorted(known ^ set(values)):
        if key not in FREE:
            manifests.breach(f"{at}.{key}: only in {'values.schema.json' if key in known else 'values.yaml'}")
    for key in known & set(values):
        part = schema["properties"][key]
        if "$ref" not in part and isinstance(values[key], dict):
            check_schema(part, values[key], f"{at}.{key}" if at else key)


def check_words(schema):
    """Checks that values with unclear names have a description."""
    for group, part in schema["properties"].items():
        for name, value in part.get("properties", {}).items():
            plain = value.get("type") in ("integer", "boolean", "array") or "pattern" in value
            if plain and "description" not in value and name not in ("replicas", "percentageOfNodesToScore"):
                manifests.breach(f"values.schema.json: {group}.{name} has no description")


def check_objects(objects, what):
    foreign = [o for o in objects if o["apiVersion"].startswith("monitoring.")]
    for fault in manifests.faults_of([o for o in objects if o not in foreign]):
        manifests.breach(f"{what}: {fault}")
    for thing in objects:
        template = manifests.pod_template(thing)
        for container in (template["spec"]["containers"] + template["spec"].get("initContainers", []) if template else []):
            if not container.get("command"):
                manifests.breach(f"{what}: {manifests.label(thing)}: {container['name']} has no command")
            elif container["command"][0] in ("sh", "/bin/sh", "bash", "install", "cp"):
                manifests.breach(f"{what}: {manifests.label(thing)}: {container['name']} needs a shell or its tools in the image")
        if thing["kind"] == "Deployment" and thing["metadata"]["name"] == "wattle-controller" and thing["spec"]["strategy"]["type"] != "Recreate":
            manifests.breach(f"{what}: two controllers would write one store")
        if thing["kind"] == "Namespace" and "pod-security.kubernetes.io/enforce" not in thing["metadata"]["labels"]:
            manifests.breach(f"{what}: {manifests.label(thing)}: no Pod Security")


def check_extender(objects, filters, what):
    """Checks that the filter also handles preemption; otherwise kube-scheduler evicts pods for a pod that it then
    refuses."""
    for thing in objects:
        if thing["kind"] != "ConfigMap" or "scheduler.yaml" not in thing.get("data", {}):
            continue
        config = yaml.safe_load(thing["data"]["scheduler.yaml"])
        wanted = ("filter", "preempt") if filters else (None, None)
        extender = (config.get("extenders") or [{}])[0]
        if (extender.get("filterVerb"), extender.get("preemptVerb")) != wanted:
            manifests.breach(f"{what}: the extender's filterVerb and preemptVerb are not {wanted}")
        scored = [one["name"] for one in config["profiles"][0]["plugins"].get("multiPoint", {}).get("enabled", [])]
        if (extender.get("prioritizeVerb") == "prioritize") == ("Wattle" in scored):
            manifests.breach(f"{what}: the shim's scores count twice or not at all")


def check_plugin():
    """Checks that the plugin's scheduler uses the shim's socket, has the image of its minor version, and mounts the
    socket."""
    objects = rendering.charted("--set", "scheduler.kind=plugin", kube="v1.35.1")
    texts = {key: text for thing in objects if thing["kind"] == "ConfigMap" for key, text in thing["data"].items()}
    profile, = yaml.safe_load(texts["scheduler.yaml"])["profiles"]
    socket = yaml.safe_load(texts["shim.yaml"])["listen"]["plugin_socket"]
    if profile["pluginConfig"] != [{"name": "Wattle", "args": {"socket": socket, "timeout": "50ms"}}]:
        manifests.breach(f"the plugin: pluginConfig is {profile['pluginConfig']}, and the shim's socket {socket}")
    if f"wattle-kube-scheduler:v1.35-{render.version()}" not in images_of(objects):
        manifests.breach(f"the plugin: the chart runs {images_of(objects)}")
    pod, = (thing["spec"]["template"]["spec"] for thing in objects if thing["kind"] == "Deployment" and thing["metadata"]["name"] == "wattle-scheduler")
    for container in pod["containers"]:
        if not any(socket.startswith(mount["mountPath"] + "/") for mount in container["volumeMounts"]):
            manifests.breach(f"the plugin: {container['name']} does not mount the folder of {socket}")


def check_folder(folder):
    """Returns the objects that `kubectl apply -k` would send."""
    name = folder.relative_to(ROOT).as_posix()
    objects = rendering.kustomized(folder)
    check_objects(objects, name)
    manifests.check_scheduler(objects)
    check_rights(objects, name)
    print(f"{name}: {len(objects)} objects")
    return images_of(objects)


def check_base():
    used = {name.rpartition(":")[0] for name in check_folder(rendering.BASE)}
    images = {image["name"] for image in yaml.safe_load((rendering.BASE / "kustomization.yaml").read_text(encoding="utf-8"))["images"]}
    if images != used:
        manifests.breach(f"k8s/base: kustomization.yaml names the images {sorted(images)}, the pods {sorted(used)}")


def check_overlay():
    foreign = [name for name in check_folder(rendering.OVERLAY) if not name.startswith(("registry.example/", "registry.k8s.io/"))]
    if foreign:
        manifests.breach(f"k8s/overlay: its registry is not that of {foreign}")


def images_of(objects):
    return {c["image"] for t in filter(None, map(manifests.pod_template, objects)) for c in t["spec"]["containers"] + t["spec"].get("initContainers", [])}


def check_rights(objects, what):
    roles = {o["metadata"]["name"]: o["rules"] for o in objects if o["kind"] == "ClusterRole"}
    wanted = [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
              {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
              {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}]
    if set(roles) != {"wattle-controller", "wattle-scheduler"} or roles["wattle-controller"] != wanted:
        manifests.breach(f"{what}: cluster roles are {json.dumps(roles)}")
    if "coordination.k8s.io" in json.dumps(roles):
        manifests.breach(f"{what}: a cluster role may change Leases, including that of the cluster's scheduler")
    bound = {o["roleRef"]["name"] for o in objects if o["kind"] == "ClusterRoleBinding"}
    if "system:kube-scheduler" in bound:
        manifests.breach(f"{what}: system:kube-scheduler may change the Lease of the cluster's scheduler")
    for name, text in rendering.texts_of(objects).items():
        if "insecure" in text:
            manifests.breach(f"{what}: {name} is insecure")


def check_resizers(objects, namespaces, what):
    """Checks who may write to pods: only one account, in the named namespaces, their CPU and memory."""
    wanted = {("wattle-requests", name) for name in namespaces}
    roles = {(o["metadata"]["name"], o["metadata"].get("namespace")): o["rules"] for o in objects if o["kind"] in ("Role", "ClusterRole")}
    found = {name for name, rules in roles.items() for rule in rules if "pods/resize" in rule["resources"]}
    if found != wanted:
        manifests.breach(f"{what}: pods may be resized by {sorted(found)}, not by {sorted(wanted)}")
    writes = [rule for name in wanted & roles.keys() for rule in roles[name] if "pods" in rule["resources"] and set(rule["verbs"]) - {"list"}]
    if writes:
        manifests.breach(f"{what}: wattle-requests may do more to pods than list and resize them: {writes}")
    scalers = [rule for name in wanted & roles.keys() for rule in roles[name]
               if set(rule["apiGroups"]) & {"autoscaling", "autoscaling.k8s.io", "keda.sh"} and rule["verbs"] != ["list"]]
    if scalers:
        manifests.breach(f"{what}: wattle-requests may do more to autoscalers than list them: {scalers}")


def check_autoscalers(objects, asked, what):
    """Checks that the controller may list autoscalers only if suggestions are enabled (see also check_resizers)."""
    roles = {o["metadata"]["name"]: o["rules"] for o in objects if o["kind"] in ("Role", "ClusterRole") and o["metadata"]["name"] != "wattle-requests"
             if any(set(rule["apiGroups"]) & {"autoscaling", "keda.sh"} for rule in o["rules"])}
    rules = [{"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"], "verbs": ["list"]},
             {"apiGroups": ["keda.sh"], "resources": ["scaledobjects"], "verbs": ["list"]}]
    if roles != ({"wattle-autoscalers": rules} if asked else {}):
        manifests.breach(f"{what}: autoscalers may be read by {json.dumps(roles)}")
    bound = [s["name"] for o in objects if o["kind"] == "ClusterRoleBinding" and o["roleRef"]["name"] == "wattle-autoscalers" for s in o["subjects"]]
    if bound != (["wattle-controller"] if asked else []):
        manifests.breach(f"{what}: the permission to read autoscalers is bound to {bound}")
    reported = yaml.safe_load(rendering.texts_of(objects)["controller.yaml"]).get("provisioning", {})
    if reported.get("replicas") != ("suggest" if asked else None) or (asked and (reported.get("level") != "requests" or "prometheus" not in reported)):
        manifests.breach(f"{what}: the controller is configured with {reported}")


SLEEP_RIGHTS = {"off": set(), "recommend": {"list poddisruptionbudgets"}}
SLEEP_RIGHTS["auto"] = SLEEP_RIGHTS["recommend"] | {"get nodes", "patch nodes", "patch nodes/status", "create pods/eviction", "create events"}


def check_sleep(objects, mode, what):
    """Checks that the controller may list disruption budgets only if sleep is planned, and change nodes and evict pods
    only with sleep.mode auto."""
    rules = [o["rules"] for o in objects if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "wattle-sleep"]
    rights = {f"{verb} {resource}" for role in rules for rule in role for resource in rule["resources"] for verb in rule["verbs"]}
    if rights != SLEEP_RIGHTS[mode]:
        manifests.breach(f"{what}: with sleep.mode {mode} the controller has {json.dumps(rules)}")
    bound = [s["name"] for o in objects if o["kind"] == "ClusterRoleBinding" and o["roleRef"]["name"] == "wattle-sleep" for s in o["subjects"]]
    if bound != (["wattle-controller"] if mode != "off" else []):
        manifests.breach(f"{what}: the permission to list disruption budgets is bound to {bound}")
    section = yaml.safe_load(rendering.texts_of(objects)["controller.yaml"]).get("sleep", {})
    if section.get("mode", "off") != mode:
        manifests.breach(f"{what}: the controller's configuration has sleep: {section}")


OF_HELM = ("helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version")


def check_labels(objects, what):
    """Checks the usual labels on every object; additional labels keep those that selectors and policies use."""
    for thing in objects:
        labels = thing["metadata"].get("labels", {})
        lacking = {"app.kubernetes.io/part-of", *OF_HELM} - labels.keys()
        if lacking and thing["kind"] != "Pod":
            manifests.breach(f"{what}: {manifests.label(thing)} has no label {sorted(lacking)}")
        template = manifests.pod_template(thing)
        if template and template["metadata"]["labels"].get("app.kubernetes.io/name") != labels.get("app.kubernetes.io/name"):
            manifests.breach(f"{what}: {manifests.label(thing)}: its pods have the labels {template['metadata']['labels']}")
        local = {v["name"] for v in template["spec"].get("volumes", []) if "emptyDir" in v} if template and thing["kind"] == "Deployment" else set()
        named = set((template or thing)["metadata"].get("annotations", {}).get("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "").split(",")) - {""}
        if local != named:
            manifests.breach(f"{what}: {manifests.label(thing)}: a cluster autoscaler may lose the volumes {sorted(named)}, its pods have {sorted(local)}")


TEXTS = ("namespace", "schedulerName", "name", "resourceNamespace", "serviceAccountName", "claimName", "storageClassName", "priorityClassName", "app.kubernetes.io/instance")


def numbers(value, path):
    """Returns places where a string became another type."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield f"{path}: the key {key!r}"
            elif key in TEXTS and not isinstance(item, (str, dict)):
                yield f"{path}.{key}: {item!r}"
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if path.endswith((".command", ".args", ".schedulers", ".accounts")) and not isinstance(item, str):
                yield f"{path}[{index}]: {item!r}"
            yield from numbers(item, f"{path}[{index}]")


def check_names():
    """Checks that names that YAML reads as numbers or booleans stay strings in every object and configuration."""
    for control, agents, name in (("4711", "4712", "1e3"), ("0x10", "1-1", "on"), ("no", "yes", "null"), ("12e4", "0", "true"), ("2026-11-30", "1e-3", "off")):
        names = {"namespaces": {"control": control, "agents": agents}, "scheduler": {"name": name, "priorityClassName": "1e3"}, "requests": {"namespaces": ["1234"]},
                 "controller": {"persistence": {"storageClass": "42"}}, "images": {"pullSecrets": ["007"]}, "monitoring": {"enabled": True}, "commonLabels": {"a": "1e3", "on": "yes", "12": "null", "1e3": "", "null": "no"},
                 "agent": {"serviceAccount": {"name": "1e4"}, "priorityClassName": "on"}}
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(names, file)
            file.flush()
            objects = rendering.charted("--values", file.name)
        found = [place for thing in objects for place in numbers(thing, manifests.label(thing))]
        found += [place for key, text in rendering.texts_of(objects).items() if key.endswith(".yaml") for place in numbers(yaml.safe_load(text), key)]
        if found:
            manifests.breach(f"namespaces {control} and {agents}, scheduler {name}: {len(found)} strings became another type: {found[:5]}")


SET_BY_OPERATOR = {"endpoint", "namespace", "pod", "container", "service", "job", "instance"}  # target labels, which hide those of a metric


def check_metrics():
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| `wattle.*", page, re.M):
        cells = row.split("|")
        clash = SET_BY_OPERATOR & set(re.findall(r"`(\w+)`(?: \(|,| *$| [^(]*$)", "|".join(cells[3:-2])))
        if clash:
            manifests.breach(f"docs/reference/metrics.md: {cells[1].strip()}: a Prometheus operator hides the label {sorted(clash)}")


def plain(objects):
    """Returns objects without what only one tool adds: hashes of generated names, and what only Helm reads."""
    text = re.sub(r"(wattle-[a-z]+-config)-[a-z0-9]{10}\b", r"\1", json.dumps(objects))
    found = {}
    for thing in json.loads(text):
        for metadata in filter(None, (thing["metadata"], (manifests.pod_template(thing) or {}).get("metadata"))):
            metadata.pop("annotations", None)
            for name in OF_HELM:
                metadata.get("labels", {}).pop(name, None)
            if thing["kind"] == "ConfigMap":
                metadata.pop("labels", None)
                thing["data"] = {key: value.removeprefix(render.HEAD).strip() for key, value in thing.get("data", {}).items()}
        found[manifests.label(thing)] = thing
    return found


def check_same():
    """Compares the output of both tools, because `kubectl kustomize` renames references by its own rules."""
    chart, base = plain(rendering.charted()), plain(rendering.kustomized())
    for name in sorted(chart.keys() | base.keys()):
        if chart.get(name) != base.get(name):
            manifests.breach(f"{name}: the chart renders {json.dumps(chart.get(name))}, kubectl kustomize k8s/base {json.dumps(base.get(name))}")


def check_following():
    """Checks that the second scheduler has the cluster's version, for every distribution."""
    for cluster, tag in (("v1.30.7", "v1.30.7"), ("v1.33.5-gke.1080000", "v1.33.5"), ("v1.31.2+k3s1", "v1.31.2")):
        images = images_of(rendering.charted(kube=cluster))
        if f"registry.k8s.io/kube-scheduler:{tag}" not in images:
            manifests.breach(f"on a cluster of {cluster} the chart runs {images}")


def check_digests():
    """Checks that a release pins its images by digest, and that a custom tag is not pinned."""
    digests = {name: "sha256:" + digit * 64 for name, digit in (("agent", "a"), ("controller", "b"), ("shim", "c"), ("sim", "d"))}
    given = ["--set", "improve.claim=mine", *(word for name, digest in digests.items() for word in ("--set", f"images.digests.{name}={digest}"))]
    pinned = {image for image in images_of(rendering.charted(*given)) if "@" in image}
    wanted = {f"wattle-{name}:{render.version()}@{digest}" for name, digest in digests.items()}
    if pinned != wanted:
        manifests.breach(f"with the digests of a release the chart names {sorted(pinned)}, not {sorted(wanted)}")
    loose = {image for image in images_of(rendering.charted(*given, "--set", "images.tag=mine")) if "@" in image}
    if loose:
        manifests.breach(f"with a custom tag the chart pins {sorted(loose)}")


def check_rendering():
    for name in render.differences(render.all_files()):
        manifests.breach(f"k8s/{name}: differs from the rendered chart (run k8s/render.py)")
    linted = subprocess.run([str(assets.helm(may_build=False)), "lint", "--strict", "--kube-version", render.KUBE, "--set", "images.registry=registry.example", str(CHART)],
                            capture_output=True, text=True, check=False)
    if linted.returncode != 0 or "[INFO]" in linted.stdout:
        manifests.breach(f"helm lint: {linted.stdout}{linted.stderr}")
    check_same()
    check_following()
    check_plugin()
    check_digests()
    check_names()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "values.json"
        for what, values in VARIANTS.items():
            file.write_text(json.dumps(values), encoding="utf-8")
            try:
                objects = rendering.charted("--values", str(file))
            except ValueError as error:
                manifests.breach(f"{what}: {error}")
                continue
            manifests.EXPECTED.add(("PersistentVolumeClaim", "wattle", "mine"))
            theirs = values.get("requests", {}).get("namespaces", [])
            check_objects(objects + [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
                                     for name in theirs], what)
            check_labels(objects, what)
            check_resizers(objects, theirs, what)
            check_extender(objects, values.get("shim", {}).get("filter", False), what)
            check_autoscalers(objects, values.get("replicas", {}).get("suggest", False), what)
            check_sleep(objects, values.get("sleep", {}).get("mode", "off"), what)
        for what, (values, why) in REFUSED.items():
            file.write_text(json.dumps(values), encoding="utf-8")
            try:
                render.rendered("--values", str(file))
                manifests.breach(f"values with {what} were accepted")
            except ValueError as error:
                if why not in str(error):
                    manifests.breach(f"values with {what}: the refusal does not say '{why}': {error}")
    print(f"chart: as k8s/base, {len(VARIANTS)} variants render, {len(REFUSED)} errors are refused")


def main():
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    check_schema(schema, values)
    check_words(schema)
    check_metrics()
    for what, check in (("k8s/base", check_base), ("k8s/overlay", check_overlay), ("the rendered chart", check_rendering)):
        try:
            check()
        except assets.Missing as missing:
            print(f"not checked: {what}: {missing}")
    print("chart: no breach" if not manifests.BREACHES else f"chart: {len(manifests.BREACHES)} breaches")
    return 1 if manifests.BREACHES else 0


if __name__ == "__main__":
    sys.exit(main())
