"""The same gradients are consumed twice by the same optimizer.

A second `step()` without a `backward()` in between applies the same gradient again: the learning rate is doubled for
plain SGD, and for Adam the moment estimates count one batch twice. It often comes from a helper that already steps, or
from a copied line.

A parameter that stands twice in one group is stepped twice by every `step()`; torch only warns. It happens where
`net` is listed beside `net.encoder`, or where a loop over `modules()` takes the `parameters()` of each, which are those
of all modules below as well.

The same is a gradient that a loop over the parameters has applied by hand, `p.data.add_(p.grad, alpha=-lr)`, before an
optimizer steps with it; only source shows that.

Two optimizers that step after one `backward()` are not this fault where each consumes its own parameters once. They are
where both hold the same ones: `model` beside `model.encoder`, or two networks that share a trunk.
"""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Related
from zerograd.core.machine import Content
from zerograd.core.world import HeldTwice
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.step()  # error: [ZG004]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""


_LISTED_TWICE = "{what} is given the same parameters twice: each step consumes their gradients twice"
_HELD_TWICE = "{what} holds parameters that the optimizer of line {line} holds too: both step them after one backward()"
_HOLD_ONCE = "let every parameter be held once: by one optimizer, in one place"


def breaks(one: HeldTwice) -> Iterator[Broken]:
    """Parameters that are held twice, and so stepped twice."""
    if one.other is None:
        yield Broken(one.site, True, {"what": one.what}, _LISTED_TWICE, _HOLD_ONCE)
    else:
        names = {"what": one.what, "line": str(one.other.line)}
        related = (Related(one.other, "the other optimizer is made here"),)
        yield Broken(one.site, True, names, _HELD_TWICE, _HOLD_ONCE, related=related)


RULE = Rule(
    code="ZG004",
    name="repeated-step",
    message="{step} consumes the same gradients again: already used by {consumer}, with no backward() since",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="step once for each backward(), or for each accumulated group",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.DEPOSIT if event.kind is Kind.CONSUME and state.content is Content.SPENT else None,
    asks=Question(HeldTwice, breaks),
    led_by=(Content.SPENT,),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
