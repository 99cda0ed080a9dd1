"""A scaled loss is deposited and the optimizer steps on it without the scaler, or a plain loss is deposited beside it.

`scaler.scale(loss).backward()` leaves gradients that are the true ones times the loss scale. `optimizer.step()` knows
nothing of it: the update is 65,536 times too large, and infinities that the scaler would have caught reach the weights.
With Adam the size of the update hides it, because Adam divides by the size of the gradient, and only the weight decay
and the epsilon tell. Let `scaler.step(optimizer)` take the step.

The other way round, a second loss (an adversarial one, a penalty) that is deposited without `scaler.scale()` beside a
scaled one is divided by a scale that it was never multiplied with: it has no effect.
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
    message="{step} consumes gradients {scaled}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call scaler.step(optimizer) and scaler.update() instead of optimizer.step()",
    fix=Fix.UNSAFE,
    lacks=lacks,
    led_by=(Kind.DEPOSIT,),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
)
