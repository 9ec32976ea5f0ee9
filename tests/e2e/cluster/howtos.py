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
from documented import Failed, Undocumented, Walk  # noqa: E402
from house import wait_until  # noqa: E402
from objects import template  # noqa: E402
from patience import LATE_S  # noqa: E402
from real_cluster import ROOT  # noqa: E402

SPACE = "shop"
CHART = "the chart of this tree stands for the repository"
INSTALLED = {"helm repo add": CHART, "helm install": "scripts/demo has installed it",
             "kubectl apply -k": "an alternative", "wattle install": "that is another way"}


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

    def close(self):
        for group in self.groups:  # port-forwards
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
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

    def write(self, path, text):
        (self.home / "desk" / path).write_text(text, encoding="utf-8")


def follow(claims, desk, page, heading, **rules):
    walk = Walk(page, desk.run, desk.write, **rules)
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
    cluster.kubectl("delete", "namespace", SPACE, "--wait=false")


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
        check_upgrade(claims, cluster, desk)
    finally:
        desk.close()
