"""A parameter keeps receiving gradients, but no optimizer updates it.

Every backward computes its gradient and adds it to the last one; nothing uses it and nothing clears it. Either the
parameter was meant to be trained and was forgotten when the optimizer was created, or it was meant to be frozen. In
that case `requires_grad_(False)` saves time and memory.
"""

from collections.abc import Iterator

from zerograd.core.findings import Related, Severity
from zerograd.core.world import Neglect, Unowned
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
features = nn.Linear(4, 4)
for x, y in loader * 2:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(features(x)), y)
    loss.backward()  # error: [ZG008]
    optimizer.step()
"""

GOOD = """\
features = nn.Linear(4, 4).requires_grad_(False)
for x, y in loader * 2:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(features(x)), y)
    loss.backward()
    optimizer.step()
"""

_NEVER_STEPPED = "{optimizer} never steps, although {parameters} gets gradients"
_LEFT_OUT = "{parameters} collects parameters, but no optimizer is given them"


def breaks(one: Unowned) -> Iterator[Broken]:
    """Parameters that losses reach and no step moves."""
    names = {"optimizer": one.optimizer, "parameters": one.parameters}
    message, cure, part = "", "", "creates the optimizer"
    if one.why is Neglect.NEVER_STEPPED:
        message, cure, part = _NEVER_STEPPED, "call {optimizer}.step() after that backward()", "computes the gradients"
    elif one.why is Neglect.LEFT_OUT:
        message = _LEFT_OUT
        cure = "append {parameters} to the parameter groups of the optimizer, like the groups before it"
    related = (Related(one.beside, part),) if one.beside is not None else ()
    yield Broken(one.site, one.certain, names, message, cure, related=related)


RULE = Rule(
    code="ZG008",
    name="unowned-gradient",
    message="no optimizer holds {parameters}, which get gradients",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="pass them to an optimizer if they should train; if not, call requires_grad_(False) on them",
    fix=Fix.NONE,
    lacks=idiom,
    asks=Question(Unowned, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
