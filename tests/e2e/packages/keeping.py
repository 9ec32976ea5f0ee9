"""keeping: `wattle backup` of a running controller and `wattle restore` into an empty one, on the host of joining.py.

Source   SQLite's view of the copy (Python's sqlite3), and archives that restore must refuse
"""
import contextlib
import hashlib
import json
import socket
import sqlite3
import tarfile

from house import wait_until

BACKUP, DATA = "/root/kept.backup", "/var/lib/wattle-controller"


def block(name, size, made_s):
    """Returns the header of a member in the format of cli/archive.cpp."""
    head = bytearray(512)
    for at, text in ((0, name), (100, "0000600"), (108, "0000000"), (116, "0000000"), (124, f"{size:011o}"), (136, f"{made_s:011o}"), (156, "0")):
        head[at:at + len(text)] = text.encode()
    head[257:265] = b"ustar\x0000"
    head[148:156] = b" " * 8
    head[148:155] = f"{sum(head):06o}".encode() + b"\0"
    return bytes(head)


def rewritten(path, change):
    """Returns the archive with another list and a valid digest."""
    with tarfile.open(path) as archive:
        members = {member.name: archive.extractfile(member).read() for member in archive}
    listed = json.loads(members["manifest.json"])
    change(listed)
    text = json.dumps(listed).encode()
    members |= {"manifest.json": text, "manifest.sha256": hashlib.sha256(text).hexdigest().encode()}
    out = b"".join(block(name, len(content), listed["made_s"]) + content + bytes(-len(content) % 512) for name, content in members.items())
    return out + bytes(1024)


def query(path, what):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(what).fetchall()


def refusals(claims, host, whole):
    """Checks that each is refused before any change, with one reason and its fix."""
    files = host.run(f"find {DATA} /etc/wattle -type f | sort")[1]
    host.root.inside("/root/damaged").write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    host.root.inside("/root/cut").write_bytes(whole[:-2048])
    newer = rewritten(host.root.inside(BACKUP), lambda listed: listed.update(wattle="99.0.0"))
    host.root.inside("/root/newer").write_bytes(newer)
    for what, command, reason in (
        ("a damaged file", "wattle restore --replace /root/damaged", "use another copy"),
        ("a truncated archive", "wattle restore --replace /root/cut", "use another copy"),
        ("an archive of a newer version", "wattle restore --replace /root/newer", "written by Wattle 99.0.0"),
        ("no archive", "wattle restore --replace /etc/passwd", "is not an archive made by `wattle backup`"),
        ("existing files", f"wattle restore {BACKUP}", "--replace"),
        ("a backup to an existing file", f"wattle backup {BACKUP}", "already exists"),
        ("a backup of a stopped controller", "wattle backup /root/away", "check that the controller is running"),
    ):
        code, said = host.run(command)
        claims.check(f"{what}: {reason}", code == 1 and reason in said, said)
    claims.check("refused archives create and remove no file", host.run(f"find {DATA} /etc/wattle -type f | sort")[1] == files)


def keep(claims, host):
    node = socket.gethostname()
    host.run("wattle policy set --mode canary:10% --why kept --force || wattle policy set --mode off --why kept")
    code, said = host.run(f"wattle backup {BACKUP}")
    claims.check("a running controller is backed up", code == 0 and "contains the keys of the controller and the operator" in said, said)
    claims.check("only root reads it", host.run(f"stat -c '%a %U' {BACKUP}")[1].strip() == "600 root")
    claims.check("no part of the backup stays in the controller's folder", host.run(f"find {DATA}/backup -type f")[1] == "")
    with tarfile.open(host.root.inside(BACKUP)) as archive:
        names = archive.getnames()
        archive.extractall(host.root.at.parent / "looked-at", filter="data")
    claims.check(f"tar lists it: {names}", {"store.db", "control.db", "allow", "enrol-tokens", "keys/controller.key", "keys/operator.key"} <= set(names))
    looked = host.root.at.parent / "looked-at"
    for name in ("store.db", "control.db"):
        claims.check(f"SQLite finds {name} intact", query(looked / name, "PRAGMA integrity_check") == [("ok",)])
    claims.check("the store knows the node", (node,) in query(looked / "store.db", "SELECT name FROM node"))
    changes = query(looked / "control.db", "SELECT id, who, what, why FROM change ORDER BY id")
    claims.check("the control file has the change", any(why == "kept" for *_, why in changes), str(changes))
    allow = host.run(f"cat {DATA}/allow")[1]
    host.run("systemctl stop wattle-controller")
    whole = host.root.inside(BACKUP).read_bytes()
    host.run("systemctl start wattle-controller")
    wait_until("it answers", lambda: host.run("wattle status")[0] == 0)
    code, said = host.run(f"wattle restore --replace {BACKUP}")
    claims.check("a restore into a running controller is refused", code == 1 and "systemctl stop wattle-controller" in said, said)
    # Holds even if another descriptor of the store is closed, as a backup or a query does
    host.run(f"wattle backup /root/again.backup && wattle doctor; head -c1 {DATA}/store.db >/dev/null")
    code, said = host.run(f"wattle restore --replace {BACKUP}")
    claims.check("a restore into a running controller is refused after a backup too", code == 1 and f"{DATA}: is in use" in said, said)
    host.run("systemctl stop wattle-controller")
    # A restore holds the lock that a controller takes before it opens any file
    code, said = host.run(f"flock {DATA}/lock systemctl start wattle-controller")
    claims.check("a controller does not start during a restore", code != 0 and "is in use by a running controller or wattle restore" in said, said)
    code, said = host.run(f"flock {DATA}/lock wattle restore --replace {BACKUP}")
    claims.check("a restore does not start during another", code == 1 and "is in use by a running controller or wattle restore" in said, said)
    refusals(claims, host, whole)

    host.run("apt-get purge -y wattle-controller && apt-get install -y --no-install-recommends ./wattle-controller_*.deb")
    code, said = host.run(f"wattle restore --replace {BACKUP} && systemctl start wattle-controller")
    claims.check("an empty controller accepts the backup and starts", code == 0, said + host.log())
    claims.check("the allow list is restored", host.run(f"cat {DATA}/allow")[1] == allow)
    claims.check("the node reconnects by itself", bool(wait_until("it is shown", lambda: host.run("wattle nodes")[0] == 0 and node in host.run("wattle nodes")[1])))
    claims.check("the change history is restored", "kept" in host.run("wattle policy get -o json")[1], host.run("wattle policy get")[1])

    host.run("systemctl stop wattle-controller")
    for name in ("store.db", "control.db"):
        path = host.root.inside(f"{DATA}/{name}")
        was = query(path, "PRAGMA user_version")[0][0]
        query(path, "PRAGMA user_version=99")
        code, said = host.run("systemctl start wattle-controller")
        claims.check(f"a {name} of a newer version is refused with its name", code != 0 and "has schema version 99" in said and name in said, said)
        query(path, f"PRAGMA user_version={was}")
    query(host.root.inside(f"{DATA}/store.db"), "PRAGMA user_version=99")
    code, said = host.run(f"wattle restore --replace {BACKUP} && systemctl start wattle-controller")
    claims.check("the earlier backup restores the state", code == 0 and wait_until("it is shown", lambda: node in host.run("wattle nodes")[1]), said + host.log())
