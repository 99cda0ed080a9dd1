"""A parameter keeps receiving gradients, but no optimizer updates it.

Every backward computes its gradient and adds it to the last one; nothing uses it and nothing clears it. Either the
parameter was meant to be trained and was forgotten when the optimizer was created, or it was meant to be frozen. In
that case `requires_grad_(False)` saves time and memory.
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
    message="no optimizer holds {parameters}, which get gradients",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="pass them to an optimizer if they should train; if not, call requires_grad_(False) on them",
    fix=Fix.NONE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
