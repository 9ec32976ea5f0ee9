#!/usr/bin/env python3
"""colours_test: on the page, each colour has one meaning in both themes.

Source   the variables of web/style.css, and the names that web/*.js draws with
Units    distance in CIELAB (1976); contrast as in WCAG
Exit     0 fine, 1 two meanings look alike, one is hard to see, or a name has no colour"""
import itertools
import pathlib
import re
import sys

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
MEANINGS = ("accent", "measured", "estimated", "cores", "modelled", "waiting", "latency", "reward", "loss", "decisions", "pods", "good", "warn", "bad")
TEXTS = ("accent", "good", "warn", "bad", "text", "dim")  # colours that are also used for text
APART, SEEN, READ = 15, 3, 4.5


def themes(style):
    """Yields (name, variable -> colour) of the light and of the dark theme."""
    for name, body in re.findall(r'^:root(\[data-theme="dark"\])? \{(.*?)^\}', style, re.M | re.S):
        yield "dark" if name else "light", dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", body))


def linear(colour):
    digits = colour[1:] if colour[4:] else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour):
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour)))


def lab(colour):
    red, green, blue = linear(colour)
    white = ((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505, luminance(colour), (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089)
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in white)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, other):
    return sum((a - b) ** 2 for a, b in zip(lab(one), lab(other))) ** 0.5


def contrast(one, other):
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def findings():
    named = set()
    for file in WEB.glob("*.js"):
        named |= set(re.findall(r"(?:colour|dot)(?::|\()\s?'(\w+)'", file.read_text(encoding="utf-8")))
    for theme, colours in themes((WEB / "style.css").read_text(encoding="utf-8")):
        yield from (f"{theme}: a script draws with --{name}, which has no colour" for name in sorted(named - set(colours)))
        for one, other in itertools.combinations(MEANINGS, 2):
            if apart(colours[one], colours[other]) < APART:
                yield f"{theme}: --{one} and --{other} look alike: {apart(colours[one], colours[other]):.0f} apart, at least {APART} needed"
        for name in (*MEANINGS, "text", "dim"):
            least = READ if name in TEXTS else SEEN
            if contrast(colours[name], colours["panel"]) < least:
                yield f"{theme}: --{name} is hard to see on a panel: contrast {contrast(colours[name], colours['panel']):.1f}, at least {least} needed"


def main():
    found = list(findings())
    print("\n".join(found) or "colours: each has one meaning")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
