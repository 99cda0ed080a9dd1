"""C14: when accumulating, clear only after the accumulated step, or at the top under a guard."""

from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, INK, SOFT_GOOD
from zerograd.lab.loop import Loop, distance, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.shapes import shapes_scene
from zerograd.lab.statistics import off

MICRO, N = 10, 4  # ten micro-batches in groups of four: the last group has two
_TEXT = """\
import torch

for i, (x, y) in enumerate(batches):
{top}    loss = loss_fn(model(x), y) / accumulation_steps
    loss.backward()
    if {test}:
        optimizer.step()
{end}"""
_FULL, _TAIL = "(i + 1) % accumulation_steps == 0", "(i + 1) % accumulation_steps == 0 or i + 1 == len(batches)"
_CLEAR = "        optimizer.zero_grad()\n"


def _loop(name: str, test: str, *, top: str = "", end: str = _CLEAR) -> Loop:
    return Loop(name, _TEXT.format(top=top, test=test, end=end))


AFTER = _loop("clear after the step", _TAIL)
GUARDED = _loop("clear at the top, under a guard", _TAIL, end="", top="    if i % accumulation_steps == 0:\n" + _CLEAR)
EARLY = _loop("steps on i % N == 0", "i % accumulation_steps == 0")
EVERY = _loop("clear at every micro-batch", _TAIL, end="", top="    optimizer.zero_grad()\n")
DROPPED = _loop("the last group dropped", _FULL)
LATE = _loop("clear at the top, guard off by one", _TAIL, end="", top="    if i % accumulation_steps == 1:\n" + _CLEAR)
NEVER = _loop("never cleared", _TAIL, end="")
LOOPS = (AFTER, GUARDED, EARLY, DROPPED, EVERY, LATE, NEVER)
STEP = Loop(
    "accumulated through Step",
    """\
from zerograd import Step, groups

step = Step(optimizer)
for group in groups(batches, accumulation_steps):
    with step:
        for x, y in step.micro_batches(group, reduce="sum"):
            step.backward(loss_fn(model(x), y) / accumulation_steps)
""",
)
STEP_CLEARING = Loop(
    "cleared in a Step",
    STEP.text.replace("            step.b", "            optimizer.zero_grad()\n            step.b"),
)


class _Register(nn.Module):
    """One weight per micro-batch: its gradient is how often, and with what weight, that micro-batch is consumed."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = nn.Parameter(torch.zeros(MICRO))

    def forward(self, which: Tensor) -> Tensor:
        return self.entries[which]


def _consumed(loop: Loop) -> list[list[float]]:
    """For each step, how much of each micro-batch it consumes (1: all of it, once)."""
    model = _Register()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    rows: list[list[float]] = []

    def before(*_: object) -> None:
        grad = model.entries.grad
        rows.append([0.0] * MICRO if grad is None else [round(float(value) * N, 6) for value in grad])

    optimizer.register_step_pre_hook(before)
    batches = [(torch.tensor(number), None) for number in range(MICRO)]
    loop.run(
        {
            "model": model,
            "optimizer": optimizer,
            "batches": batches,
            "loss_fn": lambda out, y: out,
            "accumulation_steps": N,
        }
    )
    return rows


def _scene(*, steps: int = 40) -> dict[str, Any]:
    return shapes_scene(steps=steps + 2, batch=8, double=True) | {"accumulation_steps": N}


def measure() -> Measured:
    right = weights(AFTER.run(_scene())["model"])
    start = weights(_scene(steps=1)["model"])
    measured: Measured = {}
    for loop in LOOPS:
        rows = _consumed(loop)
        once = [sum(row[number] for row in rows) for number in range(MICRO)]
        measured[f"{loop.name}: consumed, by step"] = rows
        measured[f"{loop.name}: micro-batches that count once"] = sum(abs(total - 1) < 1e-6 for total in once)
        ended = weights(loop.run(_scene())["model"])
        measured[f"{loop.name}: movement that differs"] = distance(ended - start, right - start)
    return measured


def _once(measured: Measured, loop: Loop) -> int:
    count: int = measured[f"{loop.name}: micro-batches that count once"]
    return count


def judge(measured: Measured) -> Verdict:
    if any(_once(measured, loop) != MICRO for loop in (AFTER, GUARDED)):
        return Verdict(Ruling.DOES_NOT_HOLD, "one of the two idioms does not count every micro-batch once")
    wrong = [loop for loop in LOOPS[2:] if measured[f"{loop.name}: movement that differs"] > 1e-9]
    if len(wrong) < len(LOOPS) - 2:
        return Verdict(Ruling.DOES_NOT_HOLD, "another placement is as good")
    told = "; ".join(
        f"{loop.name}: {_once(measured, loop)} of {MICRO}, training "
        f"{measured[f'{loop.name}: movement that differs']:.0%} off"
        for loop in wrong
    )
    return Verdict(Ruling.HOLDS, f"micro-batches that count exactly once: {MICRO} of {MICRO} with both idioms; {told}.")


def shown(measured: Measured) -> str:
    apart = measured[f"{GUARDED.name}: movement that differs"]
    counts = [_once(measured, loop) for loop in (AFTER, GUARDED)]
    return (
        f"the two idioms count {counts[0]} and {counts[1]} of {MICRO} micro-batches once and train {off(apart)} apart"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 7.0)
    panels = figure.subplots(len(LOOPS), sharex=True)
    for axes, loop in zip(panels, LOOPS, strict=True):
        for row, consumed in enumerate(measured[f"{loop.name}: consumed, by step"]):
            for number, share in enumerate(consumed):
                if share:
                    again = any(earlier[number] for earlier in measured[f"{loop.name}: consumed, by step"][:row])
                    axes.barh(row, 0.9, 0.8, left=number + 0.55, color=BAD if again else GOOD)
        lost = [
            number
            for number in range(MICRO)
            if not any(consumed[number] for consumed in measured[f"{loop.name}: consumed, by step"])
        ]
        for number in lost:
            axes.text(number + 1, 0.5, "x", ha="center", va="center", color=BAD, fontweight="bold")
        axes.set(yticks=range(3), yticklabels=["1", "2", "3"], ylim=(2.6, -0.6), xlim=(0.4, MICRO + 0.6))
        axes.set_title(f"{loop.name}: {_once(measured, loop)} of {MICRO} count once", fontsize=9)
        axes.grid(visible=False)
        for edge in range(N, MICRO, N):
            axes.axvline(edge + 0.5, color=SOFT_GOOD, linewidth=1)
    panels[-1].set(xlabel=f"micro-batch (groups of {N})", xticks=range(1, MICRO + 1))
    figure.supylabel("step", fontsize=9.5, color=INK)


CLAIM = Claim(
    id="C14",
    statement="When accumulating, clear only after the accumulated step, or at the top under a guard (step % N == 0)",
    bugs=(
        Bug(
            EARLY,
            "ZG103",
            _scene,
            right=AFTER,
            step=STEP,
            tolerance=1e-12,
            because="groups() makes the groups, and the block is the step: there is no counter to be off by one.",
        ),
        Bug(
            EVERY,
            "ZG002",
            _scene,
            right=AFTER,
            step=STEP,
            tolerance=1e-12,
            attempt=STEP_CLEARING,
            because="The block clears when it is entered, not for every micro-batch.",
        ),
        Bug(
            LATE,
            "ZG001 ZG002",
            _scene,
            right=AFTER,
            step=STEP,
            tolerance=1e-12,
            because="The block clears when it is entered; there is no guard to place.",
        ),
        Bug(
            DROPPED,
            "ZG102",
            _scene,
            right=AFTER,
            step=STEP,
            tolerance=1e-12,
            because="The last group may be smaller; it is a block like any other.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Each row is a step, each blue cell a micro-batch that it consumes; red is consumed again, x is never "
    "consumed. Only the first two loops count everything once.",
    advice="Write `if (i + 1) % N == 0 or i + 1 == len(loader):` and put step and clear behind it, in this order; "
    "or let `groups()` and Step count.",
)
