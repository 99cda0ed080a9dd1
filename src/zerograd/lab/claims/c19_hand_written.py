"""C19: a hand-written update under no_grad equals SGD."""

from functools import partial

import torch
from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars
from zerograd.lab.loop import Loop, differing, distance, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.shapes import accuracy, shapes_scene

STEPS = 150
RATE = 0.1
_TEXT = """\
import torch

for x, y in batches:
    model.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
{update}    losses.append(loss.item())
"""


def _loop(name: str, *update: str) -> Loop:
    return Loop(name, _TEXT.format(update="".join(f"    {line}\n" for line in update)))


SGD = _loop("optimizer.step()", "optimizer.step()")
TWICE = _loop(
    "W -= lr * W.grad", "with torch.no_grad():", "    for W in model.parameters():", "        W -= lr * W.grad"
)
ONCE = _loop(
    "W.sub_(W.grad, alpha=lr)",
    "with torch.no_grad():",
    "    for W in model.parameters():",
    "        W.sub_(W.grad, alpha=lr)",
)
TRACKED = _loop("W -= lr * W.grad, without no_grad", "for W in model.parameters():", "    W -= lr * W.grad")
REBOUND = _loop(
    "W = W - lr * W.grad",
    "with torch.no_grad():",
    "    for W in model.parameters():",
    "        W = W - lr * W.grad",
)
STEP = Loop(
    "through Step",
    """\
import torch
from zerograd import Step

step = Step(torch.optim.SGD(model.parameters(), lr=lr))
for x, y in batches:
    with step:
        loss = loss_fn(model(x), y)
        step.backward(loss)
    losses.append(loss.item())
""",
)


def _scene(*, steps: int = 6) -> dict[str, object]:
    return shapes_scene(steps=steps, make=partial(torch.optim.SGD, lr=RATE), spare=False) | {"lr": RATE}


def measure() -> Measured:
    right = SGD.run(_scene(steps=STEPS))["model"]
    start = weights(shapes_scene(steps=1, spare=False)["model"])
    measured: Measured = {"steps": STEPS, "weights": start.numel(), "shapes told apart, SGD": accuracy(right)}
    for loop in (TWICE, ONCE, REBOUND, TRACKED):
        played = loop.play(_scene(steps=STEPS))
        ended = weights(played.names["model"])
        measured[f"{loop.name}: ends with"] = type(played.error).__name__ if played.error else "nothing"
        measured[f"{loop.name}: weights that differ"] = differing(ended, weights(right))
        measured[f"{loop.name}: distance"] = distance(ended, weights(right))
        measured[f"{loop.name}: weights that moved"] = differing(ended, start)
    return measured


def judge(measured: Measured) -> Verdict:
    near = measured[f"{TWICE.name}: distance"] < 1e-4
    same = measured[f"{ONCE.name}: weights that differ"] == 0
    error = measured[f"{TRACKED.name}: ends with"]
    still = measured[f"{REBOUND.name}: weights that moved"] == 0 and measured[f"{REBOUND.name}: ends with"] == "nothing"
    if not near or not same:
        return Verdict(Ruling.DOES_NOT_HOLD)
    return Verdict(
        Ruling.HOLDS_IF,
        "it updates in place under no_grad: bit for bit when written as W.sub_(W.grad, alpha=lr), within rounding "
        f"as W -= lr * W.grad, which rounds twice ({measured[f'{TWICE.name}: weights that differ']:,} of "
        f"{measured['weights']:,} weights differ, {measured[f'{TWICE.name}: distance']:.0e} apart). It fails "
        f"without no_grad ({error}) and, "
        f"{'in silence' if still else 'with ' + str(measured[f'{REBOUND.name}: ends with'])}, as W = W - lr * "
        f"W.grad ({measured[f'{REBOUND.name}: weights that moved']} weights move).",
    )


def shown(measured: Measured) -> str:
    return "weights that differ from SGD's: " + ", ".join(
        f"{measured[f'{loop.name}: weights that differ']:,} ({loop.name})" for loop in (ONCE, TWICE, REBOUND)
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 2.4)
    axes = figure.subplots()
    apart = {loop.name: measured[f"{loop.name}: distance"] for loop in (ONCE, TWICE, REBOUND)}
    apart["without no_grad"] = measured[f"{TRACKED.name}: distance"]
    bars(axes, apart, form="{:.0e}", colours=(GOOD, GOOD, BAD, BAD), floor=1e-12)
    axes.set(xlabel="distance from SGD's weights (share)")


CLAIM = Claim(
    id="C19",
    statement="A hand-written update under no_grad equals SGD",
    bugs=(
        Bug(
            TRACKED,
            "ZG304",
            _scene,
            right=SGD,
            step=STEP,
            because="The optimizer updates; there is no update to write.",
        ),
        Bug(
            REBOUND,
            "ZG304",
            _scene,
            right=SGD,
            step=STEP,
            because="The optimizer updates; there is no name to rebind.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Written with alpha= the update is SGD's bit for bit, written with a product it is SGD's up to rounding; "
    "the other two train nothing at all.",
    advice="Use an optimizer. By hand: under no_grad, in place, `W.sub_(W.grad, alpha=lr)`.",
)
