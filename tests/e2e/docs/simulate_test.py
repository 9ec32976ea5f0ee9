#!/usr/bin/env python3
"""simulate_test: runs the simulator commands of docs/ pages, with fewer decisions for commands that take a night.

Usage    simulate_test.py FOLDER-OF-BINARIES
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from documented import Failed, Undocumented, Walk

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from demo_run import Claims  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import AGES_S  # noqa: E402

FEWER = "the page's decisions take hours"
FIRST = "wattle-sim train --scenario churn_sleep --steps 20000 --out network.safetensors --keep checkpoints --name office"
LATER = "wattle-sim train --scenario churn_sleep --steps 50000 --out network.safetensors --keep checkpoints --name office \\"
JUDGED = "wattle-sim eval --model network.safetensors --scenario churn_sleep --seeds 10"
PAGES = {
    ("docs/how-to/extend.md", "3. Try it"): {},
    ("docs/how-to/train-a-network.md", "Train and judge a network"): {
        "instead": {FIRST: (FIRST.replace("20000", "200"), FEWER), LATER: (LATER.replace("50000", "300"), FEWER), "--seeds 10": (JUDGED.replace("10", "2"), FEWER)},
        "without": {"wattle model add": "needs a controller; integration_train_resume loads these files into its trainer"}},
}


def main():
    claims = Claims()
    binaries = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        def run(text):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, capture_output=True, text=True, timeout=AGES_S, check=False,
                                  env=os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}"})
            return done.returncode, done.stdout + done.stderr
        for (page, heading), rules in PAGES.items():
            walk = Walk(page, run, None, **rules)
            try:
                walk(heading)
                claims.check(f"{page}: every command was run and succeeded ({walk.finish()} blocks)", True)
            except (Failed, Undocumented) as error:
                claims.check(f"{page} can be followed", False, error)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
