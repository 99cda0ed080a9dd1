"""`.grad` is used where it is None.

A parameter has no gradient until the first `backward()` has reached it. Since torch 2.0 it has none after `zero_grad()`
either, which sets it to None. So `W.grad.zero_()` at the top of a loop raises in the first iteration, and reading a
gradient norm between the clear and the backward raises in every one. A parameter server that adds the gradients of its
workers, `p.grad += g`, raises at the first call after a clear.

Clear after the step, when there is a gradient to clear, or with `W.grad = None`, which always works.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
W = torch.zeros(4, 1, requires_grad=True)
for x, y in loader:
    W.grad.zero_()  # error: [ZG303]
    loss = nn.functional.mse_loss(x @ W, y)
    loss.backward()
    with torch.no_grad():
        W -= 0.1 * W.grad
"""

GOOD = """\
W = torch.zeros(4, 1, requires_grad=True)
for x, y in loader:
    W.grad = None
    loss = nn.functional.mse_loss(x @ W, y)
    loss.backward()
    with torch.no_grad():
        W -= 0.1 * W.grad
"""

RULE = Rule(
    code="ZG303",
    name="grad-may-be-none",
    message="{what} is None here: {why}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="read .grad only after backward() and before it is cleared",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
