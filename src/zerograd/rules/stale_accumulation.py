"""A step consumes gradients that an earlier step has already consumed.

`backward()` adds into `.grad` and `step()` reads it; neither clears it. If nothing clears the gradients between a step
and the next `backward()`, the next step applies the new gradient plus every old one. Training still runs, and with a
small learning rate the loss still falls: the sum of all past gradients looks like momentum without decay. It is slower,
unstable, and changes with the length of the loop.

The usual causes: `zero_grad()` is missing, stands outside the loop (once per epoch), or is called on another object
than the one that steps. The perturbation of an attack, which is moved along `delta.grad` by hand, needs a clear of its
own in every iteration: no optimizer holds it.

Gradient accumulation is not this fault: several `backward()` calls before one step add up on purpose. The fault begins
when a step has read the sum and nothing clears it.
"""

from zerograd.core.events import Kind
from zerograd.core.machine import Content
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()  # error: [ZG001]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

RULE = Rule(
    code="ZG001",
    name="stale-accumulation",
    message="{step} consumes stale gradients: {deposit} adds to what was already consumed by {consumer}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call optimizer.zero_grad() once for every step(), before the next backward()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CLEAR if event.kind is Kind.CONSUME and state.content is Content.MIXED else None,
    led_by=(Content.SPENT, Content.MIXED),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
