"""Gradient accumulation steps at the wrong micro-batch: the first group is smaller than the others.

With `i` counted from 0, `if i % N == 0` is true at the very first micro-batch. The first step then uses one micro-batch
that was divided by N, and every later group is shifted. `(i + 1) % N` does the same if the counter starts at 1, or if
it is increased before the test. At the end of the loop N - 1 micro-batches are left over.

A counter that continues over the epochs, such as `len(loader) * epoch + i`, has the same bug in its very first group.

In a run, a counter that starts at 1 is certain only if a DataLoader provides the batches, because a run that resumes in
the middle of a group looks the same.

`if i % N:` is inverted: it steps at every micro-batch except one of each group.
"""

from collections.abc import Iterator

from zerograd.core.world import Fit, Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()
    if i % accumulation_steps == 0:  # source: [ZG103]
        optimizer.step()  # run: [ZG103]
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


_SHIFTED = "{test} gives the first group another size than others"
_INVERTED = "{test} is inverted: it steps everywhere but at the end of a group"
_LONGER = "{test} makes every group one micro-batch too long"


def breaks(window: Window) -> Iterator[Broken]:
    """A window whose groups are not what the program divides by, or not all alike."""
    message = {Fit.SHIFTED: _SHIFTED, Fit.INVERTED: _INVERTED, Fit.LONGER: _LONGER}.get(window.fit)
    for test in window.tests if message is not None else ():
        assert message is not None
        yield Broken(test.site, window.certain, {"test": test.text, "size": window.size}, message)


RULE = Rule(
    code="ZG103",
    name="uneven-groups",
    message="{test} steps too early: the first group is smaller than {size}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="test (i + 1) % {size} == 0, with i counted from 0",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
    in_run="the first {step} used {first}, every later one {size}",
)
