#!/usr/bin/env python3
"""docs_test: checks the form of the documentation without installed tools.

Pages    start with a title; prose wraps at 120 columns (except code and tables); at most 250 lines outside of
         reference/, 60 in ARCHITECTURE.md; the README of each folder is a page
Research names the kind or command of its figures, with day and commit; it and the README say about sleeping nodes
         that no node, or no server, slept for these figures
Names    every docs/....md that a program, script, comment or page names exists, and so does every file that a page at
         the top links to
Site     every page is in the navigation of mkdocs.yml; the site's own test (docs_site) checks links and anchors

Usage    docs_test.py [--self-test]
Exit     0 fine, 1 a breach, each reported as file:line: what
"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS, LINES, README_LINES, MAP_LINES = 120, 250, 120, 60
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
FOLDERS = ("agent", "cli", "common", "controller", "k8s", "lab", "load", "models", "placement", "python", "scripts", "shim", "sim", "systemd", "tests")
SLEEP = re.compile(r"\b(a?sleep|sleeps|sleeping)\b", re.IGNORECASE)
NO_FIGURES = ("commands.md", "index.md", "provisioning-commands.md", "wattle-lab.md")  # pages of lab/docs
AWAKE = ("no node slept for these figures", "no server slept for these figures")
NAMED = re.compile(r"(?<![\w/])docs/(?:[a-z0-9-]+/)*[a-z0-9-]+\.md\b")
DATE, COMMIT = re.compile(r"\b20\d\d-\d\d-\d\d\b"), re.compile(r"`[0-9a-f]{7,8}`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def prose(text):
    """Yields (number, line) outside of code and tables."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" *(`{3,})", line)
        if mark and fence in (None, mark.group(1)):
            fence = None if fence else mark.group(1)
        elif fence is None and not line.lstrip().startswith("|"):
            yield number, line


def check_page(root, path, breaches):
    name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# "):
        breaches.append(f"{name}:1: a page must start with its title")
    most = {"README.md": README_LINES, "ARCHITECTURE.md": MAP_LINES}.get(name, LINES)
    if len(lines) > most and not name.startswith(("docs/reference/", "lab/docs/")):
        breaches.append(f"{name}:{len(lines)}: longer than {most} lines (split it)")
    breaches += [f"{name}:{number}: longer than {COLUMNS} columns (wrap it)" for number, line in prose(text) if len(line) > COLUMNS]
    research = name.startswith("docs/research/") or name.startswith("lab/docs/") and path.name not in NO_FIGURES
    if research and path.name != "index.md" and not (DATE.search(text) and COMMIT.search(text)):
        breaches.append(f"{name}:1: does not name commit and day of its figures")
    figures = name == "README.md" or research
    if figures and SLEEP.search(text) and not any(said in " ".join(text.split()) for said in AWAKE):
        breaches.append(f"{name}:1: has figures of sleeping nodes and does not say: {' or '.join(AWAKE)}")
    for number, line in enumerate(lines, 1):
        for target in LINK.findall(line):
            if "://" not in target and not (path.parent / target).exists():
                breaches.append(f"{name}:{number}: links to {target}, which does not exist")


def check_names(root, path, breaches):
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(lines, 1):
        for name in NAMED.findall(line):
            if not (root / name).is_file():
                breaches.append(f"{path.relative_to(root)}:{number}: names {name}, which does not exist")


def check_tree(root):
    breaches = []
    pages = sorted((root / "docs").rglob("*.md"))
    research = sorted((root / "lab/docs").glob("*.md"))
    for path in [root / name for name in TOP if (root / name).is_file()] + sorted(root.glob("*/README.md")) + pages + research:
        check_page(root, path, breaches)
    for path in pages + [p for folder in FOLDERS for p in sorted((root / folder).rglob("*"))]:
        if path.is_file() and path != pathlib.Path(__file__).resolve() and "__pycache__" not in path.parts and path.stat().st_size < 1 << 20:
            check_names(root, path, breaches)
    site = (root / "mkdocs.yml").read_text(encoding="utf-8")
    breaches += [f"mkdocs.yml:1: {p.relative_to(root / 'docs')} is not in its navigation" for p in pages if p.relative_to(root / "docs").as_posix() not in site]
    return breaches


def self_test():
    cases = {
        "docs/concepts/a.md": "no title\n",
        "docs/how-to/b.md": "# B\n\n" + "word " * 30 + "\n",
        "docs/how-to/c.md": "# C\n" + "line\n" * 250,
        "docs/concepts/d.md": "# D\n\n[gone](gone.md)\n",
        "docs/research/e.md": "# E\n\nfigures\n",
        "docs/research/h.md": "# H\n\nMeasured on 2026-01-01 at `0123abc`. Idle nodes sleep: -10%.\n",
        "agent/f.cpp": "// docs/" + "gone.md has it\n",
        "docs/concepts/g.md": "# G\n",
    }
    fine = "# Fine\n\n| a row | " + "x" * 130 + " |\n\n```text\n" + "x" * 130 + "\n```\n"
    missed = []
    for name, text in (cases | {"docs/concepts/fine.md": fine}).items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text, encoding="utf-8")
            (root / "mkdocs.yml").write_text("" if name.endswith("g.md") else name.removeprefix("docs/"), encoding="utf-8")
            found = check_tree(root)
            if len(found) != (0 if name.endswith("fine.md") else 1):
                missed.append(f"{name}: {found}")
    print("\n".join(missed) if missed else "docs_test: each rule finds its breach")
    return 1 if missed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    breaches = check_tree(ROOT)
    print("\n".join(breaches) if breaches else "docs: no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
