"""Several micro-batches are accumulated, and their mean losses are added instead of averaged.

The loss of a micro-batch is a mean over its items; N of them add up to a gradient that is N times the mean over the
group. With SGD that multiplies the learning rate by N; with Adam it is nearly invisible, except that clipping, weight
decay and the epsilon no longer mean what they say. Changing the accumulation changes the training, which is exactly
what accumulation is meant to avoid.

Divide each loss by N, or scale the gradients once before the step. If micro-batches differ in size, weigh them by their
items: `Step.micro_batches(group, weight=...)` does.
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
    message="{deposit} adds up the mean losses of a group ({size}), and nothing divides by their number",
    sees=Sees.SOURCE | Sees.FULL,
    severity=Severity.WARNING,
    remedy="divide the loss by the number of micro-batches",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
