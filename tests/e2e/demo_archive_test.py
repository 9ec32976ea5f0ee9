#!/usr/bin/env python3
"""demo_archive_test: `scripts/release demo` builds identical archives, and scripts/demo --from accepts valid archives
and refuses others. A demo uses another port for its page if the default is in use, and refuses a given port that is.

Usage    demo_archive_test.py FOLDER-OF-BINARIES
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile

from demo_run import ROOT, Claims, Demo
from house import SKIPPED, binaries_from

EPOCH = "1700000000"
PROGRAMS = {"wattle", "wattle-agent", "wattle-controller", "wattle-shim", "wattle-sim-live"}


def made(build, folder):
    env = os.environ | {"WATTLE_BUILD": str(build), "WATTLE_RELEASE": str(folder), "SOURCE_DATE_EPOCH": EPOCH}
    subprocess.run([ROOT / "scripts/release", "--no-build", "demo"], check=True, capture_output=True, env=env)
    return next(pathlib.Path(folder).glob("wattle-demo-*.tar.gz"))


def refused(*arguments, **env):
    done = subprocess.run([ROOT / "scripts/demo", *arguments], capture_output=True, text=True, check=False, env={**os.environ, **env})
    return done.stderr if done.returncode == 1 else f"exit {done.returncode}: {done.stdout}{done.stderr}"


def archived(claims, archive, digest, folder, cache):
    """Runs the demo of an archive while another program uses the default port of the page."""
    with Demo(None, 5, "--from", str(archive), **cache) as demo:
        port, = demo.wait_for(r"open the page: http://127[.]0[.]0[.]1:(\d+)/, because port 8050 is in use")
        claims.check("the page has another port if 8050 is in use", port != "8050", port)
        claims.check("the expected hash is accepted", f"{archive} has the expected SHA-256 {digest}" in demo.output())
        code = demo.end()
        claims.check("the demo runs the archive's programs and ends with 0", code == 0 and str(folder / "cache") in demo.output() and "Summary:" in demo.output(), code)
        claims.nothing_left(demo)


def main():
    binaries = pathlib.Path(binaries_from(sys.argv)).resolve()
    if not all((binaries / program).exists() for program in PROGRAMS):
        print(f"skipped: {binaries} lacks one of {', '.join(sorted(PROGRAMS))}")
        return SKIPPED
    claims = Claims()
    with tempfile.TemporaryDirectory(prefix="wattle-archive-") as temporary:
        folder = pathlib.Path(temporary)
        archive, again = made(binaries.parent, folder / "one"), made(binaries.parent, folder / "two")
        claims.check("two archives have the same bytes", archive.read_bytes() == again.read_bytes())
        with tarfile.open(archive) as tar:
            members = [member for member in tar if member.isfile()]
            claims.check("the archive has the executable programs", {m.name.removeprefix("./bin/") for m in members if m.mode & 0o111} == PROGRAMS, [m.name for m in members])
            claims.check("the archive has licences, and no owner or date", {"./LICENSE", "./COPYING.LESSER"} <= {m.name for m in members} and
                         all((m.uid, m.gid, m.mtime) == (0, 0, int(EPOCH)) for m in members))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        cache = {"XDG_CACHE_HOME": str(folder / "cache")}

        said = refused("--from", str(archive), "--sha256", "0" * 64, **cache)
        claims.check("another hash is refused", digest in said and "do not use it" in said, said)
        changed = folder / "changed" / archive.name
        changed.parent.mkdir()
        shutil.copy(archive.parent / "SHA256SUMS", changed.parent)
        changed.write_bytes(archive.read_bytes() + b"\0")
        said = refused("--from", str(changed), **cache)
        claims.check("a file with another hash than in SHA256SUMS is refused", digest in said and "do not use it" in said, said)
        (folder / "text.tar.gz").write_text("no archive")
        said = refused("--from", str(folder / "text.tar.gz"), **cache)
        claims.check("a file that is not an archive is refused", "is not a gzipped tar archive" in said, said)
        with tarfile.open(folder / "empty.tar.gz", "w:gz") as tar:
            tar.add(ROOT / "LICENSE", "LICENSE")
        said = refused("--from", str(folder / "empty.tar.gz"), **cache)
        claims.check("an archive without the programs is refused", "has no bin/" in said, said)
        said = refused("--from", str(folder / "nowhere"), **cache)
        claims.check("the error names a missing file", "nowhere" in said and "cannot be read" in said, said)
        said = refused("--form", str(archive), **cache)
        claims.check("the error names an unknown option", "--form" in said, said)

        with socket.socket() as held, socket.socket() as default:
            held.bind(("127.0.0.1", 0))
            held.listen()
            with contextlib.suppress(OSError):  # another program uses the port
                default.bind(("127.0.0.1", 8050))
                default.listen()
            port = held.getsockname()[1]
            for arguments in ((), ("cluster",)) if os.geteuid() == 0 else ((),):
                said = refused(*arguments, DEMO_PORT=str(port), DEMO_BIN=str(binaries), WATTLE_CLUSTER_CACHE=str(folder / "cluster"))
                claims.check(f"a port that is in use is named, with the fix: {arguments}", f"port {port}" in said and "in use: set DEMO_PORT to another port" in said, said)
            said = refused(DEMO_PORT="many", **cache)
            claims.check("an invalid port is named", "DEMO_PORT is 'many'" in said, said)
            archived(claims, archive, digest, folder, cache)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
