"""`.grad` is used where it is None.

Before the first backward, after `zero_grad()`, and for parameters that the loss does not reach, `.grad` is None and not
a tensor of zeros. `p.grad.zero_()` or `p.grad.norm()` then raises, or worse: it works until the day a layer is not
reached. Ask `if p.grad is not None` first.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    for p in model.parameters():
        p.grad.zero_()  # error: [ZG303]
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

GOOD = """\
for x, y in loader:
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

RULE = Rule(
    code="ZG303",
    name="grad-may-be-none",
    message="{what} is None here",
    sees=Sees.RUN,
    severity=Severity.WARNING,
    remedy="ask whether it is None first, or call optimizer.zero_grad()",
    fix=Fix.NONE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
