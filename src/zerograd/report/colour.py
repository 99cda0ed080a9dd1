"""Whether to colour, and the few colours there are. rich would cost `check` its start-up time."""

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


class Paint:
    """`paint("text", "red", "bold")`, or the text alone where there is no colour."""

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, *styles: str) -> str:
        if not self._on or not text:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"
