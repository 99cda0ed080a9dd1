"""`scaler.step()` is called, and `scaler.update()` never is.

The scaler lowers its scale when a step overflows and raises it when many have not; both happen in `update()`. Without
it the scale stays where it started: if that is too large every step is skipped and nothing is learned, and if it is too
small the gradients underflow. `update()` also resets what the scaler remembers about the step, so that a second
`unscale_()` raises.

Inside an accumulation `update()` belongs under the guard of the step: called for a micro-batch that took no step it
raises, because there is nothing to judge the scale by, or changes the scale in the middle of a sum.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import SCALED

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # error: [ZG203]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""

RULE = Rule(
    code="ZG203",
    name="scale-never-updated",
    message="{what}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="call scaler.update() after scaler.step(optimizer), once for each",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
    in_run="{step} is called, and {scaler}.update() never is",
)
