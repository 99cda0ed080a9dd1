"""C02: the forward pass writes nothing to .grad; only backward() does."""

from functools import partial

import torch
from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD
from zerograd.lab.language import spelling, text_batches, writer
from zerograd.lab.loop import Loop, gradients
from zerograd.lab.meeting import Bug
from zerograd.lab.plain import CLEAR_AT_TOP, THROUGH_STEP
from zerograd.lab.shapes import shapes_scene

PASSES = 6
NO_BACKWARD = Loop(
    "backward forgotten",
    """\
import torch

for x, y in batches:
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    optimizer.step()
    losses.append(loss.item())
""",
)
STEP_WITHOUT = Loop(
    "backward forgotten, in a Step",
    """\
from zerograd import Step

step = Step(optimizer)
for x, y in batches:
    with step:
        loss = loss_fn(model(x), y)
    losses.append(loss.item())
""",
)


def measure() -> Measured:
    """Two kinds of pass through a transformer, and every slot looked at after each."""
    model = writer()
    parameters = dict(model.named_parameters())
    norms = [0.0]
    by_forward = by_backward = 0
    deposits: dict[str, int] = dict.fromkeys(parameters, 0)

    def changed() -> list[str]:
        now = {name: None if p.grad is None else p.grad.clone() for name, p in parameters.items()}
        moved = [name for name in now if not _same(before[name], now[name])]
        before.update(now)
        norms.append(float(gradients(model).norm()))
        return moved

    before: dict[str, torch.Tensor | None] = dict.fromkeys(parameters)
    for text in text_batches(PASSES):
        loss = spelling(model(text.inputs), text.targets)
        by_forward += len(changed())
        loss.backward()  # type: ignore[no-untyped-call]
        filled = changed()
        by_backward += len(filled)
        for name in filled:
            deposits[name] += 1
    loss = spelling(model(text.inputs), text.targets)
    torch.autograd.grad(loss, list(parameters.values()))
    return {
        "passes": PASSES,
        "slots": len(parameters),
        "slots written by forward": by_forward,
        "slots written by backward": by_backward,
        "slots written by autograd.grad": len(changed()),
        "norm of all gradients after each pass": norms[:-1],
        "deposits by parameter": deposits,
    }


def _same(old: torch.Tensor | None, new: torch.Tensor | None) -> bool:
    if old is None or new is None:
        return old is new
    return torch.equal(old, new)


def judge(measured: Measured) -> Verdict:
    silent = measured["slots written by forward"] == 0 and measured["slots written by autograd.grad"] == 0
    full = measured["slots written by backward"] == measured["slots"] * measured["passes"]
    return Verdict(Ruling.HOLDS if silent and full else Ruling.DOES_NOT_HOLD)


def shown(measured: Measured) -> str:
    return (
        f"{measured['slots written by forward']} of {measured['slots']} slots written by {measured['passes']} "
        f"forward passes, {measured['slots written by backward']} times one by as many backwards, "
        f"{measured['slots written by autograd.grad']} by autograd.grad"
    )


def draw(figure: Figure, measured: Measured) -> None:
    axes = figure.subplots()
    norms = measured["norm of all gradients after each pass"]
    for position in range(len(norms) - 1):
        forward = position % 2 == 0
        axes.plot(
            [position, position + 1],
            norms[position : position + 2],
            color=GOOD if forward else BAD,
            marker="o",
            markersize=3.5,
            linestyle="-" if forward else "--",
            label=("forward" if forward else "backward") if position < 2 else None,
        )
    axes.set(xlabel="pass (forward, backward, forward, ...)", ylabel="norm of all .grad", title="nothing is cleared")
    axes.legend()


CLAIM = Claim(
    id="C02",
    statement="The forward pass writes nothing to .grad; only backward() does",
    bugs=(
        Bug(
            NO_BACKWARD,
            "ZG003",
            partial(shapes_scene, steps=6),
            right=CLEAR_AT_TOP,
            step=THROUGH_STEP,
            attempt=STEP_WITHOUT,
            because="A block that deposits nothing does not commit.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Every forward pass (solid) leaves the gradients as they are; every backward (dashed) changes them.",
    advice="Between a step and the next backward() the gradients lie still: that is the whole room in which a "
    "clear has to happen, and in a plain loop it does not matter where in it.",
)
