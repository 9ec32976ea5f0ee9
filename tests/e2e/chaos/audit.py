"""audit: accounts for every sample, using only files: the agents' spools and the controller's store.

Law      for each node and incarnation, the sequence numbers in the store, those in the spool, and those reported as
         dropped cover 1..highest, each stored one exactly once; marks end at the last stored record; sums include
         every record
Source   SQLite files of ended processes, with their write-ahead logs, and the agents' files of newest records (fresh.py)
"""
import pathlib
import shutil
import sqlite3
import tempfile

from fresh import fresh_records


def opened(path):
    """Opens a copy of the file and its log, so that reading changes nothing."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wattle-audit-"))
    try:
        for tail in ("", "-wal"):
            if pathlib.Path(f"{path}{tail}").exists():
                shutil.copy(f"{path}{tail}", folder / f"copy{tail}")
        connection = sqlite3.connect(folder / "copy")
        memory = sqlite3.connect(":memory:")
        connection.backup(memory)
        connection.close()
        return memory
    finally:
        shutil.rmtree(folder)


def numbers(ranges):
    return {n for first, last in ranges for n in range(first, last + 1)}


class Store:
    def __init__(self, path):
        file = opened(path)
        names = dict(file.execute("SELECT id, name FROM node"))
        rows = [(names[node], *rest) for node, *rest in file.execute("SELECT node, incarnation, seq, refused FROM raw")]
        self.raw = [(node, incarnation, seq) for node, incarnation, seq, _ in rows]
        self.refused = [(node, incarnation, seq) for node, incarnation, seq, refused in rows if refused]
        self.energy_uj = dict(file.execute("SELECT name, energy_uj FROM node"))
        self.marks = {(names[node], incarnation): seq for node, incarnation, seq in file.execute("SELECT node, incarnation, seq FROM mark")}
        self.gaps = [(names[node], incarnation, first, last) for node, incarnation, first, last in
                     file.execute("SELECT node, incarnation, first_seq, last_seq FROM gap")]
        self.sums = {name: (records + refused, missing) for name, records, refused, missing in
                     file.execute("SELECT name, records, refused, missing FROM node")}


class Spool:
    def __init__(self, path):
        file = opened(path)
        self.records = list(file.execute("SELECT incarnation, seq FROM record")) + fresh_records(pathlib.Path(f"{path}-fresh"))
        self.gaps = list(file.execute("SELECT incarnation, first_seq, last_seq, records FROM gap"))


def audit(store, spools):
    """Returns (samples kept, samples reported as dropped, [violations])."""
    wrong = []
    if len(store.raw) != len(set(store.raw)):
        wrong.append(f"{len(store.raw) - len(set(store.raw))} records are twice in the store")
    kept = dropped = 0
    for node in {node for node, _ in store.marks} | set(spools):
        spool = spools.get(node)
        there = {}
        for name, incarnation, seq in store.raw:
            if name == node:
                there.setdefault(incarnation, set()).add(seq)
        waiting, missing, reported = {}, {}, {}
        for incarnation, seq in spool.records if spool else []:
            waiting.setdefault(incarnation, set()).add(seq)
        for incarnation, first, last, records in spool.gaps if spool else []:
            reported.setdefault(incarnation, []).append((first, last))
            if records > last - first + 1:
                wrong.append(f"{node}: the spool's gap {first}-{last} has {records} records")
        for name, incarnation, first, last in store.gaps:
            if name == node:
                missing.setdefault(incarnation, []).append((first, last))
        for incarnation in set(there) | set(waiting) | set(reported):
            have = there.get(incarnation, set())
            lost = numbers(missing.get(incarnation, []))
            known = have | waiting.get(incarnation, set()) | lost | numbers(reported.get(incarnation, []))
            silent = set(range(1, max(known) + 1)) - known
            if silent:
                wrong.append(f"{node}/{incarnation}: {len(silent)} samples are missing everywhere: {sorted(silent)[:8]}")
            if have & lost:
                wrong.append(f"{node}/{incarnation}: {len(have & lost)} samples are in the store and in its gaps")
            if have and store.marks.get((node, incarnation)) not in (None, max(have)):
                wrong.append(f"{node}/{incarnation}: the mark is {store.marks[node, incarnation]}, the last record {max(have)}")
            dropped += len(lost)
        rows = sum(len(seqs) for seqs in there.values())
        kept += rows
        records, said_missing = store.sums.get(node, (0, 0))
        if records != rows:
            wrong.append(f"{node}: the sums have {records} records, the store has {rows}")
        if said_missing != sum(len(numbers(ranges)) for ranges in missing.values()):
            wrong.append(f"{node}: {said_missing} missing by the sums, which differs from the gaps")
    return kept, dropped, wrong
