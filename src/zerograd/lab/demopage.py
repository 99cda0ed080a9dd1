"""The demo's page: the three curves side by side, and what each tool said."""

from pathlib import Path
from typing import TYPE_CHECKING

from zerograd.lab.figure import BAD, GOOD, THIRD, as_svg, curves, new_figure, save, styled
from zerograd.lab.shell import TURN, safe, whole_page

if TYPE_CHECKING:
    from zerograd.lab.demo import Story


def write_demo_page(folder: Path, story: "Story") -> Path:
    """demo.html, and losses.svg and losses.png beside it."""
    with styled():
        figure = new_figure(3.2)
        axes = figure.subplots()
        curves(axes, story.curves, colours=(BAD, GOOD, THIRD))
        axes.set(xlabel="epoch", ylabel="nats per character", title="the same work, three ways")
        save(figure, folder / "losses")
        svg = as_svg(figure, alone=False)
    page = folder / "demo.html"
    page.write_text(whole_page("zerograd demo", _body(story, svg)), encoding="utf-8")
    return page


def _body(story: "Story", svg: str) -> str:
    ends = ", ".join(f"{curve[-1]:.3f} {name}" for name, curve in story.curves.items() if curve)
    acts = (
        ("Found in the source", story.found),
        ("Proved while it trained", story.proved),
        ("Fixed", story.diff),
        ("Through Step", f"{story.gone}\n\n{story.step}"),
    )
    told = "".join(f"<h2>{safe(name)}</h2><pre>{safe(text)}</pre>" for name, text in acts)
    return (
        f"<h1>Two bugs in a training loop: found, proved and gone</h1><p>{TURN}</p><section><div><p>The loss on "
        f"sentences that the model has not seen, epoch by epoch. It ends at {safe(ends)} (nats per "
        f"character).</p></div><figure>{svg}</figure><div class=wide>{told}</div></section>"
    )
