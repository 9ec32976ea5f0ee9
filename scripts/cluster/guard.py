"""guard: supervises one cluster, and removes all of its resources when the script that started it ends, also by kill
-9.

Runs       in a session of its own, started by demo.py. Its standard input is a pipe that only demo.py can write to: end of
           file means that demo.py has ended
Contains   cluster.py and all of its processes, in network, mount and process namespaces that end with their first process.
           The kernel kills that process if the guard is killed
Creates    the folder run-ID, the cgroups wattle-demo-ID of each hierarchy, and the rest of a cluster: no part of a
           cluster exists before its guard
Removes    these cgroups and the folder. A guard that is killed leaves them; demo.py removes them. If both are killed, the
           next start does, and so does `scripts/demo cluster --clean`
Usage      guard.py CACHE SETTINGS    SETTINGS: of the cluster, as JSON; `page` is the number of an open, listening socket
"""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

PREFIX = "wattle-demo-"
PAGE_PORT = 8050
PATIENCE_S = 30
CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids")  # controllers of cgroup v2 for a kubelet


class Hierarchy:
    """One mounted cgroup hierarchy: its path, and the options that mount it again."""

    def __init__(self, kind, point, options):
        self.kind, self.point = kind, pathlib.Path(point)
        self.options = ",".join(word for word in options.split(",") if word not in ("rw", "ro", "xattr", "clone_children")
                                and not word.startswith("release_agent="))

    def __str__(self):
        return f"{self.kind} {self.point} {self.options or '-'}"


def hierarchies():
    found = {}
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        left, right = line.split(" - ")
        kind, _, options = right.split()[:3]
        if kind == "cgroup":
            found[options] = Hierarchy(kind, left.split()[4], options)
        elif kind == "cgroup2":
            found[kind] = Hierarchy(kind, left.split()[4], "")
    return list(found.values())


def switch(run, sign):
    """Enables the controllers of the root of cgroup v2, or disables those that were off before the first running
    cluster. The kernel refuses (EBUSY) to disable those that another cluster uses."""
    for hierarchy in hierarchies():
        if hierarchy.kind != "cgroup2":
            continue
        file, record = hierarchy.point / "cgroup.subtree_control", run / "controllers"
        if sign == "+":
            available = (hierarchy.point / "cgroup.controllers").read_text(encoding="utf-8").split()
            on = set(file.read_text(encoding="utf-8").split())
            for other in run.parent.glob("run-*/controllers"):
                with contextlib.suppress(OSError):
                    on -= set(other.read_text(encoding="utf-8").split())
            mine = [name for name in CONTROLLERS if name in available and name not in on]
            record.write_text(" ".join(mine), encoding="utf-8")
        for name in record.read_text(encoding="utf-8").split() if record.exists() else ():
            with contextlib.suppress(OSError):
                file.write_text(f"{sign}{name}", encoding="utf-8")


def make_cgroups(identity, names):
    """Creates a cgroup for each name in each hierarchy."""
    for hierarchy in hierarchies():
        top = hierarchy.point / f"{PREFIX}{identity}"
        for folder in (top, *(top / name for name in names)):
            folder.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):
                if hierarchy.kind == "cgroup" and (folder / file).exists():
                    (folder / file).write_text((folder.parent / file).read_text(encoding="utf-8"), encoding="utf-8")
        if hierarchy.kind == "cgroup2":
            for controller in (top / "cgroup.controllers").read_text(encoding="utf-8").split():
                (top / "cgroup.subtree_control").write_text(f"+{controller}", encoding="utf-8")


def cgroups(identity):
    return [path for hierarchy in hierarchies() if (path := hierarchy.point / f"{PREFIX}{identity}").is_dir()]


def processes(identity, name):
    """Returns PIDs in the cgroups of a node in this process's namespace; those of other namespaces are 0."""
    found = []
    for top in cgroups(identity):
        for file in (top / name).rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                found += file.read_text(encoding="utf-8").split()
    return found


def remove_cgroups(identity):
    """Kills remaining processes in the cgroups and removes the cgroups, deepest first. Returns those that remain."""
    end = time.monotonic() + PATIENCE_S
    while left := cgroups(identity):
        for top in left:
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
                    continue
                with contextlib.suppress(OSError):
                    for pid in (pathlib.Path(folder) / "cgroup.procs").read_text(encoding="utf-8").split():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(pid), signal.SIGKILL)
        if time.monotonic() > end:
            return cgroups(identity)
        time.sleep(0.05)
    return []


def lock(folder):
    """Returns the lock that a running guard holds on its folder, or None if another process holds it."""
    with contextlib.suppress(FileNotFoundError):
        file = open(folder / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            file.close()
    return None


@contextlib.contextmanager
def exclusive(cache):
    """Locks the cache, so that no other demo changes it or its run folders. Names the other demo while it waits."""
    with open(cache / "lock", "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read() or "(unknown)"
            print(f"cluster: waiting for process {other}, another demo that changes {cache}", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        print(os.getpid(), end="", file=file, flush=True)
        yield


def mark(cache):
    """Returns the common prefix of the IDs of all clusters of this cache, because clusters of another cache may run
    too."""
    return hashlib.sha256(str(cache.resolve()).encode()).hexdigest()[:6]


def clean(cache):
    """Removes what killed demos and guards of this cache left; the caller holds the lock of the cache. Returns the
    removed names."""
    removed = []
    for path in (*cache.glob("tmp*"), *cache.glob("*.new")):  # temporary folders, and an incomplete store
        shutil.rmtree(path, ignore_errors=True)
        removed.append(path.name)
    for folder in cache.glob("run-*"):
        if held := lock(folder):
            remove_cgroups(folder.name[4:])
            switch(folder, "-")
            shutil.rmtree(folder, ignore_errors=True)
            held.close()
            removed.append(folder.name)
    running = {folder.name[4:] for folder in cache.glob("run-*")}
    for hierarchy in hierarchies():
        for top in hierarchy.point.glob(f"{PREFIX}{mark(cache)}*"):
            identity = top.name[len(PREFIX):]
            if identity not in running and not remove_cgroups(identity):
                removed.append(top.name)
    return sorted(set(removed))


def listen(port):
    """Returns a listening socket of this network namespace; a process in another one can accept from it."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    return listener


def listen_for_page(asked):
    """Like listen(), on the requested port, otherwise on 8050 or any other free port. `asked`: a number as text."""
    if not asked:
        try:
            return listen(PAGE_PORT)
        except OSError:
            return listen(0)
    if not asked.isdecimal() or not 0 < int(asked) < 65536:
        raise OSError(f"DEMO_PORT is '{asked}', not a port from 1 to 65535")
    try:
        return listen(int(asked))
    except OSError as error:
        raise OSError(f"port {asked}: {error.strerror}: set DEMO_PORT to another port, or omit it for a free one") from error


def start(run, settings, listeners):
    """Starts cluster.py in new namespaces."""
    fds = {name: listener.fileno() for name, listener in listeners.items()}
    (run / "settings.json").write_text(json.dumps(settings | {"sockets": fds, "hierarchies": list(map(str, hierarchies()))}), encoding="utf-8")
    top = [str(path / "plane" / "cgroup.procs") for path in cgroups(run.name[4:])]
    join = 'for file in "$@"; do echo 0 > "$file" || exit 1; done; exec unshare --net --mount --uts --ipc --pid --fork --kill-child=KILL --mount-proc'
    program = pathlib.Path(__file__).with_name("cluster.py")
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "bash", "-c", f"{join} {sys.executable} -B {program} {run}", "join", *top],
                            pass_fds=list(fds.values()), env=os.environ | {"TMPDIR": str(run), "HOME": str(run)})


def end(process):
    """Kills the first process of the namespaces, and with it all others."""
    with contextlib.suppress(OSError):
        for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split():
            os.kill(int(pid), signal.SIGKILL)
    process.kill()
    return process.wait()


def keep_logs(run):
    if to := os.environ.get("DEMO_LOGS"):
        for path in (*run.glob("log/*.log"), *run.glob("node-*/*.log"), *run.glob("wattle-kube-*/*.log")):
            name = path.name if path.parent.name == "log" else f"{path.parent.name}-{path.name}"
            pathlib.Path(to).mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copyfile(path, pathlib.Path(to) / name)


def make_run(cache):
    """Returns (folder of a new cluster's state, its lock)."""
    with exclusive(cache):
        folder = cache / f"run-{mark(cache)}{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        return folder, lock(folder)


def main():
    cache, settings = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # blocks until demo.py ends
    run, held = make_run(cache)
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(f"cluster: state in {run}", flush=True)
    identity, nodes = run.name[4:], [f"node-{number}" for number in range(1, settings["nodes"] + 1)]
    code, asked = 1, threading.Event()
    try:
        switch(run, "+")
        make_cgroups(identity, ["plane", *nodes])
        process = start(run, settings, {"page": socket.socket(fileno=settings["page"]), "api": listen(0), "ask": listen(0), "feed": listen(0)})

        def watch():
            while os.read(0, 1):
                pass
            asked.set()
            end(process)
        threading.Thread(target=watch, daemon=True).start()
        code = process.wait()
        if not asked.is_set():
            end(process)
    finally:
        left = remove_cgroups(identity)
        switch(run, "-")
        keep_logs(run)
        shutil.rmtree(run, ignore_errors=True)
        with contextlib.suppress(OSError):  # the terminal may be gone
            for path in left:
                print(f"cluster: {path} is still there", flush=True)
            if run.exists():
                print(f"cluster: {run} is still there", flush=True)
            elif not left:
                print("cluster: nothing is left behind: processes, namespaces, mounts, cgroups and files are gone", flush=True)
    del held
    return 1 if left or run.exists() else 0 if asked.is_set() else code or 1


if __name__ == "__main__":
    sys.exit(main())
