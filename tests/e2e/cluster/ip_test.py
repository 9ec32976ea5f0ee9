#!/usr/bin/env python3
"""ip_test: clusters on IPv6 only and with both families: all claims of running.py, and that no node, pod or Service has
an address of another family.

Differs  from a cluster of machines: the programs of the control plane also talk to each other over 127.0.0.1
Usage    ip_test.py BINARY-FOLDER [ipv6 | dual]...     default: both
Skips    if the machine cannot run a cluster, with the reason (real_cluster.missing), or has no IPv6
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import real_cluster  # noqa: E402
import running  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED, HouseError, fetch, wait_until  # noqa: E402

FAMILIES = {"ipv6": {6}, "dual": {4, 6}}


def family(address):
    return 6 if ":" in address else 4


def check_addresses(claims, cluster, wanted):
    nodes = {node["metadata"]["name"]: [each["address"] for each in node["status"]["addresses"]
                                        if each["type"] == "InternalIP"] for node in cluster.plane.nodes()}
    pods = {pod["metadata"]["name"]: [each["ip"] for each in pod["status"].get("podIPs", [])]
            for pod in cluster.objects("pods", "--all-namespaces") if pod["status"]["phase"] == "Running"}
    for kind, found in (("node", nodes), ("pod", pods)):
        claims.check(f"every {kind} has addresses of these families: {sorted(wanted)}",
                     all(set(map(family, each)) == wanted for each in found.values()), found)
    services = [each["spec"]["clusterIP"] for each in cluster.objects("services", "--all-namespaces")
                if each["spec"]["clusterIP"] != "None"]
    claims.check("every Service has an address of the first family",
                 {family(each) for each in services} == {min(wanted)}, services)


def check_latency(claims, cluster):
    """Checks the agents' probe of the web service by its name."""
    def answered():
        found = json.loads(fetch(cluster.page + "api/v1/latency")[1])["nodes"]
        return sorted(found) == cluster.names and found
    claims.check("the probe of the web service is answered on every node",
                 bool(wait_until("every node has latency", answered)))


def main():
    binaries, claims = pathlib.Path(sys.argv[1]).resolve(), Claims()
    has_ipv6 = pathlib.Path("/proc/net/if_inet6").exists()
    if reason := real_cluster.missing(binaries) or ("" if has_ipv6 else "this kernel has no IPv6"):
        print(f"skipped: {reason}")
        return SKIPPED
    for ip in sys.argv[2:] or FAMILIES:
        print(f"== {ip}", flush=True)
        with real_cluster.RealCluster(binaries, DEMO_IP=ip) as cluster:
            try:
                check_addresses(claims, cluster, FAMILIES[ip])
                running.check(claims, cluster)
                check_latency(claims, cluster)
            except HouseError as error:
                claims.check(f"{ip}: the test ran to its end", False, error)
            claims.check("the demo exits with 0", cluster.end() == 0, cluster.demo.output()[-1000:])
    print("ip: every claim holds" if claims.failed == 0 else f"ip: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
