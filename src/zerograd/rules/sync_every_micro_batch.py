"""Gradient accumulation averages over the ranks at every micro-batch, although once per step is enough.

DistributedDataParallel averages in every `backward()`. During accumulation only the last one of each group needs to:
the sum is the same, and N - 1 of N exchanges are saved. Run the others under `model.no_sync()`.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
ddp = nn.parallel.DistributedDataParallel(model)
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(ddp(x), y) / accumulation_steps
    loss.backward()  # note: [ZG501]
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

GOOD = """\
from contextlib import nullcontext

ddp = nn.parallel.DistributedDataParallel(model)
for i, (x, y) in enumerate(loader):
    last = (i + 1) % accumulation_steps == 0
    with nullcontext() if last else ddp.no_sync():
        loss = nn.functional.mse_loss(ddp(x), y) / accumulation_steps
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
"""


def breaks(window: Window) -> Iterator[Broken]:
    """Every loss of a window that is averaged over the ranks whenever it goes backward."""
    for loss in window.losses if window.size else ():
        if loss.is_synced and loss.deposit.site is not None:
            yield Broken(loss.deposit.site, window.certain, {"deposit": loss.deposit.what, "size": window.size})


RULE = Rule(
    code="ZG501",
    name="sync-every-micro-batch",
    message="{deposit} averages over the ranks in every micro-batch",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.NOTE,
    remedy="run all but the last of every {size} micro-batches under model.no_sync()",
    fix=Fix.NONE,
    ranks=2,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
    in_run="{deposit} averages over the ranks {size} times per step, not once",
)
