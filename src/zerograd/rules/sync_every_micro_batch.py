"""Every micro-batch of a group averages gradients over the ranks, where one average serves.

DistributedDataParallel averages during each backward. Under accumulation only the sum is needed: run all micro-batches
of a group but the last under `model.no_sync()`, and the network carries one N-th of the bytes.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
    loss.backward()  # note: [ZG501]
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

RULE = Rule(
    code="ZG501",
    name="sync-every-micro-batch",
    message="{deposit} averages over the ranks {size} times for each step",
    sees=Sees.RUN,
    severity=Severity.NOTE,
    remedy="run all micro-batches but the last under model.no_sync()",
    fix=Fix.NONE,
    ranks=2,
    lacks=idiom,
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
