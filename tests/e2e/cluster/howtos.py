"""howtos: runs commands of README and docs/how-to as written, with a real kubectl, kubelets and rollouts.

Desk     the control plane's network, where the API server and the reader's port-forward are on loopback; a home folder
         with only a kubeconfig. The pages' Deployment `web` runs in its own namespace
Claims   every command of a block succeeds, except those that a rule names with its reason; afterwards the state is as
         the page describes
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "docs"))
import assets  # noqa: E402
from documented import Failed, Undocumented, Walk, blocks_below  # noqa: E402
from house import wait_until  # noqa: E402
from objects import jobs_suspended, template  # noqa: E402
from patience import LATE_S  # noqa: E402
from real_cluster import ROOT  # noqa: E402

SPACE = "shop"
CHART = "the chart of this tree stands for the repository"
INSTALLED = {"helm repo add": CHART, "helm install": "scripts/demo has installed it",
             "kubectl apply -k": "an alternative", "wattle install": "that is another way"}
IN_CONTROLLER, IN_AGENT = "kubectl -n wattle exec deploy/wattle-controller -- ", "kubectl -n wattle-agent exec daemonset/wattle-agent -- "
ON_VOLUME = "as the page says, the list is on the controller's volume"
NO_HOUR = '--force --why "the test has no hour"', "no mode has measured anything yet"
MONITORS = {"ServiceMonitor": "servicemonitors", "PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"}


class Desk:
    def __init__(self, cluster):
        self.cluster, self.groups = cluster, []
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="wattle-desk-"))
        (self.home / ".kube").mkdir()
        kubeconfig, = cluster.run_folder.glob("wattle-kube-*/kubeconfig")
        shutil.copy(kubeconfig, self.home / ".kube/config")
        (self.home / ".kube/config").chmod(0o600)
        (self.home / "desk").mkdir()
        (self.home / "desk/k8s").symlink_to(ROOT / "k8s")
        (self.home / "desk/wattle").mkdir()
        (self.home / "desk/wattle/wattle").symlink_to(ROOT / "k8s/chart")  # helm prefers a folder to a repository
        (self.home / "bin").mkdir()
        for name, program in (("kubectl", assets.kubectl()), ("helm", assets.helm(may_build=False)),
                              ("wattle", cluster.binaries / "wattle"), ("kubectl-wattle", cluster.binaries / "wattle")):
            (self.home / "bin" / name).symlink_to(program)

    def end_groups(self):
        for group in self.groups:  # port-forwards
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        self.groups.clear()

    def close(self):
        self.end_groups()
        shutil.rmtree(self.home)

    def run(self, text):
        """Runs a script. Output goes to a file, because a background process would keep a pipe open."""
        env = {"HOME": str(self.home), "WATTLE_URL": "https://registry.example/team", "PATH": f"{self.home}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        with tempfile.TemporaryFile("w+") as said:
            network = ["nsenter", "--target", str(self.cluster.first("plane")), "--net"]
            process = subprocess.Popen([*network, "bash", "-e", "-o", "pipefail", "-c", text],
                                       cwd=self.home / "desk", env=env, stdout=said, stderr=said,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            self.groups.append(process.pid)
            code = process.wait(timeout=2 * LATE_S)
            said.seek(0)
            return code, said.read()

    def connect(self):
        """Runs the commands of install-kubernetes.md that connect the command line; its port-forward ends with the
        controller's pod."""
        text, = [block.text for block in blocks_below("docs/how-to/install-kubernetes.md", "Install on Kubernetes") if "port-forward" in block.text]
        self.run("kubectl -n wattle rollout status deployment/wattle-controller && rm -f ~/.config/wattle/cli.key")
        return self.run(text)

    def run_connected(self, text):
        """Runs a script like a reader who connects again after a restart of the controller."""
        def answers():
            return self.run("wattle nodes")[0] == 0
        if not answers():
            self.end_groups()
            self.connect()
            wait_until("the controller answers the desk", answers)
        return self.run(text)

    def write(self, path, text):
        (self.home / "desk" / path).write_text(text, encoding="utf-8")


def follow(claims, desk, page, heading, run=None, **rules):
    walk = Walk(page, run or desk.run, desk.write, **rules)
    try:
        said = walk(heading)
        claims.check(f"{page}, {heading}: every command was run and succeeded ({walk.finish()} blocks)", True)
        return said
    except (Failed, Undocumented) as error:
        claims.check(f"{page}, {heading}: every command was run and succeeded", False, error)
        return []


def check_first_steps(claims, desk):
    said = follow(claims, desk, "docs/how-to/install-kubernetes.md", "Install on Kubernetes",
                  without=INSTALLED,
                  again={"port-forward": LATE_S, "doctor --kubeconfig": LATE_S, "explain try": LATE_S})
    claims.check("`wattle explain` explains the first decision",
                 bool(said) and "The pod was placed on node-" in said[-1], said[-1:])
    follow(claims, desk, "README.md", "Wattle",
           without={"scripts/demo": "this command started the cluster", "cmake --preset": "that builds the programs"},
           instead={word: (":", "scripts/demo does that") for word in ("WATTLE_URL=", "helm install")})
    follow(claims, desk, "docs/start/real-cluster.md", "Start the cluster",
           without={"scripts/demo cluster": "this command started the cluster"})


def check_adopt(claims, cluster, desk):
    cluster.kubectl("create", "namespace", SPACE)
    web = template("web")
    web["spec"].pop("schedulerName")
    cluster.plane.call("POST", f"/apis/apps/v1/namespaces/{SPACE}/deployments", {
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app.kubernetes.io/name": "web"}}, "template": web}})
    desk.run(f"kubectl config set-context --current --namespace={SPACE}")
    follow(claims, desk, "docs/how-to/adopt.md", "Adopt Wattle safely",
           instead={"wattle policy promote": ("! wattle policy promote",
                                              "the mode is already `live`, and the error says so"),
                    "wattle policy rollback": ('wattle policy rollback --force --why "and on again"',
                                               "the values of scripts/demo skipped the gate of mode live")})
    moved = [each["metadata"]["name"] for each in cluster.objects("replicasets", "--namespace", SPACE)
             if each["spec"]["template"]["spec"]["schedulerName"] == "wattle"]
    made = [each for each in cluster.wattle("decisions")["decisions"]
            if moved and each["pod_name"].startswith(f"{moved[0]}-") and each["placed_on"]]
    claims.check("while the Deployment used the scheduler `wattle`, the controller placed its pods",
                 len(made) >= 2 and all(each["mode"] == "live" for each in made), made)
    mode = cluster.wattle("policy", "get")
    claims.check("after `policy rollback` the mode is live again", json.dumps(mode).find('"live"') > 0, mode)
    desk.run("kubectl config set-context --current --namespace=default")


def check_operation(claims, cluster, desk):
    """Types pages about a running installation. Those that change values of the chart are undone."""
    desk.run(f"kubectl -n {SPACE} get deployment web -o yaml > deployment.yaml")

    def typed(page, heading, **rules):
        follow(claims, desk, page, heading, desk.run_connected, **rules)
    patch = "wattle savings --patch shop/Deployment/web --kubeconfig ~/.kube/config"
    typed("docs/how-to/save-energy.md", "Find and apply savings", instead={
        "wattle savings --patch": (f"! {patch} 2> refused && grep -q 'no suggestion yet' refused", "a suggestion needs an hour, and the error says so"),
        "kubectl patch": (":", "there is no patch yet")})
    typed("docs/how-to/manage-keys.md", "Create, allow, list and revoke a key", instead={
        "wattle keys allow": (f'{IN_CONTROLLER} wattle keys allow --allow-list /var/lib/wattle-controller/allow "$(cat ann.key.pub)" operator ann', ON_VOLUME),
        "wattle keys list": (f"{IN_CONTROLLER} wattle keys list --allow-list /var/lib/wattle-controller/allow", ON_VOLUME),
        "wattle keys revoke": (f"{IN_CONTROLLER} wattle keys revoke --allow-list /var/lib/wattle-controller/allow ann", ON_VOLUME)})
    typed("docs/how-to/troubleshoot.md", "Check and troubleshoot", again={"wattle doctor ": LATE_S},
          without={"doctor --pre --node": "install-kubernetes.md checks this cluster", "wattle-agent accept": "operate_test.py runs it"},
          instead={"wattle-agent doctor": (f"{IN_AGENT} wattle-agent doctor", "the agent is in its pod"),
                   "wattle-controller --config": (f"{IN_CONTROLLER} wattle-controller --config /etc/wattle/controller.yaml --check-config", "it is in its pod"),
                   "wattle-agent run": (f"{IN_AGENT} wattle-agent run --config /etc/wattle/agent.yaml --check-config", "it is in its pod")})
    typed("docs/how-to/set-requests.md", "Set the requests of running pods", again={"wattle provision suggest": LATE_S, "logs deployment/wattle-requests": LATE_S},
          instead={f"wattle provision mode {mode}": (f"wattle provision mode {mode} {NO_HOUR[0]}", NO_HOUR[1]) for mode in ("canary:10%", "live")})
    cluster.upgrade("--set-json", "requests.namespaces=[]", "--set-json",
                    'controller.config.provisioning={"prometheus": {"url": "http://127.0.0.1:9", "rate_query": "sum by (workload) (up)"}}')
    typed("docs/how-to/provision.md", "How many replicas", again={"wattle provision replicas": LATE_S})
    for kind, plural in MONITORS.items():
        cluster.plane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"metadata": {"name": f"{plural}.monitoring.coreos.com"}, "spec": {
            "group": "monitoring.coreos.com", "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()}, "versions": [{
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    typed("docs/how-to/answer-alerts.md", "With the Prometheus operator", again={"helm upgrade": LATE_S})
    made = cluster.kubectl("get", ",".join(f"{plural}.monitoring.coreos.com" for plural in MONITORS.values()), "--all-namespaces", "--output", "name").split()
    claims.check("the chart has created monitors and rules", len(made) >= len(MONITORS), made)
    cluster.upgrade("--set", "monitoring.enabled=false,replicas.suggest=false")
    cluster.kubectl("delete", "customresourcedefinition", *(f"{plural}.monitoring.coreos.com" for plural in MONITORS.values()))
    cluster.kubectl("delete", "namespace", SPACE)


def check_sleep(claims, cluster):
    """Types sleep-nodes.md on a cluster with a node that may sleep: worker-2; worker-1 is another one."""
    node, = [each["metadata"]["name"] for each in cluster.plane.nodes() if each["metadata"]["labels"].get("wattle.dev/sleep") == "auto"]
    other = next(name for name in cluster.names if name not in (node, cluster.controller()))
    desk = Desk(cluster)

    def awake():
        return next(each["state"] for each in cluster.wattle("sleep", "status")["nodes"] if each["name"] == node) == "awake"

    def empty():
        wait_until(f"{node} is awake", awake)
        desk.run(f"kubectl drain {node} --ignore-daemonsets && kubectl uncordon {node}")

    def typed(text):
        if text.startswith("kubectl drain"):  # "Follow the steps above with `sleep.mode: auto`, and with the label"
            cluster.upgrade("--set", "sleep.mode=auto")
            cluster.kubectl("label", "node", node, "wattle.dev/sleep=auto", "--overwrite")
        elif text.startswith("wattle sleep test"):  # the test has ended, and the controller lets the node sleep again
            desk.run_connected("wattle sleep wake --all")
            empty()
        code, said = desk.run_connected(text.replace("worker-1", other).replace("worker-2", node))
        if code == 0 and text.startswith("kubectl drain"):
            wait_until(f"{node} sleeps for its test", lambda: sleeps() > before)
        return code, said

    def sleeps():
        return [each["to"] for each in cluster.wattle("sleep", "history", node)["transitions"]].count("asleep")
    before = sleeps()
    try:
        desk.connect()
        cluster.kubectl("label", "node", node, "wattle.dev/sleep-")
        with jobs_suspended(cluster):
            follow(claims, desk, "docs/how-to/sleep-nodes.md", "Find nodes that could sleep", typed, again={
                "--check-config": LATE_S, "wattle sleep plan": LATE_S, "wattle sleep exclude": LATE_S, "kubectl drain": LATE_S, "wattle sleep history": LATE_S, "wattle sleep wake --all": LATE_S},
                without={"listen: 0.0.0.0:8086": "kube/autoscaler_test.py writes such a file", "grpc_timeout": "kube/autoscaler_test.py writes such a file"},
                instead={"wattle-controller --config": (f"{IN_CONTROLLER} wattle-controller --config /etc/wattle/controller.yaml --check-config", "it is in its pod")})
        claims.check("by the page's commands the node has slept and woken again", sleeps() > before, before)
    finally:
        desk.close()


def check_upgrade(claims, cluster, desk):
    values = cluster.helm("get", "values", "wattle", "--output", "yaml")
    desk.write("mine.yaml", values)
    before = cluster.helm("history", "wattle", "--output", "json")
    follow(claims, desk, "docs/how-to/upgrade.md", "Upgrade on Kubernetes",
           without={"kubectl apply -k": "an alternative"}, instead={"helm repo update": (":", CHART)})
    follow(claims, desk, "docs/how-to/upgrade.md", "Roll back")
    after = json.loads(cluster.helm("history", "wattle", "--output", "json"))
    claims.check("the release has two further revisions", len(after) == len(json.loads(before)) + 2,
                 [each["description"] for each in after])
    wait_until("every agent is connected", lambda: cluster.connected() == set(cluster.names))
    claims.check("afterwards every agent is connected and the controller decides", bool(cluster.decided("documented")))


def check(claims, cluster):
    desk = Desk(cluster)
    try:
        check_first_steps(claims, desk)
        check_adopt(claims, cluster, desk)
        follow(claims, desk, "docs/how-to/use-the-page.md", "Report energy by namespace, owner or team")
        check_operation(claims, cluster, desk)
        check_upgrade(claims, cluster, desk)
    finally:
        desk.close()
