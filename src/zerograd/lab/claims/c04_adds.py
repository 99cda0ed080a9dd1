"""C04: backward() adds to .grad; it never overwrites."""

import torch
from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, THIRD
from zerograd.lab.language import spelling, text_batches, writer
from zerograd.lab.loop import distance, gradients
from zerograd.lab.statistics import off

FIRST = (-0.1, 0.2, -0.05)
SECOND = (0.05, -0.1, 0.1)
SUM = (-0.05, 0.1, 0.05)
ROUNDING = 1e-14


def _worked() -> list[float]:
    weight = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    for gradient in (FIRST, SECOND):
        (weight * torch.tensor(gradient, dtype=torch.float64)).sum().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    return [float(value) for value in weight.grad]


def measure() -> Measured:
    model = writer(double=True)
    together, alone = torch.zeros(1), torch.zeros(1)
    for text in text_batches(6):
        spelling(model(text.inputs), text.targets).backward()  # type: ignore[no-untyped-call]
        together = gradients(model)
    for text in text_batches(6):
        for parameter in model.parameters():
            parameter.grad = None
        spelling(model(text.inputs), text.targets).backward()  # type: ignore[no-untyped-call]
        alone = alone + gradients(model)
    return {
        "worked example": _worked(),
        "worked example, largest error": max(abs(got - due) for got, due in zip(_worked(), SUM, strict=True)),
        "transformer: 6 backwards against the sum of 6, apart": distance(together, alone),
        "transformer: 6 backwards against the last alone, apart": distance(together, gradients(model)),
        "gradients": together.numel(),
    }


def judge(measured: Measured) -> Verdict:
    errors = (
        measured["worked example, largest error"],
        measured["transformer: 6 backwards against the sum of 6, apart"],
    )
    return Verdict(Ruling.HOLDS if max(errors) < ROUNDING else Ruling.DOES_NOT_HOLD)


def shown(measured: Measured) -> str:
    worked = ", ".join(f"{value:.2f}" for value in measured["worked example"])
    return (
        f"({worked}) after two backwards; on a transformer 6 backwards leave the sum of 6 "
        f"({off(measured['transformer: 6 backwards against the sum of 6, apart'])} apart in float64)"
    )


def draw(figure: Figure, measured: Measured) -> None:
    axes = figure.subplots()
    series = {"first backward": FIRST, "second backward": SECOND, ".grad after both": measured["worked example"]}
    for number, (name, values) in enumerate(series.items()):
        places = [place + (number - 1) * 0.26 for place in range(3)]
        drawn = axes.bar(places, values, 0.24, color=(GOOD, THIRD, BAD)[number], label=name)
        axes.bar_label(drawn, [f"{value:.2f}" for value in values], fontsize=8, padding=1)
    axes.set(xticks=range(3), xticklabels=["weight 1", "weight 2", "weight 3"], ylabel=".grad", ylim=(-0.14, 0.3))
    axes.axhline(0, linewidth=0.8)
    axes.grid(axis="x", visible=False)
    axes.legend(ncols=1)


CLAIM = Claim(
    id="C04",
    statement="backward() adds to .grad; it never overwrites",
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="For every weight the last bar is the sum of the two before it.",
    advice="Count on it for accumulation and for several losses, and clear once for every step because of it.",
)
