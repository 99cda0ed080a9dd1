"""`.grad` is used where it is None.

A parameter has no gradient until the first `backward()` has reached it, and since torch 2.0 it has none again after
`zero_grad()`, which clears by None. `W.grad.zero_()` at the top of a loop therefore raises in the first iteration, and
whoever reads a norm between the clear and the backward raises in every one. A parameter server that adds what its
workers send, `p.grad += g`, raises in the call after the first clear.

Clear behind the step, where there is a gradient to clear, or by `W.grad = None`, which needs none.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Missing, WhyNone
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
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

_WHY = {
    WhyNone.NEVER: "no backward() has reached it yet",
    WhyNone.CLEARED: "it was cleared by None, and no backward() has reached it since",
    WhyNone.COMPUTED: "{name} is computed, and autograd keeps the gradients of leaves alone",
}
_LEAF = "ask for the gradient of the leaf; or call {name}.retain_grad() before the backward()"


def breaks(one: Missing) -> Iterator[Broken]:
    """A gradient that is used where there is none."""
    name = one.what.removesuffix(".grad")
    remedy = _LEAF.format(name=name) if one.why is WhyNone.COMPUTED else ""
    yield Broken(one.site, True, {"what": one.what, "why": _WHY[one.why].format(name=name)}, remedy=remedy)


RULE = Rule(
    code="ZG303",
    name="grad-may-be-none",
    message="{what} is None here: {why}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="use .grad after backward(), or ask `if p.grad is not None` first",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Missing, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{what} is None here",
)
