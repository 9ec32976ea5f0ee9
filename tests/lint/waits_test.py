#!/usr/bin/env python3
"""waits_test: tests wait for events, in the classes of tests/patience.hpp and tests/e2e/patience.py, which one factor
(WATTLE_PATIENCE) scales, and properties count.

Refuses   a bare sleep, and a timeout or deadline of literal seconds, outside those files; a property without CHECK
Usage     waits_test.py [--self-test]
Fix       wait_until() for an event, let_a_moment_pass() for an event that must not happen, pace() for time that is part of the input;
          soon() and late(), SOON_S, LATE_S and AGES_S for limits
"""
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = ("tests/patience.cpp", "tests/patience.hpp", "tests/e2e/patience.py")
# Programs of tests/e2e/machine run inside a virtual machine without a patience module, and sample the kernel at fixed
# rates.
EXEMPT = ("tests/e2e/machine/", "tests/e2e/docs/hand_", "tests/lint/waits_test.py", "tests/harness/")
# Programs that a test starts as text: they sleep to create a load of a known size.
ALLOWED = {
    "tests/integration/actuator/kernel_test.py": ('BURN = "', 's.settimeout(30)'),
    "tests/integration/actuator/kills_test.py": ('WORK = "',),
    "tests/integration/agent/answers_test.py": ("time.sleep({LONG_S}",),
    "tests/unit/controller/fake_power.hpp": ("Status sleep(const Node&",),  # sleep of a node, not of the test
    "tests/unit/controller/power_cycles_test.cpp": ("Status sleep(const Node&",),
    "tests/e2e/chaos/delay_proxy.py": ("asyncio.sleep(max(0, due - clock()))",),
}
SECONDS = r"(?:[1-9]\d*(?:s|min)\b|(?:std::chrono::)?(?:seconds|minutes)[({][1-9])"
CPP = (
    (r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.:>\"/])sleep\(", "a bare sleep"),
    (rf"\b(?:request|query|ask|snapshot|wait_for)\((?:.*[ ,(])?{SECONDS}.*\)", "a limit of literal seconds"),
    (rf"\breceive\({SECONDS}", "a limit of literal seconds"),
    (rf"\b(?:until|end|patience|deadline) = .*mono\(\) \+ {SECONDS}", "a deadline of literal seconds"),
    (rf"\bk\w*[pP]atience\w*(?: = |\{{)(?:[1-9]|{SECONDS})", "a limit of literal seconds"),
    (r"\btimeval \w+\{[1-9]", "a limit of literal seconds"),
    (r"^\s*rc::check\(", "a property that nothing checks; write CHECK(rc::check(...))"),
)
LITERAL = r"[1-9][\d.]*(?![\d.]| \*)"  # a multiple of a class is no literal limit
PYTHON = (
    (r"\b(?:time|asyncio)\.sleep\(", "a bare sleep"),
    (rf"\btimeout ?= ?{LITERAL}", "a limit of literal seconds"),
    (rf"(?<!Demo\(binaries, )\bseconds ?= ?{LITERAL}", "a limit of literal seconds"),
    (r"\.(?:wait|join|settimeout)\([1-9]", "a limit of literal seconds"),
    (r"\bmonotonic\(\) \+ [1-9]", "a deadline of literal seconds"),
    (rf"^PATIENCE\w* = {LITERAL}", "a limit of literal seconds"),
)


WAITS = {"wait_until", "until", "holds", "wait_for", "ended", "end"}  # functions with a limit as the last argument


def literal_limits(name, text):
    """Yields calls of WAITS with a number as the last argument, also over several lines."""
    if not re.search(r"(?:,|ended\(|end\()\s*[1-9]\d*\)", text):
        return
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # part of the self-test
        return
    for call in nodes:
        called = getattr(getattr(call, "func", None), "attr", getattr(getattr(call, "func", None), "id", None))
        if isinstance(call, ast.Call) and called in WAITS and call.args and isinstance(call.args[-1], ast.Constant) and type(call.args[-1].value) in (int, float) and call.args[-1].value <= 3600:
            yield f"{name}:{call.end_lineno}: a limit of literal seconds: {ast.unparse(call)[:120]}"


def breaches(name, text):
    rules = PYTHON if name.endswith(".py") else CPP
    if rules is PYTHON:
        yield from literal_limits(name, text)
    for number, line in enumerate(text.splitlines(), 1):
        if any(part in line for part in ALLOWED.get(name, ())) or line.lstrip().startswith(("//", "#", "TEST_CASE")):
            continue
        for pattern, what in rules:
            if re.search(pattern, line):
                yield f"{name}:{number}: {what}: {line.strip()[:120]}"
                break


def self_test():
    wrong = {
        "tests/a.cpp": ("std::this_thread::sleep_for(2s);", "::usleep(20'000);", 'client.request("GET", "/", "", 20s);', "const MonoTime until = clock.mono() + 30s;",
                        "const timeval patience{20, 0};", "inline constexpr std::chrono::seconds kPatience{60};", "client.ask(pod, std::chrono::seconds(20));", "REQUIRE(shim.snapshot(20s));", "  rc::check([] {"),
        "tests/a.py": ("time.sleep(2)", "subprocess.run(words, timeout=60)", "def until(what, seconds=120):", "process.wait(30)", "end = time.monotonic() + 60",
                       'wait_until("it is back", lambda: back(), 90)', "screen.until('keys',\n    there, 60)", "PATIENCE = 240", "s.settimeout(5)"),
    }
    right = {
        "tests/a.cpp": ("wait_until([&] { return done; });", 'client.request("GET", "/", "", wattle::tests::soon());', "clock.advance(20s);", "CHECK(rc::check([] {", "rig.step(30s);",
                        '// sleep_for is refused', "pace(20ms);"),
        "tests/a.py": ("pace(0.2)", "subprocess.run(words, timeout=SOON_S)", "with Demo(binaries, seconds=40) as demo:", 'wait_until("it is back", back)', "s.settimeout(0.05)", "PATIENCE = 2 * AGES_S"),
    }
    failed = [f"not refused: {line}" for name, lines in wrong.items() for line in lines if not list(breaches(name, line))]
    failed += [f"refused: {line}" for name, lines in right.items() for line in lines if list(breaches(name, line))]
    return failed


def main():
    if "--self-test" in sys.argv[1:]:
        found = self_test()
    else:
        found = []
        for path in sorted((ROOT / "tests").rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.suffix in (".cpp", ".hpp", ".py") and name not in CLASSES and not name.startswith(EXEMPT):
                found += breaches(name, path.read_text(encoding="utf-8"))
    for line in found:
        print(line)
    print(f"waits: {len(found) or 'no'} breach{'es' if len(found) > 1 else ''}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
