#!/usr/bin/env python3
"""hardening: the programs that are released are position independent, bind at start with a read-only relocation table, and have stack
protectors, fortified library calls and control-flow protection.

Usage    hardening.py BIN_DIR PROGRAM...
Source   readelf's headers, dynamic section, notes and symbols
Errors   one line per program and lack; exit 1
"""
import pathlib
import subprocess
import sys


def readelf(*arguments: str) -> str:
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


def lacks(program: pathlib.Path) -> list[str]:
    path = str(program)
    headers, dynamic, notes, symbols = (readelf(flag, path) for flag in ("-hl", "-d", "-n", "--dyn-syms"))
    claims = {
        "position independence (-pie)": "DYN (Position-Independent Executable file)" in headers,
        "a read-only relocation table (-z relro)": "GNU_RELRO" in headers,
        "binding at start (-z now)": "BIND_NOW" in dynamic or "Flags: NOW" in dynamic,
        "a stack that is not executable": any("GNU_STACK" in line and "RWE" not in line for line in headers.splitlines()),
        "stack protectors (-fstack-protector-strong)": "__stack_chk_fail" in symbols,
        "fortified library calls (_FORTIFY_SOURCE)": "_chk@" in symbols.replace("__stack_chk_fail@", ""),
    }
    # Control-flow protection is a property of the whole program, which the linker drops when one library that is linked in lacks it.
    return [claim for claim, holds in claims.items() if not holds]


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    found = [f"{name} lacks {lack}" for name in sys.argv[2:] for lack in lacks(folder / name)]
    print("\n".join(found) or f"{len(sys.argv) - 2} programs are hardened")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
