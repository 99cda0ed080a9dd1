"""The live line and the live panel: where a run stands. Only the launcher draws them, so only it imports rich."""

import io
from collections import deque

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from zerograd.trace.coverage import many

_PULSE = ("|", "/", "-", "\\")
_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_KEPT = 40  # looks that a sparkline shows


def line(
    *,
    steps: int,
    backwards: int,
    processes: int,
    findings: tuple[str, ...],
    seconds: float,
    width: int,
    missed: int = 0,
) -> str:
    """The row with its colours, cut to `width`. `missed`: of the steps, those that are not audited."""
    text = Text()
    text.append(f"{_PULSE[int(seconds * 4) % len(_PULSE)]} zerograd", "bold")
    text.append(f"  {_clock(seconds)}  {many(steps, 'step')}, {many(backwards, 'backward')}", "dim")
    if processes > 1:
        text.append(f" in {processes} processes", "dim")
    text.append("  ").append_text(_verdict(findings, missed, steps))
    text.truncate(width - 1, overflow="crop")  # a row that is full to the last column makes some terminals scroll
    return _rendered(text, width)


class Past:
    """What the launcher has seen at its last looks."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int]] = deque(maxlen=_KEPT)
        self.speeds: deque[float] = deque(maxlen=_KEPT)
        self.losses: deque[float] = deque(maxlen=_KEPT)
        self.norms: deque[float] = deque(maxlen=_KEPT)

    def add(self, seconds: float, *, steps: int, loss: float | None, norm: float | None) -> None:
        if self._looks and seconds - self._looks[-1][0] >= 0.2:
            then, before = self._looks[-1]
            self.speeds.append((steps - before) / (seconds - then))
        self._looks.append((seconds, steps))
        if loss is not None:
            self.losses.append(loss)
        if norm is not None:
            self.norms.append(norm)


def panel(
    past: Past, *, steps: int, backwards: int, processes: int, findings: tuple[str, ...], seconds: float, width: int,
    missed: int = 0,
) -> str:  # fmt: skip
    """Six rows, each narrower than `width`."""
    grid = Table.grid(padding=(0, 2))
    for least in (7, 8, 1):
        grid.add_column(no_wrap=True, min_width=min(least, max(1, width - 12)))
    counted = f"{many(steps, 'step')}, {many(backwards, 'backward')}"
    counted += f", {processes} processes" if processes > 1 else ""
    for name, values, style, form in (
        ("steps/s", past.speeds, "cyan", ",.1f"),
        ("loss", past.losses, "magenta", ".5g"),
        ("norm", past.norms, "yellow", ".5g"),
    ):
        latest = Text(format(values[-1], form)) if values else Text("-" if name == "steps/s" else "--mode full", "dim")
        grid.add_row(name, latest, Text(sparkline(values)[-max(1, width - 25) :], style))
    told = _verdict(findings, missed, steps) if steps or findings else Text("waiting for the first step", "dim")
    told.truncate(max(1, width - 6), overflow="ellipsis")
    title = Text(f"zerograd  {_clock(seconds)}  {counted}"[: max(1, width - 8)])
    box = Panel(Group(grid, told), title=title, title_align="left", width=width - 1)
    return _rendered(box, width)


def sparkline(values: deque[float]) -> str:
    if not values:
        return ""
    least, most = min(values), max(values)
    span = (most - least) or 1.0
    return "".join(_BARS[min(7, int((value - least) / span * 8))] for value in values)


def _verdict(findings: tuple[str, ...], missed: int, steps: int) -> Text:
    if not findings and missed:
        return Text(f"{steps - missed:,} of {many(steps, 'step')} audited, nothing found", "yellow")
    if not findings:
        return Text("every gradient accounted for", "green")
    text = Text(f"{len(findings)} finding{'s' * (len(findings) > 1)}: ", "bold red")
    return text.append(findings[-1].partition("\n")[0], "not bold red")


def _rendered(what: RenderableType, width: int) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system="standard", highlight=False)
    console.print(what, end="")
    return out.getvalue().rstrip("\n")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
