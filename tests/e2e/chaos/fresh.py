"""fresh: reads an agent's <state_dir>/spool.db-fresh, the newest records that may not be in its spool.

Source   docs/reference/files.md#the-agents-spool
"""
import struct

AREAS = 2
HEAD = struct.Struct("=QQQQq")  # magic number of a frame, incarnation, seq, bytes, hash
MARK = 0x314853464C545457
FNV_OFFSET, FNV_PRIME, MOST = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def record_hash(incarnation, seq, body):
    value = FNV_OFFSET
    for byte in struct.pack("<QQ", incarnation, seq) + body:
        value = (value ^ byte) * FNV_PRIME & MOST
    return value - (1 << 64) if value >> 63 else value


def frames(area):
    """Returns (incarnation, seq) of the complete frames from the start of the area, while they increase."""
    found, at = [], 0
    while at + HEAD.size <= len(area):
        mark, incarnation, seq, size, checksum = HEAD.unpack_from(area, at)
        body = area[at + HEAD.size:at + HEAD.size + size]
        if mark != MARK or len(body) != size or (found and (incarnation, seq) <= found[-1]) or record_hash(incarnation, seq, body) != checksum:
            break
        found.append((incarnation, seq))
        at += HEAD.size + size
    return found


def fresh_records(path):
    """Returns the newest run of consecutive numbers, which an agent loads at its start."""
    if not path.exists():
        return []
    content = path.read_bytes()
    half = len(content) // AREAS
    every = sorted(frames(content[:half]) + frames(content[half:]))
    first = len(every) - 1
    while first > 0 and every[first - 1] == (every[first][0], every[first][1] - 1):
        first -= 1
    return every[max(first, 0):]
