#!/usr/bin/env python3
"""rbac_test: the objects that `kubectl kustomize` renders from k8s/base, on a real API server with RBAC and Pod
Security; k8s/overlay and the chart as dry runs.

The server accepts every object, in a dry run and for real, and Pod Security admits each pod in its namespace and the
agents' pods in no other. Each client of the API server can do its work with its roles; without any one of their
permissions, exactly that part fails. The Job's own program creates the keys; the second kube-scheduler runs with its
own token and configuration, and binds a pod while its shim is down.

Usage    rbac_test.py BIN_DIR [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: the control plane's programs can neither be found nor built
"""
import argparse
import copy
import json
import pathlib
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "tests/lint")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
import manifests_test as manifests  # noqa: E402
import rendering  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from patience import SOON_S  # noqa: E402

PATIENCE = SOON_S
PLURALS = {kind: (plural, inside) for kinds in manifests.KINDS.values() for kind, plural, inside in kinds}
failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"), flush=True)
    failures += 0 if truth else 1


def eventually(claim, condition):
    """Waits for the authorizer, which applies a changed role a moment later."""
    try:
        wait_until(claim, condition, PATIENCE)
        check(claim, True)
    except HouseError as error:
        check(claim, False, str(error))


class Plane(ControlPlane):
    """A control plane whose API server, as usual, does not accept tokens for our audience."""

    def start(self, name, *command):
        super().start(name, *[word.removesuffix(",wattle") for word in command])


class Server:
    """The API server with one client's credentials."""

    def __init__(self, plane, token=None):
        self.plane, self.token = plane, token or plane.token
        self.context = ssl.create_default_context(cafile=str(plane.ca))

    def __call__(self, method, path, body=None, content="application/json"):
        request = urllib.request.Request(self.plane.url + path, method=method, data=None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", content)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE, context=self.context) as answer:
                return answer.status, answer.read().decode(), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), []

    def apply(self, thing, dry):
        return self("PATCH", f"{path_of(thing)}?fieldManager=wattle&force=true" + ("&dryRun=All" if dry else ""), thing, "application/apply-patch+yaml")

    def account(self, space, name, audience=None, pod=None):
        """Returns this server with a service account's credentials."""
        spec = {"expirationSeconds": 3600} | ({"audiences": [audience]} if audience else {})
        if pod:
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        code, said, _ = self("POST", f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token",
                             {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        if code != 201:
            raise HouseError(f"a token of {space}/{name}: {code} {said[:300]}")
        return Server(self.plane, json.loads(said)["status"]["token"])

    def kubeconfig(self, name):
        path = self.plane.dir / name
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": self.plane.url, "certificate-authority": str(self.plane.ca)}}],
            "users": [{"name": "it", "user": {"token": self.token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}]}), encoding="utf-8")
        return path


def path_of(thing):
    plural, inside = PLURALS[thing["kind"]]
    version = thing["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = f"/namespaces/{thing['metadata']['namespace']}" if inside else ""
    return f"{root}{space}/{plural}/{thing['metadata']['name']}"


def check_applied(admin, objects):
    namespaces = [o for o in objects if o["kind"] == "Namespace"]
    rest = [o for o in objects if o["kind"] != "Namespace"]
    for dry in (True, False):
        refused, warned = [], []
        for thing in namespaces + (rest if not dry else []):
            code, said, warnings = admin.apply(thing, dry)
            refused += [] if code in (200, 201) else [f"{manifests.label(thing)}: {code} {said[:300]}"]
            warned += warnings
        if dry:
            for thing in namespaces:
                admin.apply(thing, False)
            for thing in rest:
                code, said, warnings = admin.apply(thing, True)
                refused += [] if code in (200, 201) else [f"{manifests.label(thing)}: {code} {said[:300]}"]
                warned += warnings
        check(f"{len(objects)} objects are accepted, {'in a dry run' if dry else 'for real'}", not refused, "\n".join(refused))
        check("no admission plugin warns about the objects", not warned, "\n".join(warned))


def check_pod_security(admin, objects):
    for thing in objects:
        template = manifests.pod_template(thing)
        if not template:
            continue
        for space in ("wattle", "wattle-agent"):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**copy.deepcopy(template["metadata"]), "name": "probe", "namespace": space},
                   "spec": copy.deepcopy(template["spec"])}
            pod["spec"].setdefault("restartPolicy", "Always")
            code, said, _ = admin("POST", f"/api/v1/namespaces/{space}/pods?dryRun=All", pod)
            home = thing["metadata"]["namespace"]
            if space == home:
                check(f"Pod Security admits a pod of {thing['metadata']['name']} in {space}", code == 201, f"{code} {said[:500]}")
            elif home == "wattle-agent":
                check(f"Pod Security rejects a pod of {thing['metadata']['name']} in {space}", code == 403 and "PodSecurity" in said, f"{code} {said[:300]}")


def without(role, rule, key, word):
    """Yields the role without one verb, resource or name of one rule."""
    left = copy.deepcopy(role)
    left["rules"][rule][key].remove(word)
    left["rules"] = [one for one in left["rules"] if all(one.get(part, ["*"]) for part in ("verbs", "resources", "resourceNames"))]
    return left


def replace(admin, role):
    code, said, _ = admin("PUT", path_of(role), role)
    if code != 200:
        raise HouseError(f"{manifests.label(role)}: {code} {said[:300]}")


def check_controller(admin, role):
    """Checks the controller's requests: lists, watches, the pod of an older token, and reviews."""
    code, said, _ = admin("POST", "/api/v1/namespaces/wattle-agent/pods",
                          {"metadata": {"name": "one"}, "spec": {"serviceAccountName": "wattle-agent", "nodeName": "node-1", "terminationGracePeriodSeconds": 0,
                                                                 "containers": [{"name": "agent", "image": "wattle-agent:0.1.0"}]}})
    check("a pod of the agents' account exists", code == 201, f"{code} {said[:300]}")
    agent = admin.account("wattle-agent", "wattle-agent", audience="wattle", pod=json.loads(said))
    me = admin.account("wattle", "wattle-controller")

    def review():
        code, said, _ = me("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": agent.token, "audiences": ["wattle"]}})
        return code if code != 201 or json.loads(said)["status"].get("authenticated") else 0

    needs = {(rule, resource, verb): None for rule, one in enumerate(role["rules"]) for resource in one["resources"] for verb in one["verbs"]}
    asks = {("nodes", "list"): lambda: me("GET", "/api/v1/nodes?limit=500")[0],
            ("nodes", "watch"): lambda: me("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1")[0],
            ("pods", "list"): lambda: me("GET", "/api/v1/pods?limit=500")[0],
            ("pods", "watch"): lambda: me("GET", "/api/v1/pods?watch=1&timeoutSeconds=1")[0],
            ("pods", "get"): lambda: me("GET", "/api/v1/namespaces/wattle-agent/pods/one")[0],
            ("tokenreviews", "create"): review}
    check("each permission of the controller's role is needed", {need[1:] for need in needs} == set(asks), str(needs))
    fine = (200, 201)
    for name, ask in asks.items():
        eventually(f"the controller may {name[1]} {name[0]}", lambda ask=ask: ask() in fine)
    for rule, resource, verb in needs:
        left = copy.deepcopy(role)
        left["rules"] = [{**one, "resources": [r], "verbs": [v]} for i, one in enumerate(role["rules"]) for r in one["resources"] for v in one["verbs"]
                         if (i, r, v) != (rule, resource, verb)]
        replace(admin, left)
        eventually(f"without {verb} {resource} the request is forbidden", lambda r=resource, v=verb: asks[(r, v)]() == 403)
        others = {name: ask() for name, ask in asks.items() if name != (resource, verb)}
        check("all other requests stay permitted", all(code in fine for code in others.values()), str(others))
    replace(admin, role)
    for method, path in (("GET", "/api/v1/secrets"), ("GET", "/api/v1/configmaps"), ("DELETE", "/api/v1/namespaces/wattle-agent/pods/one")):
        check(f"the controller may not {method} {path}", me(method, path)[0] == 403)
    check("the API server does not accept an agent's token", agent("GET", "/api/v1/nodes")[0] == 401)
    agents = admin.account("wattle-agent", "wattle-agent")
    check("the agents' account has no permission", agents("GET", "/api/v1/nodes")[0] == 403 and agents("GET", "/api/v1/namespaces/wattle-agent/pods")[0] == 403)
    admin("DELETE", "/api/v1/namespaces/wattle-agent/pods/one", {"gracePeriodSeconds": 0})


AUTOSCALERS = {"horizontalpodautoscalers": "/apis/autoscaling/v2/horizontalpodautoscalers?limit=500", "scaledobjects": "/apis/keda.sh/v1alpha1/scaledobjects?limit=500"}


def check_autoscalers(admin):
    """With replicas enabled in the chart, the controller may list autoscalers. KEDA is not installed, so its list is
    not found."""
    try:
        theirs = [o for o in rendering.charted("--set", "replicas.suggest=true,controller.config.provisioning.prometheus.url=http://prometheus:9090,controller.config.provisioning.prometheus.rate_query=r")
                  if o["metadata"]["name"] == "wattle-autoscalers"]
    except assets.Missing as missing:
        print(f"     not checked: permission to list autoscalers: {missing}")
        return
    me = admin.account("wattle", "wattle-controller")

    def codes():
        return {name: me("GET", path)[0] for name, path in AUTOSCALERS.items()}
    check("by default the controller may not list autoscalers", set(codes().values()) == {403}, str(codes()))
    code, said, _ = admin("POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {
        "metadata": {"name": "web"}, "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
    check("an autoscaler exists", code == 201, f"{code} {said[:300]}")
    for thing in theirs:
        admin.apply(thing, False)
    eventually("with replicas enabled it may list them, and KEDA's list is not found",
               lambda: codes() == {"horizontalpodautoscalers": 200, "scaledobjects": 404})
    role = next(o for o in theirs if o["kind"] == "ClusterRole")
    for index, one in enumerate(role["rules"]):
        name = one["resources"][0]
        replace(admin, without(role, index, "verbs", "list"))
        eventually(f"without list {name} the request is forbidden", lambda name=name: codes()[name] == 403)
        check("all other requests stay permitted", 403 not in {code for other, code in codes().items() if other != name}, str(codes()))
    replace(admin, role)
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web"
    for method in ("GET", "DELETE"):
        check(f"the controller may not {method} an autoscaler", me(method, path)[0] == 403)
    for target in (path, *map(path_of, theirs)):
        admin("DELETE", target)


def sleep_objects(mode):
    """Returns the chart's role for sleeping nodes, and its binding."""
    return [o for o in rendering.charted("--set", f"sleep.mode={mode},controller.config.sleep.drivers=/etc/power/drivers.yaml") if o["metadata"]["name"] == "wattle-sleep"]


def check_sleep(admin):
    """With sleep.mode recommend the controller reads budgets; with auto it may also mark nodes, evict pods and write
    Events."""
    try:
        recommended, automatic = sleep_objects("recommend"), sleep_objects("auto")
    except assets.Missing as missing:
        print(f"     not checked: the role for sleeping nodes: {missing}")
        return
    me = admin.account("wattle", "wattle-controller")
    admin("POST", "/api/v1/nodes", {"metadata": {"name": "sleeper"}})
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "Slept", "action": "Sleep", "type": "Normal",
             "reportingController": "wattle.dev/controller", "reportingInstance": "one", "regarding": {"kind": "Node", "name": "sleeper"}}
    merge = "application/merge-patch+json"
    asks = {("poddisruptionbudgets", "list"): lambda: me("GET", "/apis/policy/v1/poddisruptionbudgets?limit=500")[0],
            ("nodes", "get"): lambda: me("GET", "/api/v1/nodes/sleeper")[0],
            ("nodes", "patch"): lambda: me("PATCH", "/api/v1/nodes/sleeper", {"spec": {"unschedulable": True}}, merge)[0],
            ("nodes/status", "patch"): lambda: me("PATCH", "/api/v1/nodes/sleeper/status", {"status": {"phase": ""}}, merge)[0],
            # No such pod: 404 comes after the check of the right
            ("pods/eviction", "create"): lambda: me("POST", "/api/v1/namespaces/default/pods/none/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "none"}})[0],
            ("events", "create"): lambda: me("POST", "/apis/events.k8s.io/v1/namespaces/default/events?dryRun=All", event | {"metadata": {"name": "one"}})[0]}

    def allowed():
        return {name for name, ask in asks.items() if ask() != 403}
    check("by default the controller may neither read budgets nor change nodes", not allowed(), str(allowed()))
    for thing in recommended:
        admin.apply(thing, False)
    eventually("with sleep.mode recommend it may list budgets and nothing else", lambda: allowed() == {("poddisruptionbudgets", "list")})
    for thing in automatic:
        admin.apply(thing, False)
    eventually("with sleep.mode auto it may also mark nodes, evict pods and write Events", lambda: allowed() == set(asks))
    role = next(o for o in automatic if o["kind"] == "ClusterRole")
    needs = [(index, resource, verb) for index, one in enumerate(role["rules"]) for resource in one["resources"] for verb in one["verbs"]]
    check("each permission of the role is needed", {need[1:] for need in needs} == set(asks), str(needs))
    for index, resource, verb in needs:
        replace(admin, without(role, index, "verbs", verb))
        eventually(f"without {verb} {resource} exactly that request is forbidden", lambda one=(resource, verb): allowed() == set(asks) - {one})
    replace(admin, role)
    for method, path in (("DELETE", "/api/v1/nodes/sleeper"), ("PATCH", "/api/v1/namespaces/default/pods/none"), ("DELETE", "/api/v1/namespaces/default/pods/none")):
        check(f"the role does not permit {method} {path}", me(method, path, {}, merge)[0] == 403)
    for target in ("/api/v1/nodes/sleeper", *map(path_of, automatic)):
        admin("DELETE", target)


KEYS = [f"/api/v1/namespaces/wattle/secrets/wattle-{name}" for name in ("controller", "shim", "operator")] + [
    f"/api/v1/namespaces/{space}/{kind}" for space in ("wattle", "wattle-agent") for kind in ("configmaps/wattle-public", "secrets/wattle-metrics")]


def check_keys(admin, roles, wattle):
    """Runs `wattle keys bootstrap` like the Job, twice: without any keys, and with all of them."""
    config = admin.account("wattle", "wattle-keys").kubeconfig("keys.kubeconfig")

    def bootstrap():
        ran = subprocess.run([wattle, "keys", "bootstrap", "--kubeconfig", config], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    def twice():
        for path in KEYS:
            admin("DELETE", path)
        first = bootstrap()
        return first if first[0] != 0 else bootstrap()

    eventually("the keys are created", lambda: twice()[0] == 0)
    before = [admin("GET", path)[:2] for path in KEYS]
    check("Secrets and ConfigMaps exist", all(code == 200 for code, _ in before))
    bootstrap()
    check("a second run changes nothing", [admin("GET", path)[:2] for path in KEYS] == before)
    secret = json.loads(before[0][1])["data"]
    check("the controller's Secret has all keys that its pod unpacks", set(secret) == {"controller.key", "controller.key.pub", "tls.crt", "tls.key", "allow"}, str(set(secret)))
    tokens = {json.loads(said)["data"]["token"] for path, (_, said) in zip(KEYS, before) if path.endswith("secrets/wattle-metrics")}
    check("the metrics token is the same in both namespaces", len(tokens) == 1, str(tokens))
    for role in roles:
        for rule, one in enumerate(role["rules"]):
            for key in ("verbs", "resources", "resourceNames"):
                for word in one.get(key, []):
                    replace(admin, without(role, rule, key, word))
                    where = role["metadata"]["namespace"]
                    eventually(f"in {where}, without {word} of {one['verbs']} {one['resources']}, the keys are not created",
                               lambda: (lambda code, said: code == 1 and "forbidden" in said)(*twice()))
                    replace(admin, role)
                    eventually("with all permissions the keys are created", lambda: twice()[0] == 0)


def check_reader(admin, role):
    """Checks the Role of people who read: it gives tokens of one account, which only the controller accepts."""
    home = "/api/v1/namespaces/wattle"
    admin("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "ann"}})
    code, said, _ = admin("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/wattle/rolebindings", {
        "metadata": {"name": "readers"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "wattle-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "ann", "namespace": "default"}]})
    check("the Role is bound", code == 201, f"{code} {said[:300]}")
    ann = admin.account("default", "ann")

    def token_of(name):
        return ann("POST", f"{home}/serviceaccounts/{name}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                                                    "spec": {"audiences": ["wattle"], "expirationSeconds": 600}})
    # No such pod: 404 comes after the check of the right
    asks = {("serviceaccounts/token", "create"): lambda: token_of("wattle-reader")[0],
            ("secrets", "get"): lambda: ann("GET", f"{home}/secrets/wattle-metrics")[0],
            ("configmaps", "get"): lambda: ann("GET", f"{home}/configmaps/wattle-public")[0],
            ("services", "get"): lambda: ann("GET", f"{home}/services/wattle-controller")[0],
            ("pods", "get"): lambda: ann("GET", f"{home}/pods/none")[0],
            ("pods", "list"): lambda: ann("GET", f"{home}/pods")[0],
            ("pods/portforward", "create"): lambda: ann("POST", f"{home}/pods/none/portforward")[0]}

    def allowed():
        return {name for name, ask in asks.items() if ask() != 403}
    needs = [(index, resource, verb) for index, one in enumerate(role["rules"]) for resource in one["resources"] for verb in one["verbs"]]
    check("each permission of the readers' Role is needed", {need[1:] for need in needs} == set(asks), str(needs))
    eventually("with the Role a person may do all that `wattle --context` does", lambda: allowed() == set(asks))
    for index, resource, verb in needs:
        replace(admin, without(role, index, "verbs", verb))
        eventually(f"without {verb} {resource} exactly that request is forbidden", lambda one=(resource, verb): allowed() == set(asks) - {one})
    replace(admin, role)
    eventually("and all is permitted again", lambda: allowed() == set(asks))
    others = [token_of("wattle-controller")[0]] + [ann("GET", f"{home}/secrets/wattle-{name}")[0] for name in ("controller", "operator", "shim")]
    check("the Role gives no token of another account, and no key", set(others) == {403}, str(others))
    code, said, _ = token_of("wattle-reader")
    token = json.loads(said)["status"]["token"]
    controller = admin.account("wattle", "wattle-controller")

    def reviewed(what):
        return json.loads(controller("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": what, "audiences": ["wattle"]}})[1])["status"]
    eventually("the controller learns whose token it is, for its audience", lambda: (status := reviewed(token))["user"]["username"] == "system:serviceaccount:wattle:wattle-reader"
               and status["audiences"] == ["wattle"])
    check("a token of another audience is not confirmed", not reviewed(ann.token).get("authenticated"))
    check("the API server does not accept the token", Server(admin.plane, token)("GET", "/api/v1/nodes")[0] == 401)
    account = admin.account("wattle", "wattle-reader")
    check("the account has no permission", {account("GET", path)[0] for path in ("/api/v1/nodes", f"{home}/pods", f"{home}/secrets/wattle-metrics")} == {403})
    admin("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/wattle/rolebindings/readers")


def check_scheduler(admin, objects, programs):
    """Runs the stock kube-scheduler with the chart's configuration and its own token."""
    plane, texts = admin.plane, rendering.texts_of(objects)
    me = admin.account("wattle", "wattle-scheduler")
    config = yaml.safe_load(texts["scheduler.yaml"])
    config["clientConnection"] = {"kubeconfig": str(me.kubeconfig("scheduler.kubeconfig"))}
    path = plane.dir / "scheduler.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    plane.start("kube-scheduler", str(programs / "kube-scheduler"), f"--config={path}", "--secure-port=0")
    plane.add_node("node-1")
    plane.add_node("node-2")
    plane.add_pod("web", scheduler="wattle")

    def bound():
        if plane.processes["kube-scheduler"].poll() is not None:
            raise HouseError(f"kube-scheduler ended:\n{plane.tail('kube-scheduler')}")
        return any(p["spec"].get("nodeName") for p in plane.pods())
    eventually("with its own roles and configuration kube-scheduler binds a pod without its shim", bound)
    plane.kill("kube-scheduler")

    def may(verb, group, resource, sub="", space="default", name=""):
        code, said, _ = me("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                           {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
                               "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "subresource": sub, "namespace": space, "name": name}}})
        return code == 201 and json.loads(said)["status"]["allowed"]
    for verb in ("create", "get", "update", "patch", "delete"):
        check(f"the scheduler may not {verb} the Lease of the cluster's own scheduler", not may(verb, "coordination.k8s.io", "leases", "", "kube-system", "kube-scheduler"))
    check_as_much(admin, next(o for o in objects if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "wattle-scheduler"))
    needs = {"wattle-scheduler-lease": lambda: may("update", "coordination.k8s.io", "leases", "", "wattle", "wattle-scheduler"),
             "wattle-scheduler": lambda: may("create", "", "pods", "binding"),
             "wattle-scheduler-volumes": lambda: may("update", "", "persistentvolumes"),
             "wattle-scheduler-authentication-reader":
                 lambda: me("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")[0] != 403}
    bindings = {o["metadata"]["name"]: o for o in objects if o["kind"] in ("ClusterRoleBinding", "RoleBinding") and o["metadata"]["name"] in needs}
    check("each of the scheduler's bindings is needed", set(bindings) == set(needs))
    for name, need in needs.items():
        eventually(f"with {name} the scheduler's requests are permitted", need)
        admin("DELETE", path_of(bindings[name]))
        eventually("without {name} they are forbidden", lambda need=need: not need())
        admin.apply(bindings[name], False)
        eventually("and again", need)


# Permissions that 1.37 gives its scheduler and earlier versions do not: one manifest serves all versions.
OF_1_37 = {("resource.k8s.io", "resourceclaims", verb) for verb in ("create", "delete")} | {
    (group, resource, verb) for verb in ("patch", "update") for group, resource in (
        ("resource.k8s.io", "resourceclaims/binding"), ("scheduling.k8s.io", "podgroups/status"),
        ("scheduling.k8s.io", "compositepodgroups/status"))}


def rights_of(role):
    return {(group, resource, verb) for rule in role["rules"] if "resourceNames" not in rule
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def check_as_much(admin, role):
    """Compares with system:kube-scheduler, because a new version of Kubernetes may add permissions that ours needs
    too."""
    theirs = rights_of(json.loads(admin("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:kube-scheduler")[1]))
    beyond = {right for right in theirs - rights_of(role) if right[0] not in ("coordination.k8s.io", "extensions")}
    check("except for Leases it has all permissions of system:kube-scheduler", not beyond, str(sorted(beyond)))
    extra = {right for right in rights_of(role) - theirs - OF_1_37 if right[2] not in ("get", "list", "watch")}
    check("the scheduler has no further write permission", not extra, str(sorted(extra)))


def check_others(admin):
    """Checks that the server accepts the objects of an overlay and of the chart."""
    for what, made in (("k8s/overlay", lambda: rendering.kustomized(rendering.OVERLAY)), ("the chart", rendering.charted)):
        try:
            objects = made()
            for thing in (o for o in objects if o["kind"] == "Namespace"):
                admin.apply(thing, False)
            refused = [f"{manifests.label(thing)}: {code} {said[:300]}" for thing in objects for code, said, _ in [admin.apply(thing, True)] if code not in (200, 201)]
            check(f"the objects of {what} are accepted in a dry run", not refused, "\n".join(refused))
        except assets.Missing as missing:
            print(f"     not checked: the objects of {what}: {missing}")


def check_doctor(admin, wattle):
    def doctor(server, name):
        ran = subprocess.run([wattle, "doctor", "--pre", "--kubeconfig", server.kubeconfig(name), "-o", "json"], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr
    code, said, complaint = doctor(admin, "admin.kubeconfig")
    check("doctor --pre reports no problem", code == 0, said[-2000:] + complaint)
    names = {f["name"] for f in json.loads(said)["findings"]} if said else set()
    check("doctor --pre checks version, permissions, namespaces and nodes", {"version", "scheduler.tag", "permission", "namespace.wattle", "namespace.wattle-agent"} <= names, str(names))
    code, said, complaint = doctor(admin.account("wattle", "wattle-controller"), "who.kubeconfig")
    check("doctor --pre names missing permissions of a user", code == 1 and "permission denied: create clusterroles" in said and "namespace.wattle" in said,
          f"{code} {said[-1000:]} {complaint}")


def run(binaries, programs):
    objects = rendering.kustomized()
    roles = [o for o in objects if o["kind"] == "Role" and o["metadata"]["name"] == "wattle-keys"]
    cluster_role = next(o for o in objects if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "wattle-controller")
    with Plane(programs) as plane:
        admin = Server(plane)
        check_others(admin)
        check_applied(admin, objects)
        check_pod_security(admin, objects)
        check_controller(admin, cluster_role)
        check_autoscalers(admin)
        check_sleep(admin)
        check_keys(admin, roles, binaries / "wattle")
        check_reader(admin, next(o for o in objects if o["kind"] == "Role" and o["metadata"]["name"] == "wattle-reader"))
        check_scheduler(admin, objects, programs)
        check_doctor(admin, binaries / "wattle")
    print("rbac: every claim holds" if failures == 0 else f"rbac: {failures} claims failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    try:
        programs = assets.assets(options.version, ("etcd", "kube-apiserver", "kube-scheduler"))
    except assets.Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return run(options.binaries.resolve(), programs)


if __name__ == "__main__":
    sys.exit(main())
