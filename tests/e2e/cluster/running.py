"""running: claims about a running cluster: its parts run, each node reports its own values, and kubectl reaches the
pods."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.request

import assets
from house import CLI_TIMEOUT, HouseError, fetch, wait_until
from patience import LATE_S, SOON_S
from real_cluster import NODES, is_ready


def check(claims, cluster):
    nodes = cluster.plane.nodes()
    claims.check("three nodes are Ready", [is_ready(node) for node in nodes] == [True] * NODES, nodes)
    workloads = {each["metadata"]["name"] for each in cluster.objects("deployments,daemonsets", "--all-namespaces")}
    claims.check("the chart's workloads exist", {"wattle-agent", "wattle-controller", "wattle-scheduler"} <= workloads, workloads)
    check_enrolment(claims, cluster)
    check_decisions(claims, cluster)
    check_values(claims, cluster)
    check_users(claims, cluster)
    status, _ = fetch(cluster.page + "api/v1/nodes")
    claims.check("the page's address answers", status == 200, status)
    check_kubectl(claims, cluster)
    check_access(claims, cluster)


def check_enrolment(claims, cluster):
    """Checks that agents create keys on the nodes and enrol them by the tokens of their pods."""
    def enrolled():  # an agent on a busy machine is sometimes late
        return [(node["connected"], (node["kubernetes"] or {}).get("ready")) for node in cluster.wattle("nodes")["nodes"]] == [(True, True)] * NODES
    claims.check("every agent is enrolled and known to Kubernetes", wait_until("every agent is connected, and its node Ready", enrolled))
    findings = {(name, each["name"]): each for name in cluster.names for each in cluster.wattle("node", name)["node"]["findings"]}
    working = {name: [each for each in ("cgroup", "psi", "bpf-sched", "bpf-tcp", "bpf-block") if findings.get((name, each), {}).get("state") == "ok"] for name in cluster.names}
    print(f"     sources that work in the agents' containers: {working}", flush=True)
    claims.check("in their containers the agents read cgroups, PSI and BPF", all(len(found) == 5 for found in working.values()), findings)


def check_decisions(claims, cluster):
    def decided():  # pods of Jobs start and end
        pods = {pod["metadata"]["uid"] for pod in cluster.objects("pods") if pod["spec"]["schedulerName"] == "wattle"}
        return [each for each in cluster.wattle("decisions")["decisions"] if each["pod_uid"] in pods and each["mode"] == "live" and each["placed_on"] == each["advice"]
                and each["candidates"] == NODES]
    wait_until("the controller decided among three nodes about a pod, which runs there", decided)
    claims.check("pods of the scheduler `wattle` are placed by the controller's advice, among three nodes", True)


def check_values(claims, cluster):
    def reported():
        found = cluster.wattle("nodes")["nodes"]
        return found if len(found) == NODES and all(node["cpu_used_cores"] is not None and node["power_w"] is not None for node in found) else None
    nodes = wait_until("each node reports CPU and watts", reported)
    cores = sum(node["cpu_used_cores"] for node in nodes)
    claims.check("the CPU of all nodes together is no more than the machine has", 0 < cores <= os.cpu_count() * 1.05, cores)
    claims.check("the nodes' watts are marked as estimates", {node["energy_source"] for node in nodes} == {"estimated"}, nodes)

    def with_memory():
        found = cluster.wattle("pods")["pods"]
        return found if found and all(pod["memory_bytes"] for pod in found if pod["age_s"] is None or pod["age_s"] > 5) else None
    pods = wait_until("every pod has memory", with_memory)
    total = sum(node["memory_used_bytes"] for node in nodes)
    print(f"     nodes: {cores:.2f} cores, {total / 2**20:.0f} MiB; {len(pods)} pods", flush=True)


def check_users(claims, cluster):
    """Reads the reports that the users print: wattle-load every 20 s, redis-benchmark after 2,000 requests of a kind."""
    def answered(app, pattern):
        name = cluster.pods(app)[0]["metadata"]["name"]
        return re.findall(pattern, cluster.kubectl("logs", name))
    found = wait_until("the users of the store have got answers", lambda: answered("store-users", r"GET: ([\d.]+) requests per second"))
    print(f"     users of the store: {found[-1]} requests a second", flush=True)
    claims.check("the store answers its users", float(found[-1]) > 0, found)
    found = wait_until("the users of the web service have got answers", lambda: answered("web-users", r"(?m)^answered (\d+):"))
    claims.check("the web service answers the users of wattle-load", int(found[-1]) > 0, found)


def check_kubectl(claims, cluster):
    web = wait_until("a pod of web is ready", lambda: [pod["metadata"]["name"] for pod in cluster.pods("web") if is_ready(pod)])[0]
    claims.check("kubectl exec works", cluster.kubectl("exec", web, "--", "cat", "/etc/nsswitch.conf").startswith("hosts:"))
    for name, container in (("agent", "agent"), ("controller", "controller"), ("scheduler", "shim")):
        pod = cluster.part(name)[0]["metadata"]
        claims.check(f"kubectl logs shows the lines of the {name}", '"event":' in (log := cluster.kubectl("logs", pod["name"], "--namespace", pod["namespace"], "--container", container)), log[-500:])
    with forwarded(cluster, web, 8080) as port, urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=SOON_S) as answer:
        claims.check("kubectl port-forward works", answer.read() == b"ok\n")


def check_access(claims, cluster):
    """Tests `wattle --context` for a user with only the chart's Role `wattle-reader`."""
    cluster.kubectl("create", "serviceaccount", "reader")
    token = cluster.kubectl("create", "token", "reader").strip()
    access = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "--output", "json"))
    access |= {"users": [{"name": "reader", "user": {"token": token}}],
               "contexts": [{"name": "as-reader", "context": {"cluster": access["clusters"][0]["name"], "user": "reader"}}]}
    with tempfile.TemporaryDirectory(prefix="wattle-access-") as folder:
        config = pathlib.Path(folder, "kubeconfig")
        config.write_text(json.dumps(access), encoding="utf-8")
        config.chmod(0o600)
        as_reader = [str(cluster.binaries / "wattle"), "--timeout", CLI_TIMEOUT, "--context", "as-reader"]
        env = {"HOME": folder, "PATH": f"{assets.kubectl().parent}:{os.environ['PATH']}", "KUBECONFIG": str(config)}

        def wattle(*words):
            done = subprocess.run([*as_reader, *words], capture_output=True, text=True, check=False, env=env, timeout=LATE_S)
            return done.returncode, done.stdout + done.stderr
        code, said = wattle("nodes")
        claims.check("wattle --context without a Role is refused, and names the Role", code != 0 and "is forbidden" in said and "bind the Role wattle-reader" in said, said)
        cluster.kubectl("create", "rolebinding", "wattle-readers", "--namespace", "wattle", "--role=wattle-reader", "--serviceaccount=default:reader")
        code, said = wait_until("the Role is in force", lambda: (answer := wattle("nodes", "-o", "json"))[0] == 0 and answer)
        claims.check("with the Role wattle-reader `wattle --context` shows the nodes", sorted(node["name"] for node in json.loads(said)["nodes"]) == sorted(cluster.names), said)
        keys = {key["metadata"]["name"] for key in cluster.objects("secrets", "--namespace", "wattle")}
        claims.check("no Secret has a reader's key", "wattle-reader" not in keys and "wattle-operator" in keys, keys)
        page = subprocess.Popen([*as_reader, "dashboard"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        url = page.stdout.readline().strip()
        with urllib.request.urlopen(url + "page/pass", timeout=LATE_S) as answer:
            claims.check("wattle dashboard forwards the page, which requires a token", json.load(answer)["token_needed"], url)
        page.terminate()
        claims.check("wattle dashboard prints where a reader finds the token", "get secret wattle-metrics" in page.communicate(timeout=LATE_S)[1] and page.returncode == 0)
        code, said = wattle("policy", "set", "--mode", "off", "--why", "a test")
        claims.check("a reader cannot change anything", code != 0 and "operator" in said, said)
        code, said = wattle("--as-operator", "nodes")
        claims.check("a reader cannot get the operator's key", code != 0 and "secrets \"wattle-operator\" is forbidden" in said, said)


@contextlib.contextmanager
def forwarded(cluster, pod, port):
    process = subprocess.Popen([str(assets.kubectl()), "port-forward", pod, f":{port}"], stdout=subprocess.PIPE, text=True, env=cluster.env)
    try:
        line = process.stdout.readline()
        if "Forwarding from 127.0.0.1:" not in line:
            raise HouseError(f"kubectl port-forward: {line}")
        yield int(line.split(":")[1].split()[0])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
