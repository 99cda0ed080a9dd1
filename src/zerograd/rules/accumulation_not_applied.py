"""Gradient accumulation is configured, but the loop steps after every micro-batch.

The loss is divided by N, or the framework is configured to accumulate over N micro-batches. But the loop steps and
clears after each one: there is no `accumulate()` block, no test, or a second step outside the test. The batch is N
times smaller than intended, and the gradient is also N times too small.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()
    optimizer.step()  # error: [ZG106]
    if (i + 1) % accumulation_steps == 0:
        print(f"update {(i + 1) // accumulation_steps}")
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def breaks(window: Window) -> Iterator[Broken]:
    """A step that waits for nothing, where the program means it to."""
    if window.meant and not window.size and window.step.site is not None:
        yield Broken(window.step.site, window.certain, {"step": window.step.what, "why": window.meant})


RULE = Rule(
    code="ZG106",
    name="accumulation-not-applied",
    message="{step} runs too often: {why}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="call {step} only at the end of each group: if (i + 1) % N == 0",
    fix=Fix.NONE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
