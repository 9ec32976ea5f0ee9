#!/usr/bin/env python3
"""up_test: `wattle up` and `wattle down` in folders that other users own, and with a program that exits early.

Usage    up_test.py FOLDER-OF-BINARIES     as root for folders of other users
Exit     0 fine, 1 a claim failed
"""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import LATE_S  # noqa: E402

BINARIES = pathlib.Path(sys.argv[1]).resolve()
NOBODY = 65534
FAILED = []


def claim(what, holds, seen=""):
    print(("ok: " if holds else "FAILED: ") + what)
    if not holds:
        FAILED.append(what)
        print(seen)


def run(*words, programs=BINARIES, **variables):
    done = subprocess.run([programs / "wattle", *words], capture_output=True, text=True, timeout=LATE_S, check=False,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **variables})
    return done.returncode, done.stdout + done.stderr


def state(path):
    about = os.lstat(path)
    return about.st_uid, stat.S_IMODE(about.st_mode), sorted(os.listdir(path)) if stat.S_ISDIR(about.st_mode) else None


def refused(what, top, folder, *says):
    before = state(top)
    code, said = run("up", "--folder", str(folder))
    claim(f"{what} is refused, and the message names the fix", code == 1 and "--folder FOLDER" in said and all(word in said for word in says), (code, said))
    claim(f"{what} is left as it was", state(top) == before, (state(top), before))


def folders(root):
    for name in ("theirs", "mine", "open", "sticky"):
        (root / name).mkdir(mode=0o755)
    (root / "open").chmod(0o777)
    (root / "sticky").chmod(0o1777)
    (root / "link").symlink_to(root / "mine")
    refused("a symbolic link", root / "mine", root / "link", "symbolic link")
    refused("a folder in a world-writable folder", root / "open", root / "open" / "x", "every user")
    (root / "file").write_text("", encoding="utf-8")
    code, said = run("up", "--folder", str(root / "file"))
    claim("a file is refused", code == 1 and "is not a folder" in said, said)
    if os.geteuid() != 0:
        print("skipped: folders of other users: not root")
        return
    os.chown(root / "theirs", NOBODY, NOBODY)
    refused("an empty folder of another user", root / "theirs", root / "theirs", "belongs to nobody")
    refused("a new folder below one of another user", root / "theirs", root / "theirs" / "a" / "b", "belongs to nobody")
    before = state(root / "theirs")
    code, said = run("up", HOME=str(root / "theirs"))
    claim("another user's HOME is refused", code == 1 and "run it as nobody" in said and state(root / "theirs") == before, said)
    (root / "sticky" / "way").symlink_to(root / "mine")
    os.chown(root / "sticky" / "way", NOBODY, NOBODY, follow_symlinks=False)
    refused("a path through another user's symbolic link", root / "mine", root / "sticky" / "way" / "x", "belongs to nobody")
    (root / "theirs" / "processes").write_text("agent 2 1\n", encoding="utf-8")
    code, said = run("down", "--folder", str(root / "theirs"))
    claim("down leaves a folder of another user", code == 1 and (root / "theirs" / "processes").exists(), said)


def ended(root):
    """The agent is a program that exits: immediately, and after everything is up."""
    programs, folder = root / "programs", root / "mine" / "up"
    programs.mkdir()
    shutil.copy(BINARIES / "wattle", programs / "wattle")
    for name in ("wattle-controller", "wattle-shim"):
        (programs / name).symlink_to(BINARIES / name)
    agent = programs / "wattle-agent"
    agent.write_text("#!/bin/sh\necho a reason of its own >&2\nexit 3\n", encoding="utf-8")
    agent.chmod(0o755)
    code, said = run("up", "--folder", str(folder), programs=programs)
    claim("an agent that exits is reported with its log, and up removes everything", code == 1 and "wattle-agent: the process ended" in said and "a reason of its own" in said
          and not folder.exists(), (code, said))
    agent.unlink()
    agent.symlink_to(BINARIES / "wattle-agent")
    code, said = run("up", "--folder", str(folder), programs=programs)
    claim("with a working agent up succeeds", code == 0 and "is live" in said, said)
    if code != 0:
        return
    page = re.search(r"^page: +(http://\S+/)$", said, re.M)
    code, shown = run("dashboard", WATTLE_CONFIG=str(folder / "cli.yaml"))
    claim("`wattle dashboard` finds the page that up printed", code == 0 and page is not None and shown == page[1] + "\n", (said, shown))
    feeds = [re.search(r"feed: .*?(tcp://[\d.:]+)", (folder / name).read_text(encoding="utf-8"))[1] for name in ("cli.yaml", "controller.yaml")]
    claim("the command line listens to the controller's feed", feeds[0] == feeds[1], feeds)
    claim("only the user can access the folder", stat.S_IMODE(folder.stat().st_mode) == 0o700)
    pid = next(int(line.split()[1]) for line in (folder / "processes").read_text(encoding="utf-8").splitlines() if line.startswith("agent "))
    os.kill(pid, 9)
    code, said = run("up", "--folder", str(folder), programs=programs)
    claim("a later up reports which program has ended", code == 1 and "some processes have ended: wattle-agent" in said and "wattle down" in said, said)
    code, said = run("down", "--folder", str(folder), programs=programs)
    claim("down removes the rest", code == 0 and not folder.exists(), said)


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="wattle-up-"))
    root.chmod(0o755)
    try:
        folders(root)
        ended(root)
    finally:
        run("down", "--folder", str(root / "mine" / "up"))
        shutil.rmtree(root, ignore_errors=True)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
