"""C16: with mixed precision gradients live scaled, and the order of unscale, clip, step and update matters."""

from functools import partial
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, COLOURS, GOOD, bars, curves
from zerograd.lab.loop import Loop, distance, gradients, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.shapes import accuracy, shapes_scene
from zerograd.lab.statistics import interval, told

STEPS = 100
SEEDS = (0, 1, 2)
SCALE = 2.0**12
RIGHT = Loop(
    "in order",
    """\
import torch

for x, y in batches:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
""",
)
CLIPPED_FIRST = Loop("clipped before unscaling", RIGHT.text.replace("    scaler.unscale_(optimizer)\n", ""))
BYPASSED = Loop(
    "the scaler bypassed",
    RIGHT.text.replace("    scaler.unscale_(optimizer)\n", "")
    .replace("    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", "")
    .replace("    scaler.step(optimizer)\n    scaler.update()", "    optimizer.step()"),
)
NEVER_UPDATED = Loop("the scale never updated", RIGHT.text.replace("    scaler.update()\n", ""))
GROUPED = Loop(
    "accumulated, updated per step",
    """\
import torch

for i, (x, y) in enumerate(batches):
    loss = loss_fn(model(x), y) / accumulation_steps
    scaler.scale(loss).backward()
    if (i + 1) % accumulation_steps == 0:
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
""",
)
UNSCALED = Loop(
    "accumulated, without a scaler",
    """\
import torch

for i, (x, y) in enumerate(batches):
    loss = loss_fn(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
)
UPDATED_INSIDE = Loop(
    "unscaled and updated at every micro-batch",
    """\
import torch

for i, (x, y) in enumerate(batches):
    loss = loss_fn(model(x), y) / accumulation_steps
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if (i + 1) % accumulation_steps == 0:
        scaler.step(optimizer)
        optimizer.zero_grad()
    scaler.update()
""",
)
UPDATED_ALONE = Loop(
    "updated at every micro-batch",
    UPDATED_INSIDE.text.replace("    scaler.unscale_(optimizer)\n", ""),
)
STEP = Loop(
    "scaled through Step",
    """\
import torch
from zerograd import Step

step = Step(optimizer, clip=1.0, autocast=torch.bfloat16, scaler=scaler)
for x, y in batches:
    with step:
        loss = loss_fn(model(x), y)
        step.backward(loss)
    losses.append(loss.item())
""",
)
STEP_GROUPED = Loop(
    "accumulated and scaled through Step",
    """\
from zerograd import Step, groups

step = Step(optimizer, scaler=scaler)
for group in groups(batches, accumulation_steps):
    with step:
        for x, y in step.micro_batches(group):
            step.backward(loss_fn(model(x), y))
""",
)
STEP_CLIPPING = Loop(
    "clipped in a Step",
    STEP.text.replace(
        "        step.backward(loss)",
        "        step.backward(loss)\n        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    ),
)
STEP_UNSCALING = Loop("unscaled in a Step", STEP_GROUPED.text + "            scaler.unscale_(optimizer)\n")


def _scene(*, steps: int = 8, double: bool = False, seed: int = 0, **settings: Any) -> dict[str, Any]:
    scaler = torch.amp.GradScaler("cpu", **({"init_scale": SCALE} | settings))
    return shapes_scene(steps=steps, double=double, seed=seed) | {"scaler": scaler, "accumulation_steps": 4}


def _update(loop: Loop) -> Tensor:
    """What the first step moves the weights by."""
    scene = _scene(steps=4)
    start = weights(scene["model"])
    loop.run(scene | {"batches": scene["batches"][:1]})
    return weights(scene["model"]) - start


def _trained(loop: Loop, seed: int) -> tuple[list[float], float]:
    scene = _scene(steps=STEPS, seed=seed)
    scene["optimizer"] = torch.optim.SGD(scene["model"].parameters(), lr=0.2)
    loop.run(scene)
    return [min(loss, 1e4) if loss == loss else 1e4 for loss in scene["losses"]], accuracy(scene["model"])


def _skipped() -> dict[str, float]:
    """A batch that overflows: does the step stay out, and does the scale go down, as it should?"""
    scene = _scene(steps=3, init_scale=2.0**120)
    before = weights(scene["model"])
    loss_fn = scene["loss_fn"]
    RIGHT.run(scene | {"batches": scene["batches"][:1], "loss_fn": lambda out, y: 1e6 * loss_fn(out, y)})
    return {
        "moved": distance(weights(scene["model"]), before),
        "scale, over the one before": scene["scaler"].get_scale() / 2.0**120,
    }


def _consumed(loop: Loop) -> Tensor:
    scene = _scene(steps=4, double=True)
    seen: list[Tensor] = []
    scene["optimizer"].register_step_pre_hook(lambda *_: seen.append(gradients(scene["model"])))
    loop.run(scene)
    return seen[0]


def _grouped(loop: Loop) -> float:
    """How far one accumulated gradient is from that of a loop without a scaler."""
    return distance(_consumed(loop), _consumed(UNSCALED))


def measure() -> Measured:
    right = _update(RIGHT)
    measured: Measured = {"scale": SCALE, "steps": STEPS}
    for loop in (CLIPPED_FIRST, BYPASSED):
        measured[f"{loop.name}: length of the update, over the right one"] = float(_update(loop).norm() / right.norm())
    for loop in (RIGHT, CLIPPED_FIRST, BYPASSED):
        runs = [_trained(loop, seed) for seed in SEEDS]
        measured[f"{loop.name}: loss by step"] = runs[0][0]
        measured[f"{loop.name}: shapes told apart"] = interval([share for _, share in runs])
    measured["accumulated, updated per step: gradient off by"] = _grouped(GROUPED)
    measured["updated at every micro-batch: gradient off by"] = _grouped(UPDATED_INSIDE)
    measured["updated without unscaling: ends with"] = type(UPDATED_ALONE.play(_scene()).error).__name__
    measured |= {f"overflow: {name}": value for name, value in _skipped().items()}
    return measured


def judge(measured: Measured) -> Verdict:
    clipped = measured[f"{CLIPPED_FIRST.name}: length of the update, over the right one"]
    bypassed = measured[f"{BYPASSED.name}: length of the update, over the right one"]
    inside = measured["updated at every micro-batch: gradient off by"]
    sound = measured["accumulated, updated per step: gradient off by"] < 1e-9 and measured["overflow: moved"] == 0
    if not sound or abs(clipped - 1) < 0.05 or abs(bypassed - 1) < 0.05 or inside < 0.01:
        return Verdict(Ruling.DOES_NOT_HOLD, "" if sound else "even in order the gradients are wrong")
    return Verdict(
        Ruling.HOLDS,
        f"clipped before unscaling, the update is {clipped:.2g} of the right one; with the scaler bypassed it is "
        f"{bypassed:,.0f} times as long; unscaled at every micro-batch an accumulated gradient is {inside:.0%} off "
        f"(an update without it ends with {measured['updated without unscaling: ends with']}). In order an overflow "
        f"moves nothing and takes the scale to {measured['overflow: scale, over the one before']:g} of what it was.",
    )


def shown(measured: Measured) -> str:
    return "shapes told apart: " + ", ".join(
        f"{told(measured[f'{loop.name}: shapes told apart'], '.0%')} {loop.name}"
        for loop in (RIGHT, CLIPPED_FIRST, BYPASSED)
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.8)
    top, bottom = figure.subplots(2, height_ratios=(3, 2))
    lines = {loop.name: measured[f"{loop.name}: loss by step"] for loop in (RIGHT, CLIPPED_FIRST, BYPASSED)}
    curves(top, lines, colours=(GOOD, BAD, COLOURS[3]))
    top.set(xlabel="step", ylabel="loss (nats)", yscale="log")
    errors = {
        "per step": measured["accumulated, updated per step: gradient off by"],
        "per micro-batch": measured["updated at every micro-batch: gradient off by"],
    }
    bars(bottom, errors, form="{:.0e}", colours=(GOOD, BAD), floor=1e-18)
    bottom.set(xlabel="error of an accumulated gradient (share)")


CLAIM = Claim(
    id="C16",
    statement="Mixed precision: gradients live scaled; keep zero, forward, backward, unscale, clip, step, update "
    "in order",
    bugs=(
        Bug(
            CLIPPED_FIRST,
            "ZG201",
            _scene,
            right=RIGHT,
            step=STEP,
            attempt=STEP_CLIPPING,
            tolerance=1e-5,
            because="clip= comes after the division by the scale, in the only order there is.",
        ),
        Bug(
            BYPASSED,
            "ZG202",
            _scene,
            right=RIGHT,
            step=STEP,
            tolerance=1e-5,
            because="A Step that has the scaler does all there is to do with it.",
        ),
        Bug(
            NEVER_UPDATED,
            "ZG203",
            _scene,
            right=RIGHT,
            step=STEP,
            tolerance=1e-5,
            because="Every commit updates the scale.",
        ),
        Bug(
            UPDATED_INSIDE,
            "ZG203 ZG204 ZG107",
            partial(_scene, steps=16, double=True),
            right=GROUPED,
            step=STEP_GROUPED,
            attempt=STEP_UNSCALING,
            tolerance=1e-12,
            because="The sum is unscaled once, at commit, and the scale updated there.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, the loss in order (blue) against clipping scaled gradients and stepping on them; below, how wrong "
    "an accumulated gradient gets when the scale changes inside it.",
    advice="Keep the order: backward of the scaled loss, unscale_, clip, step, update; once per step, not per "
    "micro-batch. `Step(optimizer, scaler=scaler, clip=1.0)` has no other order.",
)
