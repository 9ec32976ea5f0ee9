#!/usr/bin/env python3
"""backup_test: `wattle backup` and `wattle restore` keep the mode of right sizes and the audit, and a backup has every
file that a controller writes to its folder, except those that docs/reference/files.md declares as expendable.

Real     controller, agent, `wattle`; no API server, so no workload has its own state
Fake     a network of the teacher, which has none before its first training
Usage    backup_test.py FOLDER-OF-BINARIES
Exit     0 fine, 1 a claim failed
"""
import contextlib
import pathlib
import re
import shutil
import signal
import sqlite3
import sys
import tarfile

from demo_run import Claims
from house import House, binaries_from, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = "/var/lib/wattle-controller/"
WHY = "kept in a backup"


def documented():
    """Returns the entries of the controller's folder in the reference, with their texts."""
    text = (ROOT / "docs/reference/files.md").read_text(encoding="utf-8")
    return {name: row for names, row in re.findall(r"^\| (.*?) \| (.*) \|$", text, re.M) for name in re.findall(f"`{FOLDER}([^`]+)`", names)}


def written(folder):
    """Returns the names of the files that a run left in the folder; the log of a database counts as the database."""
    return {path.name.removesuffix("-wal") for path in folder.iterdir() if path.is_file() or any(path.iterdir())}


def rows(path, table):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


class Backup:
    def __init__(self, house, claims):
        self.house, self.check = house, claims.check
        self.data, self.archive = house.dir / "controller", house.dir / "kept.backup"
        self.config = ("--config", str(house.dir / "controller.yaml"))

    def run(self, *arguments):
        return self.house.cli(*arguments, *self.config, key="operator", check=False)

    def state(self):
        """Returns the right sizes and the audit as an operator reads them."""
        mode = self.house.query("provision", "mode")["sizing"]
        audit = [(one["who"], one["what"], one["why"]) for one in self.house.query("policy", "get")["changes"]]
        return {key: mode[key] for key in ("mode", "since_s", "who", "why")}, audit

    def stop(self):
        code = self.house.kill("controller", signal.SIGTERM)
        self.check("the controller exits", code == 0, self.house.log("controller")[-500:])

    def fill(self):
        self.house.start_controller()
        self.house.start_agent()
        wait_until("the agent has connected", self.house.connected)
        self.house.cli("provision", "mode", "shadow", "--why", WHY, key="operator")
        self.house.cli("policy", "set", "--mode", "shadow", "--why", WHY, "--force", key="operator")
        self.house.cli("model", "save", "kept", key="operator")
        (self.data / "provisioning/7.json").write_text("a network of the teacher", encoding="utf-8")
        self.stop()  # a stop writes the files that are otherwise written every few minutes
        self.house.start_controller()

    def made(self):
        done = self.run("backup", str(self.archive))
        self.check("a running controller is backed up", done.returncode == 0, done.stderr)
        with tarfile.open(self.archive) as archive:
            names = {pathlib.Path(name).parts[0] for name in archive.getnames()}
            archive.extractall(self.house.dir / "looked-at", filter="data")
        return names

    def complete(self, names):
        """Checks that each file of the folder is documented, and in the backup unless it may be lost."""
        known, there = documented(), written(self.data)
        self.check("the reference lists every file of the folder", there <= set(known), there - set(known))
        lost = {name for name in there if "may be lost" in known.get(name, "")}
        self.check("a backup has every file that may not be lost", there - lost <= names, there - lost - names)
        self.check("a backup has none of the expendable files", not lost & names, lost & names)
        self.check("the run has written the databases and networks", {"store.db", "control.db", "right-sizes.db", "checkpoints", "provisioning"} <= there, there)
        self.check("no temporary copy is left", not list((self.data / "backup").iterdir()), list((self.data / "backup").iterdir()))
        for name in ("store.db", "control.db", "right-sizes.db"):
            path = self.house.dir / "looked-at" / name
            with contextlib.closing(sqlite3.connect(path)) as connection:
                self.check(f"the copy of {name} is complete", connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])

    def restored(self, before):
        networks = {folder: {path.name: path.read_bytes() for path in (self.house.dir / "looked-at" / folder).iterdir()} for folder in ("checkpoints", "provisioning")}
        self.house.cli("provision", "mode", "off", key="operator")
        self.stop()
        shutil.rmtree(self.data)
        done = self.run("restore", "--replace", str(self.archive))
        self.check("the backup is restored into an empty folder", done.returncode == 0, done.stdout + done.stderr)
        for folder, files in networks.items():
            self.check(f"{folder} has the same files", {path.name: path.read_bytes() for path in (self.data / folder).iterdir()} == files)
        self.check("the rows of right sizes are the same", rows(self.data / "right-sizes.db", "owner") == rows(self.house.dir / "looked-at/right-sizes.db", "owner"))
        self.house.start_controller()
        after = self.state()
        self.check("the mode of right sizes is that of the backup", after[0] == before[0], (after[0], before[0]))
        self.check("the audit is that of the backup", after[1][-len(before[1]):] == before[1], (after[1], before[1]))
        self.check("the audit has the reason", any(why == WHY for *_, why in after[1]), after[1])

    def replaced(self):
        """A backup without right sizes, as of an earlier version, removes existing ones at restore."""
        self.stop()
        (self.house.dir / "empty").mkdir()
        (self.data / "right-sizes.db").rename(self.house.dir / "empty/right-sizes.db")
        self.house.start_controller()
        self.archive = self.house.dir / "earlier.backup"
        names = self.made()
        self.check("a backup of a controller without right sizes has none", "right-sizes.db" not in names, names)
        self.stop()
        shutil.copy(self.house.dir / "empty/right-sizes.db", self.data / "right-sizes.db")
        done = self.run("restore", "--replace", str(self.archive))
        self.check("restore of such a backup moves existing right sizes aside", done.returncode == 0 and not (self.data / "right-sizes.db").exists()
                   and list(self.data.glob("right-sizes.db.replaced-*")), done.stdout + done.stderr)


def main():
    claims = Claims()
    with House(binaries_from(sys.argv), mode="off") as house:
        with open(house.dir / "controller.yaml", "a", encoding="utf-8") as config:
            config.write(f"\nstore: {{path: {house.dir}/controller/store.db}}\nprovisioning: {{level: requests}}\n")
        backup = Backup(house, claims)
        backup.fill()
        before = backup.state()
        backup.complete(backup.made())
        backup.restored(before)
        backup.replaced()
    print("backup: every claim holds" if claims.failed == 0 else f"backup: {claims.failed} claims failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
