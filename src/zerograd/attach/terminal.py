"""Rows of a terminal that a program leaves alone without knowing it: the last one, or the last few.

[Note: the last row] The rows above are made the terminal's scrolling region (DECSTBM), so whatever the program prints,
with carriage returns, without newlines, through the C library or from a child, moves in there as on a terminal that is
one row lower. Our row is drawn with one write, between saving the cursor and restoring it. A wrapper around sys.stdout,
the usual way, would see neither other processes nor lines that are not finished, and the script would see the wrapper.
One thing is left to the terminal: whether a restored cursor remembers that its line is full to the last column and that
the next character belongs on the next one. xterm does; where it does not, that one character is overwritten.
"""

import os
import sys
import threading

_SAVE, _RESTORE = "\x1b7", "\x1b8"
_LEAST = 4  # rows: on fewer, one is too many to take


def taken(rows: int, ours: int = 1) -> str:
    """The last of `rows` rows are ours from here on.

    One is taken in the middle of a run: everything moves up by one, the cursor with it. The cursor's row alone would
    not do: progress bars leave text below it. On the first row it cannot move up with its line; but there stands the
    command that started us. Several are taken before the program begins: only what is needed moves up.
    """
    scrolled = f"{_SAVE}\x1b[{rows};1H\x1bD{_RESTORE}\x1bM" if ours == 1 else "\x1bD" * ours + f"\x1b[{ours}A"
    return f"{scrolled}{_SAVE}\x1b[1;{rows - ours}r{_RESTORE}"


def drawn(rows: int, text: str, ours: int = 1) -> str:
    lines = [*text.split("\n"), *[""] * ours][:ours]
    placed = (f"\x1b[{rows - ours + 1 + i};1H\x1b[2K{line}\x1b[0m" for i, line in enumerate(lines))
    return f"{_SAVE}{''.join(placed)}{_RESTORE}"


def given_back(rows: int, ours: int = 1) -> str:
    """Every row is the program's again, and ours are blank."""
    return f"{_SAVE}\x1b[r{drawn(rows, '', ours)[len(_SAVE) :]}"


def has_rows(stream: object) -> bool:
    """Whether `stream` is a terminal that moves a cursor."""
    terminal = getattr(stream, "isatty", lambda: False)
    return os.name == "posix" and os.environ.get("TERM", "dumb") != "dumb" and bool(terminal())


class LastRow:
    """`ours`: how many. On a terminal that is too low for them it is one."""

    def __init__(self, descriptor: int, ours: int = 1) -> None:
        self._descriptor = descriptor
        self._wanted = ours
        self._size: os.terminal_size | None = None  # while the row is ours
        self._shown = ""
        self._lock = threading.RLock()

    @property
    def width(self) -> int:
        return os.get_terminal_size(self._descriptor).columns

    @property
    def ours(self) -> int:
        lines = os.get_terminal_size(self._descriptor).lines
        return self._wanted if lines >= self._wanted + _LEAST else 1

    def draw(self, text: str) -> None:
        """Show `text`, whose lines fit into the width. In the background the terminal belongs to somebody else."""
        with self._lock:
            size, ours = os.get_terminal_size(self._descriptor), self.ours
            if size.lines < _LEAST or os.tcgetpgrp(self._descriptor) != os.getpgrp():
                return
            take = taken(size.lines, ours) if size != self._size else ""  # resized, terminals forget their region
            if take or text != self._shown:
                self._write(take + drawn(size.lines, text, ours))
            self._size, self._shown = size, text

    def give_back(self) -> None:
        with self._lock:
            if self._size is not None:
                self._write(given_back(self._size.lines, self.ours))
            self._size, self._shown = None, ""

    def _write(self, text: str) -> None:
        # One call: the kernel lets no other writer in between. Not through sys.stderr, whose buffer is not ours.
        os.write(self._descriptor, text.encode(sys.getfilesystemencoding(), "replace"))
