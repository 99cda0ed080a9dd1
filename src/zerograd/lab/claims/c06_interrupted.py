"""C06: clearing at the top keeps a failed iteration from damaging the next one."""

from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars
from zerograd.lab.loop import Loop, distance, gradients
from zerograd.lab.meeting import Bug
from zerograd.lab.shapes import shapes_scene

BAD_BATCH = 3  # its second loss raises, after the first has deposited


def _loop(name: str, clear: int) -> Loop:
    """Two losses, each with its own backward; `clear` says before which line the gradients are cleared."""
    lines = [
        "loss = loss_fn(model(x), y)",
        "loss.backward()",
        "penalty(i, model).backward()",
        "optimizer.step()",
    ]
    lines.insert(clear, "optimizer.zero_grad()")
    body = "".join(f"        {line}\n" for line in lines)
    return Loop(
        name,
        f"import torch\n\nfor i, (x, y) in enumerate(batches):\n    try:\n{body}    except ValueError:\n        "
        f"continue\n",
    )


TOP = _loop("clear at the top", 0)
FORWARD = _loop("clear after the forward pass", 1)
LAST = _loop("clear after the step, and an exception", 4)
SKIP = Loop(
    "clear after the step, and a skip",
    """\
import torch

for i, (x, y) in enumerate(batches):
    loss = loss_fn(model(x), y) * spoil(i)
    loss.backward()
    if torch.isnan(loss):
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
)
SKIP_RIGHT = Loop(
    "clear at the top, and a skip",
    """\
import torch

for i, (x, y) in enumerate(batches):
    optimizer.zero_grad()
    loss = loss_fn(model(x), y) * spoil(i)
    loss.backward()
    if torch.isnan(loss):
        continue
    optimizer.step()
""",
)
STEP = Loop(
    "through Step, and an exception",
    """\
from zerograd import Step

step = Step(optimizer)
for i, (x, y) in enumerate(batches):
    try:
        with step:
            step.backward(loss_fn(model(x), y))
            step.backward(penalty(i, model))
    except ValueError:
        continue
""",
)
STEP_SKIP = Loop(
    "through Step, and a loss that is none",
    """\
from zerograd import Step

step = Step(optimizer)
for i, (x, y) in enumerate(batches):
    with step:
        step.backward(loss_fn(model(x), y) * spoil(i))
""",
)


def _scene(*, steps: int = 8, fail: bool = True) -> dict[str, Any]:
    def penalty(i: int, model: torch.nn.Module) -> Tensor:
        if fail and i == BAD_BATCH:
            raise ValueError("a damaged sample")
        return torch.stack([p.square().sum() for p in model.parameters()]).sum() * 1e-3

    def spoil(i: int) -> float:
        return float("nan") if fail and i == BAD_BATCH else 1.0

    return shapes_scene(steps=steps) | {"penalty": penalty, "spoil": spoil}


def _next_update(loop: Loop, *, fail: bool) -> Tensor:
    """What the step right behind the bad batch consumes. The weights are held, so that it can be compared."""
    scene = _scene(fail=fail)
    scene["optimizer"] = torch.optim.SGD(scene["model"].parameters(), lr=0.0)
    seen: list[Tensor] = []
    scene["optimizer"].register_step_pre_hook(lambda *_: seen.append(gradients(scene["model"])))
    loop.run(scene)
    return seen[BAD_BATCH if fail else BAD_BATCH + 1]


def measure() -> Measured:
    return {
        loop.name: distance(_next_update(loop, fail=True), _next_update(loop, fail=False))
        for loop in (TOP, FORWARD, LAST)
    }


def judge(measured: Measured) -> Verdict:
    clean = [name for name, share in measured.items() if share == 0]
    if TOP.name not in clean:
        return Verdict(Ruling.DOES_NOT_HOLD, "the next update inherits with every placement")
    if LAST.name in clean:
        return Verdict(Ruling.DOES_NOT_HOLD, "no placement inherits anything")
    also = " Clearing after the forward pass protects as well." if FORWARD.name in clean else ""
    return Verdict(
        Ruling.HOLDS, f"only a clear that the exception jumps over, behind the step, is no protection.{also}"
    )


def shown(measured: Measured) -> str:
    return "the next update is wrong by: " + ", ".join(f"{share:.0%} ({name})" for name, share in measured.items())


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 2.1)
    axes = figure.subplots()
    shares = {name.removesuffix(", and an exception"): 100 * share for name, share in measured.items()}
    bars(axes, shares, form="{:.0f}%", colours=[BAD if share else GOOD for share in shares.values()])
    axes.set(xlabel="error of the next update (% of its length)")


CLAIM = Claim(
    id="C06",
    statement="If an iteration is interrupted, clearing at the top stops the next one from inheriting damaged "
    "gradients",
    bugs=(
        Bug(
            LAST,
            "ZG007",
            _scene,
            right=TOP,
            step=STEP,
            because="An exception rolls the block back; nothing of it remains.",
        ),
        Bug(
            SKIP,
            "ZG007",
            _scene,
            right=SKIP_RIGHT,
            step=STEP_SKIP,
            because="A block whose gradients are not finite is skipped and cleared.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Only the clear behind the step lets the broken iteration into the next update: the other bars are zero.",
    advice="Clear before the backward, not behind the step; an exception or a `continue` jumps over what stands "
    "behind. Or let Step roll the iteration back.",
)
