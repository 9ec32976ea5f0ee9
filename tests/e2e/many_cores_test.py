#!/usr/bin/env python3
"""many_cores_test: a controller on a host with many cores starts no thread per core. Linear algebra libraries count the
host's cores, and a pod may have only one.


Given    a learning controller that sees two cores, and one that sees 64 (by a preloaded library)
Claims   the controller has as many threads with 64 cores as with two
Usage    many_cores_test.py FOLDER-OF-BINARIES; skips (77) without a C compiler
"""
import os
import pathlib
import shutil
import subprocess
import sys

from demo_run import Claims
from house import SKIPPED, House, binaries_from, fetch, free_ports, wait_until

HERE = pathlib.Path(__file__).resolve().parent
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def steps(house):
    page = fetch(f"{house.api()}/metrics")[1]
    return next((float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith("wattle_controller_gradient_steps_total ")), 0)


def threads(binaries, library, cores):
    """Returns the number of threads of a controller that has learned from placements."""
    with House(binaries, controller_extra="decide: {settle_window: 500ms}\n            learn: {warmup: 16, batch: 32, tau: 5s}") as house:
        swarm_port, = free_ports(1)
        (house.dir / "nodes").mkdir(mode=0o700)
        house.write("swarm.yaml", f"""
            nodes: 4
            endpoint: "tcp://127.0.0.1:{house.telemetry}"
            keys: {house.dir}/nodes
            server_key: {house.dir}/controller.key.pub
            listen: 127.0.0.1:{swarm_port}
            seed: 3
            """)
        swarm = (house.binary("wattle-sim"), "swarm", "--config", str(house.dir / "swarm.yaml"))
        if (made := house.run(*swarm, "--make-keys", str(house.dir / "allow"))).returncode != 0:
            raise SystemExit(made.stderr)
        house.start("controller", "env", *(f"--unset={name}" for name in VARIABLES), f"LD_PRELOAD={library}", f"MANY_CORES={cores}",
                    house.binary("wattle-controller"), "--config", str(house.dir / "controller.yaml"))
        wait_until("the controller is ready", lambda: house.alive("controller") and fetch(f"{house.api()}/livez")[0] == 200)
        house.start("swarm", *swarm)
        house.start_shim()
        wait_until("all nodes are connected", lambda: house.query("status")["nodes_connected"] == 4)
        house.start("drive", house.binary("wattle-sim"), "drive", "--shim", house.shim(), "--swarm", f"http://127.0.0.1:{swarm_port}", "--controller", house.api(),
                    "--period", "0.1", "--seconds", "300")
        wait_until("the network has learned", lambda: steps(house) > 10)
        return len(os.listdir(f"/proc/{house.processes['controller'].pid}/task"))


def main():
    claims = Claims()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("skipped: no C compiler")
        return SKIPPED
    binaries = binaries_from(sys.argv)
    with House(binaries) as folder:
        library = folder.dir / "many_cores.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "many_cores.c"), "-ldl"], check=True)
        few, many = threads(binaries, library, 2), threads(binaries, library, 64)
    print(f"{few} threads with two cores, {many} with 64")
    claims.check("64 cores start no more threads than two", many <= few + 1, (few, many))
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
