#!/usr/bin/env python3
"""Every /metrics page of the house passes `promtool check metrics`: agent, controller and shim, after a decision was asked for."""
import shutil
import subprocess
import sys

from house import SKIPPED, House, binaries_from, extender_args, fetch, wait_until
from patience import SOON_S

failures = 0


def check(claim, truth, detail=""):
    global failures
    print(("ok   " if truth else "FAIL ") + claim + ("" if truth or not detail else f": {detail}"))
    failures += 0 if truth else 1


def main():
    binaries = binaries_from(sys.argv)
    promtool = shutil.which("promtool")
    if promtool is None:
        print("skipped: no promtool (Debian package prometheus; scripts/setup installs it)")
        return SKIPPED
    with House(binaries) as house:
        house.start_controller()
        house.start_agent()
        house.start_shim()
        wait_until("this machine is a node", house.connected)
        asked = fetch(f"{house.shim()}/prioritize", extender_args("11111111-1111-1111-1111-111111111111", [house.node, "unknown"]))
        check("the shim answers", asked[0] == 200, str(asked))
        for name, url in (("agent", f"http://127.0.0.1:{house.agent_http}"), ("controller", house.api()), ("shim", house.shim())):
            status, page = fetch(f"{url}/metrics")
            done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, timeout=SOON_S, check=False)
            check(f"/metrics of the {name} is there and has numbers", status == 200 and "# TYPE wattle_" in page, page[:200])
            # Beside mistakes (exit 1), promtool tells style on stderr and exits 3.
            check(f"promtool finds nothing in /metrics of the {name}", done.returncode == 0 and not done.stderr.strip(),
                  f"exit {done.returncode}: {done.stderr or done.stdout}")
    return 1 if failures else 0


sys.exit(main())
