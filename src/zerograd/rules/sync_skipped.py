"""The micro-batch that steps runs under `no_sync`, so the ranks drift apart.

With DistributedDataParallel, `no_sync()` keeps a backward from averaging gradients over the ranks; it is meant for all
micro-batches of a group but the last. If the guard around it and the guard around the step disagree, the step consumes
gradients that were never averaged, every rank makes an update of its own, and the replicas are copies no more.

A loss that is computed past the wrapper, by `model.module.loss(x)` or with the bare model, is never averaged either:
only the wrapper's own forward pass tells its reducer to expect gradients. It expects them once: a second `backward()`
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

_PAST = "{test}() computes a loss past the wrapper that averages over the ranks"


def breaks(window: Window) -> Iterator[Broken]:
    """Every pass that a step uses, and that is not averaged over the ranks."""
    for one in window.unsynced:
        yield Broken(one.site, one.certain, {"test": one.text}, _PAST if one.is_past else "")


RULE = Rule(
    code="ZG502",
    name="sync-skipped",
    message="{test} leaves the micro-batch that steps without synchronisation",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="use the same guard for no_sync and for the step",
    fix=Fix.UNSAFE,
    ranks=2,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
