"""debs: the Debian packages of a build, and copies of them with a later version.

Source   scripts/package on an existing build
Errors   RuntimeError with the end of the tool's output
"""
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ("wattle", "wattle-agent", "wattle-actuator", "wattle-controller", "wattle-shim", "wattle-sim")


def output(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def make(build, to):
    """Builds the packages of this build in the folder `to`."""
    output(ROOT / "scripts/package", "--no-build", env=os.environ | {"WATTLE_BUILD": str(build), "WATTLE_PACKAGES": str(to)})
    return here(to)


def here(folder):
    """Returns name -> the package in the folder."""
    found = {path.name.split("_")[0]: path for path in sorted(folder.glob("*.deb"))}
    if not found:
        raise RuntimeError(f"{folder}: no packages; scripts/package builds them")
    return found


def from_files(command):
    """Returns an `apt-get install` that names packages of a repository as one that names their files."""
    def of(line):
        return re.sub(r" (wattle(?:-\w+)?)(?:=\S+)?(?= |$)", r" ./\1_*.deb", line) if "apt-get install" in line else line
    return "\n".join(of(line) for line in command.split("\n"))


def repository(folder):
    """Makes the folder with packages a flat apt repository without a signature. Returns its line for apt's list of
    sources, as seen from a root in which the folder is /packages."""
    (folder / "Packages").write_text(output("apt-ftparchive", "packages", ".", cwd=folder))
    return "deb [trusted=yes] file:/packages ./\n"


def field(package, name):
    return output("dpkg-deb", "-f", package, name).strip()


def newer(package, version, folder):
    """Returns a later version of the same package, with another default configuration."""
    tree = folder / f"{package.name}.tree"
    output("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    was = field(package, "Version")
    control.write_text(control.read_text().replace(f"Version: {was}", f"Version: {version}").replace(f"(= {was})", f"(= {version})"))
    for conffile in (tree / "etc/wattle").glob("*.yaml"):
        conffile.write_text(conffile.read_text() + "# of the next version\n")
    output("dpkg-deb", "-Zgzip", "-z1", "-b", tree, folder / package.name)
    shutil.rmtree(tree)
