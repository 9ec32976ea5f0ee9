#!/usr/bin/env python3
"""kube_install_test: runs docs/how-to/install-kubernetes.md with Helm and with kustomize: from the values to the first
explained decision, and on to an upgrade, with Helm a rollback, and the removal, on a real control plane with its
controllers.

No kubelet runs here: hand_kubelet.py runs the rendered objects with their Secrets, configurations, arguments, users and
permissions. Images are not built or pulled (tests/e2e/images builds them, tests/e2e/kube/node_test.py runs them).

Usage    kube_install_test.py FOLDER-OF-BINARIES helm|kustomize [--version V]
Exit     0 fine, 1 a claim failed, 77 skipped: no root, no overlays, or no programs of a control plane
"""
import argparse
import base64
import json
import pathlib
import shutil
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "kube"), str(HERE.parent / "kube/node")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import Failed, Undocumented, Walk  # noqa: E402
from helm_repository import served  # noqa: E402
from hand_kubelet import ADDRESS, HandKubelet  # noqa: E402
from house import SKIPPED, HouseError, wait_until  # noqa: E402
from patience import LATE_S  # noqa: E402
from node_plane import NodePlane  # noqa: E402
from private_root import Impossible, Root, enter  # noqa: E402

PATIENCE = LATE_S
PAGE, HOME = "docs/how-to/install-kubernetes.md", "/home/reader"
MOVE, UPGRADE = "docs/how-to/adopt.md", "docs/how-to/upgrade.md"
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
BASE = {"WATTLE_URL=https://packages.example.org/wattle": (":", "helm_repository.py serves this tree's chart below WATTLE_URL")}
FORWARD = {"port-forward svc/wattle-controller": (":", "without a kubelet there is no port-forward, and the controller is on this network")}
LOOKS = {"doctor --kubeconfig": PATIENCE}
WAYS = {
    "helm": {way: "the other way of installation" for way in ("kubectl apply -k", "kubectl delete -k", "wattle install")},
    "kustomize": {way: "the other way of installation" for way in ("helm repo add", "helm install", "helm upgrade", "helm rollback", "helm uninstall", "wattle install")},
}


class Desk:
    """The reader's environment: the checkout, a kubeconfig, and programs."""

    def __init__(self, folder, plane, binds, url):
        self.plane, self.url = plane, url
        self.root = Root(folder / "desk", binds | {str(ROOT): ROOT, str(plane.dir): plane.dir})
        self.write("~/.kube/config", plane.kubeconfig().read_text())
        shutil.copytree(ROOT / "k8s", self.root.inside("/desk/k8s"))

    def run(self, text):
        if "kubectl run" in text:
            self.second_candidate()
        env = {"HOME": HOME, "WATTLE_URL": self.url, "PATH": "/programs/wattle/bin:/programs/kube:/programs/helm:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        return self.root.shell(text, "/desk", env, PATIENCE)

    def second_candidate(self):
        """Adds a second candidate without an agent, because kube-scheduler asks no extender about one. Pods avoid
        it."""
        self.plane.add_node("other-1")
        self.plane.call("PATCH", "/api/v1/nodes/other-1", {"spec": {"taints": [{"key": "test", "value": "nobody", "effect": "PreferNoSchedule"}]}})
        self.plane.nodes_ready(2)

    def write(self, path, text):
        target = self.root.inside(path.replace("~", HOME) if path.startswith("~") else f"/desk/{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def secrets(plane):
    found = plane.call("GET", "/api/v1/namespaces/wattle/secrets")["items"]
    return {s["metadata"]["name"]: s["data"] for s in found if s["metadata"]["name"].startswith("wattle-")}


def image_of(plane, name, container):
    deployment = plane.call("GET", f"/apis/apps/v1/namespaces/wattle/deployments/{name}")
    return next(c["image"] for c in deployment["spec"]["template"]["spec"]["containers"] if c["name"] == container)


def check_installed(claims, plane, kubelet, version, way):
    claims.check("the second scheduler has the cluster's version", image_of(plane, "wattle-scheduler", "kube-scheduler").endswith(f":v{version}"),
                 image_of(plane, "wattle-scheduler", "kube-scheduler"))
    claims.check("the Job created the keys", {"wattle-controller", "wattle-shim", "wattle-operator", "wattle-metrics"} <= set(secrets(plane)), set(secrets(plane)))
    ends = [text for text in kubelet.problems if " ended: " in text]
    claims.check("no container exited", not ends, ends)
    decided = [p for p in kubelet.running("wattle", "wattle-scheduler") if "kube-scheduler" in p.processes and "shim" in p.processes]
    claims.check(f"the kube-scheduler and shim of one pod rendered by {way} decided", len(decided) == 1, decided)


def metrics(desk, plane, port):
    """Returns the HTTP status of a scraper (without, with) the token."""
    token = base64.b64decode(secrets(plane)["wattle-metrics"]["token"]).decode()
    ask = "curl --silent --output /dev/null --write-out '%{http_code}'"
    return (desk.run(f"{ask} http://{ADDRESS}:{port}/metrics")[1], desk.run(f"{ask} --header 'Authorization: Bearer {token}' http://{ADDRESS}:{port}/metrics")[1])


def config_of(plane):
    """Returns the ConfigMap that the controller's pod mounts; kustomize renames the map with each content."""
    deployment = plane.call("GET", "/apis/apps/v1/namespaces/wattle/deployments/wattle-controller")
    name = next(v["configMap"]["name"] for v in deployment["spec"]["template"]["spec"]["volumes"] if v["name"] == "config")
    return plane.call("GET", f"/api/v1/namespaces/wattle/configmaps/{name}")["data"]["controller.yaml"]


def change(desk, way):
    """Changes an operator's values: another tag, another bound of the store."""
    if way == "helm":
        desk.write("mine.yaml", desk.root.inside("/desk/mine.yaml").read_text(encoding="utf-8") + "controller: {config: {store: {max_bytes: 100000000}}}\n")
        return
    overlay = desk.root.inside("/desk/k8s/overlay")
    text = (overlay / "kustomization.yaml").read_text(encoding="utf-8").replace("newTag: 0.1.0", "newTag: 0.1.1")
    (overlay / "kustomization.yaml").write_text(text + "  - {name: wattle-controller-config, namespace: wattle, behavior: replace, files: [controller.yaml]}\n", encoding="utf-8")
    base = (overlay.parent / "base/config/controller.yaml").read_text(encoding="utf-8")
    (overlay / "controller.yaml").write_text(base.replace("store: {", "store: {max_bytes: 100000000, "), encoding="utf-8")


def heard(desk):
    code, said = desk.run("wattle --server tcp://127.0.0.1:7462 nodes -o json")
    return code == 0 and any(n["connected"] for n in json.loads(said)["nodes"])


def helm_test(claims, desk, kubelet):
    """Runs the pod of `helm test` as rendered. It fails while the node's agent is disconnected."""
    said = lambda: "".join(pod.log() for pod in kubelet.running("wattle", "wattle-test"))
    run = lambda: desk.run("helm test wattle --namespace kube-system")
    code, reported = run()
    claims.check("`helm test` succeeds once the agents have enrolled", code == 0, f"{reported}\n{said()}")
    claims.check("the pod of `helm test` prints doctor's findings about controller and node", "controller" in said() and kubelet.name in said(), said())
    agent, = kubelet.running("wattle-agent", "wattle-agent")
    process = agent.processes["agent"]
    process.send_signal(signal.SIGSTOP)
    try:
        wait_until("`helm test` fails", lambda: run()[0] != 0, PATIENCE)
    finally:
        process.send_signal(signal.SIGCONT)
    claims.check("`helm test` fails while an agent is disconnected, and its pod names the node", kubelet.name in said(), said())
    wait_until("`helm test` succeeds again", lambda: run()[0] == 0, PATIENCE)
    claims.check("`helm test` succeeds when the agent is connected again", True)


def go_on(claims, desk, plane, walk, way):
    """Tests upgrade, rollback with Helm, and removal."""
    before = secrets(plane)
    change(desk, way)
    walk("Upgrade on Kubernetes", UPGRADE)
    claims.check("the upgrade is in force: the new value is in the configuration that the controller's pod mounts", "max_bytes" in config_of(plane), config_of(plane))
    claims.check("the keys are unchanged by the upgrade", secrets(plane) == before)
    wait_until("the agent is connected", lambda: heard(desk), PATIENCE)
    claims.check("the agent is connected to the upgraded controller", True)
    walk("Roll back")
    if way == "helm":
        claims.check("the rollback is in force", "max_bytes" not in config_of(plane), config_of(plane))
        claims.check("the keys are unchanged by the rollback", secrets(plane) == before)
        wait_until("the agent is connected", lambda: heard(desk), PATIENCE)
        claims.check("the agent is connected to the rolled-back controller", True)
    walk("Remove from Kubernetes")
    gone = lambda: not [d for space in ("wattle", "wattle-agent") for kind in ("deployments", "daemonsets")
                        for d in plane.call("GET", f"/apis/apps/v1/namespaces/{space}/{kind}")["items"]]
    wait_until("no workload is left", gone, PATIENCE)
    claims.check("after the removal no workload is left", True)
    if way == "helm":
        claims.check("after the removal the keys are kept", secrets(plane).keys() == before.keys(), secrets(plane).keys())


def follow(claims, desk, plane, kubelet, way, version):
    walk = Walk(PAGE, desk.run, desk.write, without=WAYS[way], instead=FORWARD | (BASE if way == "helm" else {}), again=LOOKS)
    explained = walk("Install on Kubernetes")[-1].rpartition("condition met")[2].strip()
    print(explained[:600])
    claims.check("`wattle explain` shows the first decision, of a pod with Wattle's scheduler, and its node",
                 "try" in explained.splitlines()[0] and f"The pod was placed on {kubelet.name}" in explained, explained)
    check_installed(claims, plane, kubelet, version, way)
    for port in (8050, 9460, 9462):
        claims.check(f"metrics on {port} require the token", metrics(desk, plane, port) == ("401", "200"), metrics(desk, plane, port))
    code, said = desk.run("kubectl create deployment web --image=registry.k8s.io/pause:3.10")
    claims.check("a Deployment to move exists", code == 0, said)
    walk("Move Deployments to it", MOVE)
    if way == "helm":
        helm_test(claims, desk, kubelet)
    go_on(claims, desk, plane, walk, way)
    claims.check(f"every command was run and succeeded, {walk.finish()} blocks", True)


def run(folder, binaries, programs, way, version):
    claims = Claims()
    binds = {"/programs/wattle/bin": binaries, "/programs/wattle/share/wattle/models": ROOT / "models/pretrained", "/programs/kube": programs, "/programs/helm": assets.helm().parent}
    with NodePlane(programs) as plane, served(folder / "release") as url:
        plane.start_controller_manager()
        plane.start_scheduler()
        desk = Desk(folder, plane, binds, url)
        with HandKubelet(plane, folder / "pods", {path: here for path, here in binds.items() if path != "/programs/helm"}) as kubelet:
            try:
                plane.nodes_ready(1)
                follow(claims, desk, plane, kubelet, way, version)
            except (Failed, Undocumented, HouseError, OSError) as error:
                claims.check("every command of the page succeeds", False, f"{error}\n{kubelet.diagnostics()}\n" + "\n".join(f"-- {n}\n{plane.tail(n)}" for n in plane.processes if n != "etcd"))
    return 1 if claims.failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("way", choices=sorted(WAYS))
    parser.add_argument("--version", default=assets.VERSION)
    options = parser.parse_args()
    try:
        programs = assets.assets(options.version, PROGRAMS)
        assets.helm()
        folder = enter()
    except (assets.Missing, Impossible) as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    return run(folder, options.binaries.resolve(), programs, options.way, options.version)


if __name__ == "__main__":
    sys.exit(main())
