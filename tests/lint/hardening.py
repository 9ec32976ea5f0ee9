#!/usr/bin/env python3
"""hardening: the released programs are position-independent, bind at start with a read-only relocation table, and have
stack protectors, fortified library calls and, on x86, landing points for indirect jumps. The landing points are
compiled in but not enforced: docs/reference/security.md, "Control-flow protection".

Usage    hardening.py BIN_DIR PROGRAM...
Source   readelf's headers, dynamic section, notes and symbols
Errors   one line per program and lack; exit 1
"""
import pathlib
import re
import subprocess
import sys


ENDBR64 = b"\xf3\x0f\x1e\xfa"
LEAST_LANDINGS = 100


def readelf(*arguments: str) -> str:
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


def lacks(program: pathlib.Path) -> list[str]:
    path = str(program)
    headers, dynamic, notes, symbols = (readelf(flag, path) for flag in ("-hl", "-d", "-n", "--dyn-syms"))
    claims = {
        "position independence (-pie)": "DYN (Position-Independent Executable file)" in headers,
        "a read-only relocation table (-z relro)": "GNU_RELRO" in headers,
        "binding at start (-z now)": "BIND_NOW" in dynamic or "Flags: NOW" in dynamic,
        "memory that is writable or executable, not both": not any("LOAD" in line and "RWE" in line for line in headers.splitlines()),
        "only the system's libraries (no RPATH)": not re.search(r"\((RPATH|RUNPATH)\)", dynamic),
        "a stack that is not executable": any("GNU_STACK" in line and "RWE" not in line for line in headers.splitlines()),
        "stack protectors (-fstack-protector-strong)": "__stack_chk_fail" in symbols,
        "fortified library calls (_FORTIFY_SOURCE)": "_chk@" in symbols.replace("__stack_chk_fail@", ""),
    }
    # The linker drops the property IBT or SHSTK from a program when one object lacks it, like Debian's start files, so
    # no kernel enforces either. The instructions show that our code is compiled for both: each function whose address
    # is taken begins with one.
    if re.search(r"Machine:\s+Advanced Micro Devices X86-64", headers):
        claims["landing points for jumps (-fcf-protection)"] = program.read_bytes().count(ENDBR64) >= LEAST_LANDINGS
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
