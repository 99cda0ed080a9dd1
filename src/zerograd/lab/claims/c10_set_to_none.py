"""C10: set_to_none=True saves memory and time."""

import time
from functools import partial
from statistics import median
from typing import Any

import torch
from matplotlib.figure import Figure
from torch.optim import SGD, AdamW

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD
from zerograd.lab.gated import gated_scene
from zerograd.lab.language import writer
from zerograd.lab.loop import Loop, distance, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.memory import peak_bytes
from zerograd.lab.shapes import Make
from zerograd.lab.statistics import interval, told

ROUNDS = 12
LENGTHS = (4, 32, 128)  # characters in a batch of 4 rows: little memory for activations, as much as gradients, more
NONE = Loop(
    "set_to_none=True",
    """\
import torch

for text in batches:
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten())
    loss.backward()
    optimizer.step()
""",
)
ZEROS = Loop("set_to_none=False", NONE.text.replace("True", "False"))
KEPT = Loop(
    "zeros for a head that takes no part",
    """\
import torch

for x, kind, size in batches:
    optimizer.zero_grad(set_to_none=False)
    loss = loss_of(x, kind, size)
    loss.backward()
    optimizer.step()
""",
)
FREED = Loop("None for a head that takes no part", KEPT.text.replace("set_to_none=False", ""))
STEP = Loop(
    "a head that takes no part, through Step",
    """\
from zerograd import Step

step = Step(optimizer)
for x, kind, size in batches:
    with step:
        step.backward(loss_of(x, kind, size))
""",
)


def _scene(length: int, *, steps: int) -> dict[str, Any]:
    model = writer(width=192)
    text = torch.randint(1, 20, (4, length), generator=torch.Generator().manual_seed(0))
    return {"model": model, "optimizer": SGD(model.parameters(), lr=0.01), "batches": [text] * steps}


def _peak(loop: Loop, length: int) -> int:
    return peak_bytes(lambda: loop.run(_scene(length, steps=4)))


def _seconds(length: int) -> tuple[list[float], float]:
    """Time of zeros over time of None, for interleaved rounds; and milliseconds of a step with None."""
    scenes = {loop: _scene(length, steps=6) for loop in (NONE, ZEROS)}
    spent: dict[Loop, list[float]] = {NONE: [], ZEROS: []}
    for round_ in range(ROUNDS + 1):
        for loop, scene in scenes.items():
            begin = time.thread_time()
            loop.run(scene)
            if round_:  # the first one warms up
                spent[loop].append(time.thread_time() - begin)
    ratios = [zeros / none for zeros, none in zip(spent[ZEROS], spent[NONE], strict=True)]
    return ratios, 1000 * median(spent[NONE]) / 6


def _drift(make: Make) -> float:
    """How far the size head moves in 30 steps without a gradient of its own, under zeros, as a share of its length."""
    scene = gated_scene(steps=31, make=make, every=31)
    KEPT.run(scene | {"batches": scene["batches"][:1]})
    before = weights(scene["model"].size)
    KEPT.run(scene | {"batches": scene["batches"][1:]})
    return distance(weights(scene["model"].size), before)


def _stillness(make: Make) -> float:
    """The same under None."""
    scene = gated_scene(steps=31, make=make, every=31)
    FREED.run(scene | {"batches": scene["batches"][:1]})
    before = weights(scene["model"].size)
    FREED.run(scene | {"batches": scene["batches"][1:]})
    return distance(weights(scene["model"].size), before)


MAKE: dict[str, Make] = {"momentum": partial(SGD, lr=0.01, momentum=0.9), "AdamW": partial(AdamW, lr=0.002)}


def measure() -> Measured:
    measured: Measured = {"gradient bytes": 4 * weights(writer(width=192)).numel()}
    for length in LENGTHS:
        none, zeros = _peak(NONE, length), _peak(ZEROS, length)
        ratios, milliseconds = _seconds(length)
        measured[f"{length} characters: peak bytes, None"] = none
        measured[f"{length} characters: peak bytes, zeros"] = zeros
        measured[f"{length} characters: time of zeros over None"] = interval(ratios)
        measured[f"{length} characters: ms of a step, None"] = milliseconds
    for name, make in MAKE.items():
        measured[f"{name}: head without gradients moves, zeros"] = _drift(make)
        measured[f"{name}: head without gradients moves, None"] = _stillness(make)
    return measured


def _saved(measured: Measured) -> dict[int, float]:
    """By length, the share of the gradients' bytes that None takes off the peak."""
    return {
        length: (
            measured[f"{length} characters: peak bytes, zeros"] - measured[f"{length} characters: peak bytes, None"]
        )
        / measured["gradient bytes"]
        for length in LENGTHS
    }


def judge(measured: Measured) -> Verdict:
    saved = _saved(measured)
    times = {length: measured[f"{length} characters: time of zeros over None"] for length in LENGTHS}
    faster = [length for length, ratio in times.items() if ratio["low"] > 1]
    moved = [name for name in MAKE if measured[f"{name}: head without gradients moves, zeros"] > 0]
    if max(saved.values()) < 0.05 and not faster:
        return Verdict(Ruling.DOES_NOT_HOLD, "neither memory nor time is saved")
    slow = [length for length in LENGTHS if length not in faster]
    sizes = (
        f"{max(saved.values()):.0%} of the gradients' bytes come off it then, {min(saved.values()):.0%} at the least"
    )
    memory = f"activations set the peak of memory: {sizes}"
    spent = f"Time is saved with batches of {_batches(faster)}" if faster else "Time"
    if slow:
        spent += f"{'; it' if faster else ''} is not saved for certain with {_batches(slow)}"
    meaning = f"It is another training where a part gets no gradient: zeros move an idle head under {', '.join(moved)}"
    ruling = Ruling.HOLDS if not slow and min(saved.values()) > 0.95 else Ruling.HOLDS_IF
    return Verdict(ruling, f"{memory}. {spent}. {meaning if moved else 'The training is the same'}.")


def _batches(lengths: list[int]) -> str:
    return ", ".join(f"4 x {length}" for length in lengths)


def shown(measured: Measured) -> str:
    saved = _saved(measured)
    ratio = measured[f"{LENGTHS[0]} characters: time of zeros over None"]
    drift = measured["momentum: head without gradients moves, zeros"]
    return (
        f"{min(saved.values()):.0%} to {max(saved.values()):.0%} of the gradients' "
        f"{measured['gradient bytes'] / 1e6:.1f} MB off the peak; zeros take x{told(ratio)} the time with small "
        f"batches; under momentum zeros move an idle head by {drift:.0%}, None by "
        f"{measured['momentum: head without gradients moves, None']:.0%}"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.6)
    top, bottom = figure.subplots(2)
    places = range(len(LENGTHS))
    for offset, name, colour in ((-0.2, "None", GOOD), (0.2, "zeros", BAD)):
        peaks = [measured[f"{length} characters: peak bytes, {name}"] / 1e6 for length in LENGTHS]
        drawn = top.bar([place + offset for place in places], peaks, 0.38, color=colour, label=name)
        top.bar_label(drawn, [f"{peak:.1f}" for peak in peaks], fontsize=9, padding=1)
    top.set(xticks=places, xticklabels=[f"4 x {length}" for length in LENGTHS], ylabel="peak memory (MB)")
    top.set_xlabel("batch (rows x characters)")
    top.legend()
    top.margins(y=0.15)
    ratios = [measured[f"{length} characters: time of zeros over None"] for length in LENGTHS]
    bottom.errorbar(
        places,
        [ratio["mean"] for ratio in ratios],
        [[ratio["mean"] - ratio["low"] for ratio in ratios], [ratio["high"] - ratio["mean"] for ratio in ratios]],
        color=BAD,
        marker="o",
        linestyle="",
        capsize=4,
    )
    bottom.axhline(1, color=GOOD, linewidth=1.2)
    bottom.set(xticks=places, xticklabels=[f"4 x {length}" for length in LENGTHS], ylabel="time, zeros / None")
    bottom.set_xlabel("batch (rows x characters)")
    bottom.margins(x=0.2)


CLAIM = Claim(
    id="C10",
    statement="set_to_none=True (an option since PyTorch 1.7, the default since 2.0) saves memory and time",
    bugs=(
        Bug(
            KEPT,
            "ZG401",
            partial(gated_scene, steps=9, make=MAKE["momentum"]),
            right=FREED,
            step=STEP,
            because="A slot that gets no deposit is None and is not stepped.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, the peak of memory with None and with zeros: the gap is the gradients, where activations set the "
    "peak; below, how much longer a step with zeros takes (dots above the line), with 95% intervals.",
    advice="Leave the default. Ask for zeros only where gradients must keep their addresses (captured graphs).",
)
