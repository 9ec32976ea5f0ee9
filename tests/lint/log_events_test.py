#!/usr/bin/env python3
"""log_events_test: log lines follow one grammar, and docs/reference/log-events.md lists every event.

Source   calls of Log::debug, info, warn and error in the programs' C++
Rules    the event is a literal of the form component.event; the message is a literal sentence that starts in lower case,
         contains no value and has no full stop
Usage    log_events_test.py [--write]     --write: generates the page
Exit     0 if the rules hold and the page matches; else 1 with a line for each breach
"""
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/log-events.md"
PROGRAMS = {"agent": "wattle-agent", "actuator": "wattle-actuator", "controller": "wattle-controller", "shim": "wattle-shim", "common": "several", "sim": "wattle-sim"}
LISTED = set(PROGRAMS.values()) - {"wattle-sim"}  # no operator runs the simulated nodes
CALL = re.compile(r"\b\w*[lL]og\w*(?:\(\))?\s*(?:\.|->)\s*(debug|info|warn|error)\(\s*")
LITERALS = re.compile(r'"((?:[^"\\]|\\.)*)"\s*,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
# Functions that pass event and message on to a log.
HANDED = re.compile(r'\b(?:log_once|log_restored|failed)\((?:\w+, )?\s*"(\w+\.\w+)"\s*,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
HEAD = """# Log events

Every program logs one JSON object per line to standard error, or text on a terminal. Each line has the fields `time`,
`level`, `program`, `event` and `message`, and the values of the event as further fields.

- `event` is stable. Alerts and scripts can match it.
- `message` is a sentence for people. It may change between versions.

<!-- Made by tests/lint/log_events_test.py --write: change the programs and run it. -->
"""
GROUPS = (("error", "Errors"), ("warn", "Warnings"))
INFO = "Events of level `info` or `debug`: {}."


def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def calls():
    """Yields (file, line, level, event, message) of each call; event and message are None if they are not literals."""
    for name in subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "*.cpp"], text=True).split():
        if name.split("/")[0] not in PROGRAMS:
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        for match in CALL.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found = LITERALS.match(text, match.end())
            if found:
                yield name, line, match[1], found[1], joined(found[2])
            elif text[match.end():].startswith('"'):
                yield name, line, match[1], None, None
        for match in HANDED.finditer(text):
            level = "info" if "log_restored" in match[0] else "warn" if "log_once" in match[0] else "error"
            yield name, text.count("\n", 0, match.start()) + 1, level, match[1], joined(match[2])


def main():
    breaches, rows = [], set()
    for name, line, level, event, message in calls():
        where = f"{name}:{line}"
        if event is None:
            breaches.append(f"{where}: an event needs a message: log.{level}(\"component.event\", \"message\", ...)")
            continue
        if not re.fullmatch(r"[a-z_]+\.[a-z_]+", event):
            breaches.append(f"{where}: {event!r} is not component.event")
        if not re.match(r"[a-z]", message) and not message.startswith(("Prometheus", "API")) or message.endswith(".") or "%" in message:
            breaches.append(f"{where}: {message!r} is not a sentence in lower case without values")
        rows.add((PROGRAMS[name.split("/")[0]], event, level, message))
    page = HEAD
    for program in sorted(LISTED & {row[0] for row in rows}, key=lambda name: (name == "several", name)):
        page += f"\n## {'Several programs' if program == 'several' else program}\n"
        own = [row[1:] for row in sorted(rows) if row[0] == program]
        for wanted, title in GROUPS:
            items = [textwrap.fill(f"- `{event}`: {message}", 120, subsequent_indent="  ", break_on_hyphens=False) for event, level, message in own if level == wanted]
            page += f"\n{title}:\n\n" + "\n".join(items) + "\n" if items else ""
        quiet = sorted({f"`{event}`" for event, level, _ in own if level in ("info", "debug")})
        page += "\n" + textwrap.fill(INFO.format(", ".join(quiet)), 120, break_on_hyphens=False) + "\n" if quiet else ""
    if "--write" in sys.argv:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page:
        breaches.append("docs/reference/log-events.md differs: run tests/lint/log_events_test.py --write")
    for breach in breaches:
        print(breach)
    print(f"{len(rows)} events, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
