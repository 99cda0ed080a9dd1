"""Micro-batches with different numbers of items are averaged with equal weight.

Each loss is a mean over its own items, and the group is the mean of those means, so an item in a short micro-batch
counts more than one in a long one. With tokens the lengths nearly always differ, and the gradient is not that of the
whole batch. Sum the losses of all items and divide once by the number of items in the group, or let
`Step.micro_batches(group, weight=...)` do it.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    items = 8 - 4 * (i % 2)
    loss = nn.functional.mse_loss(model(x[:items]), y[:items]) / accumulation_steps
    loss.backward()  # error: [ZG104]
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    items = 8 - 4 * (i % 2)
    loss = nn.functional.mse_loss(model(x[:items]), y[:items], reduction="sum") / 12
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

RULE = Rule(
    code="ZG104",
    name="mean-of-means",
    message="{deposit} gives {size} micro-batches of {counts} items the same weight",
    sees=Sees.FULL,
    severity=Severity.WARNING,
    remedy="sum the losses of all items and divide once by the number of items in the group",
    fix=Fix.NONE,
    lacks=idiom,
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
