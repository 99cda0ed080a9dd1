"""The accumulation steps at the wrong micro-batch: the first group is smaller than the others.

`if i % N == 0` with `i` counted from 0 is true at the very first micro-batch: the first step is made of one micro-batch
that was divided by N, and every later group is shifted. The same happens with `(i + 1) % N` when the counter starts at
1, or when it is increased before the test. At the end of the loop N - 1 micro-batches are left over.

A counter that goes on over the epochs, `len(loader) * epoch + i` or one of an object's own, begins somewhere too: its
very first group counts.

`if i % N:` is the guard the wrong way round: it steps on every micro-batch but the last of a group.
"""

from zerograd.rules.rule import Fix, Rule, Sees, idiom
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

RULE = Rule(
    code="ZG103",
    name="uneven-groups",
    message="{test} is true at micro-batch {first} of the first group: it steps before the group ({size}) is complete",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="test (i + 1) % N == 0 with i counted from 0",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
    in_run="{step} consumes {first} at first and {size} each time after: the first group was not complete",
)
