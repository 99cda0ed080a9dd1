"""One row of a terminal that a program leaves alone without knowing it: the last one.

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


def taken(rows: int) -> str:
    """The last of `rows` rows is ours from here on. Everything moves up by one, the cursor with it.

    The cursor's row alone would not do: progress bars leave text below it. On the first row it cannot move up with its
    line; but there stands the command that started us.
    """
    scrolled = f"{_SAVE}\x1b[{rows};1H\x1bD{_RESTORE}\x1bM"
    return f"{scrolled}{_SAVE}\x1b[1;{rows - 1}r{_RESTORE}"


def drawn(rows: int, text: str) -> str:
    return f"{_SAVE}\x1b[{rows};1H\x1b[2K{text}\x1b[0m{_RESTORE}"


def given_back(rows: int) -> str:
    """Every row is the program's again, and ours is blank."""
    return f"{_SAVE}\x1b[r\x1b[{rows};1H\x1b[2K{_RESTORE}"


def has_rows(stream: object) -> bool:
    """Whether `stream` is a terminal that moves a cursor."""
    terminal = getattr(stream, "isatty", lambda: False)
    return os.name == "posix" and os.environ.get("TERM", "dumb") != "dumb" and bool(terminal())


class LastRow:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size: os.terminal_size | None = None  # while the row is ours
        self._shown = ""
        self._lock = threading.RLock()

    @property
    def width(self) -> int:
        return os.get_terminal_size(self._descriptor).columns

    def draw(self, text: str) -> None:
        """Show `text`, which fits into the width. In the background the terminal belongs to somebody else."""
        with self._lock:
            size = os.get_terminal_size(self._descriptor)
            if size.lines < _LEAST or os.tcgetpgrp(self._descriptor) != os.getpgrp():
                return
            take = taken(size.lines) if size != self._size else ""  # resized, terminals forget their region
            if take or text != self._shown:
                self._write(take + drawn(size.lines, text))
            self._size, self._shown = size, text

    def give_back(self) -> None:
        with self._lock:
            if self._size is not None:
                self._write(given_back(self._size.lines))
            self._size, self._shown = None, ""

    def _write(self, text: str) -> None:
        # One call: the kernel lets no other writer in between. Not through sys.stderr, whose buffer is not ours.
        os.write(self._descriptor, text.encode(sys.getfilesystemencoding(), "replace"))
