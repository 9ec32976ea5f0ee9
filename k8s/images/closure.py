"""closure: finds the shared libraries that programs load below a root of Debian packages, and the packages they belong
to.

Source   the dynamic section, by readelf; dpkg-query on the root's own database
Errors   ImageError names the library or file, and the file that needs it
"""
import functools
import pathlib
import re
import subprocess

# Search path of Debian's loader, and the folder that update-alternatives would link there
FOLDERS = ("usr/lib/{triplet}", "usr/lib/{triplet}/openblas-pthread", "usr/lib")


class ImageError(Exception):
    pass


def said(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(map(str, words))[:300]}: exit {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
    return done.stdout


@functools.cache
def needed(path):
    return tuple(re.findall(r"\(NEEDED\).*\[(.+)\]", said("readelf", "-dW", path)))


def loader(program):
    found = re.search(r"Requesting program interpreter: (\S+)\]", said("readelf", "-lW", program))
    if not found:
        raise ImageError(f"{program}: names no loader; is it a program that is linked dynamically?")
    return found.group(1)


class Root:
    """A tree of Debian packages of one architecture: this machine's root ("/") or a sysroot."""

    def __init__(self, folder, triplet):
        self.folder, self.triplet = pathlib.Path(folder), triplet
        self.query = ["dpkg-query", f"--admindir={self.folder / 'var/lib/dpkg'}"]

    def library(self, soname):
        for folder in FOLDERS:
            path = self.folder / folder.format(triplet=self.triplet) / soname
            if path.exists():
                return path.resolve()
        return None

    def closure(self, programs, left_out):
        """Returns ({soname: file}, sonames matched by `left_out`) for all libraries that the programs load,
        transitively."""
        found, out = {}, set()
        todo = [(soname, program) for program in programs for soname in needed(program)]
        while todo:
            soname, asker = todo.pop()
            if soname in found:
                continue
            if left_out.fullmatch(soname):
                out.add(soname)
                continue
            path = self.library(soname)
            if path is None:
                raise ImageError(f"{soname}, which {asker} asks for, is not below {self.folder}: install its package (scripts/setup --release)")
            found[soname] = path
            todo += [(each, soname) for each in needed(path)]
        return found, out

    def owners(self, paths):
        """Maps each path to its Debian package. /usr/lib and /lib are the same folder, and packages use either name."""
        names = {}
        for path in paths:
            inner = f"/{path.relative_to(self.folder)}"
            names[inner] = names[inner.removeprefix("/usr")] = path
        done = subprocess.run([*self.query, "-S", *sorted(names)], capture_output=True, text=True, check=False)
        found = {}
        for line in done.stdout.splitlines():
            package, _, name = line.partition(": ")
            if name in names:
                found[names[name]] = package.split(", ")[0]
        unknown = sorted(str(path) for path in paths if path not in found)
        if unknown:
            raise ImageError(f"no Debian package has {unknown[0]} ({len(unknown)} such files): install it from a package")
        return found

    def papers(self, package):
        """The copyright file and dpkg entry of a package, for licence checks and scanners: {image path: content}."""
        plain = package.split(":")[0]
        text = self.folder / "usr/share/doc" / plain / "copyright"
        if not text.exists():
            raise ImageError(f"{text} is missing: install {plain} with its documentation (dpkg's path-exclude may have left it out)")
        return {f"usr/share/doc/{plain}/copyright": text.resolve().read_bytes(),
                f"var/lib/dpkg/status.d/{plain}": said(*self.query, "-s", package).encode()}
