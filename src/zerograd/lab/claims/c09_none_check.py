"""C09: a manual loop needs the `is not None` check, because the first iteration has no gradient."""

from functools import partial

from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars
from zerograd.lab.loop import Loop
from zerograd.lab.meeting import Bug
from zerograd.lab.plain import CLEAR_AT_TOP, THROUGH_STEP
from zerograd.lab.shapes import shapes_scene

STEPS = 8
UNCHECKED = Loop(
    "unchecked, at the top",
    """\
import torch

for x, y in batches:
    for p in model.parameters():
        p.grad.zero_()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
""",
)
CHECKED = Loop(
    "checked, at the top",
    UNCHECKED.text.replace("        p.grad.zero_()", "        if p.grad is not None:\n            p.grad.zero_()"),
)
BEHIND = Loop(
    "unchecked, behind the step",
    """\
import torch

for x, y in batches:
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.grad.zero_()
    losses.append(loss.item())
""",
)
_MODEL = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 7 * 7, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
"""


def _whole(loop: Loop) -> Loop:
    """The loop with the model in sight: what `check` has to see to know that there is no gradient yet."""
    return Loop(loop.name, _MODEL + loop.text.removeprefix("import torch\n\n"))


def _steps(loop: Loop, *, unused: bool) -> int:
    """How many steps a loop takes before it raises. unused: one head takes no part in the loss."""
    scene = shapes_scene(steps=STEPS, spare=unused)
    loop.play(scene)
    return len(scene["losses"])


def measure() -> Measured:
    return {"steps": STEPS} | {
        f"{loop.name}, {'one head unused' if unused else 'every parameter used'}": _steps(loop, unused=unused)
        for loop in (UNCHECKED, CHECKED, BEHIND)
        for unused in (False, True)
    }


def judge(measured: Measured) -> Verdict:
    steps = measured["steps"]
    every = {name: count == steps for name, count in measured.items() if name != "steps"}
    needed = not every[f"{UNCHECKED.name}, every parameter used"]
    enough = every[f"{CHECKED.name}, every parameter used"] and every[f"{CHECKED.name}, one head unused"]
    if not needed or not enough:
        return Verdict(Ruling.DOES_NOT_HOLD)
    if every[f"{BEHIND.name}, every parameter used"]:
        return Verdict(
            Ruling.HOLDS_IF,
            "the clear stands before the first backward (the unchecked loop raises after "
            f"{measured[f'{UNCHECKED.name}, every parameter used']} steps), or a parameter takes no part in the "
            "loss. Behind the step, with every parameter used, no check is needed.",
        )
    return Verdict(Ruling.HOLDS)


def shown(measured: Measured) -> str:
    steps = measured["steps"]
    top, checked = (measured[f"{loop.name}, every parameter used"] for loop in (UNCHECKED, CHECKED))
    behind, spare = (measured[f"{BEHIND.name}, {who}"] for who in ("every parameter used", "one head unused"))
    return (
        f"of {steps} steps the unchecked loop at the top takes {top}, the checked one {checked}; unchecked behind "
        f"the step {behind}, with an unused head {spare}"
    )


def draw(figure: Figure, measured: Measured) -> None:
    axes = figure.subplots()
    counts = {name.replace(", ", ",\n", 1): count for name, count in measured.items() if name != "steps"}
    bars(
        axes, counts, form="{:.0f}", colours=[GOOD if count == measured["steps"] else BAD for count in counts.values()]
    )
    axes.tick_params(axis="y", labelsize=8)
    axes.set(xlabel=f"steps taken before it raises (of {measured['steps']})")


CLAIM = Claim(
    id="C09",
    statement="A manual loop of p.grad.zero_() needs the `is not None` check, because the first iteration has no "
    "gradient",
    bugs=(
        Bug(
            _whole(UNCHECKED),
            "ZG303",
            partial(shapes_scene, steps=4),
            right=_whole(CLEAR_AT_TOP),
            step=_whole(THROUGH_STEP),
            because="The block clears, and asks before it does.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="The unchecked loop at the top raises before its first step; behind the step it raises only when a head is "
    "unused.",
    advice="Call `optimizer.zero_grad()`. By hand, write `p.grad = None`, which needs no check, or ask `if p.grad "
    "is not None`.",
)
