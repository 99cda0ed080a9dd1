"""`scaler.unscale_()` is called twice for one step.

The scaler divides the gradients by the loss scale once per step. A second call for the same step raises in torch. With
gradient accumulation it is wrong even where it does not raise: the first micro-batch is unscaled, the next one is added
to it with the full scale, and the sum is neither. Unscale once, right before the step.
"""

from zerograd.core.events import Kind
from zerograd.core.machine import Scale
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import SCALED

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / 2
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # error: [ZG204]
    if (i + 1) % 2 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) / 2
    scaler.scale(loss).backward()
    if (i + 1) % 2 == 0:
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""

RULE = Rule(
    code="ZG204",
    name="repeated-unscale",
    message="{what} unscales gradients that are already unscaled",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call unscale_() once per step, right before scaler.step()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CONSUME if event.kind is Kind.UNSCALE and state.scale is Scale.UNSCALED else None,
    led_by=(Kind.DEPOSIT,),
    beside=((Kind.DEPOSIT, "adds scaled gradients to unscaled ones"),),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
)
