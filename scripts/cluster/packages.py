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
# Tools that must be installed, and their packages
TOOLS = {"ip": "iproute2", "nft": "nftables", "openssl": "openssl", "unshare": "util-linux", "nsenter": "util-linux", "setpriv": "util-linux",
         "apt-get": "apt", "dpkg": "dpkg", "ldd": "libc-bin", "strip": "binutils", "clang": "clang", "stress-ng": "stress-ng"}


class Missing(Exception):
    pass


def check_tools():
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if missing:
        raise Missing(f"packages are missing: apt-get install {' '.join(missing)}")


def run(*words, cwd=None):
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, words))}: exit {done.returncode}: {(done.stderr or done.stdout)[-1000:]}")
    return done.stdout


def tree(cache):
    """The folder with the unpacked packages; downloads them once."""
    names = NODE + WORKLOADS
    folder = cache / f"debian-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as name:
        fresh = pathlib.Path(name)
        (fresh / "packages").mkdir()
        run("apt-get", "-o", "APT::Sandbox::User=root", "download", *names, cwd=fresh / "packages")
        for package in sorted((fresh / "packages").glob("*.deb")):
            run("dpkg", "-x", package, fresh / "tree")
        (fresh / "tree").rename(folder)
    return folder
