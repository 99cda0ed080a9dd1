"""Gradients are cleared by filling them with zeros, where None would do.

`zero_grad(set_to_none=False)` writes a zero into every number of every gradient, and the next backward reads them again
to add to them; None costs nothing and the first backward stores instead of adding. Some programs need the zeros: a
captured CUDA graph keeps the addresses of its gradients.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    optimizer.zero_grad(set_to_none=False)  # note: [ZG401]
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

RULE = Rule(
    code="ZG401",
    name="zeros-kept",
    message="{what} fills gradients with zeros that nobody needs",
    sees=Sees.RUN,
    severity=Severity.NOTE,
    remedy="call zero_grad() without set_to_none=False",
    fix=Fix.SAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
