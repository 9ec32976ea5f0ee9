#!/usr/bin/env python3
"""whole_test: controller, agent and shim on one Debian 12 under QEMU, with a real systemd and our .deb files, using the
commands of docs/how-to/install-debian.md, join-nodes.md and upgrade.md: join, upgrade, downgrade, purge. No data is
lost: keys, the allow list, operator settings, records of the store. A store of a newer schema is refused, and a backup
restores the old one. A purge leaves no files.

The machine has the Debian packages that ours need, including libtorch, and no network.

Usage    whole_test.py PACKAGES [--keep FOLDER]     FOLDER: receives the console log and all readings
Units    WATTLE_BEFORE: folder with an earlier version's .deb files, upgraded to PACKAGES; default: upgrade PACKAGES to
         the same with a higher version number
Needs    scripts/setup --long; apt's archives once, then the cache (image.py)
Time     eleven minutes under emulation on a busy machine, two in namespaces, five to build the image; limited to 1800 s
Exit     0 fine, 1 a claim failed, 77 skipped: QEMU or mmdebstrap is missing
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "packages"), str(HERE.parent / "docs")]
sys.dont_write_bytecode = True
import debs  # noqa: E402
import image  # noqa: E402
import machine  # noqa: E402
from demo_run import Claims  # noqa: E402
from documented import blocks_below  # noqa: E402
from house import SKIPPED  # noqa: E402

SECONDS = 1800  # it may share its machine
STAYS_S = 10
NAME = "machine"
PARTS = ("wattle", "wattle-controller", "wattle-agent", "wattle-shim")
ROOT_MIB = 2600


def typed(page, heading):
    """Returns the lines below a heading. All parts of one machine have the same version, so where the page names the
    controller, the others are upgraded too, as the page says."""
    (block,) = blocks_below(f"docs/how-to/{page}.md", heading)
    others = " ".join(f"./{name}_*.deb" for name in PARTS[2:])
    together = page == "upgrade"
    return [line.replace("./wattle-controller_*.deb", f"./wattle-controller_*.deb {others}") if together else line for line in debs.from_files(block.text.strip()).splitlines()]


def stages():
    install = [*typed("install-debian", "The controller's machine"), *typed("install-debian", "Each worker"), *typed("install-debian", "A shim beside kube-scheduler")]
    token, join = *typed("join-nodes", "On the controller's machine"), *typed("join-nodes", "On the new node")
    # The machine has only its own address
    joining = [join.replace("TOKEN", f'"$({token} --address 127.0.0.1)"'), "wattle policy set --mode off --why kept"]
    upgrade = [line.replace("./", "./next/") for line in typed("upgrade", "Upgrade packages")]
    return [("installed", install), ("joined", joining), ("upgraded", upgrade), ("downgraded", typed("upgrade", "Go back to older packages")), ("purged", typed("upgrade", "Remove packages"))]


def judge_look(claims, name, seen, version):
    claims.check(f"{name}: all parts have version {version}", seen["versions"] == {part: version for part in PARTS}, str(seen["versions"]))
    # The downgraded controller refuses the newer files until the backup is restored; systemd may still count failed
    # starts
    tried = {"wattle-controller"} if name == "downgraded" else set()
    claims.check("     controller and agent run, never failed, and start with the machine",
                 all(sorted(word for word in seen["units"][unit] if unit not in tried or not word.isdigit()) == [*(["0"] if unit not in tried else []), "active", "enabled"]
                     for unit in ("wattle-controller", "wattle-agent")), str(seen["units"]))
    claims.check("     the shim waits for its key, without failing", sorted(seen["units"]["wattle-shim"]) == ["0", "enabled", "inactive"], str(seen["units"]))
    claims.check("     `wattle nodes` shows the machine live", seen["live"] == NAME, seen["live"])
    # Records acknowledged after the backup are missing after the restore
    missing = 0 if name != "downgraded" else seen["store"]["node"][2]
    claims.check(f"     the store is intact, refused no record, and misses {missing}", seen["store"].get("whole") == "ok" and seen["store"]["node"][1:3] == [0, missing], f"{seen['store']} {seen['refused']}")
    records, first, last = seen["store"]["raw"]
    claims.check(f"     its {records} records are consecutive", records > 0 and last - first + 1 == records, str(seen["store"]))


def packed(packages, payload):
    """Returns the installed version and the next one, with the Debian packages that they need."""
    before = os.environ.get("WATTLE_BEFORE")
    first, second = debs.here(pathlib.Path(before)) if before else packages, packages
    (payload / "next").mkdir()
    for name in PARTS:
        shutil.copy(first[name], payload)
        if before:
            shutil.copy(second[name], payload / "next")
        else:
            debs.newer(second[name], "0.9.0", payload / "next")
    needed = {word.split()[0] for each in (first, second) for name in PARTS for word in re.split(r", *", debs.field(each[name], "Depends")) if not word.startswith("wattle")}
    versions = [debs.field(next(folder.glob("wattle_*.deb")), "Version") for folder in (payload, payload / "next")]
    return versions, tuple(sorted(needed))


def judge(claims, seen, version, following):
    claims.check("the machine had no part of Wattle", "No such file" in seen["before"], seen["before"])
    reported = seen["stages"]
    for name, stage in reported.items():
        for said in stage["commands"]:
            claims.check(f"{name}: exit 0: {said['command'][:100]}", said["code"] == 0, said["said"] + seen["journal"])
    joined, upgraded, back = (reported[name]["seen"] for name in ("joined", "upgraded", "downgraded"))
    for name, look, wanted in (("joined", joined, version), ("upgraded", upgraded, following), ("downgraded", back, version)):
        judge_look(claims, name, look, wanted)
    for name, look in (("upgraded", upgraded), ("downgraded", back)):
        claims.check(f"{name}: keys, configuration and allow list are unchanged", look["kept"] == joined["kept"] and len(look["kept"].splitlines()) == 6, look["kept"])
        claims.check("     the operator's setting is in force, with the reason", all(word in look["policy"] for word in ('"off"', '"kept"')), look["policy"][:600])
        claims.check("     the units were restarted", all(look["main"][unit] != joined["main"][unit] for unit in look["main"]), str(look["main"]))
    claims.check("upgraded: all earlier records are in the store, and new ones", upgraded["store"]["raw"][1] == joined["store"]["raw"][1]
                 and upgraded["store"]["raw"][0] > joined["store"]["raw"][0], f"{joined['store']} {upgraded['store']}")
    claims.check("     and energy increases", upgraded["store"]["node"][3] > joined["store"]["node"][3] > 0, f"{joined['store']} {upgraded['store']}")
    refused = reported["downgraded"]["refused"]
    claims.check("a store of a newer schema is refused with its name", refused["code"] != 0 and "has schema version 99" in refused["said"] and "store.db" in refused["said"], str(refused))
    claims.check("downgraded: all records of the backup are in the store, and new ones", back["store"]["raw"][1] == joined["store"]["raw"][1]
                 and back["store"]["raw"][0] > joined["store"]["raw"][0], f"{joined['store']} {back['store']}")
    claims.check("purged: no file, user, group or unit is left", reported["purged"]["left"] == "", reported["purged"]["left"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is missing (scripts/setup --long installs it)")
            return SKIPPED
    claims = Claims()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    packages = debs.here(options.packages)
    with tempfile.TemporaryDirectory(prefix="wattle-whole-") as payload:
        payload = pathlib.Path(payload)
        (version, following), needed = packed(packages, payload)
        shutil.copy(HERE / "whole_guest.py", payload / "guest.py")
        shutil.copy(HERE / "join_guest.py", payload)
        (payload / "settings.json").write_text(json.dumps({"stages": stages(), "stays_s": STAYS_S}), encoding="utf-8")
        try:
            made = image.ensure(recipe=image.Recipe(needed, ROOT_MIB))
            begun = time.monotonic()
            seen = machine.boot(made, payload, SECONDS, options.keep / "console" if options.keep else None)
        except (image.ImageError, machine.MachineError) as error:
            claims.check("the machine runs to its end", False, str(error))
            return 1
    if options.keep:
        (options.keep / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
    print(f"     {machine.kind(made)}; {version} to {following}; {time.monotonic() - begun:.0f} s with boot")
    judge(claims, seen, version, following)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
