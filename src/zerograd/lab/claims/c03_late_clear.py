"""C03: clearing right before backward() can erase gradients that were gathered on purpose earlier in the step."""

from functools import partial
from statistics import fmean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch.optim import Adam

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, curves
from zerograd.lab.loop import Loop, distance, gradients
from zerograd.lab.meeting import Bug
from zerograd.lab.shapes import ShapeNet, drawn, shape_net
from zerograd.lab.statistics import apart, interval, told

STEPS = 120
SEEDS = (0, 1, 2, 3, 4)
LATE = Loop(
    "cleared right before the second backward",
    """\
import torch

for x, kind, size in batches:
    size_loss = torch.nn.functional.mse_loss(model.sizes(x), size)
    size_loss.backward()
    kind_loss = torch.nn.functional.cross_entropy(model(x), kind)
    optimizer.zero_grad()
    kind_loss.backward()
    optimizer.step()
    losses.append(size_loss.item())
""",
)
EARLY = Loop(
    "cleared at the top",
    """\
import torch

for x, kind, size in batches:
    optimizer.zero_grad()
    size_loss = torch.nn.functional.mse_loss(model.sizes(x), size)
    size_loss.backward()
    kind_loss = torch.nn.functional.cross_entropy(model(x), kind)
    kind_loss.backward()
    optimizer.step()
    losses.append(size_loss.item())
""",
)
STEP = Loop(
    "two losses through Step",
    """\
import torch
from zerograd import Step

step = Step(optimizer)
for x, kind, size in batches:
    with step:
        size_loss = torch.nn.functional.mse_loss(model.sizes(x), size)
        step.backward(size_loss)
        kind_loss = torch.nn.functional.cross_entropy(model(x), kind)
        step.backward(kind_loss)
    losses.append(size_loss.item())
""",
)
STEP_LATE = Loop(
    "cleared in a Step",
    STEP.text.replace("        step.backward(kind", "        optimizer.zero_grad()\n        step.backward(kind"),
)


def _scene(*, steps: int, seed: int = 0) -> dict[str, Any]:
    model = shape_net(seed=seed)
    images, kinds, radius = drawn(1024, seed=seed)
    order = torch.Generator().manual_seed(seed)
    rows = [torch.randint(1024, (32,), generator=order) for _ in range(steps)]
    return {
        "model": model,
        "optimizer": Adam(model.parameters(), lr=0.003),
        "batches": [(images[some], kinds[some], radius[some]) for some in rows],
        "losses": [],
    }


def _consumed(loop: Loop) -> list[torch.Tensor]:
    """The gradients of the first steps, with weights that stay: only the loop differs."""
    scene = _scene(steps=10)
    seen: list[torch.Tensor] = []
    scene["optimizer"] = torch.optim.SGD(scene["model"].parameters(), lr=0.0)
    scene["optimizer"].register_step_pre_hook(lambda *_: seen.append(gradients(scene["model"])))
    loop.run(scene)
    return seen


def _pixels(model: ShapeNet) -> float:
    """How far the guessed radius of new drawings is from the true one."""
    images, _, radius = drawn(512, seed=9)
    with torch.no_grad():
        return float((model.sizes(images) - radius).abs().mean())


def measure() -> Measured:
    lost = [distance(late, early) for late, early in zip(_consumed(LATE), _consumed(EARLY), strict=True)]
    runs = {loop: [loop.run(_scene(steps=STEPS, seed=seed)) for seed in SEEDS] for loop in (EARLY, LATE)}
    return {
        "share of the update that is lost": interval(lost),
        "radius off by (pixels), cleared at the top": interval([_pixels(run["model"]) for run in runs[EARLY]]),
        "radius off by (pixels), cleared late": interval([_pixels(run["model"]) for run in runs[LATE]]),
        "loss of the first head, cleared at the top": _mean([run["losses"] for run in runs[EARLY]]),
        "loss of the first head, cleared late": _mean([run["losses"] for run in runs[LATE]]),
    }


def _mean(curves: list[list[float]]) -> list[float]:
    return [fmean(values) for values in zip(*curves, strict=True)]


def judge(measured: Measured) -> Verdict:
    early, late = (measured[f"radius off by (pixels), cleared {when}"] for when in ("at the top", "late"))
    lost = measured["share of the update that is lost"]["mean"] > 0.01
    if not lost:
        return Verdict(Ruling.DOES_NOT_HOLD, "nothing was lost")
    hurt = apart(early, late) and late["mean"] > early["mean"]
    effect = "and the first head does not learn" if hurt else "though the result is the same here"
    return Verdict(Ruling.HOLDS, f"wherever an earlier backward of the same step has deposited, {effect}.")


def shown(measured: Measured) -> str:
    early, late = (measured[f"radius off by (pixels), cleared {when}"] for when in ("at the top", "late"))
    return (
        f"{told(measured['share of the update that is lost'], '.0%')} of the update lost; radius off by "
        f"{told(early)} pixels cleared at the top, {told(late)} cleared late"
    )


def draw(figure: Figure, measured: Measured) -> None:
    axes = figure.subplots()
    curves(
        axes,
        {f"cleared {when}": measured[f"loss of the first head, cleared {when}"] for when in ("at the top", "late")},
        colours=(GOOD, BAD),
    )
    axes.set(xlabel="step", ylabel="loss of the size head (pixels squared)", ylim=(0, None))


CLAIM = Claim(
    id="C03",
    statement="Clearing right before backward() can erase gradients that were gathered on purpose earlier in the "
    "same step",
    bugs=(
        Bug(
            LATE,
            "ZG002",
            partial(_scene, steps=8),
            right=EARLY,
            step=STEP,
            attempt=STEP_LATE,
            because="The block clears when it is entered and at no other time.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="With the clear at the top the first head learns the size of a shape (blue); with the clear between the "
    "two backwards it does not (red).",
    advice="Clear at the top of the step, before the first backward of any loss. If the clear must stand late, add "
    "the losses and call backward once.",
)
