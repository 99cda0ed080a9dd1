"""The last micro-batch before a step runs under `no_sync()`, so the ranks drift apart.

With DistributedDataParallel, `no_sync()` stops a backward from averaging gradients over the ranks. It is meant for
every micro-batch of a group except the last. If its test and the test of the step disagree, the step uses gradients
that were never averaged. Every rank then makes its own update, and the replicas are no longer equal.

A loss that is computed without the wrapper, by `model.module.loss(x)` or with the bare model, is not averaged either,
because only the wrapper's own forward pass prepares the averaging. It does so for one backward: a second `backward()`
through the same forward pass is not averaged.
"""

from collections.abc import Iterator

from zerograd.core.world import Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    context = model.no_sync if i % accumulation_steps != 0 else nullcontext  # error: [ZG502]
    with context():
        loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
        loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    context = model.no_sync if (i + 1) % accumulation_steps != 0 else nullcontext
    with context():
        loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
        loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

_PAST = "{test}() bypasses the wrapper that averages over the ranks"
_INSTEAD = "compute the loss through the DistributedDataParallel wrapper: model(x)"


def breaks(window: Window) -> Iterator[Broken]:
    """Every pass that a step uses, and that is not averaged over the ranks."""
    for one in window.unsynced:
        yield Broken(
            one.site, one.certain, {"test": one.text}, _PAST if one.is_past else "", _INSTEAD if one.is_past else ""
        )


RULE = Rule(
    code="ZG502",
    name="sync-skipped",
    message="{test} skips averaging over the ranks before the step",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="use the same test for no_sync() as for the step: the last backward() must average",
    fix=Fix.UNSAFE,
    ranks=2,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
