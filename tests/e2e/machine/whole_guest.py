"""whole_guest: runs as guest.py inside a Debian 12 with the dependencies of our packages. Installs, joins, upgrades,
downgrades and purges controller, agent and shim with the documented commands, and records the state after each.

Source   /run/payload: wattle*.deb, next/wattle*.deb, join_guest.py, settings.json with the stages
Gives    one JSON value (join_guest.give): for each stage, the output of its commands and the state after it
"""
import contextlib
import json
import pathlib
import sqlite3
import tarfile
import tempfile
import time

from join_guest import LEFT, PAYLOAD, give, shell

PATIENCE_S = 180  # until a controller that loads libtorch answers under emulation
UNITS = ("wattle-controller", "wattle-agent", "wattle-shim")
DATA = "/var/lib/wattle-controller"
KEPT = ("/etc/wattle/controller.key", "/etc/wattle/operator.key", "/etc/wattle/enrol.pem", "/etc/wattle/agent.key", "/etc/wattle/agent.yaml", f"{DATA}/allow")


def live():
    """Returns the machine's row of `wattle nodes`, once it is connected and has reported its usage."""
    end = time.monotonic() + PATIENCE_S
    said = ""
    while time.monotonic() < end:
        code, said = shell("wattle nodes -o json")
        with contextlib.suppress(ValueError):
            for node in json.loads(said)["nodes"] if code == 0 else []:
                if node["connected"] and node["cpu_used_cores"] is not None:
                    return node["name"]
        time.sleep(1)
    return f"nobody: {said[-500:]}"


def store():
    """Returns the content of the store, from a backup of the running controller."""
    with tempfile.TemporaryDirectory() as folder:
        code, said = shell(f"wattle backup {folder}/look")
        if code != 0:
            return {"error": said}
        with tarfile.open(f"{folder}/look") as archive:
            (pathlib.Path(folder) / "store.db").write_bytes(archive.extractfile("store.db").read())
        with contextlib.closing(sqlite3.connect(f"{folder}/store.db")) as database:
            ask = lambda text: database.execute(text).fetchone()
            return {"whole": ask("PRAGMA integrity_check")[0], "node": ask("SELECT records, refused, missing, energy_uj + estimated_uj FROM node"),
                    "raw": ask("SELECT count(*), min(id), max(id) FROM raw")}


def look():
    return {"versions": dict(line.split() for line in shell("dpkg-query -W -f '${Package} ${Version}\\n' 'wattle*'")[1].splitlines() if len(line.split()) == 2),
            "live": live(), "store": store(), "refused": shell("journalctl -b --no-pager -o cat -u wattle-controller | grep 'record.refused'")[1],
            "units": {unit: shell(f"systemctl show {unit} -p ActiveState -p NRestarts -p UnitFileState --value")[1].split() for unit in UNITS},
            "main": {unit: shell(f"systemctl show {unit} -p MainPID --value")[1].strip() for unit in UNITS[:2]},
            "kept": shell("sha256sum " + " ".join(KEPT))[1], "policy": shell("wattle policy get -o json")[1]}


def newer_schema():
    """Gives the store a newer schema version. Returns the log of the controller's start."""
    shell("systemctl stop wattle-controller")
    with contextlib.closing(sqlite3.connect(f"{DATA}/store.db")) as database:
        was = database.execute("PRAGMA user_version").fetchone()[0]
        database.execute("PRAGMA user_version=99")
    code, said = shell("systemctl start wattle-controller")
    return {"was": was, "code": code, "said": said + shell("journalctl -b --no-pager -o cat -u wattle-controller | tail -20")[1]}


def main():
    settings = json.loads((PAYLOAD / "settings.json").read_text(encoding="utf-8"))
    begin = time.monotonic()
    seen = {"before": shell("ls /usr/bin/wattle* 2>&1")[1], "stages": {}}
    for name, commands in settings["stages"]:
        stage = {"commands": []}
        if name == "downgraded":
            stage["refused"] = newer_schema()
        for command in commands:
            code, said = shell(command)
            stage["commands"].append({"command": command, "code": code, "said": said[-3000:]})
        if name == "purged":
            stage["left"] = shell(LEFT)[1]
        elif name != "installed":
            time.sleep(settings["stays_s"])
            stage["seen"] = look()
        seen["stages"][name] = stage
        print(f"guest: {time.monotonic() - begin:.1f} s, {name}", flush=True)
    seen["journal"] = shell("journalctl -b --no-pager -u 'wattle*' | tail -60")[1]
    give(seen)


if __name__ == "__main__":
    main()
