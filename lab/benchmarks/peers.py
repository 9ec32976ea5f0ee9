#!/usr/bin/env python3
"""peers: builds other node agents from their published sources; agent_cost.py runs them together with wattle-agent.

Usage    peers.py [NAME...]           builds the named peers (default: all) unless they are built; prints their folders
         agent_cost.py --peer NAME    builds the peer if needed, and runs it
Builds   with the Go tools and their configured module proxy, in ${XDG_CACHE_HOME:-~/.cache}/wattle/peers, one at a time
         at low priority
Runs     each in a separate mount namespace with the v2 hierarchy at /sys/fs/cgroup, so that all read the same cgroups,
         on hybrid machines too
cadvisor           its library with our main function (cadvisor_main.go), every cgroup each second, default metrics. It
                   keeps two minutes of history: --warm-up 125 shows its full RSS
cadvisor-dynamic   the same with the default of its own program: idle cgroups as rarely as once a minute
kepler             its exporter, with 1 s instead of 3 s between readings. It follows processes, not cgroups; without a
                   kubelet it cannot distinguish containers. Its BPF program for page cache hits needs fexit; kernels
                   without a function tracer refuse it, and then the exporter does not start. The build omits this
                   program, which lowers Kepler's cost. The cost of its other BPF programs is charged to the
                   processes that they interrupt, and appears in no row
Not here Scaphandre 1.0.0 builds from crates.io, but exits at start on a kernel without /proc/modules, and measures only
         when scraped; the module proxy has neither Kepler from 0.10 on nor cAdvisor's own program
Needs    Go to build and root to run; the project itself needs neither Go nor the peers
Exit     0 all requested peers are built; 1 failed, with the reason
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

MAIN = pathlib.Path(__file__).resolve().parent / "cadvisor_main.go"
NO_FEXIT = ('	page := specs.Programs["kepler_read_page_trace"]\n'
            '	page.Type, page.AttachType, page.AttachTo = ebpf.TracePoint, ebpf.AttachNone, ""\n')
# Builds: module, version, package in it, files to add, lines to insert before a line, folders to keep.
BUILDS = {
    "cadvisor": {"module": "github.com/google/cadvisor", "version": "v0.53.0", "package": "./cmd/cadvisor",
                 "add": {"cmd/cadvisor/main.go": MAIN}, "insert": {}, "keep": {}},
    "kepler": {"module": "github.com/sustainable-computing-io/kepler", "version": "v0.9.0", "package": "./cmd/exporter", "add": {},
               "insert": {"pkg/bpf/exporter.go": ("	// Load the eBPF program(s)\n", NO_FEXIT)}, "keep": {"data": "lib/kepler/data"}},
}
# Commands: build name, then arguments. PORT and HOME (its cache folder) are substituted. Kepler reads its models from
# /var/lib.
RUNS = {
    "cadvisor": ("cadvisor", "exec HOME/cadvisor -fixed -address 127.0.0.1:PORT"),
    "cadvisor-dynamic": ("cadvisor", "exec HOME/cadvisor -address 127.0.0.1:PORT"),
    "kepler": ("kepler", "mount --bind HOME/lib /var/lib && SAMPLE_PERIOD_SEC=1 exec HOME/kepler -apiserver=false -address 127.0.0.1:PORT"),
}


class Missing(Exception):
    """The peer cannot be built here; the message has the reason."""


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "wattle/peers"


def run_go(arguments, folder):
    done = subprocess.run(["nice", "-n", "10", "go", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"go {' '.join(arguments)} failed: " + (done.stderr or done.stdout).strip()[-400:])
    return done.stdout


def build(name):
    """Builds the program once and returns its folder."""
    what = BUILDS[name]
    print_of = hashlib.sha256(json.dumps(what, default=lambda path: path.read_text(encoding="utf-8")).encode())
    home = cache() / f"{name}-{what['version']}-{print_of.hexdigest()[:8]}"
    if (home / name).exists():
        return home
    if not shutil.which("go"):
        raise Missing("the Go tools are not installed")
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache()) as made:
        made, source = pathlib.Path(made), pathlib.Path(made) / "source"
        module = json.loads(run_go(["mod", "download", "-json", f"{what['module']}@{what['version']}"], made))["Dir"]
        shutil.copytree(module, source, copy_function=shutil.copyfile)  # the module's cache is read-only
        for folder in [source, *(path for path in source.rglob("*") if path.is_dir())]:
            folder.chmod(0o755)
        for path, text in what["add"].items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(text, source / path)
        for path, (line, before) in what["insert"].items():
            text = (source / path).read_text(encoding="utf-8")
            if text.count(line) != 1:
                raise Missing(f"{what['module']} {what['version']} has changed: {path} has {text.count(line)} times {line.strip()!r}")
            (source / path).write_text(text.replace(line, before + line), encoding="utf-8")
        out = made / "out"
        out.mkdir()
        run_go(["build", "-p", "1", "-mod=mod", "-trimpath", "-o", str(out / name), what["package"]], source)
        for path, kept in what["keep"].items():
            shutil.copytree(source / path, out / kept)
        shutil.rmtree(home, ignore_errors=True)
        out.rename(home)
    return home


def command(name, port, v2_root):
    """Returns the command and the URL that it serves, or raises Missing."""
    if name not in RUNS:
        raise Missing(f"unknown peer: use one of {', '.join(RUNS)}")
    built, words = RUNS[name]
    home = build(built)
    words = words.replace("HOME", str(home)).replace("PORT", str(port))
    see = "true" if str(v2_root) == "/sys/fs/cgroup" else f"mount --bind {v2_root} /sys/fs/cgroup"
    return ["unshare", "--mount", "sh", "-c", f"{see} && {words}"], f"http://127.0.0.1:{port}/metrics"


def main():
    failed = False
    for name in sys.argv[1:] or BUILDS:
        if name not in BUILDS:
            sys.exit(f"peers: {name} is unknown: use one of {', '.join(BUILDS)}")
        try:
            print(build(name) / name)
        except Missing as why:
            print(f"peers: no {name}: {why}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
