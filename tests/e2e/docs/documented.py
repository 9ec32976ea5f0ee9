"""documented: runs the commands of a docs/ page, extracted from the page.

Source   fenced blocks below a heading: `sh` runs unchanged in a shell that stops at the first failure; `yaml` is
         written to a file; `text` is compared, not run
Rules    name each command that cannot run here, with the reason, and each replacement of a line; a rule that matches
         nothing is an error, and so is a block of another kind, so that no block is skipped silently
Errors   Undocumented: page and rules do not match; Failed: a command failed; has its line on the page and its output
"""
import dataclasses
import pathlib
import re
import time
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import pace  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Undocumented(Exception):
    pass


class Failed(Exception):
    pass


@dataclasses.dataclass
class Block:
    kind: str
    text: str
    line: int  # on the page


def blocks_below(page: str, heading: str) -> list[Block]:
    """Returns the blocks below this heading, up to the next of the same or a higher level."""
    text = (ROOT / page).read_text(encoding="utf-8")
    begin = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    if not begin:
        raise Undocumented(f"{page} has no heading '{heading}'")
    end = re.search(rf"^#{{1,{len(begin.group(1))}}} ", text[begin.end():], re.MULTILINE)
    stop = begin.end() + end.start() if end else len(text)
    found = []
    for fence in FENCE.finditer(text, begin.end(), stop):
        indent, kind, inside = fence.groups()
        plain = "".join(line.removeprefix(indent) for line in inside.splitlines(keepends=True))
        found.append(Block(kind, plain, text.count("\n", 0, fence.start()) + 1))
    return found


class Walk:
    """One run through pages. `files`: a yaml block by words in it -> its file. `without`: words in an sh block -> why
    it is not run. `instead`: a line -> (its replacement, why). `again`: words in an sh block that only reads -> for how
    many seconds it is repeated until it succeeds, like a reader who waits for a result."""

    def __init__(self, page, run, write, files=None, without=None, instead=None, again=None):
        self.page, self.run, self.write = page, run, write
        self.files, self.without, self.instead, self.again = files or {}, without or {}, instead or {}, again or {}
        self.used = set()
        self.ran = 0

    def __call__(self, heading, page=None):
        """Returns the outputs of the blocks in order. `page`: continues on this page."""
        self.page = page or self.page
        return [self.take(block) for block in blocks_below(self.page, heading)]

    def rule(self, rules, text):
        found = [words for words in rules if words in text]
        self.used |= set(found)
        return rules[found[0]] if found else None

    def take(self, block):
        at = f"{self.page}:{block.line}"
        reason = self.rule(self.without, block.text)
        if reason:
            print(f"     {at}: not run: {reason}", flush=True)
            return ""
        if block.kind == "text":
            return ""
        if block.kind == "yaml":
            path = self.rule(self.files, block.text)
            if path is None:
                raise Undocumented(f"{at}: a yaml block that no rule gives a file:\n{block.text}")
            self.write(path, block.text)
            return ""
        if block.kind != "sh":
            raise Undocumented(f"{at}: a block of kind '{block.kind}': neither sh nor yaml")
        text = block.text
        for line in block.text.splitlines():
            other = self.rule(self.instead, line)
            if other is not None:
                print(f"     {at}: instead of '{line.strip()}': {other[1]}", flush=True)
                text = text.replace(line, other[0])
        end = time.monotonic() + (self.rule(self.again, text) or 0)
        code, said = self.run(text)
        while code != 0 and time.monotonic() < end:
            pace(1)
            code, said = self.run(text)
        self.ran += 1
        print(f"     {at}: {len(block.text.splitlines())} lines: exit {code}", flush=True)
        if code != 0:
            raise Failed(f"{at}: exit {code}\n{block.text}{said[-4000:]}")
        return said

    def finish(self):
        unused = [words for rules in (self.files, self.without, self.instead, self.again) for words in rules if words not in self.used]
        if unused:
            raise Undocumented(f"{self.page}: no block has any more: {unused}")
        return self.ran
