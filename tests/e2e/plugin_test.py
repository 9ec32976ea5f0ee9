#!/usr/bin/env python3
"""plugin_test: `kubectl wattle`. kubectl finds kubectl-wattle, a link to wattle, on the PATH, lists it, and passes it
the arguments. The plugin queries the controller like wattle, and its help shows the command as typed.

Without kubectl, the test runs the link directly and ends as skipped (77).
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from house import CLI_TIMEOUT, SKIPPED, House, binaries_from
from patience import SOON_S

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def main():
    binaries = pathlib.Path(binaries_from(sys.argv)).resolve()
    kubectl = shutil.which("kubectl")
    with House(binaries) as house:
        folder = house.dir / "path"
        folder.mkdir()
        (folder / "wattle").symlink_to(binaries / "wattle")
        (folder / "kubectl-wattle").symlink_to("wattle")  # as in the package
        config = house.write("cli.yaml", f"""
            server: "tcp://127.0.0.1:{house.ask}"
            key: {house.dir}/reader.key
            server_key: {house.dir}/controller.key.pub
            timeout: {CLI_TIMEOUT}
            """)

        def run(*words):
            return subprocess.run(words, capture_output=True, text=True, timeout=SOON_S, check=False,
                                  env=os.environ | {"WATTLE_CONFIG": str(config), "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(house.dir)})

        plugin = ("kubectl", "wattle") if kubectl else ("kubectl-wattle",)
        house.start_controller()
        helped = run(*plugin, "--help")
        check("help of the plugin shows the typed command", helped.returncode == 0 and "Usage: kubectl wattle [OPTIONS] SUBCOMMAND" in helped.stdout, helped.stdout + helped.stderr)
        check("a subcommand's help shows the typed command", "Usage: kubectl wattle keys new " in run(*plugin, "keys", "new", "--help").stdout)
        check("called as wattle, help shows wattle", "Usage: wattle [OPTIONS] SUBCOMMAND" in run("wattle", "--help").stdout)
        reported = run(*plugin, "status", "-o", "json")
        check("the plugin queries the controller", reported.returncode == 0 and json.loads(reported.stdout)["mode"] == "live", reported.stdout + reported.stderr)
        check("exit codes are those of wattle", run(*plugin, "node", "nowhere").returncode == 1 and run(*plugin, "nonsense").returncode == 2)
        if kubectl:
            listed = run("kubectl", "plugin", "list", "--name-only")
            check("kubectl lists the plugin", "kubectl-wattle" in listed.stdout.split(), listed.stdout + listed.stderr)
    if not kubectl:
        print("skipped: no kubectl (Debian package kubernetes-client; scripts/setup installs it)")
    return 1 if failures else 0 if kubectl else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
