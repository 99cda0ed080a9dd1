"""How a text is written to a terminal: whether to colour, the few colours there are, and how wide it may be.

rich would cost `check` its start-up time.
"""

import os
from collections.abc import Mapping
from typing import TextIO

_CODES = {"red": "31", "yellow": "33", "blue": "34", "cyan": "36", "green": "32", "bold": "1", "dim": "2"}


def wants_colour(choice: str, stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """--color wins; then NO_COLOR, FORCE_COLOR and TERM=dumb; else colour is for terminals."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


def terminal_width(stream: TextIO, environ: Mapping[str, str] = os.environ) -> int:
    """The columns of the terminal that a stream writes to; 0: it writes to none, and lines are as long as they are."""
    try:
        if not stream.isatty():
            return 0
        return int(environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
    except (AttributeError, OSError, ValueError):
        return 0


class Paint:
    """`paint("text", "red", "bold")`, or the text alone where there is no colour. `width`: of the terminal, if any."""

    def __init__(self, *, on: bool, width: int = 0) -> None:
        self._on = on
        self.width = width

    @classmethod
    def of(cls, choice: str, stream: TextIO) -> "Paint":
        """For a stream, by what was asked for: auto, always or never."""
        return cls(on=wants_colour(choice, stream), width=terminal_width(stream))

    def __call__(self, text: str, *styles: str) -> str:
        if not self._on or not text:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"
