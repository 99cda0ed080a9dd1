"""A parameter keeps receiving gradients and no optimizer steps it.

Every backward computes its gradient and adds it to the last one; nothing consumes it and nothing clears it. Either the
parameter was meant to be trained and was forgotten when the optimizer was built, or it was meant to be frozen, and then
`requires_grad_(False)` saves the time and the memory.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
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

RULE = Rule(
    code="ZG008",
    name="unowned-gradient",
    message="{deposit} keeps adding to {parameters}, and no optimizer holds them",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="give them to an optimizer, or freeze them with requires_grad_(False)",
    fix=Fix.NONE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
