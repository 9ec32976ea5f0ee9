"""image: builds a stock Debian 12 machine as two files, a kernel and an ext4 root, and caches them.

Usage    image.py PROGRAM [--rebuild]      PROGRAM: the image gets the Debian packages of its shared libraries
Gives    the image of a Recipe: AGENT is the machine of machine_test.py; other tests pass their own
Source   the Debian archives configured in apt (indexes from `apt-get update`); installs nothing on this machine
Cache    $WATTLE_CACHE, else $XDG_CACHE_HOME/wattle, else ~/.cache/wattle; below it machine/KEY by recipe, rebuilt if
         the program needs a package that the image lacks
Errors   ImageError names what is missing and the fix
Time     90 s to build, 0.1 s from the cache
"""
import dataclasses
import fcntl
import hashlib
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

KERNEL = "linux-image-cloud-amd64"  # has NVMe and ext4 built in: no initramfs is needed
BASE = ("systemd", "systemd-sysv", "dbus", "procps", "util-linux", "python3-minimal", "libpython3-stdlib")


@dataclasses.dataclass(frozen=True)
class Recipe:
    packages: tuple        # packages besides BASE and those of a program's libraries
    mib: int
    modules: bool = False  # whether the root has the kernel's modules, for udev to load
    at_hand: tuple = ()    # packages in its apt cache that are not installed, with apt's lists


AGENT = Recipe(("stress-ng", "curl"), 700)

# The second disk holds the payload of a run; its guest.py is the script that runs.
MACHINE_UNIT = """\
[Unit]
Description=What this machine was booted for
After=multi-user.target

[Service]
Type=exec
ExecStartPre=/bin/mkdir -p /run/payload
ExecStartPre=/bin/mount -o ro /dev/nvme0n2 /run/payload
ExecStart=/usr/bin/python3 /run/payload/guest.py
StandardOutput=journal+console
StandardError=journal+console

[Install]
WantedBy=multi-user.target
"""


class ImageError(Exception):
    pass


def run(*command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    except FileNotFoundError:
        raise ImageError(f"{command[0]} is missing (scripts/setup --long installs it)") from None
    if done.returncode != 0:
        raise ImageError(f"{' '.join(map(str, command))[:300]}: exit {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
    return done.stdout


def cache_root():
    chosen = os.environ.get("WATTLE_CACHE")
    if chosen:
        return pathlib.Path(chosen) / "machine"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "wattle" / "machine"


def library_packages(program):
    """Returns the Debian packages of the shared libraries that the program is linked with."""
    packages = set()
    for path in re.findall(r"=> (/\S+)", run("ldd", str(program))):
        for name in (os.path.realpath(path), path, path.removeprefix("/usr"), "/usr" + path):
            owner = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
            if owner.returncode == 0:
                packages.add(owner.stdout.split(":")[0])
                break
        else:
            raise ImageError(f"{path}: not in a Debian package; link {program} with packaged libraries")
    return sorted(packages)


def sources():
    lines = run("apt-get", "indextargets", "Created-By: Packages", "Origin: Debian", "Codename: bookworm", "--format",
                "deb $(REPO_URI) $(RELEASE) $(COMPONENT)").splitlines()
    for suite in ("bookworm-updates", "bookworm-security"):
        lines += run("apt-get", "indextargets", "Created-By: Packages", "Origin: Debian", f"Codename: {suite}", "--format",
                     "deb $(REPO_URI) $(RELEASE) $(COMPONENT)").splitlines()
    if not lines:
        raise ImageError("apt knows no Debian 12 archive (apt-get update; on another system this test cannot run)")
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def fetch_kernel(folder):
    """Extracts `vmlinuz` and `modules/` into the folder. Returns the kernel's version."""
    depends = re.findall(r"Depends: (linux-image-\S+)", run("apt-cache", "depends", KERNEL))
    if not depends:
        raise ImageError(f"apt knows no {KERNEL} (apt-get update)")
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", depends[0], cwd=folder)
    package = next(folder.glob("linux-image-*.deb"))
    run("dpkg-deb", "-x", str(package), str(folder / "kernel"))
    found = next((folder / "kernel/boot").glob("vmlinuz-*"))
    found.rename(folder / "vmlinuz")
    (folder / "kernel/lib/modules").rename(folder / "modules")
    package.unlink()
    shutil.rmtree(folder / "kernel")
    return found.name.removeprefix("vmlinuz-")


def build_root(folder, packages, recipe, release):
    unit = folder / "machine.service"
    unit.write_text(MACHINE_UNIT, encoding="utf-8")
    excluded = [f"--dpkgopt=path-exclude={path}" for path in ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")]
    proxies = [f"--aptopt={line}" for line in run("apt-config", "dump").splitlines() if re.match(r"Acquire::\S*Proxy \"", line)]
    modules = [f"--customize-hook=copy-in {folder}/modules /usr/lib", f'--customize-hook=chroot "$1" depmod {release}'] if recipe.modules else []
    fetch = f'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get install -qq -y --download-only --no-install-recommends {" ".join(recipe.at_hand)}'
    at_hand = [f"--customize-hook={fetch}", "--skip=cleanup/apt/lists,cleanup/apt/cache"] if recipe.at_hand else []
    tar = folder / "root.tar"
    run("mmdebstrap", "--variant=minbase", "--include=" + ",".join(packages), *excluded, *proxies, *modules, *at_hand,
        f"--customize-hook=copy-in {unit} /etc/systemd/system",
        '--customize-hook=chroot "$1" systemctl enable machine.service',
        '--customize-hook=echo uninitialized >"$1/etc/machine-id"; echo machine >"$1/etc/hostname"; echo "127.0.0.1 localhost machine" >"$1/etc/hosts"',
        f'--customize-hook=chroot "$1" dpkg-query -W -f "\\${{Package}}\\n" >{folder}/installed',
        "bookworm", str(tar), "-", input=sources())
    # Owners and modes come from the archive, which needs root or a fake root.
    as_root = [] if os.geteuid() == 0 else ["fakeroot"]
    run(*as_root, "sh", "-euc", 'mkdir root; tar -xf root.tar -C root; mke2fs -q -t ext4 -O ^has_journal -d root root.ext4 "$1"', "sh",
        f"{recipe.mib}M", cwd=folder)
    shutil.rmtree(folder / "root")
    shutil.rmtree(folder / "modules")
    tar.unlink()


def ensure(program=None, rebuild=False, recipe=AGENT):
    """Returns the folder with `vmlinuz`, `root.ext4` and `made.json`, with the libraries of `program` if given."""
    needed = set(library_packages(program)) if program else set()
    made_by = [BASE, dataclasses.astuple(recipe), KERNEL, MACHINE_UNIT, inspect.getsource(build_root)]
    key = hashlib.sha256(json.dumps(made_by).encode()).hexdigest()[:16]
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    folder = root / key
    with open(root / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = None
        if (folder / "made.json").is_file():
            installed = set(json.loads((folder / "made.json").read_text(encoding="utf-8"))["installed"])
        if installed is not None and needed <= installed and not rebuild:
            return folder
        with tempfile.TemporaryDirectory(prefix="building-", dir=root) as made:
            made = pathlib.Path(made)
            release = fetch_kernel(made)
            build_root(made, sorted({*BASE, *recipe.packages, *needed}), recipe, release)
            installed = (made / "installed").read_text(encoding="utf-8").split()
            (made / "made.json").write_text(json.dumps({"kernel": release, "installed": installed}, indent=1) + "\n", encoding="utf-8")
            made.chmod(0o755)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(made, folder, copy_function=os.link)
    return folder


if __name__ == "__main__":
    try:
        print(ensure(pathlib.Path(sys.argv[1]), "--rebuild" in sys.argv[2:]))
    except ImageError as error:
        sys.exit(f"image: {error}")
