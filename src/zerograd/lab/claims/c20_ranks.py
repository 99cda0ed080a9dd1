"""C20: distributed training and accumulation must clear and synchronise once per step, not once per micro-batch."""

from typing import Any

import torch.distributed as dist
from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars
from zerograd.lab.loop import Loop, Played, distance, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.ranks import on_two_ranks
from zerograd.lab.shapes import shapes_scene

N = 4
MICRO = 40  # micro-batches of each rank
EXACT = 1e-12
_HEAD = """\
import torch
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel

ddp = DistributedDataParallel(model)
for i, (x, y) in enumerate(batches):
"""
DEFERRED = Loop(
    "synchronised once per step",
    _HEAD
    + """\
    last = (i + 1) % accumulation_steps == 0
    with nullcontext() if last else ddp.no_sync():
        loss = loss_fn(ddp(x), y) / accumulation_steps
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
""",
)
EACH = Loop(
    "synchronised at every micro-batch",
    _HEAD
    + """\
    loss = loss_fn(ddp(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
)
NEVER = Loop(
    "the last micro-batch not synchronised",
    _HEAD
    + """\
    with ddp.no_sync():
        loss = loss_fn(ddp(x), y) / accumulation_steps
        loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
)
CLEARED = Loop(
    "cleared at every micro-batch",
    EACH.text.replace("    loss = loss_fn", "    optimizer.zero_grad()\n    loss = loss_fn"),
)
ALONE = Loop(
    "one process, the whole batch",
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
STEP = Loop(
    "two ranks through Step",
    """\
from torch.nn.parallel import DistributedDataParallel
from zerograd import Step, groups

ddp = DistributedDataParallel(model)
step = Step(optimizer, model=ddp)
for group in groups(batches, accumulation_steps):
    with step:
        for x, y in step.micro_batches(group):
            step.backward(loss_fn(ddp(x), y))
""",
)


def both_halves() -> dict[str, Any]:
    """The blanks of one process that has all rows."""
    return shapes_scene(steps=MICRO, batch=16, double=True, spare=False) | {"accumulation_steps": N}


def half() -> dict[str, Any]:
    """The blanks of one rank: its half of the rows of every micro-batch."""
    scene = both_halves()
    rank = dist.get_rank()
    scene["batches"] = [(x.chunk(2)[rank], y.chunk(2)[rank]) for x, y in scene["batches"]]
    return scene


def _once_per_step(played: Played) -> str:
    exchanges = played.names["exchanges"]
    return "" if exchanges <= MICRO / N else f"{exchanges} exchanges for {MICRO // N} steps"


def measure() -> Measured:
    whole = weights(ALONE.run(both_halves())["model"])
    measured: Measured = {"steps": MICRO // N, "micro-batches": MICRO}
    for loop in (DEFERRED, EACH, NEVER, CLEARED):
        played = on_two_ranks(loop, half, False)
        measured[f"{loop.name}: off one process by"] = distance(played.weights, whole)
        measured[f"{loop.name}: ranks apart"] = played.names["apart"]
        measured[f"{loop.name}: bytes exchanged"] = played.names["exchanged"]
    return measured


def judge(measured: Measured) -> Verdict:
    right, wasteful = (measured[f"{loop.name}: off one process by"] for loop in (DEFERRED, EACH))
    saved = measured[f"{EACH.name}: bytes exchanged"] / max(1, measured[f"{DEFERRED.name}: bytes exchanged"])
    lost, torn = measured[f"{CLEARED.name}: off one process by"], measured[f"{NEVER.name}: ranks apart"]
    if right > EXACT or lost < 1e-3 or saved <= 1:
        return Verdict(Ruling.DOES_NOT_HOLD)
    return Verdict(
        Ruling.HOLDS,
        f"clearing once per step is needed to be right (cleared at every micro-batch the weights are {lost:.0%} "
        "off); synchronising once is needed to be cheap: every micro-batch "
        f"{'is right too' if wasteful < EXACT else 'is wrong'}, at {saved:.0f} times the bytes. Never is wrong: the "
        f"ranks end {torn:.1%} apart.",
    )


def shown(measured: Measured) -> str:
    once, each = (measured[f"{loop.name}: bytes exchanged"] / 1e3 for loop in (DEFERRED, EACH))
    return (
        f"two ranks end {measured[f'{DEFERRED.name}: off one process by']:.0e} from one process with the whole "
        f"batch; {once:.0f} kB exchanged once per step, {each:.0f} kB at every micro-batch"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.2)
    top, bottom = figure.subplots(2)
    loops = {"once per step": DEFERRED, "every micro-batch": EACH, "never": NEVER, "cleared every time": CLEARED}
    errors = {name: measured[f"{loop.name}: off one process by"] for name, loop in loops.items()}
    bars(top, errors, form="{:.0e}", colours=[BAD if error > EXACT else GOOD for error in errors.values()], floor=1e-18)
    top.set(xlabel="distance from one process (share of the weights)")
    sent = {name: measured[f"{loop.name}: bytes exchanged"] / 1e3 for name, loop in loops.items()}
    bars(bottom, sent, form="{:.0f} kB", colours=(GOOD, BAD, BAD, BAD))
    bottom.set(xlabel=f"exchanged in {measured['steps']} steps (kB per rank)")


CLAIM = Claim(
    id="C20",
    statement="Distributed training and accumulation must clear and synchronise once per step, not once per "
    "micro-batch",
    bugs=(
        Bug(
            EACH,
            "ZG501",
            half,
            right=DEFERRED,
            step=STEP,
            player=on_two_ranks,
            demand=_once_per_step,
            tolerance=EXACT,
            because="The block knows which micro-batch is the last, and synchronises there.",
        ),
        Bug(
            NEVER,
            "ZG502",
            half,
            right=DEFERRED,
            step=STEP,
            player=on_two_ranks,
            tolerance=EXACT,
            because="There is no no_sync() to place.",
        ),
        Bug(
            CLEARED,
            "ZG002",
            half,
            right=DEFERRED,
            step=STEP,
            player=on_two_ranks,
            tolerance=EXACT,
            because="The block clears when it is entered, not for every micro-batch.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, how far two ranks end from one process with the same rows: blue is rounding; below, what each way "
    "sends.",
    advice="Run all micro-batches but the last of a group under `ddp.no_sync()`, forward included, and clear once, "
    "behind the step.",
)
