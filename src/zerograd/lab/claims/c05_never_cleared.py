"""C05: without clearing, each update is built from the sum of all past gradients."""

import math
from collections.abc import Callable
from functools import partial
from statistics import fmean

import torch
from matplotlib.figure import Figure
from torch.optim import SGD, Adam

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, FAINT, GOOD, curves
from zerograd.lab.loop import Loop, distance, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.plain import CLEAR_AT_TOP, NEVER_CLEARED, THROUGH_STEP
from zerograd.lab.shapes import GUESS, Make, shapes_scene
from zerograd.lab.statistics import Interval, interval, off

STEPS = 200
SEEDS = (0, 1, 2)
DIVERGED = 1e3  # a loss that is larger, or no number, counts as this
RATES = {"SGD": (0.002, 0.006, 0.02, 0.06, 0.2), "Adam": (0.0003, 0.001, 0.003, 0.01)}
MAKE: dict[str, Callable[..., torch.optim.Optimizer]] = {"SGD": SGD, "Adam": Adam}
PER_EPOCH = Loop(
    "cleared once per epoch",
    """\
import torch

for epoch in range(3):
    optimizer.zero_grad()
    for x, y in batches:
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
""",
)
TOP_OF_EPOCHS = Loop(
    "cleared for every step of every epoch",
    "import torch\n\nfor epoch in range(3):\n"
    + "".join(f"    {line}\n" for line in CLEAR_AT_TOP.text.splitlines()[2:]),
)
STEP_EPOCHS = Loop(
    "epochs through Step",
    """\
from zerograd import Step

step = Step(optimizer)
for epoch in range(3):
    for x, y in batches:
        with step:
            loss = loss_fn(model(x), y)
            step.backward(loss)
        losses.append(loss.item())
""",
)


def _losses(loop: Loop, make: Make, seed: int) -> list[float]:
    names = loop.run(shapes_scene(steps=STEPS, make=make, seed=seed))
    return [min(loss, DIVERGED) if math.isfinite(loss) else DIVERGED for loss in names["losses"]]


def _final(loop: Loop, make: Make) -> Interval:
    """The mean loss of the last 20 steps, over the seeds."""
    return interval([fmean(_losses(loop, make, seed)[-20:]) for seed in SEEDS])


def _against_momentum() -> float:
    """How far never clearing ends from SGD with momentum 1 that does clear: the same sum, written twice."""
    bare = NEVER_CLEARED.run(shapes_scene(steps=STEPS, make=partial(SGD, lr=0.006), double=True))
    heavy = CLEAR_AT_TOP.run(shapes_scene(steps=STEPS, make=partial(SGD, lr=0.006, momentum=1.0), double=True))
    return distance(weights(bare["model"]), weights(heavy["model"]))


def measure() -> Measured:
    measured: Measured = {
        "steps": STEPS,
        "never cleared against momentum 1.0, weights apart": _against_momentum(),
        "loss by step, SGD 0.06, cleared": _losses(CLEAR_AT_TOP, partial(SGD, lr=0.06), 0),
        "loss by step, SGD 0.06, never cleared": _losses(NEVER_CLEARED, partial(SGD, lr=0.06), 0),
    }
    for name, rates in RATES.items():
        for rate in rates:
            make = partial(MAKE[name], lr=rate)
            measured[f"{name} {rate:g}, cleared"] = _final(CLEAR_AT_TOP, make)
            measured[f"{name} {rate:g}, never cleared"] = _final(NEVER_CLEARED, make)
    return measured


def _pairs(measured: Measured, optimizer: str) -> dict[float, tuple[Interval, Interval]]:
    return {
        rate: (measured[f"{optimizer} {rate:g}, cleared"], measured[f"{optimizer} {rate:g}, never cleared"])
        for rate in RATES[optimizer]
    }


def judge(measured: Measured) -> Verdict:
    worse: list[str] = []
    lost: list[str] = []
    hidden: list[str] = []
    for optimizer in RATES:
        for rate, (cleared, never) in _pairs(measured, optimizer).items():
            name = f"{optimizer} {rate:g}"
            if never["mean"] > 1.1 * cleared["mean"]:
                (lost if never["mean"] > GUESS else worse).append(name)
            else:
                hidden.append(name)
    if not worse and not lost:
        return Verdict(Ruling.DOES_NOT_HOLD, "never clearing was nowhere worse")
    if not hidden:
        return Verdict(Ruling.HOLDS)
    return Verdict(
        Ruling.HOLDS_IF,
        f"the learning rate is large enough. Worse than a guess with {', '.join(lost) or 'none'}; worse than "
        f"cleared with {', '.join(worse) or 'none'}; hidden, or even ahead, with {', '.join(hidden)}: there the sum "
        "of all gradients does what momentum does. It is momentum, of 1.0, which never forgets (weights "
        f"{off(measured['never cleared against momentum 1.0, weights apart'])} apart).",
    )


def shown(measured: Measured) -> str:
    cleared, never = _pairs(measured, "SGD")[0.06]
    ahead_cleared, ahead = _pairs(measured, "SGD")[0.002]
    return (
        f"SGD 0.06: final loss {cleared['mean']:.2f} cleared, {never['mean']:.2f} not; SGD 0.002: "
        f"{ahead_cleared['mean']:.2f} cleared, {ahead['mean']:.2f} not"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 5.2)
    top, bottom = figure.subplots(2)
    curves(
        top,
        {
            "cleared": measured["loss by step, SGD 0.06, cleared"],
            "never cleared": measured["loss by step, SGD 0.06, never cleared"],
        },
    )
    top.axhline(GUESS, color=FAINT, linewidth=1, linestyle=":")
    top.set(title="SGD, learning rate 0.06", xlabel="step", ylabel="loss (nats)", yscale="log")
    for optimizer, mark in (("SGD", "o"), ("Adam", "s")):
        pairs = _pairs(measured, optimizer)
        for which, name, colour in ((0, "cleared", GOOD), (1, "never cleared", BAD)):
            values = [pair[which] for pair in pairs.values()]
            means = [value["mean"] for value in values]
            spread = [
                [max(0.0, mean - max(value["low"], mean / 20)) for mean, value in zip(means, values, strict=True)],
                [value["high"] - mean for mean, value in zip(means, values, strict=True)],
            ]
            bottom.errorbar(
                list(pairs),
                means,
                spread,
                color=colour,
                marker=mark,
                markersize=4,
                capsize=2,
                label=f"{optimizer}, {name}",
                linestyle="-" if mark == "o" else "--",
            )
    bottom.axhline(GUESS, color=FAINT, linewidth=1, linestyle=":")
    bottom.set(
        xscale="log", yscale="log", xlabel="learning rate", ylabel="final loss (nats)", title="over learning rates"
    )
    bottom.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.22))


CLAIM = Claim(
    id="C05",
    statement="Without clearing, each update is built from the sum of all past gradients: unstable, slower, "
    "sometimes divergent",
    bugs=(
        Bug(
            NEVER_CLEARED,
            "ZG001",
            partial(shapes_scene, steps=6),
            right=CLEAR_AT_TOP,
            step=THROUGH_STEP,
            because="Entering the block clears; there is no clear to forget.",
        ),
        Bug(
            PER_EPOCH,
            "ZG001",
            partial(shapes_scene, steps=6),
            right=TOP_OF_EPOCHS,
            step=STEP_EPOCHS,
            because="Every block begins with a clean slate, wherever the epochs begin.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, the loss of one run with and without clearing; below, where it ends: at small learning rates the "
    "fault hides (red at or below blue), at large ones it ends above the dotted line, which is a guess.",
    advice="A falling loss proves nothing here: with a small learning rate the fault hides and may even look "
    "faster, until the rate, the optimizer or the length of training changes. Let a tool look: `zerograd check`, "
    "or `zerograd run`.",
)
