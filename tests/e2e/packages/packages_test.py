#!/usr/bin/env python3
"""packages_test: the Debian packages of scripts/package: names, sizes, contents, modes, dependencies, lintian, same
bytes
on a second run. Then dpkg installs, upgrades, downgrades, removes and purges them in an overlay of this machine's root,
and the test compares the remaining files.

Usage    packages_test.py FOLDER-OF-THE-BUILD MADE [--make | --joining]     MADE: folder of the packages of this build
         --make: only build the packages there
         --joining: only run the pages on install, join, single-machine trial, backup and restore
Exit     0 success, 1 a claim failed, 77 skipped: dpkg or lintian is missing. Without root or overlayfs, the test
         installs no package and prints that; --joining is skipped
"""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "docs")]
sys.dont_write_bytecode = True
import joining  # noqa: E402
from debs import PROGRAMS, field, here, make, newer, output  # noqa: E402
from demo_run import Claims  # noqa: E402
from house import SKIPPED  # noqa: E402
from private_root import Impossible, Root, enter  # noqa: E402

MIB = 1 << 20
LARGEST = {"wattle": 4 * MIB, "wattle-agent": 5 * MIB, "wattle-shim": 4 * MIB}
CONFFILES = {"wattle-controller": ["/etc/wattle/controller.yaml"], "wattle-shim": ["/etc/wattle/shim.yaml"]}
MANUALS = {name: 1 if name in ("wattle", "wattle-sim") else 8 for name in PROGRAMS}
BESIDE = {"wattle-sim": ["wattle-load"]}  # programs in a package besides the eponymous one
UNITS = {"wattle-agent": ["wattle-agent", "wattle-pcm"], "wattle-actuator": ["wattle-actuator"], "wattle-controller": ["wattle-controller"], "wattle-shim": ["wattle-shim"],
         "wattle-sim": ["wattle-improve"]}
RUN_BY_UNITS = {"wattle-sim": ["/usr/lib/wattle/wattle-improve"]}  # programs that no user runs directly
# Files of dpkg and systemd that remain after a package was installed
OWN_OF_SYSTEM = re.compile(r"^/(var/(lib/(dpkg|systemd/deb-systemd-helper-(enabled|masked)|ucf|apt)|log|cache)(/.*)?|etc/(passwd|group|shadow|gshadow|sub[ug]id)-?"
                           r"|etc/\.pwd\.lock|etc/ld\.so\.cache|etc/hosts|var|var/lib|var/lib/systemd|etc|etc/systemd|etc/systemd/system"
                           r"|etc/systemd/system/multi-user\.target\.wants|usr|usr/.*|lib/systemd.*|run.*|tmp.*|root.*|packages.*)$")


def contents(package):
    """Returns {path: (mode, owner, size)} of a package."""
    found = {}
    for line in output("dpkg-deb", "-c", package).splitlines():
        mode, owner, size, _, _, path = line.split(None, 5)
        found[path.removeprefix(".").split(" -> ")[0]] = (mode, owner, int(size))
    return found


def read_back(claims, packages):
    names = {*PROGRAMS, *(f"{name}-dbgsym" for name in PROGRAMS)}
    claims.check("each program has a package, and one with its symbols", set(packages) == names, str(sorted(packages)))
    docs = contents(packages["wattle"])
    for name in PROGRAMS:
        package, files = packages[name], contents(packages[name])
        size = files[f"/usr/bin/{name}"][2]
        claims.check(f"{name}: the program has {size} bytes without symbols", size <= LARGEST.get(name, 8 * MIB), str(LARGEST.get(name)))
        claims.check(f"{name}: all files belong to root, and only root may write them",
                     all(owner == "root/root" and (mode[0] == "l" or (mode[5] != "w" and mode[8] != "w" and "s" not in mode)) for mode, owner, _ in files.values()), str(files))
        programs = [path for path, (mode, _, _) in files.items() if mode[0] == "-" and "x" in mode]
        own = sorted([f"/usr/bin/{each}" for each in [name, *BESIDE.get(name, [])]] + RUN_BY_UNITS.get(name, []))
        claims.check(f"{name}: only its programs are executable", sorted(programs) == own, str(programs))
        control = output("dpkg-deb", "--ctrl-tarfile", package, errors="replace")
        listed = output("dpkg-deb", "-I", package, "conffiles").split() if "conffiles" in control else []
        claims.check(f"{name}: configuration files are conffiles: {listed}", listed == CONFFILES.get(name, []) == [p for p in files if re.match(r"/etc/.*[^/]$", p)])
        units = {f"/lib/systemd/system/{unit}.service" for unit in UNITS.get(name, [])}
        claims.check(f"{name}: its units are in the package", units == {path for path in files if path.endswith(".service")})
        for unit in units:
            text = (ROOT / "systemd" / pathlib.Path(unit).name).read_text(encoding="utf-8")
            page = re.search(r"^Documentation=file://(\S+)$", text, re.M).group(1)
            claims.check(f"{unit}: its manual page is in the packages", page in docs, page)
        depends = field(package, "Depends")
        claims.check(f"{name}: depends on its libraries by version: {depends}", "libc6 (>=" in depends and "libzmq" not in depends)
        claims.check(f"{name}: depends on the same version of the other parts", name in ("wattle", "wattle-sim") or f"wattle (= {field(package, 'Version')})" in depends)
        pages = {f"/usr/share/man/man{MANUALS[name]}/{each}.{MANUALS[name]}.gz" for each in [name, *BESIDE.get(name, [])]}
        claims.check(f"{name}: its manual pages are in the package", pages <= set(files), str([path for path in files if "/man/" in path]))
        symbols = contents(packages[f"{name}-dbgsym"])
        with tempfile.TemporaryDirectory() as tree:
            output("dpkg-deb", "-x", package, tree)
            build_id = re.search(r"Build ID: (\w+)", output("readelf", "-n", f"{tree}/usr/bin/{name}")).group(1)
        claims.check(f"{name}: its symbols are found by its build ID", f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug" in symbols)
    for package, name in (("wattle", "wattle"), ("wattle-sim", "wattle-load")):
        claims.check(f"shells find the completion of {name}", {f"/usr/share/bash-completion/completions/{name}", f"/usr/share/zsh/vendor-completions/_{name}",
                                                                   f"/usr/share/fish/vendor_completions.d/{name}.fish"} <= set(contents(packages[package])))
    links = re.findall(r"(\S+) -> (\S+)$", output("dpkg-deb", "-c", packages["wattle"]), re.M)
    claims.check("kubectl finds its plugin", ("./usr/bin/kubectl-wattle", "wattle") in links, str(links))


def lintian(packages):
    """Starts lintian in the background, because it takes as long as the build of the packages."""
    return subprocess.Popen(["lintian", "--allow-root", "--tag-display-limit", "0", *(str(packages[name]) for name in (*PROGRAMS, "wattle-shim-dbgsym"))],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def judge_lintian(claims, running):
    said, wrong = running.communicate()
    errors = [line for line in said.splitlines() if line.startswith("E:")]
    claims.check("lintian finds no error", running.returncode in (0, 1) and not errors, "\n".join(errors) + wrong[-500:])
    manuals = [line for line in said.splitlines() if re.search(r"manual-page|groff|man-page|whatis", line)]
    claims.check("lintian reports no problem with manual pages", not manuals, "\n".join(manuals))
    print("\n".join(f"     {line}" for line in said.splitlines() if line.startswith("W:")))


def digests(packages):
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in packages.items()}


def left(upper):
    """Returns the changes of the overlay; a removed file is a character device in it."""
    found = []
    for path in sorted(upper.rglob("*")):
        name = "/" + str(path.relative_to(upper))
        if not OWN_OF_SYSTEM.match(name) and not path.is_char_device():
            found.append(name)
    return found


def install(claims, packages, folder):
    host = Root(folder / "host")
    upper = folder / "host/upper"
    here, after = host.inside("/packages/now"), host.inside("/packages/next")
    for to in (here, after):
        to.mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy(packages[name], here)
        newer(packages[name], "0.9.0", pathlib.Path(shutil.copy(packages[name], after)).parent)

    def run(text, check=True):
        code, said = host.shell(text, "/", {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}, 300)
        if check and code != 0:
            raise RuntimeError(f"{text}: exit {code}: {said[-3000:]}")
        return said

    def stat(path):
        return run(f"stat -c '%a %U:%G' {path}").strip()

    def state(name):
        return run(f"dpkg-query -W -f '${{Status}} ${{Version}}' {name}", check=False)

    run("dpkg -i /packages/now/*.deb")
    claims.check("dpkg installs the packages", all(state(name).startswith("install ok installed") for name in PROGRAMS))
    claims.check("each program has a user, and all have a group", all("(wattle)" in run(f"id {name}") for name in ("wattle-agent", "wattle-controller", "wattle-shim")))
    claims.check("/etc/wattle belongs to root, with group access", stat("/etc/wattle") == "750 root:wattle", stat("/etc/wattle"))
    claims.check("configurations belong to root, with group access", all(stat(f"/etc/wattle/{name}.yaml") == "640 root:wattle" for name in ("controller", "shim")))
    enabled = run("ls /etc/systemd/system/multi-user.target.wants")
    claims.check("the units except PCM's are enabled", all(f"wattle-{name}.service" in enabled for name in ("agent", "controller", "shim")) and "pcm" not in enabled, enabled)
    for name in PROGRAMS:
        claims.check(f"{name} runs", field(packages[name], "Version") in run(f"{name} --version"))
    claims.check("kubectl-wattle is wattle with the typed name in its help", "Usage: kubectl wattle " in run("kubectl-wattle --help"))
    run("echo '# mine' >>/etc/wattle/shim.yaml; echo x >/etc/wattle/shim.key; mkdir -p /var/lib/wattle /var/lib/wattle-controller; echo x >/var/lib/wattle-controller/kept")
    run("dpkg -i --force-confold /packages/next/*.deb")
    claims.check("the next version upgrades", state("wattle-agent").endswith(" 0.9.0"), state("wattle-agent"))
    claims.check("a changed configuration is kept with its mode", "# mine" in run("cat /etc/wattle/shim.yaml") and stat("/etc/wattle/shim.yaml") == "640 root:wattle")
    claims.check("an unchanged configuration is replaced by the next version's", "next version" in run("cat /etc/wattle/controller.yaml") and stat("/etc/wattle/controller.yaml") == "640 root:wattle",
                 stat("/etc/wattle/controller.yaml"))
    run("dpkg -i --force-confold /packages/now/*.deb")
    claims.check("the previous version can be reinstalled", state("wattle-agent").endswith(field(packages["wattle-agent"], "Version")), state("wattle-agent"))
    run("dpkg -r " + " ".join(PROGRAMS))
    claims.check("a removal removes the programs, and keeps data and configuration",
                 run("ls /usr/bin/wattle* 2>/dev/null || true") == "" and run("cat /var/lib/wattle-controller/kept") == "x\n" and "# mine" in run("cat /etc/wattle/shim.yaml"))
    run("dpkg -P " + " ".join(PROGRAMS))
    claims.check("a purge leaves no file", left(upper) == [], str(left(upper)))
    there = run("ls -d /usr/bin/wattle* /usr/share/wattle /usr/share/doc/wattle* /usr/lib/*.d/*wattle* /lib/systemd/system/wattle* "
                "/etc/systemd/system/*/wattle* /var/lib/systemd/deb-systemd-helper-*/*wattle* 2>/dev/null || true")
    claims.check("a purge leaves no file of dpkg or systemd about the packages", there == "", there)
    claims.check("a purge leaves no user or group", run("getent passwd wattle-agent wattle-controller wattle-shim; getent group wattle wattle-agent; true", check=False) == "")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for tool in ("dpkg-deb", "lintian", "cpack"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is missing (scripts/setup installs it)")
            return SKIPPED
    made, words = pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    if "--make" in words:
        make(build, made)
        return 0
    claims = Claims()
    try:
        private = enter()
    except Impossible as reason:
        private = None
        print(f"     no package is installed: {reason}")
    packages = here(made)
    if "--joining" in words:
        if private is None:
            return SKIPPED
        joining.follow(claims, packages, private)
        return 1 if claims.failed else 0
    checked = lintian(packages)
    with tempfile.TemporaryDirectory(prefix="wattle-packages-") as folder:
        again = make(build, pathlib.Path(folder))
        claims.check("a second build has the same bytes", digests(packages) == digests(again))
    judge_lintian(claims, checked)
    read_back(claims, packages)
    if private:
        install(claims, packages, private)
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
