"""private_root: enters a copy-on-write view of this machine's root and a private network, so that documented commands
can install and start software without changing the machine.

Source   Linux namespaces (mount, network, PID), overlayfs on a tmpfs
Needs    root; a kernel that allows overlayfs here
Errors   Impossible, with the kernel's error
Ends     with the process that entered: all started processes end, and all written files disappear
"""
import os
import pathlib
import subprocess
import sys

INSIDE = "WATTLE_PRIVATE"
SHARED = ("/proc", "/dev", "/sys")


class Impossible(Exception):
    pass


def mount(*words):
    ran = subprocess.run(["mount", *map(str, words)], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Impossible(f"mount {' '.join(map(str, words))}: {ran.stderr.strip()}")


def enter():
    """Enters private namespaces. Call it once at the start of a test. Returns a folder that ends with them."""
    if os.environ.get(INSIDE) is None:
        if os.geteuid() != 0:
            raise Impossible("needs root")
        tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            raise Impossible(tried.stderr.strip())
        os.execvpe("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv],
                   os.environ | {INSIDE: "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = pathlib.Path("/run")
    mount("-t", "tmpfs", "-o", "mode=0755", "private", folder)
    return folder / "wattle-private"


class Root:
    """`binds`: read-only folders of this machine that are visible inside, even if they are mounts, as {path inside:
    path here}."""

    def __init__(self, folder, binds=None, hosts=()):
        self.at = folder / "root"
        for part in ("root", "upper", "work"):
            (folder / part).mkdir(parents=True)
        mount("-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work", self.at)
        for path in SHARED:
            mount("--rbind", path, self.inside(path))
        for path, here in (binds or {}).items():
            self.bind(here, path, read_only=True)
        (self.at / "etc/hosts").unlink(missing_ok=True)
        (self.at / "etc/hosts").write_text(f"127.0.0.1 localhost {' '.join(hosts)}\n", encoding="utf-8")

    def inside(self, path):
        """Resolves symbolic links inside the root, for example /var/run to /run."""
        at = self.at
        for part in pathlib.PurePosixPath(path).parts[1:]:
            at = at / part
            if at.is_symlink():
                to = os.readlink(at)
                at = self.inside(to) if to.startswith("/") else at.parent / to
        return at

    def bind(self, here, path, read_only=False):
        target = self.inside(path)
        if pathlib.Path(here).is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        mount("--rbind", here, target)
        if read_only:
            mount("-o", "remount,bind,ro", target)

    def seal(self):
        mount("-o", "remount,ro", self.at)

    def command(self, *words):
        return ["chroot", str(self.at), *words]

    def shell(self, text, cwd, env, timeout):
        """Returns (exit code, output). Background processes keep running and do not delay the return."""
        with open(self.at.parent / "said", "w+b") as said:
            words = self.command("bash", "-euo", "pipefail", "-c", f"cd {cwd}\n{text}")
            code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=env, timeout=timeout, check=False).returncode
            said.seek(0)
            return code, said.read().decode(errors="replace")
