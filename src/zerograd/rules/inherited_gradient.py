"""A step consumes what a broken iteration has left.

An iteration that fails half-way, or is skipped because its loss is not finite, has already deposited. If the loop goes
on without clearing, the next step applies the wreck together with its own gradient; and if it was not finite, the
weights are not either from then on. Clear at the start of every iteration, or wherever one is given up.
"""

from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) * (float("nan") if i == 1 else 1.0)
    loss.backward()
    if not torch.isfinite(loss):
        continue
    optimizer.step()  # error: [ZG007]
    optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y) * (float("nan") if i == 1 else 1.0)
    loss.backward()
    if not torch.isfinite(loss):
        continue
    optimizer.step()
"""

RULE = Rule(
    code="ZG007",
    name="inherited-gradient",
    message="{step} consumes what a broken iteration left: {deposit} {why}, and nothing cleared it",
    sees=Sees.RUN,
    remedy="clear at the start of every iteration, or where one is given up",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
