"""beside: a second cluster, of one node, on the same machine at the same time.

Claims   both run, each with its own page; the end of the second removes everything of it and does not disturb the first
"""
import json
import pathlib
import signal

import real_cluster
from demo_run import Demo
from house import fetch, wait_until
from patience import AGES_S


def check(claims, cluster):
    with Demo(cluster.binaries, 0, "cluster", "1") as demo:
        run = pathlib.Path(demo.wait_for(r"cluster: state in (\S+)", AGES_S)[0])
        demo.wait_for(r"s: ready\b", AGES_S)
        page = json.loads((run / "ready.json").read_text(encoding="utf-8"))["page"]
        nodes = [sorted(node["name"] for node in json.loads(fetch(each + "api/v1/nodes")[1])["nodes"])
                 for each in (page, cluster.page)]
        claims.check("a second cluster runs beside the first, and each page shows its own nodes",
                     page != cluster.page and nodes == [["node-1"], cluster.names], (page, nodes))
        demo.process.send_signal(signal.SIGTERM)
        claims.check("the second cluster exits with 0", demo.end() == 0, demo.output()[-1000:])
    claims.check("no resource of the second cluster is left", not real_cluster.left(run), real_cluster.left(run))
    wait_until("every agent is connected", lambda: cluster.connected() == set(cluster.names))
    claims.check("in the first cluster every agent is connected and the controller decides",
                 bool(cluster.decided("beside")))
