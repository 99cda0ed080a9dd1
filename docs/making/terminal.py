"""python docs/making/terminal.py: docs/pictures/finding.svg, what `zerograd check` says about the demo's script."""

import html
import io
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from zerograd.lab.demo import SCRIPTS

PICTURE = Path(__file__).parents[1] / "pictures" / "finding.svg"
COLUMNS, CELL, LINE = 100, 7.8, 19
GROUND, INK = "#0d1117", "#e6edf3"
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# By the numbers that terminals give their colours: red, green, yellow, blue, magenta, cyan.
_INKS = {1: "#ff7b72", 2: "#7ee787", 3: "#e3b341", 4: "#79c0ff", 5: "#d2a8ff", 6: "#76e3ea"}


def shown(*command: str) -> str:
    """What the command prints on a terminal with colours."""
    environment = {**os.environ, "FORCE_COLOR": "1"}
    environment.pop("NO_COLOR", None)
    done = subprocess.run(
        [sys.executable, "-m", "zerograd", *command],
        cwd=SCRIPTS, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.stdout


def picture(command: str, output: str) -> str:
    """A terminal as SVG: dark for every reader, as most terminals are. No font is fetched."""
    console = Console(width=COLUMNS, color_system="truecolor", file=io.StringIO())
    text = Text.assemble(("$ ", "green"), (command, "bold"), "\n") + Text.from_ansi(output.rstrip())
    lines = console.render_lines(text, pad=False)
    width, height = round(COLUMNS * CELL) + 40, len(lines) * LINE + 64
    rows = "\n".join(_row(line, 62 + number * LINE) for number, line in enumerate(lines))
    dots = "".join(f'<circle cx="{22 + 18 * i}" cy="20" r="5.5" fill="{c}"/>' for i, c in enumerate(_DOTS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{html.escape(command)}, in a terminal" fill="{INK}" font-size="13" font-family="{FONTS}">\n'
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9" fill="{GROUND}" stroke="#6e7681"/>\n'
        f"{dots}\n{rows}\n</svg>\n"
    )


_DOTS = ("#ff5f57", "#febc2e", "#28c840")


def _row(line: list[Segment], y: int) -> str:
    """One line of text. Every piece says its length, so that any font keeps the columns."""
    pieces, column = [], 0
    for segment in line:
        said = segment.text.rstrip("\n")
        if said.strip():
            ink = _ink(segment.style or Style())
            place = f'x="{20 + column * CELL:.1f}" y="{y}" textLength="{len(said) * CELL:.1f}"'
            pieces.append(f'<text {place}{ink} xml:space="preserve">{html.escape(said)}</text>')
        column += len(said)
    return "".join(pieces)


def _ink(style: Style) -> str:
    number = style.color.number % 8 if style.color and style.color.number is not None else 0
    known = f' fill="{_INKS[number]}"' if number in _INKS else ' fill="#9198a1"' if style.dim else ""
    return known + (' font-weight="bold"' if style.bold else "")


if __name__ == "__main__":
    PICTURE.write_text(picture("zerograd check train.py", shown("check", "train.py")), encoding="utf-8")
