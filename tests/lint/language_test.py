#!/usr/bin/env python3
"""language_test: comments, messages and docs use plain English (STYLE.md); the number of breaches only falls.

Looks at   comments and strings of the product's C++ and of the page's scripts, the Markdown of docs/, the pages at the
           top of the tree and of each folder, and, for words, the files that operators read in OPERATORS; comments,
           docstrings and names of cases and claims in tests/, scripts/ and lab/ (TESTS)
Rules      openings   comment blocks of headers that open with a function word; in TESTS, comments, docstrings and names
                      that open with one of TEST_OPENINGS
           words      private words for which the field has a term (the table WORDS)
           columns    comment lines that are longer than 120 characters
           sentences  sentences in docs that have more than 35 words
           starts     sentences in docs that begin with Of, Who, Likewise or What
Limits     the table LIMITS. A change that rewrites text lowers the limit in the same commit; no change raises one
Usage      language_test.py [--self-test | --list RULE]     --list prints each breach as file:line: text
Exit       0 within the limits, 1 beyond one, or far enough below it that it must be lowered
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("actuator/", "agent/", "cli/", "common/", "controller/", "load/", "models/", "placement/", "provision/", "shim/", "sim/", "lab/")
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
OPERATORS = re.compile(r"k8s/chart/(alerts/.*|templates/.*|values\.yaml)|k8s/dashboards\.py|cmake/packages\.cmake|systemd/.*")
LIMITS = {"openings": 0, "words": 1, "columns": 0, "sentences": 0, "starts": 0}
SLACK = 0.1  # below a limit by more than this share, the limit must be lowered
OPENINGS = set("of it they whether what who whoever likewise as nothing nobody null: absent: empty where its in by with to from so those one none".split())
TEST_OPENINGS = set("of it its what who whose whoever whether likewise nothing nobody those".split())
WORDS = {
    "tell, told, tells": "report, return, log",
    "mend, mends, mended": "fix",
    "anew": "again, from scratch",
    "nobody": "the real subject: no agent, no client",
    "whoever": "the real subject",
    "had better": "should",
    "of late": "recently, recent",
}
WORD = re.compile(r"\b(" + "|".join(word for words in WORDS for word in words.split(", ")) + r")\b", re.I)
COMMENT = re.compile(r"^\s*//+ ?(.*)")
TRAILING = re.compile(r"(?:^|\s)//+ ?(.*)$")
# Without the scripts whose text is the key of a cache.
TESTS = re.compile(r"(?:scripts/(?!sysroot$|zeromq$)[^.]*|(?:scripts|lab|tests/(?!fixtures/|lint/(?:language|names)_test))/?.*(?:\.py|\.[ch]pp|\.mjs|\.sh|\.cmake|CMakeLists\.txt))")
TEST_TEXT = re.compile(r'(?:^|\s)(?://+|#|/\*|""") ?(\w.*)')
TEST_NAME = re.compile(r"""(?:CASE(?:_FIXTURE)?|claim|check)\((?:\w+, )?f?(["'`])(.*?)\1""")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
WORDS_OF_A_SENTENCE = 35
COLUMNS = 120


def cpp_breaches(name, text):
    """Yields (rule, line, text) of each breach in one C++ file."""
    before = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.match(line)
        if comment and len(line) > COLUMNS:
            yield "columns", number, line.strip()
        if name.endswith(".hpp") and comment and not before and comment.group(1):
            if comment.group(1).split(" ")[0].lower() in OPENINGS:
                yield "openings", number, line.strip()
        before = bool(comment)
        prose = " ".join(STRING.findall(line)) + " " + " ".join(TRAILING.findall(STRING.sub('""', line)))
        for word in WORD.findall(prose):
            yield "words", number, f"{word}: {line.strip()}"


def test_breaches(text):
    """Yields (rule, line, text) of each breach in a test or script."""
    before = inside = False
    for number, line in enumerate(text.splitlines(), 1):
        texts, names = TEST_TEXT.findall(line), [name for _, name in TEST_NAME.findall(line)]
        for opening in (texts if TEST_TEXT.match(line) and not before else []) + names:
            if opening.split(" ")[0].lower() in TEST_OPENINGS:
                yield "openings", number, line.strip()
        before = line.lstrip().startswith(("//", "#"))
        for word in WORD.findall(" ".join(texts + names + [line] * inside)):
            yield "words", number, f"{word}: {line.strip()}"
        inside = (inside or bool(re.match(r'\s*"""\w', line))) and (inside + line.count('"""')) % 2 == 1


def sentences_of(text):
    """Yields (line, sentence) of Markdown prose: no code, tables, headings or links' targets."""
    text = re.sub(r"^(```|~~~)[\s\S]*?^\1.*$", lambda m: "\n" * m.group().count("\n"), text, flags=re.M)
    text = re.sub(r"\A---\n[\s\S]*?\n---\n", lambda m: "\n" * m.group().count("\n"), text)
    paragraph, start = [], 1
    lines = text.splitlines() + [""]
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        item = re.match(r"(?:[-*+]|\d+\.)\s+(.*)", bare)
        ends = not bare or bare.startswith(("#", "|", "<", "!!!", "    ")) or item
        if ends and paragraph:
            whole = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`code`", " ".join(paragraph)))
            for sentence in re.split(r"(?<=[.!?:])[*_\")]*\s+(?=[A-Z*_\"`\[])", whole):
                yield start, sentence.strip("*_ ")
            paragraph = []
        if item:
            paragraph, start = [item.group(1)], number
        elif not ends:
            if not paragraph:
                start = number
            paragraph.append(bare)


def docs_breaches(text):
    for number, sentence in sentences_of(text):
        if len(re.findall(r"[\w'’.,%/-]*\w[\w'’.,%/-]*", sentence)) > WORDS_OF_A_SENTENCE:
            yield "sentences", number, sentence
        if re.match(r"(?:Of|Who|Likewise|What)\b", sentence) and not sentence.endswith("?"):
            yield "starts", number, sentence
        for word in WORD.findall(sentence):
            yield "words", number, f"{word}: {sentence}"


def all_breaches():
    for name in subprocess.check_output(["git", "-C", str(ROOT), "ls-files"], text=True).split("\n"):
        path = ROOT / name
        if (name.startswith(PRODUCT) and name.endswith((".cpp", ".hpp")) or re.fullmatch(r"web/\w+\.js", name)) and path.is_file():
            found = cpp_breaches(name, path.read_text(encoding="utf-8"))
        elif (name in TOP or re.fullmatch(r"[a-z0-9]+/README\.md|docs/.*\.md", name)) and path.is_file():
            found = docs_breaches(path.read_text(encoding="utf-8"))
        elif TESTS.fullmatch(name) and path.is_file():
            found = test_breaches(path.read_text(encoding="utf-8"))
        elif OPERATORS.fullmatch(name) and path.is_file():
            lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            found = [("words", number, f"{word}: {line.strip()}") for number, line in lines for word in WORD.findall(line)]
        else:
            continue
        for rule, number, text in found:
            yield rule, name, number, text


def self_test():
    code = ('// Of one that has a thread.\n// It waits.\nint a;  // nobody calls it\nlog("it is told anew");\n// ' + "x" * 120 + "\n// Fits a curve.\n")
    rules = [rule for rule, _, _ in cpp_breaches("a.hpp", code)]
    expected = {"openings": 1, "words": 3, "columns": 1}
    page = "# Of titles\n\nWho reads this? Of that, more.\n\n```\nOf code\n```\n\n- " + "word " * 36 + ".\n| Of | tables |\n"
    docs = [rule for rule, _, _ in docs_breaches(page)]
    wrong = [f"{rule}: {rules.count(rule)} found, {count} expected" for rule, count in expected.items() if rules.count(rule) != count]
    script = [rule for rule, _, _ in test_breaches('"""Of a node.\n\nIt is told.\n"""\ncheck("what nobody wants", 1)\nx = "told"  # mends it\n# Fits a curve.\n# of power\n')]
    wrong += [f"tests: {script}"] if sorted(script) != ["openings"] * 2 + ["words"] * 3 else []
    wrong += [f"docs: {docs}"] if sorted(docs) != ["sentences", "starts"] else []
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    found = list(all_breaches())
    if "--list" in sys.argv:
        for rule, name, number, text in found:
            if rule == sys.argv[sys.argv.index("--list") + 1]:
                print(f"{name}:{number}: {text}")
        return 0
    counts = {rule: sum(one[0] == rule for one in found) for rule in LIMITS}
    failed = 0
    for rule, limit in LIMITS.items():
        verdict = "ok"
        if counts[rule] > limit:
            verdict = f"more than the limit of {limit}: rewrite what the change adds (language_test.py --list {rule})"
        elif counts[rule] < limit * (1 - SLACK):
            verdict = f"well below the limit of {limit}: lower it in LIMITS"
        failed += verdict != "ok"
        print(f"{rule:10} {counts[rule]:6}  {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
