#!/usr/bin/env python3
"""repositories_test: the apt and Helm repositories of scripts/release with real clients. apt-get, set up by the
commands of docs/how-to/install-debian.md, reads the signed index and fetches a package, refuses a changed index and a
changed package; minisign verifies SHA256SUMS; --tag signs the version's tag.

Usage    repositories_test.py FOLDER-OF-THE-BUILD
Exit     0 fine, 1 a claim failed, 77 skipped: a tool is missing
"""
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "docs")]
sys.dont_write_bytecode = True
from demo_run import Claims  # noqa: E402
from documented import blocks_below  # noqa: E402
from house import SKIPPED  # noqa: E402

EPOCH = "1700000000"
VERSION = re.search(r"^project\(wattle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M).group(1)


def run(*words, env=None, cwd=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env=env, cwd=cwd, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


class Keys:
    """Creates a signing key of each kind in a private folder."""

    def __init__(self, folder):
        self.home = folder / "gnupg"
        self.home.mkdir(mode=0o700)
        self.env = os.environ | {"GNUPGHOME": str(self.home), "SOURCE_DATE_EPOCH": EPOCH}
        run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "release@example.org", "ed25519", "sign", "never", env=self.env)
        run("minisign", "-G", "-W", "-p", folder / "minisign.pub", "-s", folder / "minisign.key")
        self.public = folder / "minisign.pub"
        self.env |= {"WATTLE_GPG_KEY": "release@example.org", "WATTLE_MINISIGN_KEY": str(folder / "minisign.key")}

    def close(self):
        run("gpgconf", "--kill", "all", env=self.env)


def package(folder, to, name):
    (folder / name / "DEBIAN").mkdir(parents=True)
    (folder / name / "DEBIAN/control").write_text(f"Package: {name}\nVersion: {VERSION}\nArchitecture: amd64\nMaintainer: test <test@example.org>\n"
                                                  f"Description: test\n", encoding="utf-8")
    run("dpkg-deb", "--root-owner-group", "--build", folder / name, to / f"{name}_{VERSION}_amd64.deb")


class Apt:
    """Runs apt-get with private folders. The documented commands add the repository, its only source."""

    def __init__(self, folder, made):
        self.folder = folder
        for name in ("state/lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/trusted.gpg.d", "etc/apt.conf.d", "etc/sources.list.d", "out"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        self.options = [word for key, value in {
            "Dir::State": folder / "state", "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache", "Dir::Etc": folder / "etc",
            "APT::Sandbox::User": "root", "APT::Architecture": "amd64",
        }.items() for word in ("-o", f"{key}={value}")]
        block, = blocks_below("docs/how-to/install-debian.md", "The apt repository")
        commands = block.text
        for word, here in (("https://packages.example.org/wattle", f"file://{made}"), ("/usr/share/keyrings", str(folder)), ("/etc/apt", str(folder / "etc")),
                           ("apt-get update", f"apt-get {shlex.join(str(word) for word in self.options)} update")):
            assert word in commands, word
            commands = commands.replace(word, here)
        self.added = run("bash", "-euc", commands)

    def get(self, *words):
        return run("apt-get", *self.options, *words, cwd=self.folder / "out")


def repository(claims, folder, made, keys):
    apt = Apt(folder / "apt", made)
    code, said = apt.added
    claims.check("the documented commands add the repository, and apt-get accepts its index", code == 0, said)
    code, said = apt.get("download", "wattle-agent")
    got = list((apt.folder / "out").glob("*.deb"))
    claims.check("apt-get fetches a package", code == 0 and [path.read_bytes() for path in got] == [(made / f"wattle-agent_{VERSION}_amd64.deb").read_bytes()], said)
    index = (made / "apt/InRelease").read_text(encoding="utf-8")
    (made / "apt/InRelease").write_text(index.replace("Label: Wattle", "Label: Others"), encoding="utf-8")
    code, said = Apt(folder / "changed-index", made).added
    claims.check("a changed index is refused", code != 0, said)
    (made / "apt/InRelease").write_text(index, encoding="utf-8")
    debs = made / f"apt/wattle_{VERSION}_amd64.deb"
    content = debs.read_bytes()
    debs.unlink()
    debs.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    apt = Apt(folder / "changed-package", made)
    code, said = apt.get("download", "wattle")
    claims.check("a changed package is refused", code != 0 and "Hash Sum mismatch" in said, said)
    code, said = run("minisign", "-V", "-p", keys.public, "-m", made / "SHA256SUMS")
    claims.check("minisign verifies SHA256SUMS", code == 0 and f"wattle {VERSION}" in said, said)


def helm(claims, made):
    index = yaml.safe_load((made / "helm/index.yaml").read_text(encoding="utf-8"))
    entry = index["entries"]["wattle"][0]
    chart = made / "helm" / entry["urls"][0]
    facts = yaml.safe_load((ROOT / "k8s/chart/Chart.yaml").read_text(encoding="utf-8"))
    claims.check("the Helm index has the chart's facts and checksum",
                 entry["digest"] == hashlib.sha256(chart.read_bytes()).hexdigest() and {key: entry[key] for key in facts} == facts, str(entry))


def tag(claims, folder, keys):
    (folder / "scripts").mkdir(parents=True)
    for name in ("scripts/release", "CMakeLists.txt", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder / name)
    git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=release@example.org"]
    env = keys.env | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "WATTLE_RELEASE": str(folder.parent / "tagged-files"), "GIT_COMMITTER_NAME": "test",
                      "GIT_COMMITTER_EMAIL": "release@example.org"}
    run(*git, "init", "--quiet", env=env)
    run(*git, "add", "--all", env=env)
    run(*git, "-c", "commit.gpgSign=false", "commit", "--quiet", "--message=first", env=env)
    (folder / "new").touch()
    code, said = run(folder / "scripts/release", "--no-build", "--tag", "notes", env=env)
    claims.check("--tag refuses a tree with changes", code == 1 and "git status" in said, said)
    (folder / "new").unlink()
    code, said = run(folder / "scripts/release", "--no-build", "--tag", "notes", env=env)
    claims.check("--tag creates the version's tag", code == 0 and said.strip().endswith(f"the tree is that of v{VERSION}"), said)
    code, said = run(*git, "verify-tag", f"v{VERSION}", env=env)
    claims.check("--tag signs the tag", code == 0 and "Good signature" in said, said)


def main():
    missing = [tool for tool in ("apt-get", "apt-ftparchive", "gpg", "minisign", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        print(f"skipped: missing: {', '.join(missing)}")
        return SKIPPED
    claims = Claims()
    with tempfile.TemporaryDirectory(prefix="wattle-repositories-") as name:
        folder = pathlib.Path(name)
        keys = Keys(folder)
        try:
            made = folder / "made"
            made.mkdir()
            for each in ("wattle", "wattle-agent"):
                package(folder / "debs", made, each)
            env = keys.env | {"WATTLE_BUILD": str(pathlib.Path(sys.argv[1]).resolve()), "WATTLE_RELEASE": str(made)}
            code, said = run(ROOT / "scripts/release", "--no-build", "chart", "apt", "helm", env=env)
            claims.check("both repositories are built", code == 0, said)
            first = {path.name: path.read_bytes() for path in (made / "apt").iterdir() if path.suffix not in (".gpg",) and path.name != "InRelease"}
            helm(claims, made)
            repository(claims, folder, made, keys)
            run(ROOT / "scripts/release", "--no-build", "chart", "apt", "helm", env=env)
            claims.check("a second build has the same bytes", all((made / "apt" / each).read_bytes() == content for each, content in first.items()), str(sorted(first)))
            code, said = run(ROOT / "scripts/release", "--no-build", "apt", env=os.environ | {"WATTLE_RELEASE": str(folder / "empty")})
            claims.check("without packages the error names the fix", code == 1 and "scripts/release packages apt" in said, said)
            tag(claims, folder / "tree/wattle", keys)
        finally:
            keys.close()
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
