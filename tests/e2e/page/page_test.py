#!/usr/bin/env python3
"""The controller's page in real Chromium, beside simulated nodes, with names that a hostile cluster would choose.

Usage: page_test.py FOLDER-OF-BINARIES FOLDER-OF-scripts/web [FOLDER-FOR-SCREENSHOTS]
Needs    node, chromium (scripts/setup); skips (77) with the reason without them"""
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from house import SKIPPED, House, binaries_from, extender_args, fetch, free_ports, wait_until  # noqa: E402

NODES = 60
TOKEN = "a-word-for-this-test-alone"
HOSTILE = ["<img src=x onerror=window.hostile=1>", "\"><script>window.hostile=2</script>", "javascript:window.hostile=3", "a\u202egpj.exe", "{{7*7}}${7*7}"]


def main():
    binaries, web = binaries_from(sys.argv), pathlib.Path(sys.argv[2])
    chromium = shutil.which("chromium")
    if chromium is None or shutil.which("node") is None or not (web / "node_modules/playwright-core").exists():
        print("skipped: chromium, node or playwright-core is missing (scripts/setup installs them)")
        return SKIPPED
    swarm_port, = free_ports(1)
    with House(binaries) as house:
        token = house.write("token", TOKEN)
        token.chmod(0o400)
        config = house.dir / "controller.yaml"
        config.write_text(config.read_text().replace(f"http: {{port: {house.http}}}", f"http: {{port: {house.http}, token_file: {token}}}\n"
                                                     "decide: {settle_window: 2s}"))
        keys = house.dir / "nodes"
        keys.mkdir(mode=0o700)
        house.write("swarm.yaml", f"""
            nodes: {NODES}
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {keys}
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{swarm_port}
            seed: 7
            """)
        swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
        made = house.run(*swarm, "--make-keys", str(house.dir / "allow"))
        if made.returncode != 0:
            print(made.stderr)
            return 1
        house.start_controller()
        house.start("swarm", *swarm)
        house.start_agent()
        house.start_shim()
        wait_until("all nodes are heard", lambda: house.query("status")["nodes_connected"] == NODES + 1, 40)
        nodes = [node["name"] for node in house.query("nodes")["nodes"]]
        for number, name in enumerate(HOSTILE * 4):
            uid = f"hostile-{number}"
            status, _ = fetch(f"{house.shim()}/prioritize", extender_args(uid, nodes[:20], name=name))
            assert status == 200, status
            pod = {"uid": uid, "name": name, "node": nodes[number % 20], "cpu_request_cores": 0.25, "demand_cores": 0.2, "lifetime": 600}
            status, told = fetch(f"http://127.0.0.1:{swarm_port}/pods", json.dumps(pod).encode())
            assert status < 300, told
        wait_until("a decision has its outcome", lambda: any(d["outcome"] for d in house.query("decisions")["decisions"]), 40)
        done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("browser.mjs")), house.api(), TOKEN, chromium, str(web), *sys.argv[3:4]],
                              timeout=90, check=False)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
