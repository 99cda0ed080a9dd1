"""C18: recurrent networks and sums over several mini-batches rely on accumulation."""

from functools import partial

from matplotlib.figure import Figure
from torch import Tensor

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars, curves
from zerograd.lab.loop import Loop, distance, gradients
from zerograd.lab.meeting import Bug
from zerograd.lab.memory import peak_bytes
from zerograd.lab.signals import remembered, signal_scene
from zerograd.lab.statistics import interval, told

STEPS = 40
SEEDS = (0, 1, 2, 3)
CHUNKS = Loop(
    "a backward for every chunk, one step",
    """\
import torch

for chunks in sequences:
    optimizer.zero_grad()
    state = None
    for symbols, marks in chunks:
        logits, state = model(symbols, state)
        loss = torch.nn.functional.cross_entropy(logits, marks)
        loss.backward()
        state = tuple(part.detach() for part in state)
    optimizer.step()
    losses.append(loss.item())
""",
)
UNROLLED = Loop(
    "unrolled: all chunks' losses added, one backward",
    """\
import torch

for chunks in sequences:
    optimizer.zero_grad()
    state, total = None, 0.0
    for symbols, marks in chunks:
        logits, state = model(symbols, state)
        total = total + torch.nn.functional.cross_entropy(logits, marks)
        state = tuple(part.detach() for part in state)
    total.backward()
    optimizer.step()
""",
)
CLEARED = Loop(
    "cleared for every chunk, one step",
    CHUNKS.text.replace("    optimizer.zero_grad()\n", "").replace(
        "        loss.b", "        optimizer.zero_grad()\n        loss.b"
    ),
)
ATTACHED = Loop(
    "the state never detached", CHUNKS.text.replace("        state = tuple(part.detach() for part in state)\n", "")
)
STEP = Loop(
    "chunks through Step",
    """\
import torch
from zerograd import Step

step = Step(optimizer)
for chunks in sequences:
    with step:
        state = None
        for symbols, marks in step.micro_batches(chunks, reduce="sum"):
            logits, state = model(symbols, step.carry(state))
            loss = torch.nn.functional.cross_entropy(logits, marks)
            step.backward(loss)
    losses.append(loss.item())
""",
)
STEP_CLEARING = Loop(
    "cleared in a Step",
    STEP.text.replace("            step.backward", "            optimizer.zero_grad()\n            step.backward"),
)


def _consumed(loop: Loop) -> Tensor:
    scene = signal_scene(steps=1, double=True)
    seen: list[Tensor] = []
    scene["optimizer"].register_step_pre_hook(lambda *_: seen.append(gradients(scene["model"])))
    loop.run(scene)
    return seen[0]


def _peak(loop: Loop) -> int:
    return peak_bytes(lambda: loop.run(signal_scene(steps=2)))


def measure() -> Measured:
    unrolled = _consumed(UNROLLED)
    trained = {loop: [loop.run(signal_scene(steps=STEPS, seed=seed)) for seed in SEEDS] for loop in (CHUNKS, CLEARED)}
    return {
        "a backward for every chunk: gradient off the unrolled sum by": distance(_consumed(CHUNKS), unrolled),
        "cleared for every chunk: gradient off the unrolled sum by": distance(_consumed(CLEARED), unrolled),
        "the state never detached: ends with": type(ATTACHED.play(signal_scene(steps=1)).error).__name__,
        "peak bytes, chunks": _peak(CHUNKS),
        "peak bytes, unrolled": _peak(UNROLLED),
        "loss by step, chunks": trained[CHUNKS][0]["losses"],
        "loss by step, cleared for every chunk": trained[CLEARED][0]["losses"],
        "last mark known, chunks": interval([remembered(run["model"]) for run in trained[CHUNKS]]),
        "last mark known, cleared for every chunk": interval([remembered(run["model"]) for run in trained[CLEARED]]),
    }


def judge(measured: Measured) -> Verdict:
    same = measured["a backward for every chunk: gradient off the unrolled sum by"] < 1e-12
    lost = measured["cleared for every chunk: gradient off the unrolled sum by"]
    if not same or lost < 0.01:
        return Verdict(Ruling.DOES_NOT_HOLD, "" if same else "backwards do not add up to the unrolled sum")
    return Verdict(
        Ruling.HOLDS,
        "one step with a backward for every chunk is the unrolled sum; a clear inside it puts the gradient "
        f"{lost:.0%} off. Without detach() the second backward ends with "
        f"{measured['the state never detached: ends with']}.",
    )


def shown(measured: Measured) -> str:
    share = measured["peak bytes, chunks"] / measured["peak bytes, unrolled"]
    return (
        f"6 backwards are {measured['a backward for every chunk: gradient off the unrolled sum by']:.0e} off the "
        f"unrolled sum (float64) at {share:.0%} of its memory; last mark known at "
        f"{told(measured['last mark known, chunks'], '.0%')} of places, "
        f"{told(measured['last mark known, cleared for every chunk'], '.0%')} when every chunk clears"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.2)
    top, bottom = figure.subplots(2, height_ratios=(3, 1))
    curves(
        top,
        {name: measured[f"loss by step, {name}"] for name in ("chunks", "cleared for every chunk")},
        colours=(GOOD, BAD),
    )
    top.set(xlabel="step (6 chunks of 20 symbols)", ylabel="loss of the last chunk (nats)", ylim=(0, None))
    bars(
        bottom,
        {name: measured[f"peak bytes, {name}"] / 1e6 for name in ("chunks", "unrolled")},
        form="{:.2f} MB",
        colours=(GOOD, BAD),
    )
    bottom.set(xlabel="peak memory (MB)")


CLAIM = Claim(
    id="C18",
    statement="Recurrent networks and sums over several mini-batches rely on accumulation",
    bugs=(
        Bug(
            CLEARED,
            "ZG002",
            partial(signal_scene, steps=6),
            right=CHUNKS,
            step=STEP,
            attempt=STEP_CLEARING,
            because="The block clears when it is entered, not for every chunk.",
        ),
        Bug(
            ATTACHED,
            "ZG402",
            partial(signal_scene, steps=3),
            right=CHUNKS,
            step=STEP,
            because="step.carry() hands the state on without its graph.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Summed over its chunks an LSTM learns to remember (blue); with a clear for every chunk it learns from the "
    "last chunk alone (red). Below, what a backward for every chunk saves in memory.",
    advice="Clear once per step, not once per chunk, and detach the state between chunks: "
    '`step.micro_batches(chunks, reduce="sum")` with `step.carry(state)` does both.',
)
