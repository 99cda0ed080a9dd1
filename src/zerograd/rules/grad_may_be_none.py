"""`.grad` is used where it is None.

A parameter has no gradient until the first `backward()` has reached it. Since torch 2.0 it has none after `zero_grad()`
either, which sets it to None. So `W.grad.zero_()` at the top of a loop raises in the first iteration, and reading a
gradient norm between the clear and the backward raises in every one. A parameter server that adds the gradients of its
workers, `p.grad += g`, raises at the first call after a clear.

Clear after the step, when there is a gradient to clear, or with `W.grad = None`, which always works.
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
    WhyNone.NEVER: "no backward() has filled it yet",
    WhyNone.CLEARED: "it was cleared, and no backward() has filled it since",
    WhyNone.COMPUTED: "{name} is not a leaf tensor",
}
_LEAF = "call {name}.retain_grad() before backward()"


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
    remedy="read .grad only after backward() and before it is cleared",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Missing, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
