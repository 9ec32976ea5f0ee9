"""screen: runs a program in a pseudo-terminal and maintains the content of its screen.

Source   the sequences that ncurses writes for TERM=vt100 and xterm (ECMA-48: CUP, CUU, CUD, CUF, CUB, CHA, VPA, ED, EL,
         ECH, REP, SGR; DECSTBM, RI; xterm's titles are stored separately); others raise
Ends     kills the program at the end of the `with` block, if it still runs
"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from house import HouseError
from patience import LATE_S

SEQUENCE = re.compile(r"\x1b(?:\[([?]?)([0-9;]*)([A-Za-z])|[()][A-Z0-9]|[=>78M])")


class Screen:
    def __init__(self, command, lines=30, columns=120, **environment):
        self.raw = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.rest = ""
        self.lines, self.columns = lines, columns
        self.blank()
        self.exit_code = None
        go, start = os.pipe()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.read(go, 1)  # waits until the window size is set
            os.execvpe(command[0], command, os.environ | {"TERM": "vt100", "LANG": "C.UTF-8"} | environment)
        self.resize(lines, columns)
        self.modes = termios.tcgetattr(self.terminal)
        os.write(start, b"x")
        os.close(start)
        os.close(go)

    def blank(self):
        self.cells = [[" "] * self.columns for _ in range(self.lines)]
        self.y = self.x = 0
        self.top, self.bottom = 0, self.lines - 1

    def resize(self, lines, columns):
        """Resizes the window, after which ncurses redraws the screen."""
        self.lines, self.columns = lines, columns
        self.blank()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text):
        os.write(self.terminal, text.encode())

    def rows(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.rows())

    def read(self, seconds=0.1):
        """Reads output. Returns False once the program has closed the terminal."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            said = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.raw += said
        self.feed(self.decoder.decode(said))
        return bool(said)

    def until(self, what, condition, seconds=LATE_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            there = self.read()
            found = condition(self.rows())
            if found:
                return found
            if not there:
                break
        raise HouseError(f"not on the screen within {seconds} s: {what}; the screen has:\n{self.text()}")

    def ended(self, seconds=LATE_S):
        """Waits for the end and returns the exit code."""
        end = time.monotonic() + seconds
        while self.exit_code is None:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise HouseError(f"runs after {seconds} s; the screen has:\n{self.text()}")
        return self.exit_code

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
                continue
            found = SEQUENCE.match(text, at)
            if found is None:
                if len(text) - at > 32:
                    raise HouseError(f"not a sequence of a vt100 or xterm: {text[at:at + 32]!r}")
                break
            self.obey(found)
            at = found.end()
        self.rest = text[at:]

    def put(self, c):
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self.down()
        elif c == "\b":
            self.x = max(0, self.x - 1)
        elif c == "\t":
            self.x = min(self.columns - 1, self.x // 8 * 8 + 8)
        elif c >= " ":
            if self.x >= self.columns:
                self.x = 0
                self.down()
            self.cells[min(self.y, self.lines - 1)][self.x] = c
            self.x += 1

    def down(self):
        if self.y == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.columns)
        else:
            self.y = min(self.lines - 1, self.y + 1)

    def obey(self, found):
        private, digits, letter = found.groups()
        if letter is None:
            if found.group() == "\x1bM" and self.y == self.top:
                del self.cells[self.bottom]
                self.cells.insert(self.top, [" "] * self.columns)
            elif found.group() == "\x1bM":
                self.y = max(0, self.y - 1)
            return
        numbers = [int(each) if each else 0 for each in digits.split(";")]
        many = max(1, numbers[0])
        if private or letter in "mlht":
            return
        row = self.cells[min(self.y, self.lines - 1)]
        if letter == "H":
            self.y = min(self.lines, many) - 1
            self.x = min(self.columns, max(1, numbers[1] if len(numbers) > 1 else 1)) - 1
        elif letter == "A":
            self.y = max(0, self.y - many)
        elif letter == "B":
            self.y = min(self.lines - 1, self.y + many)
        elif letter == "C":
            self.x = min(self.columns - 1, self.x + many)
        elif letter == "D":
            self.x = max(0, self.x - many)
        elif letter == "G":
            self.x = min(self.columns, many) - 1
        elif letter == "d":
            self.y = min(self.lines, many) - 1
        elif letter == "X":
            row[self.x:self.x + many] = [" "] * (min(self.x + many, self.columns) - self.x)
        elif letter == "b":
            for _ in range(many):
                self.put(row[self.x - 1])
        elif letter == "K":
            first, last = {0: (self.x, self.columns), 1: (0, self.x + 1), 2: (0, self.columns)}[numbers[0]]
            row[first:last] = [" "] * (min(last, self.columns) - first)
        elif letter == "J":
            first = {0: self.y + 1, 2: 0}[numbers[0]]
            if numbers[0] == 0:
                row[self.x:] = [" "] * (self.columns - self.x)
            self.cells[first:] = [[" "] * self.columns for _ in range(self.lines - first)]
        elif letter == "r":
            self.top, self.bottom = (numbers[0] - 1, numbers[1] - 1) if len(numbers) == 2 else (0, self.lines - 1)
            self.y = self.x = 0
        else:
            raise HouseError(f"not a sequence of a vt100 or xterm: {found.group()!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)
