#!/usr/bin/env python3
"""audit_test: the audit reports each violation of its law that the test introduces into correct files."""
import sys
import types

from audit import audit


def books():
    """Writes correct files of node a: 1-3 and 6 in the store, 4-5 reported as dropped, 7 still in the spool."""
    store = types.SimpleNamespace(raw=[("a", 9, seq) for seq in (1, 2, 3, 6)], marks={("a", 9): 6}, gaps=[("a", 9, 4, 5)], sums={"a": (4, 2)})
    return store, {"a": types.SimpleNamespace(records=[(9, 7)], gaps=[])}


def twice(store, _):
    store.raw.append(("a", 9, 2))
    store.sums["a"] = (5, 2)


def lost(store, _):
    store.raw.remove(("a", 9, 2))
    store.sums["a"] = (3, 2)


def lost_and_counted(store, _):
    store.raw.remove(("a", 9, 2))


def gap_too_wide(store, _):
    store.gaps[0] = ("a", 9, 3, 5)


def gap_unreported(store, _):
    store.gaps.clear()


def mark_ahead(store, _):
    store.marks["a", 9] = 7


def spool_gap_too_many(_, spools):
    spools["a"].gaps.append((9, 4, 5, 3))


def main():
    failures = 0
    kept, dropped, wrong = audit(*books())
    if (kept, dropped, wrong) != (4, 2, []):
        print(f"FAIL correct files: {kept}, {dropped}, {wrong}")
        failures += 1
    for broken in (twice, lost, lost_and_counted, gap_too_wide, gap_unreported, mark_ahead, spool_gap_too_many):
        store, spools = books()
        broken(store, spools)
        _, _, wrong = audit(store, spools)
        print(f"{'ok  ' if wrong else 'FAIL'} {broken.__name__}: {wrong}")
        failures += not wrong
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
