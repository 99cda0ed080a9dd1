"""C08: optimizer.zero_grad() does what a loop of p.grad.zero_() does."""

from functools import partial

import torch
from matplotlib.figure import Figure
from torch.optim import SGD, Adam, AdamW

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD
from zerograd.lab.gated import gated_scene
from zerograd.lab.loop import Loop, differing, weights
from zerograd.lab.shapes import Make

STEPS = 90
OPTIMIZERS: dict[str, Make] = {
    "SGD": partial(SGD, lr=0.03),
    "momentum": partial(SGD, lr=0.01, momentum=0.9),
    "weight decay": partial(SGD, lr=0.03, weight_decay=0.01),
    "Adam": partial(Adam, lr=0.002),
    "AdamW": partial(AdamW, lr=0.002),
}
_TEXT = """\
import torch

for x, kind, size in batches:
    {clear}
    loss = loss_of(x, kind, size)
    loss.backward()
    optimizer.step()
"""
_HAND = """\
for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()"""
LIBRARY = Loop("optimizer.zero_grad()", _TEXT.format(clear="optimizer.zero_grad()"))
HAND = Loop("p.grad.zero_() for every p", _TEXT.format(clear=_HAND))
NOTHING = Loop("no clear", _TEXT.replace("    {clear}\n", ""))


def _differ(make: Make, *, every: int) -> tuple[int, int]:
    """Weights that differ between the two clears, and between the library's and none."""
    library, hand, nothing = (
        weights(loop.run(gated_scene(steps=STEPS, make=make, every=every))["model"])
        for loop in (LIBRARY, HAND, NOTHING)
    )
    return differing(library, hand), differing(library, nothing)


def _left(loop: Loop) -> tuple[int, int]:
    """Gradients that are None, and bytes that are held, while a forward pass runs behind the clear."""
    scene = gated_scene(steps=2, make=OPTIMIZERS["SGD"], every=1)
    slots: list[torch.Tensor | None] = []
    loss_of = scene["loss_of"]

    def looking(*batch: torch.Tensor) -> torch.Tensor:
        slots[:] = [p.grad for p in scene["model"].parameters()]
        loss: torch.Tensor = loss_of(*batch)
        return loss

    loop.run(scene | {"loss_of": looking})
    return sum(grad is None for grad in slots), sum(grad.nbytes for grad in slots if grad is not None)


def measure() -> Measured:
    measured: Measured = {
        "steps": STEPS,
        "weights": weights(gated_scene(steps=1, make=OPTIMIZERS["SGD"])["model"]).numel(),
    }
    for name, make in OPTIMIZERS.items():
        measured[f"{name}: weights that differ, every slot filled"], cleared = _differ(make, every=1)
        measured[f"{name}: weights that differ from not clearing at all"] = cleared
        measured[f"{name}: weights that differ, a head without gradients"], _ = _differ(make, every=3)
    for loop in (LIBRARY, HAND):
        measured[f"{loop.name}: slots None behind it"], measured[f"{loop.name}: bytes held behind it"] = _left(loop)
    return measured


def _counts(measured: Measured, which: str) -> dict[str, int]:
    return {name: measured[f"{name}: weights that differ, {which}"] for name in OPTIMIZERS}


def judge(measured: Measured) -> Verdict:
    filled, gaps = (_counts(measured, which) for which in ("every slot filled", "a head without gradients"))
    works = all(measured[f"{name}: weights that differ from not clearing at all"] for name in OPTIMIZERS)
    if any(filled.values()) or not works:
        return Verdict(Ruling.DOES_NOT_HOLD, "" if works else "zero_grad() clears nothing")
    moved = [name for name, count in gaps.items() if count]
    same = [name for name, count in gaps.items() if not count]
    if not moved:
        return Verdict(Ruling.HOLDS)
    return Verdict(
        Ruling.HOLDS_IF,
        f"every parameter gets a gradient in every step (0 weights differ with {', '.join(filled)}). Where a part "
        f"gets none for a while, zeros are a gradient and None is not: it fails with {', '.join(moved)}, which move "
        f"that part on zeros; it still holds with {', '.join(same) or 'none'}.",
    )


def shown(measured: Measured) -> str:
    filled, gaps = (_counts(measured, which) for which in ("every slot filled", "a head without gradients"))
    held = measured[f"{HAND.name}: bytes held behind it"], measured[f"{LIBRARY.name}: bytes held behind it"]
    return (
        f"{sum(filled.values())} weights differ when every slot is filled, {max(gaps.values())} of "
        f"{measured['weights']:,} when a head gets no gradient for two steps of three; {held[0] / 1e3:.0f} kB held "
        f"behind the hand's clear, {held[1] / 1e3:.0f} kB behind zero_grad()"
    )


def draw(figure: Figure, measured: Measured) -> None:
    axes = figure.subplots()
    for offset, which, colour in ((-0.2, "every slot filled", GOOD), (0.2, "a head without gradients", BAD)):
        shares = [100 * count / measured["weights"] for count in _counts(measured, which).values()]
        drawn = axes.barh([place + offset for place in range(len(shares))], shares, 0.38, color=colour, label=which)
        axes.bar_label(drawn, [f"{share:.0f}%" for share in shares], padding=3, fontsize=9)
    axes.set(
        yticks=range(len(OPTIMIZERS)), yticklabels=list(OPTIMIZERS), xlabel="weights that differ (%)", xlim=(0, 118)
    )
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)


CLAIM = Claim(
    id="C08",
    statement="optimizer.zero_grad() does what a loop of p.grad.zero_() does",
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="With every slot filled no weight differs under any optimizer; where a head gets no gradient for a while, "
    "every optimizer but plain SGD moves it on zeros.",
    advice="Use `optimizer.zero_grad()`. Keep zeros only where something needs a tensor to be there (captured "
    "graphs), and remember that momentum, weight decay and Adam then move parameters that took no part.",
)
