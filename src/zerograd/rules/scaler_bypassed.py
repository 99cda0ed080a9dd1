"""The loss is scaled and the optimizer steps without the scaler, or only one of several losses is scaled.

`scaler.scale(loss).backward()` leaves gradients multiplied by the loss scale. `optimizer.step()` does not know about
it: the update is up to 65,536 times too large, and infinities that the scaler would have caught reach the weights. With
Adam the bug is hard to see, because Adam divides by the size of the gradient. Call `scaler.step(optimizer)` instead.

The opposite also happens: a second loss, such as a penalty, goes backward without `scaler.scale()`. The scaler then
divides its gradients by a scale they were never multiplied by, and that loss has almost no effect.
"""

from zerograd.core.events import Event, Kind
from zerograd.core.machine import HOLLOW, Mark, Scale, State
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import SCALED

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    optimizer.step()  # error: [ZG202]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def lacks(state: State, event: Event) -> Kind | None:
    if event.kind is not Kind.CONSUME:
        return None
    bypassed = not event.scaled and state.scale is Scale.SCALED and state.content not in HOLLOW
    return Kind.UNSCALE if bypassed or (event.scaled and Mark.UNEVEN in state.marks) else None


RULE = Rule(
    code="ZG202",
    name="scaler-bypassed",
    message="{step} uses gradients {scaled}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call scaler.step(optimizer) and scaler.update() instead of {step}",
    fix=Fix.UNSAFE,
    lacks=lacks,
    led_by=(Kind.DEPOSIT,),
    beside=((Kind.DEPOSIT, "adds these gradients"),),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
)
