#!/usr/bin/env python3
"""site_test: the documentation builds as a site without warnings (dead links and anchors are warnings), and the site
fetches nothing from elsewhere.

Usage    site_test.py FOLDER      for the site
Exit     0 fine, 1 a breach, 77 skipped: its build tools are not available (scripts/docs says why)
"""
import html.parser
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTSIDE = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:[a-z]+:)?//[^'\")\s]+)", re.IGNORECASE)
FETCHES = {"src", "srcset", "data", "poster", "action"}
# The theme's script would fetch this for pages with such diagrams; a check below ensures that no page has one.
ASLEEP = "mermaid"


class Page(html.parser.HTMLParser):
    """Collects the URLs that a browser fetches for a page."""

    def __init__(self):
        super().__init__()
        self.fetched, self.classes = [], set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "class":
                self.classes |= set((value or "").split())
            # A link is fetched only on a click, and rel=canonical never.
            if name in FETCHES or (name == "href" and tag == "link"):
                self.fetched.append(value or "")


def outside(site):
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            page = Page()
            page.feed(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(site)}: fetches {url}" for url in page.fetched if OUTSIDE.match(url)]
            if ASLEEP in page.classes:
                found.append(f"{path.relative_to(site)}: a diagram of {ASLEEP}, whose script is fetched from elsewhere")
        elif path.suffix == ".css":
            found += [f"{path.relative_to(site)}: fetches {url}" for url in IN_STYLE.findall(path.read_text(encoding="utf-8"))]
    return found


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    ran = subprocess.run([str(ROOT / "scripts/docs"), "build"], env=os.environ | {"DOCS_OUT": str(site)}, check=False)
    if ran.returncode != 0:
        return ran.returncode
    pages = [page for page in (ROOT / "docs").rglob("*.md") if not (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()]
    found = outside(site) + [f"{page.relative_to(ROOT)}: has no page on the site" for page in pages]
    if not sees_what_is_fetched():
        found.append("site_test: does not find the fetched URLs of a page")
    print("\n".join(found) if found else f"site: {len(list(site.rglob('*.html')))} pages, nothing from elsewhere")
    return 1 if found else 0


def sees_what_is_fetched():
    """Tests the collector."""
    page = Page()
    page.feed('<link href="//a.example/x.css"><script src="https://b.example/x.js"></script><img src="x.png"><a href="https://c.example">c</a>')
    return [bool(OUTSIDE.match(url)) for url in page.fetched] == [True, True, False] and IN_STYLE.findall("@import 'https://d.example/d.css'; a { b: url(d.png) }") == ["https://d.example/d.css"]


if __name__ == "__main__":
    sys.exit(main())
