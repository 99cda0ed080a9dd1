"""The last, incomplete group of micro-batches is never used, or is added to the next epoch.

The loop steps at every N-th micro-batch. If the number of micro-batches is not a multiple of N, no step uses the
gradients of the last few. They are cleared at the start of the next epoch, or they stay and are added to its first
group.

Step once more when the loop ends, or test for the last micro-batch: `if (i + 1) % N == 0 or i + 1 == len(loader)`.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import TAILED

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:  # source: [ZG102]
        optimizer.step()  # run: [ZG102]
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
        optimizer.step()
        optimizer.zero_grad()
"""


def breaks(window: Window) -> Iterator[Broken]:
    """A window whose last, incomplete group no step takes."""
    for test in window.tests if window.drops_tail else ():
        yield Broken(test.site, window.certain, {"size": window.size})


RULE = Rule(
    code="ZG102",
    name="dropped-tail",
    message="the last micro-batches of an epoch are never used if the group is incomplete",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.NOTE,
    remedy="also step at the last micro-batch: add `or i + 1 == len(loader)` to the test",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=TAILED + BAD,
    good=TAILED + GOOD,
    explanation=__doc__ or "",
)
