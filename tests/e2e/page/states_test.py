#!/usr/bin/env python3
"""states_test: every state of the page in real Chromium: empty, unknown, refused, disconnected, hung, silent, each
mode, each saving. Each text of web/ must appear in a state or be listed below with a reason, so a new text fails the
test until a state shows it.

Usage    states_test.py FOLDER-OF-BINARIES FOLDER-OF-scripts/web [FOLDER-FOR-SCREENSHOTS]
Needs    node, chromium (scripts/setup); skips (77) with the reason without them
"""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import states_worlds  # noqa: E402
from house import SKIPPED, binaries_from  # noqa: E402
from patience import AGES_S  # noqa: E402
from page_texts import page_texts, unseen  # noqa: E402
from page_world import TOKEN, missing  # noqa: E402

PATIENCE = AGES_S
# Strings that are not shown: classes, keys, addresses, formats.
NO_TEXT = {"page", "application/json", "refused", "lost", "heat", "decisions", "fleet", "pods", "wattle-theme", "auto", "number", "active", "chosen", "good", "warn", "bad",
           "asc", "desc", "ascending", "descending", "2-digit", "rgb(${})", "${}px", "#/node/${}", "#/pod/${}", "measured_w", "estimated_w", "1h", "7d", "io", "dark", "light", "TiB",
           "GiB", "MiB", "default", "Bearer ${}", "_per_day", "#/fleet", "#/glossary/${}", "${}s", "12px system-ui", "DT", "H2", "SMALL", "TH", "term", "center", "en-GB", "x", "short",
           "modelled", "waiting", "reward", "loss", "dim", "default_w", "topology.kubernetes.io/zone", "by", "span", "until", "sort", "order", "state", "group", "filter", "sentence", "i", "prose", "dot", "dot dashed", "borderColor", "background",
           "treated", "control", "_${}_per_core_hour"}
# text -> why no state of this test shows it
NOT_SEEN = {
    "${} asleep, ": "sleeping nodes, which this test does not have: cluster/sleeping.py has one",
    " or sleep": "sleeping nodes",
    ", ${} asleep": "sleeping nodes",
    "; workloads have used no energy.": "nodes with records but without processes",
}


def drive(script, house, actions, web, texts, shots):
    """Runs a browser script and applies the changes that it requests to the world."""
    command = ["node", str(HERE / script), house.api(), TOKEN, shutil.which("chromium"), str(web), str(texts), *shots]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    patience = threading.Timer(PATIENCE, process.kill)
    patience.start()
    try:
        for line in process.stdout:
            if line.startswith("@world "):
                name, *rest = json.loads(line.removeprefix("@world "))
                process.stdin.write(json.dumps(actions[name](*rest)) + "\n")
                process.stdin.flush()
            else:
                print(f"{pathlib.Path(script).stem.removeprefix('states_')}: {line}", end="", flush=True)
        return process.wait()
    finally:
        patience.cancel()
        process.kill()


def judge(seen):
    """Reports texts of web/ that no state showed, and listed texts that a state showed."""
    texts = [text for text in page_texts(HERE.parents[2] / "web") if text.text not in NO_TEXT]
    new = [text for text in unseen(texts, seen) if text.text not in NOT_SEEN]
    for text in new:
        print(f"FAIL web/{text.file}:{text.line} can show {text.text!r}, but no state of this test shows it")
    stale = sorted(NOT_SEEN.keys() - {text.text for text in unseen(texts, seen)})
    for text in stale:
        print(f"FAIL {text!r} is listed as not shown but was shown, or is no longer a text of web/")
    print(f"{len(texts) - len(NOT_SEEN) - len(new)} of {len(texts)} texts of web/ were shown, {len(NOT_SEEN)} are listed with a reason")
    return len(new) + len(stale)


def main():
    binaries, web, shots = binaries_from(sys.argv), pathlib.Path(sys.argv[2]), sys.argv[3:4]
    if lacking := missing(web):
        print(f"skipped: {lacking}")
        return SKIPPED
    seen, failed = set(), 0
    def look(script, world):
        nonlocal failed
        with world(binaries) as house:
            try:
                house.begin()
                texts = house.dir / "texts.json"
                failed += drive(script, house, house.actions(), web, texts, shots) != 0
                seen.update(json.loads(texts.read_text(encoding="utf-8")))
            except Exception as error:  # an exception in a thread would be lost
                print(f"FAIL {script}: {error!r}\n{house.log('controller')[-1500:]}", flush=True)
                failed += 1

    both = [threading.Thread(target=look, args=each) for each in (("states_bare.mjs", states_worlds.Bare), ("states_fleet.mjs", states_worlds.Fleet))]
    for one in both:
        one.start()
    for one in both:
        one.join()
    return 1 if failed + judge(sorted(seen)) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that started processes end
    sys.exit(main())
