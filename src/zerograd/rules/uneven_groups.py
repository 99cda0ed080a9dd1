"""The accumulation steps at the wrong micro-batch: the first group is smaller than the others.

`if i % N == 0` with `i` counted from 0 is true at the very first micro-batch: the first step is made of one micro-batch
that was divided by N, and every later group is shifted. The same happens with `(i + 1) % N` when the counter starts at
1, or when it is increased before the test. At the end of the loop N - 1 micro-batches are left over.

A counter that goes on over the epochs, `len(loader) * epoch + i` or one of an object's own, begins somewhere too: its
very first group counts.

A run is certain of a counter that starts at 1 only where a DataLoader hands out the batches; a run that resumes in the
middle of a group looks the same.

`if i % N:` is the guard the wrong way round: it steps on every micro-batch but the last of a group.
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


_SHIFTED = "{test} gives the first group another length than the others ({size}), which its losses do not know of"
_INVERTED = "{test} is the wrong way round: it steps on every micro-batch but one of a group ({size})"
_LONGER = "{test} lets a group have one micro-batch more than the {size} that its losses are divided by"


def breaks(window: Window) -> Iterator[Broken]:
    """A window whose groups are not what the program divides by, or not all alike."""
    message = {Fit.SHIFTED: _SHIFTED, Fit.INVERTED: _INVERTED, Fit.LONGER: _LONGER}.get(window.fit)
    for test in window.tests if message is not None else ():
        assert message is not None
        yield Broken(test.site, window.certain, {"test": test.text, "size": window.size}, message)


RULE = Rule(
    code="ZG103",
    name="uneven-groups",
    message="{test} is true at micro-batch {first} of the first group: it steps before the group ({size}) is complete",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="test (i + 1) % N == 0 with i counted from 0",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
    in_run="{step} consumes {first} at first and {size} each time after: the first group was not complete",
)
