"""C13: accumulating over N micro-batches with the loss divided by N equals one large batch."""

from functools import partial
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.optim import SGD, Adam

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars
from zerograd.lab.grouped import DIVIDED, STEP_LOOPED, STEP_PLAIN, STEP_WEIGHED, UNDIVIDED, WEIGHED
from zerograd.lab.language import (
    PADDING,
    Text,
    Writer,
    language_scene,
    nats,
    spelling,
    text_batches,
    writer,
)
from zerograd.lab.loop import Loop, distance, gradients, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.memory import peak_bytes
from zerograd.lab.shapes import shape_batches, shape_net
from zerograd.lab.statistics import Interval, interval, off, told

N = 4
EXACT = 1e-12  # float64 rounding, and nothing else, stays below this


def _whole(batches: list[Text]) -> Text:
    """All the sentences as one large batch."""
    rows = [row for text in batches for row in torch.cat([text.inputs[:, :1], text.targets], 1)]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)
    return Text(padded[:, :-1], padded[:, 1:])


def _first_gradient(loop: Loop, scene: dict[str, Any]) -> Tensor:
    """What the first step of a loop consumes."""
    seen: list[Tensor] = []
    scene["optimizer"].register_step_pre_hook(lambda *_: seen.append(gradients(scene["model"])))
    loop.run(scene | {"batches": scene["batches"][:N]})
    return seen[0]


def _large(batches: list[Text], *, seed: int, dropout: float) -> Tensor:
    model = writer(double=True, seed=seed, dropout=dropout)
    whole = _whole(batches)
    spelling(model(whole.inputs), whole.targets).backward()  # type: ignore[no-untyped-call]
    return gradients(model)


def _error(loop: Loop, *, seed: int, even: bool, dropout: float = 0.0) -> float:
    """How far the accumulated gradient is from that of the large batch."""
    scene = language_scene(batches=N, seed=seed, double=True, even=even, dropout=dropout)
    return distance(_first_gradient(loop, scene), _large(scene["batches"], seed=seed, dropout=dropout))


def _parts_of_shapes(*, norm: bool = False, contrast: bool = False) -> float:
    """The same for a convnet whose layers, or whose loss, look at the batch as a whole."""

    def loss_of(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        logits = model(x)
        if not contrast:
            return nn.functional.cross_entropy(logits, y)
        likeness = logits @ logits.T  # every drawing against every other of its batch
        return nn.functional.cross_entropy(likeness.fill_diagonal_(-1e9), (y[None] == y[:, None]).double().softmax(1))

    ((x, y),) = shape_batches(1, batch=32, double=True)
    sums = []
    for parts in (1, N):
        model = shape_net(norm=norm, double=True)
        for part_x, part_y in zip(x.chunk(parts), y.chunk(parts), strict=True):
            (loss_of(model, part_x, part_y) / parts).backward()  # type: ignore[no-untyped-call]
        sums.append(gradients(model))
    return distance(sums[1], sums[0])


def _trained(loop: Loop, make: Any, *, batches: int = 120, seed: int = 0) -> Writer:
    model = writer(seed=seed)
    scene = language_scene(batches=batches, seed=seed)
    loop.run(scene | {"model": model, "optimizer": make(model.parameters())})
    return model


def _forgotten() -> Measured:
    """What N times the gradient does: to SGD that of N times the rate, to Adam next to nothing."""
    steep, faster = _trained(UNDIVIDED, partial(SGD, lr=0.05)), _trained(DIVIDED, partial(SGD, lr=0.05 * N))
    plain = _trained(DIVIDED, partial(SGD, lr=0.05))
    adam, divided = (_trained(loop, partial(Adam, lr=1e-3), batches=40) for loop in (UNDIVIDED, DIVIDED))
    start = weights(writer())
    return {
        "SGD: forgotten division against rate x 4, nats": [nats(steep), nats(faster), nats(plain)],
        "SGD: forgotten division against rate x 4, weights apart": distance(weights(steep), weights(faster)),
        "Adam: forgotten division, share of the movement that differs": distance(
            weights(adam) - start, weights(divided) - start
        ),
    }


def _spelled(loop: Loop) -> Interval:
    """Nats per character after 40 steps, over seeds."""
    make = partial(SGD, lr=0.3, momentum=0.9)
    return interval([nats(_trained(loop, make, batches=160, seed=seed)) for seed in range(3)])


def _peak(parts: int) -> int:
    """Bytes that one large batch of 32 sentences, or its parts, hold at once."""
    model = writer()
    whole = _whole(text_batches(8, sentences=4))

    def work() -> None:
        model.zero_grad()
        for x, y in zip(whole.inputs.chunk(parts), whole.targets.chunk(parts), strict=True):
            (spelling(model(x), y) / parts).backward()  # type: ignore[no-untyped-call]

    return peak_bytes(work)


def measure() -> Measured:
    seeds = range(10)
    uneven = [_error(DIVIDED, seed=seed, even=False) for seed in seeds]
    return {
        "equal counts": _error(DIVIDED, seed=0, even=True),
        "unequal counts": interval(uneven),
        "unequal counts, weighed": max(_error(WEIGHED, seed=seed, even=False) for seed in range(3)),
        "unequal counts, Step": max(_error(STEP_WEIGHED, seed=seed, even=False) for seed in range(3)),
        "equal counts, BatchNorm": _parts_of_shapes(norm=True),
        "equal counts, dropout": _error(DIVIDED, seed=0, even=True, dropout=0.1),
        "equal counts, contrastive loss": _parts_of_shapes(contrast=True),
        "equal counts, plain convnet": _parts_of_shapes(),
        "nats per character, unequal counts, divided by N": _spelled(DIVIDED),
        "nats per character, unequal counts, weighed": _spelled(WEIGHED),
        **_forgotten(),
        "peak bytes by number of parts": {str(parts): _peak(parts) for parts in (1, 2, 4, 8)},
    }


def judge(measured: Measured) -> Verdict:
    equal = max(measured["equal counts"], measured["equal counts, plain convnet"])
    unequal = measured["unequal counts"]
    if equal > EXACT:
        return Verdict(Ruling.DOES_NOT_HOLD, f"even with equal counts the gradients are {equal:.1g} apart")
    breaks = [
        name for name in ("BatchNorm", "dropout", "contrastive loss") if measured[f"equal counts, {name}"] > EXACT
    ]
    if unequal["mean"] <= EXACT and not breaks:
        return Verdict(Ruling.HOLDS)
    exact = max(measured["unequal counts, weighed"], measured["unequal counts, Step"])
    return Verdict(
        Ruling.HOLDS_IF,
        f"every micro-batch has as many items as the others ({equal:.0e} apart in float64). It fails when counts "
        f"differ (characters per micro-batch: the gradient is {told(unequal, '.0%')} off), where weighing by count "
        f"{'is exact' if exact <= EXACT else 'is not exact either'} ({exact:.0e}); and for {', '.join(breaks)}, "
        "where the parts are not the whole.",
    )


def shown(measured: Measured) -> str:
    peaks = measured["peak bytes by number of parts"]
    hidden = measured["Adam: forgotten division, share of the movement that differs"]
    faster = measured["SGD: forgotten division against rate x 4, weights apart"]
    spelled = [measured[f"nats per character, unequal counts, {how}"] for how in ("weighed", "divided by N")]
    return (
        f"gradient off by {off(measured['equal counts'])} with equal counts, by "
        f"{told(measured['unequal counts'], '.0%')} with unequal ones ({told(spelled[0])} nats per character "
        f"weighed, {told(spelled[1])} divided by N); {N} parts need {peaks['4'] / peaks['1']:.0%} of the memory; a "
        f"forgotten division ends {off(faster)} from rate x {N} under SGD and changes {hidden:.1%} of Adam's "
        "movement"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.6)
    top, bottom = figure.subplots(2, height_ratios=(3, 2))
    errors = {
        "equal counts": measured["equal counts"],
        "unequal counts": measured["unequal counts"]["mean"],
        "unequal, weighed by hand": measured["unequal counts, weighed"],
        "unequal, through Step": measured["unequal counts, Step"],
        "BatchNorm": measured["equal counts, BatchNorm"],
        "dropout": measured["equal counts, dropout"],
        "contrastive loss": measured["equal counts, contrastive loss"],
    }
    bars(top, errors, colours=[BAD if value > EXACT else GOOD for value in errors.values()], form="{:.0e}", floor=1e-18)
    top.set(xlabel="distance from the large batch's gradient (share)")
    peaks = {f"{parts} part{'s' * (parts != '1')}": size / 1e6 for parts, size in
             measured["peak bytes by number of parts"].items()}  # fmt: skip
    bars(bottom, peaks, form="{:.1f} MB")
    bottom.set(xlabel="peak memory of one step (MB)")


CLAIM = Claim(
    id="C13",
    statement="Accumulating over N micro-batches with the loss divided by N equals one large batch",
    bugs=(
        Bug(
            DIVIDED._replace(name="unequal counts, divided by N"),
            "ZG104",
            partial(language_scene, batches=24, double=True),
            right=WEIGHED,
            step=STEP_WEIGHED,
            tolerance=EXACT,
            because="A micro-batch weighs what it holds, and the sum is divided once, by what was counted.",
        ),
        Bug(
            UNDIVIDED,
            "ZG101",
            partial(language_scene, batches=24, double=True, even=True),
            right=DIVIDED,
            step=STEP_PLAIN,
            tolerance=EXACT,
            attempt=STEP_LOOPED,
            because="micro_batches averages; there is no division to forget.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, how far the accumulated gradient is from that of the large batch: blue is rounding, red is another "
    "gradient; below, the memory that accumulating saves.",
    advice="Weigh each micro-batch by the items its loss is a mean over, and divide by the group's total: "
    "`step.micro_batches(group, weight=...)` does. With BatchNorm, dropout or a loss over pairs, parts are another "
    "training than the whole; choose the size of a part as you would choose a batch size.",
)
