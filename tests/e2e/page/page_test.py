#!/usr/bin/env python3
"""page_test: the controller's page in real Chromium, with simulated nodes and hostile names.

Usage    page_test.py FOLDER-OF-BINARIES FOLDER-OF-scripts/web [FOLDER-FOR-SCREENSHOTS]
Needs    node, chromium (scripts/setup); skips (77) with the reason without them
"""
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
from house import SKIPPED, binaries_from  # noqa: E402
from patience import AGES_S  # noqa: E402
from page_world import TOKEN, missing, page_world  # noqa: E402

NODES = 60
HOSTILE = ["<img src=x onerror=window.hostile=1>", "\"><script>window.hostile=2</script>", "javascript:window.hostile=3", "a\u202egpj.exe", "{{7*7}}${7*7}"]


def main():
    binaries, web = binaries_from(sys.argv), pathlib.Path(sys.argv[2])
    if lacking := missing(web):
        print(f"skipped: {lacking}")
        return SKIPPED
    with page_world(binaries, NODES) as (house, nodes):
        for number, name in enumerate(HOSTILE * 4):
            house.place(f"hostile-{number}", name, nodes[number % 20], nodes[:20])
        house.settled()
        done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("browser.mjs")), house.api(), TOKEN, shutil.which("chromium"), str(web), *sys.argv[3:4]],
                              timeout=AGES_S, check=False)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
