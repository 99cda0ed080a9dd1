"""The last, incomplete group of micro-batches is never stepped, or leaks into the next epoch.

The step waits for every N-th micro-batch. If the number of micro-batches is not a multiple of N, the last few deposit
gradients that no step consumes: they are cleared at the start of the next epoch, or they stay and are added to its
first group. The last batches of every epoch teach less, or teach twice.

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
    message="the last group of fewer than {size} micro-batches is never stepped",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.NOTE,
    remedy="also step at the last micro-batch: or i + 1 == len(loader)",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=TAILED + BAD,
    good=TAILED + GOOD,
    explanation=__doc__ or "",
)
