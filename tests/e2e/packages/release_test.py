#!/usr/bin/env python3
"""release_test: scripts/release except its packages (packages_test.py): identical bytes from another folder, valid
checksums, a complete chart, a bill of materials with every library that the programs load, one version everywhere, and
a correct report on whether the tree matches the version's tag.

Usage    release_test.py FOLDER-OF-THE-BUILD
Exit     0 fine, 1 a claim failed, 77 skipped: this is no Debian
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True
from debs import PROGRAMS, output  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402

EPOCH = "1700000000"
# Files other than CMakeLists.txt that contain the version
NAMED = r"wattle-(?:agent|controller|shim|sim|load)[:-](\d+\.\d+\.\d+)|wattle-(\d+\.\d+\.\d+)\.tgz|wattle(?:-\w+)?=(\d+\.\d+\.\d+)|newTag: (\d\S+?)\}|^(?:appV|v)ersion: (\S+)$|^version = \"(.+)\"$"
NAMING = ("k8s/**/*.yaml", "k8s/images/Dockerfile", "docs/how-to/*.md", "lab/real/workloads/*.yaml", "python/pyproject.toml", "CITATION.cff")


def release(build, to, *parts):
    env = os.environ | {"WATTLE_BUILD": str(build), "WATTLE_RELEASE": str(to), "SOURCE_DATE_EPOCH": EPOCH}
    done = subprocess.run([ROOT / "scripts/release", "--no-build", *parts], capture_output=True, text=True, check=False, env=env)
    return done.returncode, done.stdout + done.stderr


def chart(claims, archive, version):
    with tarfile.open(archive) as tar:
        members = {member.name: member for member in tar}
        here = {f"wattle/{path.relative_to(ROOT / 'k8s/chart')}" for path in (ROOT / "k8s/chart").rglob("*") if path.is_file()}
        claims.check("the chart has exactly its files", {name for name, member in members.items() if member.isfile()} == here, str(sorted(members)))
        claims.check("the archive has no personal names, dates or modes", all((m.uid, m.gid, m.uname, m.mtime) == (0, 0, "", int(EPOCH)) and not m.mode & 0o022 for m in members.values()))
        claims.check("the chart has this version", f"version: {version}\n" in tar.extractfile("wattle/Chart.yaml").read().decode())


def pinned(claims, build, folder, version):
    """Checks that with images the chart has their digests and is otherwise unchanged."""
    sys.path.insert(0, str(ROOT / "k8s/images"))
    from oci import Archive, layer  # pylint: disable=import-outside-toplevel
    folder.mkdir()
    digests = {}
    for image in ("agent", "controller", "shim", "sim"):
        archive = Archive()
        archive.image([(*layer({"usr/bin/wattle": image.encode()}, int(EPOCH)), "a test's")], {}, {"architecture": "amd64", "os": "linux"}, int(EPOCH))
        digests[image] = archive.write(folder / f"wattle-{image}-{version}.oci.tar", version, int(EPOCH))
    code, said = release(build, folder, "chart")
    with tarfile.open(folder / f"wattle-{version}.tgz") as tar:
        values = tar.extractfile("wattle/values.yaml").read().decode()
    here = (ROOT / "k8s/chart/values.yaml").read_text(encoding="utf-8").splitlines()
    changed = [line for line in values.splitlines() if line not in here]
    reported = json.loads(re.search(r"digests: (\{.*?\})", changed[0]).group(1)) if len(changed) == 1 else None
    claims.check("with images the chart names them by digest and changes nothing else", code == 0 and reported == digests, f"{changed} {digests} {said}")


def materials(claims, path, build):
    reported = json.loads(path.read_text(encoding="utf-8"))
    ids = [package["SPDXID"] for package in reported["packages"]]
    claims.check(f"{len(ids)} materials, each once", len(ids) == len(set(ids)))
    ends = {end for relation in reported["relationships"] for end in (relation["spdxElementId"], relation["relatedSpdxElement"])}
    claims.check("each has a relation, and no relation is dangling", ends == {*ids, "SPDXRef-DOCUMENT"}, str(ends ^ {*ids, "SPDXRef-DOCUMENT"}))
    names = {package["name"] for package in reported["packages"]}
    claims.check("third-party code in the programs is listed", {"libzmq", "uplot"} <= names)
    needed = set()
    for name in PROGRAMS:
        for soname in re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-d", build / "bin" / name)):
            found = re.search(rf"(/\S*{re.escape(soname)}) \(0x", output("ldd", build / "bin" / name))
            needed.add(os.path.realpath(found.group(1)) if found else f"none for {soname}")
    missing = {path for path in needed if not any(owner.split(":")[0] in names for owner in
               re.findall(r"^(\S+?): ", subprocess.run(["dpkg-query", "-S", path, path.removeprefix("/usr")], capture_output=True, text=True, check=False).stdout, re.M))}
    claims.check(f"each of {len(needed)} libraries that the programs load is listed", not missing, str(missing))


def one_version(claims, version):
    found = {}
    for path in sorted(path for pattern in NAMING for path in ROOT.glob(pattern)):
        for groups in re.findall(NAMED, path.read_text(encoding="utf-8"), re.M):
            found.setdefault("".join(groups), set()).add(str(path.relative_to(ROOT)))
    claims.check(f"{len(found.get(version, ()))} files beside CMakeLists.txt name {version}, and no other version", set(found) == {version} and len(found[version]) > 8, str(found))


def tree(claims, folder, version):
    """Uses a separate tree, because the tested one may or may not match the tag."""
    (folder / "scripts").mkdir(parents=True)
    for name in ("scripts/release", "CMakeLists.txt", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder / name)

    def git(*words):
        output("git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "tag.gpgSign=false", "-c", "commit.gpgSign=false", *words)

    def said():
        env = os.environ | {"WATTLE_RELEASE": str(folder.parent / "made"), "SOURCE_DATE_EPOCH": EPOCH, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
        done = subprocess.run([folder / "scripts/release", "--no-build", "notes"], capture_output=True, text=True, check=False, env=env)
        return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]

    def reports(what, code, words):
        got = said()
        claims.check(f"{what}: {words}", got == (code, f"release: {words}"), str(got))

    reports("sources without git", 0, "the tree is not that of a tag: there is no git here")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message=first")
    reports("a clone without tags", 0, f"the tree is not that of a tag: v{version} is no tag here")
    git("tag", "--annotate", "--message=a version", f"v{version}")
    reports("the tag", 0, f"the tree is that of v{version}")
    (folder / "new").touch()
    reports("a file that is new", 0, f"the tree is not that of v{version}: files were changed or added (git status)")
    (folder / "new").unlink()
    git("commit", "--quiet", "--allow-empty", "--message=second")
    reports("a commit after it", 0, f"the tree is not that of a tag: v{version} is another commit")
    git("tag", "v99.0.0")
    reports("the tag of another version", 1, f"this commit is tagged v99.0.0, CMakeLists.txt says {version}: make them equal")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if shutil.which("dpkg-query") is None:
        print("skipped: dpkg-query is missing: this is no Debian")
        return SKIPPED
    claims = Claims()
    version = re.search(r"^project\(wattle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M).group(1)
    with tempfile.TemporaryDirectory(prefix="wattle-release-") as folder:
        first, second = pathlib.Path(folder) / "first", pathlib.Path(folder) / "second/deeper"
        for to in (first, second):
            code, said = release(build, to, "chart", "sbom", "notes")
            claims.check("the release is built", code == 0, said)
        names = sorted(path.name for path in first.iterdir())
        claims.check(f"{names}", names == ["SHA256SUMS", *sorted(f"wattle-{version}.{end}" for end in ("md", "spdx.json", "tgz"))])
        claims.check("a second build has the same bytes", all((first / name).read_bytes() == (second / name).read_bytes() for name in names))
        claims.check("the checksums are valid", subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=first, check=False).returncode == 0)
        chart(claims, first / f"wattle-{version}.tgz", version)
        pinned(claims, build, pathlib.Path(folder) / "pinned", version)
        materials(claims, first / f"wattle-{version}.spdx.json", build)
        notes = (first / f"wattle-{version}.md").read_text(encoding="utf-8")
        claims.check("the notes are the version's part of CHANGELOG.md",
                     notes.startswith("## ") and version in notes.splitlines()[0] and notes in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8") and notes.count("\n## ") == 0)
        one_version(claims, version)
        tree(claims, pathlib.Path(folder) / "tagged/tree", version)
        code, said = release(build, first, "tarball")
        claims.check("the error names an unknown part", code == 1 and "tarball" in said, said)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
