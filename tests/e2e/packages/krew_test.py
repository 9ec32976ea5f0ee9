#!/usr/bin/env python3
"""krew_test: krew installs the archive of scripts/release by its manifest, and `kubectl wattle` runs the program.

Needs    krew of its Go module, built once into the cache; kubectl
Usage    krew_test.py FOLDER-OF-THE-BUILD
Exit     0 fine, 1 a claim failed, 77 skipped: no Go, no module, no kubectl
"""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "kube")]
sys.dont_write_bytecode = True
import assets  # noqa: E402
from debs import output  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402

KREW = "v0.4.4"
BASE = {"libc6", "libgcc-s1", "libstdc++6", "libtinfo6"}  # Debian's base has these packages
EPOCH = "1700000000"


def krew():
    """Returns the krew program, from the cache if it was built before."""
    folder = assets.cache_folder() / f"krew-{KREW}"
    if not (folder / "krew").exists():
        folder.mkdir(parents=True, exist_ok=True)
        assets.build_module("sigs.k8s.io/krew", KREW, "sigs.k8s.io/krew/cmd/krew", folder / "krew")
    return folder / "krew"


def packages_of(program):
    """Returns the Debian packages of the libraries that the program loads."""
    loaded = dict(re.findall(r"(\S+) => (\S+)", output("ldd", program)))
    needed = re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-d", program))
    # dpkg knows a file of the merged /usr by the path that its package has, with or without /usr.
    paths = [os.path.realpath(loaded[name]).removeprefix("/usr") for name in needed if name in loaded]
    owners = [subprocess.run(["dpkg", "-S", path, f"/usr{path}"], capture_output=True, text=True, check=False).stdout for path in paths]
    return {owner.split(":")[0] for owner in owners}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    claims = Claims()
    try:
        program, kubectl = krew(), assets.kubectl()
    except (assets.Missing, OSError) as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wattle-krew-") as name:
        folder = pathlib.Path(name)
        env = os.environ | {"WATTLE_BUILD": str(build), "WATTLE_BUILD_ARM64": str(folder), "WATTLE_RELEASE": str(folder / "out"), "SOURCE_DATE_EPOCH": EPOCH,
                            "WATTLE_BASE_URL": "https://mirror.example/w"}
        done = subprocess.run([ROOT / "scripts/release", "--no-build", "krew"], capture_output=True, text=True, check=False, env=env)
        claims.check("scripts/release writes the manifest", done.returncode == 0, done.stdout + done.stderr)
        path = folder / "out/krew/wattle.yaml"
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        platform, = manifest["spec"]["platforms"]
        archive = folder / "out" / platform["uri"].rpartition("/")[2]
        claims.check("the manifest has the archive's address and checksum", platform["uri"].startswith("https://mirror.example/w/wattle-krew-") and
                     platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest(), platform)
        lacking = {each for each in packages_of(build / "bin/wattle") - BASE if each not in manifest["spec"]["caveats"]}
        claims.check("the caveats name every package that the program needs", not lacking, lacking)
        env = {"KREW_ROOT": str(folder / "krew"), "HOME": str(folder), "PATH": f"{folder}/krew/bin:{kubectl.parent}:/usr/bin:/bin"}

        def run(*words):
            ran = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=env)
            return ran.returncode, ran.stdout + ran.stderr
        code, said = run(program, "install", f"--manifest={path}", f"--archive={archive}")
        claims.check("krew installs the plugin", code == 0 and "Installed plugin: wattle" in said, said)
        code, said = run("kubectl", "wattle", "--help")
        claims.check("kubectl finds the plugin", code == 0 and "Usage: kubectl wattle " in said, said)
        archive.write_bytes(archive.read_bytes() + b" ")
        env["KREW_ROOT"] = str(folder / "other")
        code, said = run(program, "install", f"--manifest={path}", f"--archive={archive}")
        claims.check("another archive is refused by its checksum", code != 0 and "checksum" in said, said)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
