"""Gradient accumulation sums N mean losses without dividing by N: the gradient is N times too large.

The loss of a micro-batch is a mean over its items, so N of them sum to N times the mean over the whole group. With SGD
that multiplies the learning rate by N. With Adam it is nearly invisible, but clipping, weight decay and epsilon no
longer mean what they say. Changing the number of micro-batches then changes the training, which is exactly what
accumulation should avoid.

Divide each loss by N, or scale the gradients once before the step. If micro-batches differ in size, weight them by
their number of items, as `Step.micro_batches(group, weight=...)` does.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  # error: [ZG101]
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    (loss / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def breaks(window: Window) -> Iterator[Broken]:
    """Every mean loss of a window that nothing divides."""
    for loss in window.losses if window.size else ():
        if loss.is_mean is False or loss.is_divided or loss.deposit.site is None:
            continue
        certain = window.certain and loss.is_mean is True and loss.is_divided is False
        yield Broken(loss.deposit.site, certain, {"deposit": loss.deposit.what, "size": window.size})


RULE = Rule(
    code="ZG101",
    name="unnormalised-accumulation",
    message="{deposit} sums {size} mean losses instead of averaging them",
    sees=Sees.SOURCE | Sees.FULL,
    severity=Severity.WARNING,
    remedy="divide the loss by {size} before backward()",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
