"""The live line: where a run stands, in one row of a terminal. Only the launcher draws it, so only it imports rich."""

import io

from rich.console import Console
from rich.text import Text

_PULSE = ("|", "/", "-", "\\")


def line(*, steps: int, backwards: int, processes: int, findings: tuple[str, ...], seconds: float, width: int) -> str:
    """The row with its colours, cut to `width`."""
    text = Text()
    text.append(f"{_PULSE[int(seconds * 4) % len(_PULSE)]} zerograd", "bold")
    text.append(f"  {_clock(seconds)}  {steps:,} steps, {backwards:,} backwards", "dim")
    if processes > 1:
        text.append(f" in {processes} processes", "dim")
    if findings:
        text.append(f"  {len(findings)} finding{'s' * (len(findings) > 1)}: ", "bold red")
        text.append(findings[-1], "red")
    else:
        text.append("  every gradient accounted for", "green")
    text.truncate(width - 1, overflow="crop")  # a row that is full to the last column makes some terminals scroll
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system="standard", highlight=False)
    console.print(text, end="")
    return out.getvalue()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
