"""How figures look: one drawing that follows its page into light or dark, legible on a telephone."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")  # before pyplot could ask for a screen
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Each colour is drawn as on white paper and written to SVG as a variable, which a dark page sets anew.
INK, FAINT, GRID = "#1c2128", "#5b6570", "#d8dde3"
GOOD, BAD, THIRD, FOURTH = "#0a6ebd", "#c8321e", "#7a4fb5", "#8a6a00"
SOFT_GOOD, SOFT_BAD = "#b9d9f2", "#f5c4bb"
COLOURS = (GOOD, BAD, THIRD, FOURTH, FAINT)
_NAMES = {
    INK: "ink", FAINT: "faint", GRID: "grid", GOOD: "good", BAD: "bad", THIRD: "third", FOURTH: "fourth",
    SOFT_GOOD: "soft-good", SOFT_BAD: "soft-bad", "#ffffff": "paper",
}  # fmt: skip
_DARK = {
    "ink": "#e8ecf1", "faint": "#a3adb8", "grid": "#3a424c", "good": "#5eb3f6", "bad": "#ff8a75", "third": "#c3a2f2",
    "fourth": "#e0bd4b", "soft-good": "#1f4a6b", "soft-bad": "#6e2c22", "paper": "#14181d",
}  # fmt: skip
LIGHT_CSS = "".join(f"--{name}:{colour};" for colour, name in _NAMES.items())
DARK_CSS = "".join(f"--{name}:{colour};" for name, colour in _DARK.items())
_STYLE = {
    "font.size": 9.5, "font.family": "sans-serif", "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT,
    "xtick.color": FAINT, "ytick.color": FAINT, "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.7,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "legend.fontsize": 9, "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "lines.linewidth": 1.8, "svg.fonttype": "none", "svg.hashsalt": "zerograd", "axes.labelsize": 9.5,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip


def styled() -> AbstractContextManager[None]:
    """`with styled():` around all that draws or writes a figure."""
    return matplotlib.rc_context(_STYLE)  # type: ignore[arg-type]


def new_figure(height: float = 3.0) -> Figure:
    """As wide as a telephone in the hand, so that its letters are read there too."""
    return Figure(figsize=(4.8, height), layout="constrained")


def as_svg(figure: Figure, *, alone: bool) -> str:
    """The figure with variables for colours. alone: it brings both sets of them, as a file of its own must."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    for colour, name in _NAMES.items():
        text = text.replace(colour, f"var(--{name})")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r"(\d+\.\d{2})\d+", r"\1", text)  # a hundredth of a point is finer than any screen
    both = f":root{{{LIGHT_CSS}}}@media(prefers-color-scheme:dark){{:root{{{DARK_CSS}}}}}"
    css = f"<style>{both} text{{font-family:system-ui,sans-serif}}</style>"
    return text.replace("<defs>", f"{css}<defs>", 1) if alone else text


def save(figure: Figure, path: Path) -> None:
    """As SVG, for any page, and as PNG on white, for slides."""
    path.with_suffix(".svg").write_text(as_svg(figure, alone=True), encoding="utf-8")
    figure.savefig(path.with_suffix(".png"), dpi=160, facecolor="#ffffff")


def curves(
    axes: "Axes", lines: Mapping[str, Sequence[float]], *, colours: Sequence[str] = COLOURS, start: int = 1
) -> None:
    """One line per name, told apart by dashes as well as by colour. What is not finite is not drawn."""
    for number, (name, values) in enumerate(lines.items()):
        steps = range(start, start + len(values))
        shown = [value if math.isfinite(value) else math.nan for value in values]
        dashes = ("-", "--", ":", "-.")[number % 4]
        axes.plot(steps, shown, color=colours[number % len(colours)], linestyle=dashes, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()


def bars(
    axes: "Axes", values: Mapping[str, float], *, form: str = "{:.2g}", colours: Sequence[str] | None = None,
    floor: float = 0.0,
) -> None:  # fmt: skip
    """Horizontal bars with their numbers behind them. floor: on a log scale that begins there."""
    names = list(values)
    lengths = [max(value, floor) for value in values.values()]
    drawn = axes.barh(names, lengths, color=colours or [GOOD] * len(names), height=0.62)
    told = [form.format(value) if value > floor or not floor else "0" for value in values.values()]
    axes.bar_label(drawn, told, padding=3, color=INK, fontsize=9)
    if floor:
        axes.set(xscale="log", xlim=(floor, 1e3))
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.margins(x=0.2)
