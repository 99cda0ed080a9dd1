"""C07: with the same input, the bias gradient grows every iteration when nothing is cleared."""

from functools import partial
from itertools import pairwise

import torch
from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, THIRD, curves
from zerograd.lab.meeting import Bug
from zerograd.lab.plain import CLEAR_AT_TOP, NEVER_CLEARED, THROUGH_STEP
from zerograd.lab.shapes import shapes_scene

ITERATIONS = 60
RATES = (0.0, 0.002, 0.02)


def _sequence(lr: float) -> tuple[list[float], list[float]]:
    """The norm of a head's bias gradient at each step on one and the same batch, never cleared; and the loss."""
    scene = shapes_scene(steps=1, make=partial(torch.optim.SGD, lr=lr))
    bias = scene["model"].kind.bias
    seen: list[float] = []
    scene["optimizer"].register_step_pre_hook(lambda *_: seen.append(float(bias.grad.norm())))
    losses: list[float] = NEVER_CLEARED.run(scene | {"batches": scene["batches"] * ITERATIONS})["losses"]
    return seen, losses


def measure() -> Measured:
    measured: Measured = {"iterations": ITERATIONS}
    for rate in RATES:
        norms, losses = _sequence(rate)
        grows = _growing(norms)
        measured[f"lr {rate:g}: bias gradient by iteration"] = norms
        measured[f"lr {rate:g}: grows for"] = grows
        measured[f"lr {rate:g}: loss where it turns"] = losses[min(grows, ITERATIONS - 1)]
    held = measured["lr 0: bias gradient by iteration"]
    measured["lr 0: last over first"] = held[-1] / held[0]
    return measured


def _growing(sequence: list[float]) -> int:
    """How many iterations it grows before it first shrinks."""
    for position, (before, after) in enumerate(pairwise(sequence)):
        if after <= before:
            return position + 1
    return len(sequence)


def judge(measured: Measured) -> Verdict:
    held, *moving = (measured[f"lr {rate:g}: grows for"] for rate in RATES)
    if held != ITERATIONS:
        return Verdict(Ruling.DOES_NOT_HOLD, f"it grows for {held} iterations even when the weights are held")
    if min(moving) == ITERATIONS:
        return Verdict(Ruling.HOLDS)
    turns = ", ".join(f"after {count} at rate {rate:g}" for rate, count in zip(RATES[1:], moving, strict=True))
    return Verdict(
        Ruling.HOLDS_IF,
        "the weights do not move: then iteration n holds n times the gradient "
        f"(x{measured['lr 0: last over first']:.0f} at the last of {ITERATIONS}). Once they move it fails: the "
        f"gradient turns round when the output bias has overshot its minimum ({turns}), and swings from then on.",
    )


def shown(measured: Measured) -> str:
    return "grows for " + ", ".join(
        f"{measured[f'lr {rate:g}: grows for']} of {ITERATIONS} iterations at rate {rate:g}" for rate in RATES
    )


def draw(figure: Figure, measured: Measured) -> None:
    axes = figure.subplots()
    curves(
        axes,
        {f"learning rate {rate:g}": measured[f"lr {rate:g}: bias gradient by iteration"] for rate in RATES},
        colours=(BAD, GOOD, THIRD),
    )
    axes.set(xlabel="iteration on the same batch", ylabel="norm of bias.grad")


CLAIM = Claim(
    id="C07",
    statement="With the same input, the bias gradient grows every iteration when nothing is cleared",
    bugs=(
        Bug(
            NEVER_CLEARED._replace(name="never cleared, one batch"),
            "ZG001",
            partial(shapes_scene, steps=6),
            right=CLEAR_AT_TOP,
            step=THROUGH_STEP,
            because="Entering the block clears.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="With the weights held the gradient grows along a straight line; as soon as they move it bends, turns and "
    "swings.",
    advice="Do not look for a growing gradient to diagnose a missing clear: in real training it swings instead of "
    "growing. Ask whether a step consumed what an earlier step had consumed; that is what `zerograd run` records.",
)
