"""packages: Debian packages of the nodes and their workloads, unpacked into a cache folder. No package is installed.

Source   apt-get download, from the archives that apt is configured for
Errors   Missing names the package or the tool, and the fix
"""
import hashlib
import pathlib
import shutil
import subprocess
import tempfile

NODE = ("containerd", "runc", "containernetworking-plugins", "busybox-static")
WORKLOADS = ("nginx", "redis-server", "redis-tools", "liblzf1", "libjemalloc2")
APPS = ("busybox-static", "ffmpeg", "fio", "iperf3")  # workloads of lab/real
# Tools that must be installed, and their packages
TOOLS = {"ip": "iproute2", "nft": "nftables", "openssl": "openssl", "unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux",
         "apt-get": "apt", "dpkg": "dpkg", "ldd": "libc-bin", "strip": "binutils", "clang": "clang", "stress-ng": "stress-ng"}


# Prefix of a command: a PID namespace, whose processes end with this process, also by kill -9
CONTAINED = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")


class Missing(Exception):
    pass


def check_tools():
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if missing:
        raise Missing(f"packages are missing: apt-get install {' '.join(missing)}")


def run(*words, cwd=None, env=None):
    done = subprocess.run([*CONTAINED, *map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, words))}: exit {done.returncode}: {(done.stderr or done.stdout)[-1000:]}")
    return done.stdout


def unpacked(cache, kind, names, needed=None):
    """Returns the folder with these packages, which are downloaded once. `needed`: computes further ones."""
    folder = cache / f"{kind}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as name:
        fresh = pathlib.Path(name)
        (fresh / "packages").mkdir()
        run("apt-get", "-o", "APT::Sandbox::User=root", "download", *names, *(needed() if needed else ()), cwd=fresh / "packages")
        for package in sorted((fresh / "packages").glob("*.deb")):
            run("dpkg", "-x", package, fresh / "tree")
        (fresh / "tree").rename(folder)
    return folder


def tree(cache):
    return unpacked(cache, "debian", NODE + WORKLOADS)


def apps(cache):
    """Returns APPS, and the packages that they need and this machine lacks."""
    def needed():
        lines = run("apt-get", "--simulate", "--no-install-recommends", "install", *APPS).splitlines()
        return {line.split()[1] for line in lines if line.startswith("Inst ")} - set(APPS)
    return unpacked(cache, "apps", APPS, needed)
