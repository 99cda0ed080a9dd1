"""C01: where the clear stands, before or after the forward pass, changes nothing in a plain loop."""

from functools import partial

import torch
from matplotlib.figure import Figure
from torch.optim import SGD, Adam, AdamW

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars, curves
from zerograd.lab.language import writer
from zerograd.lab.loop import Loop, differing, weights
from zerograd.lab.memory import peak_bytes
from zerograd.lab.plain import CLEAR_AFTER_FORWARD, CLEAR_AT_TOP
from zerograd.lab.shapes import Make, shapes_scene

STEPS = 100
OPTIMIZERS: dict[str, Make] = {
    "SGD": partial(SGD, lr=0.05),
    "momentum": partial(SGD, lr=0.02, momentum=0.9),
    "Adam": partial(Adam, lr=0.003),
    "AdamW": partial(AdamW, lr=0.003),
}


def _peak(loop: Loop) -> int:
    """The most bytes of tensors that live at once in four steps of a transformer with 800,000 weights."""
    model = writer(width=128)
    text = torch.randint(1, 20, (2, 64), generator=torch.Generator().manual_seed(0))
    scene = {
        "model": model,
        "optimizer": SGD(model.parameters(), lr=0.01),
        "batches": [(text, text)] * 4,
        "loss_fn": lambda logits, y: torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()),
        "losses": [],
    }
    return peak_bytes(lambda: loop.run(scene))


def measure() -> Measured:
    measured: Measured = {"steps": STEPS}
    for name, make in OPTIMIZERS.items():
        top, late = (loop.run(shapes_scene(steps=STEPS, make=make)) for loop in (CLEAR_AT_TOP, CLEAR_AFTER_FORWARD))
        mine = weights(top["model"])
        measured["weights"] = mine.numel()
        measured[f"weights that differ, {name}"] = differing(mine, weights(late["model"]))
        measured[f"loss by step, {name}, at the top"] = top["losses"]
        measured[f"loss by step, {name}, after the forward pass"] = late["losses"]
    measured["gradient bytes of the transformer"] = 4 * weights(writer(width=128)).numel()
    measured["peak bytes, at the top"] = _peak(CLEAR_AT_TOP)
    measured["peak bytes, after the forward pass"] = _peak(CLEAR_AFTER_FORWARD)
    return measured


def _different(measured: Measured) -> int:
    return sum(value for name, value in measured.items() if name.startswith("weights that differ"))


def judge(measured: Measured) -> Verdict:
    if _different(measured):
        return Verdict(Ruling.DOES_NOT_HOLD)
    more = measured["peak bytes, after the forward pass"] - measured["peak bytes, at the top"]
    return Verdict(
        Ruling.HOLDS,
        "for the weights, in a plain loop. The memory differs: clearing after the forward pass keeps the old "
        f"gradients while activations are made, {more / 1e6:+.1f} MB at the peak here; and C03 has the loop in "
        "which it loses gradients.",
    )


def shown(measured: Measured) -> str:
    made = f"{measured['steps']} steps of {len(OPTIMIZERS)} optimizers"
    return f"{_different(measured)} of {measured['weights']:,} weights differ, bit for bit, after {made}"


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.4)
    top, bottom = figure.subplots(2, height_ratios=(3, 1))
    name = "momentum"
    curves(
        top,
        {place: measured[f"loss by step, {name}, {place}"] for place in ("at the top", "after the forward pass")},
        colours=(GOOD, BAD),
    )
    top.set(xlabel="step", ylabel="loss (nats)", title="SGD with momentum")
    peaks = {place: measured[f"peak bytes, {place}"] / 1e6 for place in ("at the top", "after the forward pass")}
    bars(bottom, peaks, form="{:.1f} MB", colours=(GOOD, BAD))
    bottom.set(xlabel="peak memory of a transformer's step (MB)")


CLAIM = Claim(
    id="C01",
    statement="Clearing at the top of the iteration and clearing after the forward pass give the same training in "
    "a plain loop",
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="The two loss curves lie on each other at every step; what differs is the peak of memory below.",
    advice="Choose either in a plain loop. At the top is the better habit: it frees the old gradients before the "
    "forward pass needs memory, and it cannot erase a deposit that an earlier loss of the same step has made.",
)
