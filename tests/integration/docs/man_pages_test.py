#!/usr/bin/env python3
"""man_pages_test: checks the manual pages of the build: `man --warnings` and groff find no errors, apropos can list the
pages, and each page has every command and option of --help, as in docs/reference/cli (checked by docs_reference).

Usage    man_pages_test.py SCRIPTS/DOCS-REFERENCE FOLDER-OF-WHAT-IS-SHOWN
Exit     0 fine, 1 a claim failed, 77 skipped: man is not installed
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/e2e")]
sys.dont_write_bytecode = True
from demo_run import Claims  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import SOON_S  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("docs_reference", sys.argv[1])
REFERENCE = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs_reference", LOADER))
LOADER.exec_module(REFERENCE)


def man(page, *options):
    return subprocess.run(["man", *options, "-l", str(page)], capture_output=True, text=True, check=False, timeout=SOON_S,
                          env=os.environ | {"LC_ALL": "C.UTF-8", "MANROFFOPT": "", "MANWIDTH": "80"})


def options_of(text):
    """Returns the options in the lists and in the line of common options."""
    cells = re.findall(r"^- `(-[^`]*)`", text, re.M) + re.findall(r"`(--[a-z-]+)`", "".join(re.findall(r"^Common options:.*$", text, re.M)))
    return {name for cell in cells for name in re.findall(r"(?:^|, )(-[-a-zA-Z0-9]+)", cell)}


def documented(program):
    """Yields (words of the command, its options) of each section; a program with one page has all in cli.md."""
    page = REFERENCE.REFERENCE / "cli" / f"{program}.md"
    text = (page if page.exists() else REFERENCE.REFERENCE / "cli.md").read_text(encoding="utf-8")
    for words, body in re.findall(r"^#+ ([^\n]+)\n(.*?)(?=^#|\Z)", text, re.M | re.S):
        name, *path = words.split()
        if name == program and not (program == "wattle-sim" and len(path) > 1):
            yield tuple(path), options_of(body)


def main():
    shown = pathlib.Path(sys.argv[2]).resolve()
    if shutil.which("man") is None:
        print("skipped: man is not installed (scripts/setup installs man-db)")
        return 77
    claims = Claims()
    pages = {page.stem: page for page in sorted(shown.glob("*.[18]"))}
    claims.check("each program has a page", set(pages) == set(REFERENCE.PROGRAMS), str(sorted(pages)))
    for program, page in pages.items():
        judged = man(page, "--warnings", "-E", "UTF-8", "-Tutf8", "-Z")
        claims.check(f"{page.name}: man reports no error", judged.returncode == 0 and not judged.stderr, judged.stderr[:1000])
        name = subprocess.run(["lexgrog", str(page)], capture_output=True, text=True, check=False).stdout
        claims.check(f"{page.name}: apropos reads its name", f'"{program} - ' in name, name)
        text = page.read_text(encoding="utf-8").replace("\\-", "-")
        read = man(page, "-Tutf8").stdout
        for path, options in documented(program):
            where = " ".join((program, *path))
            claims.check(f"{where} is in the page, with its {len(options)} options",
                         (not path or f"\n.SS \\fB{where}\\fR" in text) and all(f"\\fB{option}\\fR" in text for option in options),
                         str([option for option in options if f"\\fB{option}\\fR" not in text]))
        claims.check(f"{page.name}: {len(read.splitlines())} lines are read", program in read and len(read.splitlines()) > 15)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
