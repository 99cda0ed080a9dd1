"""C15: several losses, each with its own backward(), need the reset under precise control."""

import time
from typing import Any

import torch
from matplotlib.figure import Figure
from torch.optim import SGD

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, THIRD, bars
from zerograd.lab.loop import Loop, distance, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.memory import Bytes
from zerograd.lab.shapes import drawn, shape_net
from zerograd.lab.statistics import interval, told

_TEXT = """\
import torch

for x, kind, size in batches:
    optimizer.zero_grad()
    features = model.body(x)
    kind_loss = torch.nn.functional.cross_entropy(model.kind(features), kind)
    size_loss = torch.nn.functional.mse_loss(4 + model.size(features).squeeze(1), size)
{backward}    optimizer.step()
"""
SUMMED = Loop("added, one backward", _TEXT.format(backward="    (kind_loss + size_loss).backward()\n"))
EACH = Loop(
    "a backward each, graph retained",
    _TEXT.format(backward="    kind_loss.backward(retain_graph=True)\n    size_loss.backward()\n"),
)
UNRETAINED = Loop(
    "a backward each, graph freed", _TEXT.format(backward="    kind_loss.backward()\n    size_loss.backward()\n")
)
BETWEEN = Loop(
    "cleared between the two backwards",
    _TEXT.format(
        backward="    kind_loss.backward(retain_graph=True)\n    optimizer.zero_grad()\n    size_loss.backward()\n"
    ),
)
RETAINED = Loop(
    "graph retained for nobody", _TEXT.format(backward="    (kind_loss + size_loss).backward(retain_graph=True)\n")
)
STEP = Loop(
    "two losses through Step",
    """\
import torch
from zerograd import Step

step = Step(optimizer)
for x, kind, size in batches:
    with step:
        features = model.body(x)
        kind_loss = torch.nn.functional.cross_entropy(model.kind(features), kind)
        size_loss = torch.nn.functional.mse_loss(4 + model.size(features).squeeze(1), size)
        step.backward(kind_loss + size_loss)
""",
)
STEP_CLEARING = Loop(
    "cleared in a Step",
    STEP.text.replace(
        "step.backward(kind_loss + size_loss)", "step.backward(kind_loss)\n        optimizer.zero_grad()"
    ),
)


def _scene(*, steps: int = 8, double: bool = False, batch: int = 32) -> dict[str, Any]:
    model = shape_net(double=double)
    images, kinds, radius = drawn(512, seed=0)
    images, radius = (images.double(), radius.double()) if double else (images, radius)
    order = torch.Generator().manual_seed(0)
    rows = [torch.randint(512, (batch,), generator=order) for _ in range(steps)]
    return {
        "model": model,
        "optimizer": SGD(model.parameters(), lr=0.01),
        "batches": [(images[some], kinds[some], radius[some]) for some in rows],
    }


def _apart(*, double: bool) -> float:
    each, summed = (weights(loop.run(_scene(steps=60, double=double))["model"]) for loop in (EACH, SUMMED))
    return distance(each, summed)


def _held(loop: Loop) -> int:
    """Bytes that live when the step is taken, after the backwards: what a retained graph still holds."""
    scene = _scene(steps=2, batch=256)
    meter = Bytes()
    held: list[int] = []
    scene["optimizer"].register_step_pre_hook(lambda *_: held.append(meter.live))
    with meter:
        loop.run(scene)
    return held[-1]


def _time() -> list[float]:
    """Time of a backward each over time of one, in interleaved rounds."""
    spent: dict[Loop, list[float]] = {SUMMED: [], EACH: []}
    scene = _scene(steps=8, batch=128)
    for round_ in range(9):
        for loop, seconds in spent.items():
            begin = time.thread_time()
            loop.run(scene)
            if round_:
                seconds.append(time.thread_time() - begin)
    return [each / summed for each, summed in zip(spent[EACH], spent[SUMMED], strict=True)]


def measure() -> Measured:
    lost, summed = (weights(loop.run(_scene(steps=60))["model"]) for loop in (BETWEEN, SUMMED))
    start = weights(_scene()["model"])
    return {
        "backward each against the sum, float32, apart": _apart(double=False),
        "backward each against the sum, float64, apart": _apart(double=True),
        "cleared in between: movement that differs": distance(lost - start, summed - start),
        "without retain_graph: ends with": type(UNRETAINED.play(_scene()).error).__name__,
        "time of a backward each over one": interval(_time()),
        "bytes held at the step": {loop.name: _held(loop) for loop in (SUMMED, EACH, RETAINED)},
    }


def judge(measured: Measured) -> Verdict:
    same = measured["backward each against the sum, float64, apart"] < 1e-12
    lost = measured["cleared in between: movement that differs"]
    if not same or lost < 0.01:
        return Verdict(Ruling.DOES_NOT_HOLD, "" if same else "a backward each is another sum")
    cost = measured["time of a backward each over one"]
    return Verdict(
        Ruling.HOLDS,
        f"a clear between the two changes {lost:.0%} of the training. Adding first gives the same sum within "
        f"rounding and needs no control at all; a backward each goes through the shared layers twice (x{told(cost)} "
        f"the time) and ends with {measured['without retain_graph: ends with']} without retain_graph=True.",
    )


def shown(measured: Measured) -> str:
    return (
        f"a backward each equals the sum ({measured['backward each against the sum, float32, apart']:.0e} apart in "
        f"float32, {measured['backward each against the sum, float64, apart']:.0e} in float64) at "
        f"x{told(measured['time of a backward each over one'])} the time; cleared in between "
        f"{measured['cleared in between: movement that differs']:.0%} of the training differs"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.0)
    top, bottom = figure.subplots(2)
    errors = {
        "each, float64": measured["backward each against the sum, float64, apart"],
        "each, float32": measured["backward each against the sum, float32, apart"],
        "cleared in between": measured["cleared in between: movement that differs"],
    }
    bars(top, errors, form="{:.0e}", colours=(GOOD, GOOD, BAD), floor=1e-18)
    top.set(xlabel="distance from the sum's weights (share)")
    peaks = {name: size / 1e6 for name, size in measured["bytes held at the step"].items()}
    bars(bottom, peaks, form="{:.2f} MB", colours=(GOOD, THIRD, BAD))
    bottom.set(xlabel="memory held at the step (MB)")


CLAIM = Claim(
    id="C15",
    statement="Several losses, each with its own backward(), need the reset under precise control",
    bugs=(
        Bug(
            BETWEEN,
            "ZG002",
            _scene,
            right=SUMMED,
            step=STEP,
            attempt=STEP_CLEARING,
            because="The block clears when it is entered and at no other time.",
        ),
        Bug(
            RETAINED,
            "ZG402",
            _scene,
            right=SUMMED,
            step=STEP,
            because="step.backward has no retain_graph: a graph lives as long as something uses it.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, two backwards give the sum's weights up to rounding, unless a clear stands between them; below, "
    "what a retained graph still holds when the step is taken.",
    advice="Add the losses and call backward once. Where each needs its own backward, clear once, before the first.",
)
