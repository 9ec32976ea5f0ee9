#!/usr/bin/env python3
"""embed: generates the source of controller/web/assets.hpp from the page's files, each compressed and with a digest.

Usage: embed.py OUT.cpp NODE_MODULES     prints the total size; exits 1 if it exceeds the limit of the page
"""
import gzip
import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 200_000  # limit of all files together, compressed
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
GLOSSARY = HERE.parent / "docs/reference/glossary.md"
OWN = ["index.html", "style.css", "icon.svg"]
# Third-party files, pinned by the digest of the reviewed content.
VENDOR = {
    "uplot.js": ("uplot/dist/uPlot.esm.js", "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba"),
    "uplot.css": ("uplot/dist/uPlot.min.css", "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"),
    "licences.txt": ("uplot/LICENSE", "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd"),
}


def glossary():
    """The terms of docs/reference/glossary.md as a module, longer ones first, so that a search finds them before their parts."""
    rows = re.findall(r"^\| ([a-z][a-z -]+) \| (.+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    terms = {term: re.sub(r" See \[[^]]*\]\([^)]*\)\.|\*", "", re.sub(r" \(\[[^]]*\]\([^)]*\)\)", "", text)) for term, text in rows if term != "term"}
    if not terms:
        raise SystemExit(f"embed: {GLOSSARY} has no row with a term")
    ordered = {term: terms[term] for term in sorted(terms, key=lambda term: (-len(term), term))}
    return f"export const TERMS = {json.dumps(ordered, ensure_ascii=False)};\n".encode()


def files(node_modules):
    for name in OWN + sorted(path.name for path in HERE.glob("*.js")):
        yield name, (HERE / name).read_bytes()
    yield "glossary.js", glossary()
    for name, (source, digest) in VENDOR.items():
        content = (node_modules / source).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != digest:
            raise SystemExit(f"embed: {node_modules / source} has the SHA-256 {found}, not {digest}; remove the folder and run scripts/web")
        yield name, content


def main():
    out, node_modules = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    lines = ['#include "controller/web/assets.hpp"', "", "#include <array>", "", "namespace wattle::controller {", "namespace {", ""]
    rows, total = [], 0
    for number, (name, content) in enumerate(files(node_modules)):
        packed = gzip.compress(content, 9, mtime=0)
        total += len(packed)
        lines.append(f"constexpr std::array<unsigned char, {len(packed)}> kFile{number}{{")
        lines += ["    " + ",".join(map(str, packed[i:i + 40])) + "," for i in range(0, len(packed), 40)]
        lines.append("};")
        path = "/" if name == "index.html" else f"/page/{name}"
        etag = hashlib.sha256(content).hexdigest()[:16]
        kind = TYPES[pathlib.PurePath(name).suffix]
        rows.append(f'    {{"{path}", "{kind}", "\\"{etag}\\"", {{reinterpret_cast<const char*>(kFile{number}.data()), kFile{number}.size()}}}},')
    lines += ["", "}  // namespace", "", "std::span<const Asset> assets() {",
              f"  static const std::array<Asset, {len(rows)}> kAssets{{{{", *rows, "  }};", "  return kAssets;", "}", "",
              "}  // namespace wattle::controller"]
    out.write_text("\n".join(lines) + "\n")
    print(f"page: {len(rows)} files, {total} bytes compressed")
    if total > MOST_BYTES:
        raise SystemExit(f"embed: the page has {total} bytes compressed, more than the {MOST_BYTES} that it may have")


if __name__ == "__main__":
    main()
