"""A step uses gradients that an earlier step has already used.

`backward()` adds to `.grad`, and `step()` reads it; neither clears it. If nothing clears the gradients between a step
and the next `backward()`, the next step applies the new gradient plus all the old ones. Training still runs, and with a
small learning rate the loss still falls, because the sum of all past gradients acts like momentum that never decays.
But training is slower, less stable, and depends on the length of the loop.

The usual causes: `zero_grad()` is missing, is called only once per epoch, or is called on a different optimizer or
model. A perturbation such as `delta` in an adversarial attack, updated by hand from `delta.grad`, needs its own clear
in every iteration, because no optimizer holds it.

Gradient accumulation is not reported: several `backward()` calls before one step add up on purpose. The bug is a step
whose gradients are not cleared afterwards.
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
    message="{step} uses gradients left over from the previous step",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call {clearing} right after {step}",
    by_hand="after {step}, set its .grad to None: no optimizer clears it",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CLEAR if event.kind is Kind.CONSUME and state.content is Content.MIXED else None,
    led_by=(Content.SPENT, Content.MIXED),
    beside=(
        (Kind.DEPOSIT, "adds to gradients that {user} has already used"),
        (Kind.CONSUME, "uses the gradients, and nothing clears them"),
    ),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
