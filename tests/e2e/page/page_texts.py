"""page_texts: extracts the texts that the page can show from its sources, as patterns, to find texts that no test saw.

Source   web/*.js and web/index.html; texts are string literals and templates, except those whose context excludes text
Gives    Text(file, line, text, pattern): `pattern` matches the text on a page, with any value for a template's
         expressions
"""
import html.parser
import pathlib
import re
from typing import NamedTuple

TOKEN = re.compile(r"""\s+|//[^\n]*|/\*.*?\*/|(?P<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|(?P<name>[\w$]+)|(?P<mark>=>|[=!]==?|\.\.\.|.)""", re.S)
REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
# Arguments of these functions and values of these keys are for the browser or the controller.
CALLS = {"h", "get", "ask", "fetch", "listen", "querySelector", "querySelectorAll", "getElementById", "addEventListener", "removeEventListener", "setAttribute",
         "removeAttribute", "getAttribute", "getPropertyValue", "setProperty", "startsWith", "matchMedia", "getItem", "Event", "createElement", "getContext", "NumberFormat",
         "toLocaleTimeString", "toLocaleString", "split", "colour", "link", "set", "panelOf", "EventSource", "padStart", "has", "closest", "placed", "placedChoice", "RegExp", "dot", "toLocaleDateString", "valToPos"}
KEYS = {"class", "type", "role", "width", "sort", "scope", "autocomplete", "spellcheck", "tabindex", "what", "order", "colour", "for", "id", "size", "min", "max", "step", "font", "roundingMode",
        "hour", "minute", "second", "credentials", "method", "name", "href", "stroke", "aria-live", "colspan", "behavior", "at", "state"}


class Text(NamedTuple):
    file: str
    line: int
    text: str
    pattern: re.Pattern
    whole: bool  # a single word, which is shown as it is


def tokens(source):
    """Yields (kind, text, start and end). A template is one token whose text is a list of its fixed parts; its
    expressions are separate tokens."""
    out, at = [], 0

    def template(at):
        parts, part = [], ""
        while source[at] != "`":
            if source[at] == "\\":
                part, at = part + source[at + 1], at + 2
            elif source.startswith("${", at):
                parts, part = [*parts, part], ""
                at = run(at + 2, "}")
            else:
                part, at = part + source[at], at + 1
        return [*parts, part], at + 1

    def run(at, end):
        depth = 0
        while at < len(source):
            before = out[-1] if out else ("mark", ";", 0, 0)
            if source[at] == "`":
                place = len(out)
                parts, after = template(at + 1)
                out.insert(place, ("template", parts, at, after))
                at = after
                continue
            if source[at] == "/" and source[at + 1] not in "/*" and before[0] == "mark" and before[1] not in ")]}":
                at = REGEX.match(source, at).end()
                out.append(("regex", "", at, at))
                continue
            if not depth and source[at] == end:
                return at + 1
            found = TOKEN.match(source, at)
            depth += {"{": 1, "}": -1}.get(found.group(), 0)
            kind = found.lastgroup
            if kind == "string":
                out.append(("string", [found.group()[1:-1].replace("\\'", "'")], at, found.end()))
            elif kind:
                out.append((kind, found.group(), at, found.end()))
            at = found.end()
        return at

    run(at, "")
    return out


def is_text(all_tokens, i):
    """Returns whether the literal at this place may be shown, by its context."""
    def at(j):
        return all_tokens[j][1] if 0 <= j < len(all_tokens) and all_tokens[j][0] in ("name", "mark") else ""
    if at(i - 1) in ("from", "import", "===", "!==", "case", "typeof", "in") or at(i + 1) in ("===", "!==", "in"):
        return False
    if at(i - 1) == "(" and at(i - 2) in CALLS:
        return False
    if at(i - 1) == "[" and all_tokens[i - 2][0] == "name":  # the key of an object
        return False
    if at(i + 1) == ":" and at(i - 1) in ("{", ","):  # the value of a key
        return False
    if at(i - 1) == "[" and at(i - 2) in ("[", ",") and re.fullmatch(r"[a-z0-9]\w*", "".join(all_tokens[i][1])):  # a pair: a name, then its shown text
        return False
    if at(i - 1) == ":":
        key = all_tokens[i - 2]
        return (key[1][0] if key[0] == "string" else key[1]) not in KEYS
    return True


def depth_of(all_tokens, i):
    """Returns whether the literal is inside a template expression, whose token precedes it."""
    return next((1 for kind, parts, at, end in reversed(all_tokens[:i]) if kind == "template" and at < all_tokens[i][2] < end), 0)


def texts_of(file, source):
    found = tokens(source)
    for i, (kind, parts, at, _) in enumerate(found):
        if kind not in ("string", "template") or not re.search("[A-Za-z]", "".join(parts)) or not is_text(found, i):
            continue
        fixed = [re.sub(r"\\u(\w{4})", lambda m: chr(int(m.group(1), 16)), part) for part in parts]
        pattern = ".*".join(re.sub(r"(\\\s|\s)+", r"\\s+", re.escape(part.strip() if kind == "string" else part)) for part in fixed)
        word = kind == "string" and re.fullmatch(r"[A-Za-z]+", parts[0]) and depth_of(found, i) == 0
        yield Text(file, source.count("\n", 0, at) + 1, "${}".join(fixed), re.compile(pattern, re.S), bool(word))


class Shown(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.within = [], ""

    def handle_starttag(self, tag, attrs):
        self.within = tag
        self.found += [(self.getpos()[0], value) for name, value in attrs if name in ("aria-label", "alt", "title", "placeholder") and value]

    def handle_data(self, data):
        if data.strip():
            self.found.append((self.getpos()[0], data.strip()))


def page_texts(web):
    out = []
    for file in sorted(pathlib.Path(web).glob("*.js")):
        out += texts_of(file.name, file.read_text(encoding="utf-8"))
    shown = Shown()
    shown.feed((pathlib.Path(web) / "index.html").read_text(encoding="utf-8"))
    return out + [Text("index.html", line, text, re.compile(re.escape(text)), False) for line, text in shown.found]


def unseen(texts, seen):
    """Returns the texts that no line of `seen` matches."""
    lines = {line.strip() for line in seen}
    whole = "\n".join(lines)

    def found(text):
        if text.whole:
            return text.text in lines
        if "${}" in text.text:
            return any(text.pattern.search(line) for line in lines)
        return text.pattern.search(whole)
    return [text for text in texts if not found(text)]


if __name__ == "__main__":
    for each in page_texts(pathlib.Path(__file__).resolve().parents[3] / "web"):
        print(f"{each.file}:{each.line}: {each.text!r}")
