#!/usr/bin/env python3
"""archives_test: `wattle restore` refuses archives that `wattle backup` never writes, before it changes a file. The
test builds the archives byte by byte, with valid digests and checksums.

Usage    archives_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import LATE_S  # noqa: E402

WATTLE = pathlib.Path(sys.argv[1]).resolve() / "wattle"
FAILED = []


def member(name, content, kind=b"0", link=b"", size=None, mode=0o600):
    head = bytearray(512)
    fields = ((0, name.encode()), (100, b"%07o" % mode), (108, b"0000000"), (116, b"0000000"), (124, size or b"%011o" % len(content)), (136, b"%011o" % 1_700_000_000),
              (148, b" " * 8), (156, kind), (157, link), (257, b"ustar\x0000"))
    for at, text in fields:
        head[at:at + len(text)] = text
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + content + b"\0" * (-len(content) % 512)


def archive(files, listed=None, **odd):
    """Builds an archive. `files`: (name, content), written unchanged; `listed`: the files of the list, if different."""
    entries = [{"bytes": len(content), "name": name, "sha256": hashlib.sha256(content).hexdigest()} for name, content in (listed or files)]
    text = (json.dumps({"files": entries, "format": 1, "made_s": 1_700_000_000, "wattle": "0.1.0"}, indent=1) + "\n").encode()
    out = member("manifest.json", text)
    for name, content in files:
        out += member(name, content, **odd)
    return out + member("manifest.sha256", hashlib.sha256(text).hexdigest().encode()) + b"\0" * 1024


CASES = {
    "two members with the same name": archive([("allow", b"a"), ("allow", b"b")]),
    "two checkpoints with the same name": archive([("checkpoints/1.json", b"a"), ("checkpoints/1.json", b"b")]),
    "a name with a dot component": archive([("checkpoints/1.json", b"a"), ("checkpoints/./1.json", b"b")]),
    "a name with a leading dot component": archive([("allow", b"a"), ("./allow", b"b")]),
    "a name with an empty component": archive([("checkpoints//1.json", b"a")]),
    "a name with a dot-dot component": archive([("checkpoints/../../x", b"a")]),
    "an absolute name": archive([("/tmp/x", b"a")]),
    "a name that ends in a slash": archive([("allow/", b"a")]),
    "checkpoints with the same name in two folders": archive([("checkpoints/a/1.json", b"a"), ("checkpoints/b/1.json", b"b")]),
    "a name that is both a file and a folder": archive([("checkpoints", b"a"), ("checkpoints/1.json", b"b")]),
    "a second list": archive([("manifest.json", b"{}")]),
    "a name that no controller has": archive([("etc/passwd", b"a")]),
    "a symbolic link": archive([("allow", b"")], kind=b"2", link=b"/etc/passwd"),
    "a hard link": archive([("allow", b"")], kind=b"1", link=b"/etc/passwd"),
    "a character device": archive([("allow", b"")], kind=b"3"),
    "a FIFO": archive([("allow", b"")], kind=b"6"),
    "a directory": archive([("allow", b"")], kind=b"5"),
    "a PAX header": archive([("allow", b"")], kind=b"x"),
    "a setuid mode": archive([("allow", b"a")], mode=0o4755),
    "a size beyond the file": archive([("allow", b"a")], size=b"77777777777"),
    "a size in base 256": archive([("allow", b"a")], size=b"\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"),
    "a member that is not on the list": archive([("allow", b"a"), ("cluster-model", b"b")], listed=[("allow", b"a")]),
    "a member that is missing": archive([("allow", b"a")], listed=[("allow", b"a"), ("cluster-model", b"b")]),
    "another order than the list's": archive([("cluster-model", b"b"), ("allow", b"a")], listed=[("allow", b"a"), ("cluster-model", b"b")]),
    "no archive": b"x" * 4096,
    "nothing": b"",
}


def claim(what, holds, seen=""):
    print(("ok: " if holds else "FAILED: ") + what)
    if not holds:
        FAILED.append(what)
        print(seen)


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock"}


def restore(folder, content):
    place = folder / "backup"
    if content is not None:
        place.write_bytes(content)
    done = subprocess.run([WATTLE, "restore", "--replace", "--config", folder / "controller.yaml", place], capture_output=True, text=True, timeout=LATE_S, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory(prefix="wattle-archives-") as name:
        folder = pathlib.Path(name)
        state = folder / "state"
        (state / "checkpoints").mkdir(parents=True)
        (state / "checkpoints" / "7.json").write_bytes(b"as it was")
        (folder / "allow").write_bytes(b"# as it was\n")
        (folder / "controller.yaml").write_text(f"data_dir: {state}\nstore: {{path: {state}/store.db}}\nkey: {folder}/controller.key\nallow_list: {folder}/allow\n",
                                                encoding="utf-8")
        there = None
        for what, content in CASES.items():
            (folder / "backup").unlink(missing_ok=True)
            there = there or files_below(folder)
            code, said = restore(folder, content)
            (folder / "backup").unlink()
            claim(f"{what} is refused", code == 1 and said.startswith("wattle"), (code, said))
            claim(f"{what} changes no file", files_below(folder) == there, set(files_below(folder)) ^ set(there))
        os.mkfifo(folder / "backup")
        code, said = restore(folder, None)
        claim("a FIFO in place of an archive is refused without blocking", code == 1, said)
        (folder / "backup").unlink()
        code, said = restore(folder, archive([("allow", b"# new\n"), ("checkpoints/1.json", b"new")]))
        claim("an archive in the format of `wattle backup` is accepted", code == 0 and (folder / "allow").read_bytes() == b"# new\n"
              and (state / "checkpoints" / "1.json").read_bytes() == b"new", said)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
