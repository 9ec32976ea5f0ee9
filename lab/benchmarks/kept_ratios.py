"""kept_ratios: reads the ratios that the tree keeps for each benchmark, and finds the measured ones that are worse.

File     a JSON object, by name of a ratio: {"ratio": 0.92, "date": "2026-11-29"}. Ratios compare two programs in one run,
         so that they hold on other machines
Loss     for a rate, the lost share of the kept ratio; for a cost, the added share of it. More than MOST_LOSS fails
Errors   Unusable: the message names the file and the key
"""
import datetime
import json
import math
import pathlib

MOST_LOSS = 0.15
RATE, COST = "rate", "cost"  # more is better, less is better
FIX = "measure it again with ratios.py --write"


class Unusable(Exception):
    """The file of kept ratios cannot be used; the message has the file, the key and a fix."""


def is_ratio(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def is_date(value):
    try:
        return isinstance(value, str) and datetime.date.fromisoformat(value) is not None
    except ValueError:
        return False


def read(path, names):
    """Returns the kept ratio of each name. Each name must have one, and the file may have no other."""
    try:
        kept = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"{path}: cannot be read: {error.strerror} ({FIX})") from error
    except ValueError as error:
        raise Unusable(f"{path}: is not JSON: {error} ({FIX})") from error
    if not isinstance(kept, dict):
        raise Unusable(f"{path}: is not a JSON object by name of a ratio ({FIX})")
    for name in names:
        if name not in kept:
            raise Unusable(f'{path}: key "{name}" is missing ({FIX})')
    for name, entry in kept.items():
        if name not in names:
            raise Unusable(f'{path}: key "{name}" names no benchmark (remove it)')
        for key, fits, what in (("ratio", is_ratio, "a finite number above 0"), ("date", is_date, "a date such as 2026-11-29")):
            if not isinstance(entry, dict) or not fits(entry.get(key)):
                raise Unusable(f'{path}: key "{name}.{key}" is not {what} ({FIX})')
    return {name: kept[name]["ratio"] for name in names}


def write(path, measured, date):
    """Replaces the entries of the measured names and keeps the others, so that one benchmark can be measured alone."""
    path = pathlib.Path(path)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept |= {name: {"ratio": round(ratio, 3), "date": date} for name, ratio in measured.items()}
    path.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")


def loss(kind, kept, measured):
    """Returns the lost share, below 0 for a gain. A ratio that is not a number is a total loss."""
    if not is_ratio(measured):
        return math.inf
    return 1 - measured / kept if kind == RATE else measured / kept - 1


def lost(kinds, kept, measured):
    """Returns {name: loss} of the measured ratios that lost more than MOST_LOSS."""
    losses = {name: loss(kinds[name], kept[name], ratio) for name, ratio in measured.items()}
    return {name: each for name, each in losses.items() if each > MOST_LOSS}
