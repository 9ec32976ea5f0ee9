#!/usr/bin/env python3
"""completion_test: completion in real bash, zsh and fish offers at each command of a program exactly the words that its
--help lists.
Usage    completion_test.py PROGRAM FOLDER-OF-WHAT-IS-SHOWN     the latter has NAME.bash, NAME.zsh, NAME.fish of the
         build
Exit     0 fine, 1 a claim failed, 77 skipped: none of zsh and fish is installed. bash always is
"""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/e2e")]
sys.dont_write_bytecode = True
from demo_run import Claims  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import LATE_S, pace  # noqa: E402

PATIENCE_S = LATE_S
PROGRAM = pathlib.Path(sys.argv[1]).resolve()


def run(*words, **options):
    options.setdefault("env", os.environ | {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"})  # the scripts run the program
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=PATIENCE_S, **options)


class Help:
    """One command as its --help describes it: subcommands, options with their values, operands."""

    def __init__(self, program, path):
        self.path = path
        text = run(program, *path, "--help").stdout
        part = re.search(r"^Subcommands:\n((?:^ .*\n?)+)", text, re.M)
        self.commands = re.findall(r"^  ([a-z]+)(?:, [a-z]+)?(?: |$)", part.group(1), re.M) if part else []  # excludes aliases
        self.options = {}  # options of all groups
        for names, takes in re.findall(r"^  (-[-a-zA-Z,]+)(.*)$", text, re.M):
            self.options |= {name: takes.split("  ")[0].strip() for name in names.split(",")}
        part = re.search(r"^Positionals:\n((?:^ .*\n?)+)", text, re.M)
        self.operands = re.findall(r"^  (\S.*)$", part.group(1), re.M) if part else []

    def choices(self, takes):
        found = re.search(r"\{([^}]*)\}", takes)
        return found.group(1).split(",") if found else []


def commands_of(program, path=()):
    reported = Help(program, path)
    yield reported
    for name in reported.commands:
        yield from commands_of(program, (*path, name))


class Bash:
    def __init__(self, program, shown, folder):
        self.program, self.script, self.folder = program, shown / f"{program}.bash", folder

    def offers(self, line):
        ask = f'source "{self.script}"; COMP_LINE=$1 COMP_POINT=${{#1}}; _{self.program}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        ran = run("bash", "--norc", "--noprofile", "-uc", ask, "bash", line, cwd=self.folder)
        if ran.stderr:
            raise RuntimeError(f"bash: {line}: {ran.stderr}")
        return set(ran.stdout.split("\n")) - {""}


class Fish:
    def __init__(self, program, shown, folder):
        self.script, self.folder = shown / f"{program}.fish", folder

    def offers(self, line):
        ran = run("fish", "--no-config", "-c", f'source "{self.script}"; complete -C "$argv[1]"', line, cwd=self.folder, env=os.environ | {"HOME": str(self.folder), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"})
        if ran.stderr:
            raise RuntimeError(f"fish: {line}: {ran.stderr}")
        return {offer.split("\t")[0] for offer in ran.stdout.splitlines()}


class Zsh:
    """An interactive zsh, because only its line editor completes. Copies what compadd adds to a file."""
    SETUP = """
unset zle_bracketed_paste
fpath=({vendor} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits >>{out}
  builtin compadd "$@"
}}
ended() {{ print -r -- .END. >>{out}; comppostfuncs=(ended) }}
comppostfuncs=(ended)
zstyle ':completion:*' menu no
bindkey '^I' complete-word
print -r -- .READY. >>{out}
"""

    def __init__(self, program, shown, folder):
        vendor = folder / "zsh-vendor"
        vendor.mkdir()
        shutil.copy(shown / f"{program}.zsh", vendor / f"_{program}")
        self.out = folder / "zsh-offers"
        self.out.touch()
        setup = folder / "zsh-setup"
        setup.write_text(self.SETUP.format(vendor=vendor, out=self.out))
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb", "HOME": str(folder), "COLUMNS": "400", "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"})
        self.type(f"source {setup}\n")
        self.until(".READY.")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, mark):
        """Returns the file's text before the mark. Reads the terminal meanwhile, so that its buffer never fills."""
        os.set_blocking(self.terminal, False)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                os.read(self.terminal, 65536)
            except BlockingIOError:
                pace(0.01)
            text = self.out.read_text()
            if mark in text:
                self.out.write_text("")
                return text.split(mark)[0]
        raise RuntimeError(f"zsh did not print {mark}")

    def offers(self, line):
        self.type(f"\x15{line}\t")
        return set(self.until(".END.").split("\n")) - {""}

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def judge(claims, program, name, shell, reported, root):
    """Checks the completions of one command."""
    line = " ".join((program, *reported.path)) + " "
    everywhere = root.options if reported.path else {}

    def offers(claim, typed, wanted):
        offered = {each.rstrip("/") for each in shell.offers(line + typed)}
        claims.check(f"{name}: `{line}{typed}` {claim}", offered == set(wanted), f"too many: {offered - set(wanted)}, too few: {set(wanted) - offered}")

    def takes_what(typed, takes):
        choices = reported.choices(takes)
        if choices:
            offers(f"takes one of {choices}", typed, choices)
        elif re.search(r"(^| )FILE\b", takes):
            offers("takes a file", typed + "some-f", {"some-file", "some-folder"})
        elif re.search(r"(^| )DIR\b", takes):
            offers("takes a folder", typed + "some-f", {"some-folder"})

    if reported.commands:
        offers(f"has its {len(reported.commands)} commands", "", reported.commands)
        beginning = reported.commands[-1][:-1]
        offers("goes on", beginning, {each for each in reported.commands if each.startswith(beginning)})
    # fish offers short options only after a single '-'
    options = {each for each in {**reported.options, **everywhere} if each.startswith("--")}
    offers(f"has its {len(options)} options", "--", options)
    for option, takes in {**everywhere, **reported.options}.items():
        takes_what(f"{option} ", takes)
    if reported.operands:
        takes_what("", reported.operands[0])


def main():
    program, shown = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    kinds = {name: kind for name, kind in {"bash": Bash, "zsh": Zsh, "fish": Fish}.items() if shutil.which(name)}
    claims = Claims()
    reported = list(commands_of(program))
    claims.check(f"{len(reported)} commands are reported by --help", len(reported) > (20 if program.name == "wattle" else 2))
    for name in ("bash", "zsh", "fish"):
        claims.check(f"the build's script for {name} is what `{program.name} completion {name}` prints", (shown / f"{program.name}.{name}").read_text() == run(program, "completion", name).stdout)
    with tempfile.TemporaryDirectory(prefix="wattle-completion-") as folder:
        folder = pathlib.Path(folder)
        (folder / "some-file").touch()
        (folder / "some-folder").mkdir()
        for name, kind in kinds.items():
            shell = kind(program.name, shown, folder)
            for each in reported:
                judge(claims, program.name, name, shell, each, reported[0])
            if program.name == "wattle":
                # Preceding words are parsed: values with ':' and values of options are not commands.
                for line in ("wattle --server tcp://127.0.0.1:7462 ", "wattle --key=keys -o json "):
                    claims.check(f"{name}: behind `{line}` a command", shell.offers(line) == set(reported[0].commands), str(shell.offers(line)))
                # zsh shows options if it has no other completion
                behind = {each for each in shell.offers("wattle node keys ") if not each.startswith("-")}
                claims.check(f"{name}: behind a node's name there is nothing", behind == set(), str(behind))
            if name == "zsh":
                shell.close()
    missing = {"zsh", "fish"} - set(kinds)
    if missing:
        print(f"skipped: {', '.join(sorted(missing))} not installed (scripts/setup installs them)")
    return 1 if claims.failed else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
