#!/usr/bin/env python3
"""readers_test: each configuration key and each metric has a reader outside its own unit test.

Source   scripts/docs-keys.yaml and docs/reference/metrics.md, compared with everything that sets or reads a key or
         metric: shipped configurations, chart, alerts, dashboards, pages of docs/, scripts, the command line, and tests
         of programs
Rule     an operator sets each key, and a reader uses each metric; otherwise it becomes a constant in the code
         (CONTRIBUTING.md)
Exit     0 fine, 1 a key or metric without a reader
"""
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
READERS = ("cli", "docs", "k8s/chart", "k8s/base", "k8s/overlay", "lab", "scripts", "systemd", "tests/e2e", "tests/integration", "web")
MADE = {"docs/reference/configuration.md", "docs/reference/metrics.md", "scripts/docs-keys.yaml", "k8s/chart/values.schema.json"}
# Metrics of a process and of a program's build, which every Prometheus client exports.
STANDARD = re.compile(r"process_\w+|wattle_build_info")
# Counted together with another metric that is read: a share needs both.
PARTS = {"wattle_node_memory_total_bytes"}


def texts():
    for folder in READERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.is_file() and name not in MADE and "node_modules" not in name and path.suffix not in {".safetensors", ".png", ".gz", ".svg", ".pyc"}:
                yield path.read_text(encoding="utf-8", errors="replace")


def main():
    everything = "\n".join(texts())
    words = set(re.findall(r"(?:wattle|process)_\w+", everything))
    set_words = set(re.findall(r"(\w+)['\"]?\]*:(?:\s|$)", everything)) | {match.rpartition(".")[2] for match in re.findall(r"\w+(?:\.\w+)+", everything)}
    breaches = []
    for program, keys in yaml.safe_load((ROOT / "scripts/docs-keys.yaml").read_text(encoding="utf-8")).items():
        breaches += [f"scripts/docs-keys.yaml: {program}: {key}: has no user: make it a constant beside the code" for key in keys
                     if re.split(r"[.\]]+", key)[-1] not in set_words]
    for name in re.findall(r"`((?:wattle|process)_\w+)`", (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")):
        if not name.endswith("_") and not STANDARD.fullmatch(name) and not words & {name + end for end in ("", "_bucket", "_sum", "_count")} and name not in PARTS:
            breaches.append(f"docs/reference/metrics.md: {name}: no alert, dashboard, page, program or test reads this metric: remove it")
    for breach in breaches:
        print(f"BREACH {breach}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
