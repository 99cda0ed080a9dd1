"""A parameter keeps receiving gradients and no optimizer steps it.

Every backward computes its gradient and adds it to the last one; nothing consumes it and nothing clears it. Either the
parameter was meant to be trained and was forgotten when the optimizer was built, or it was meant to be frozen, and then
`requires_grad_(False)` saves the time and the memory.
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

_NEVER_STEPPED = (
    "{optimizer} is never stepped: {deposit} keeps adding to {parameters}, and no other optimizer holds them"
)
_LEFT_OUT = "{parameters} is filled with parameters here, and no optimizer is given them"


def breaks(one: Unowned) -> Iterator[Broken]:
    """Parameters that losses reach and no step moves."""
    names = {"optimizer": one.optimizer, "deposit": one.deposit, "parameters": one.parameters}
    message, cure, part = "", "", "the optimizer is made here"
    if one.why is Neglect.UNHELD:
        names["parameters"] = f"the parameters of {one.parameters}"
    elif one.why is Neglect.NEVER_STEPPED:
        message, part = _NEVER_STEPPED, "the gradient is deposited here"
        cure = f"call {one.optimizer}.step() behind the backward() that is its own, or freeze what it holds"
    else:
        message, cure = _LEFT_OUT, f"append {one.parameters} to the groups of the optimizer, as the ones before it"
    related = (Related(one.beside, part),) if one.beside is not None else ()
    yield Broken(one.site, one.certain, names, message, cure, related=related)


RULE = Rule(
    code="ZG008",
    name="unowned-gradient",
    message="{deposit} keeps adding to {parameters}, and no optimizer holds them",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="give them to an optimizer, or freeze them with requires_grad_(False)",
    fix=Fix.NONE,
    lacks=idiom,
    asks=Question(Unowned, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
