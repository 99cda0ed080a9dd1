"""The demo's page: the three curves side by side, and what each tool said."""

from pathlib import Path
from typing import TYPE_CHECKING

from zerograd.lab.figure import BAD, GOOD, THIRD, as_svg, curves, new_figure, save, styled
from zerograd.lab.shell import TURN, safe, whole_page

if TYPE_CHECKING:
    from zerograd.lab.demo import Story

_SEE = "With both bugs the loss on new sentences stays above that of the two right scripts, which lie on each other."


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
    last = {name: curve[-1] for name, curve in story.curves.items() if curve}
    ends = "".join(f"<tr><td>{safe(name)}</td><td>{value:.3f}</td></tr>" for name, value in last.items())
    acts = (
        ("Found in the source", story.found),
        ("Proved while it trained", story.proved),
        ("Fixed", story.diff),
        ("Through Step", story.gone),
    )
    told = "".join(f"<h2>{safe(name)}</h2><pre>{safe(text)}</pre>" for name, text in acts)
    return (
        "<h1>Two bugs in a training loop: found, proved and "
        f"gone</h1><p>{TURN}</p><section><div><p>{safe(_SEE)}</p><table>{ends}</table></div><figure>{svg}</figure><div "
        f"class=wide>{told}</div></section>"
    )
