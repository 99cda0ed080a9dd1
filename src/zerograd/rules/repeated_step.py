"""The same gradients are applied twice by the same optimizer.

A second `step()` without a `backward()` in between applies the same gradient again. With plain SGD that doubles the
learning rate; with Adam the moment estimates count one batch twice. The usual causes are a helper that already steps,
and a line copied by accident.

A parameter that is listed twice in one group is updated twice by every `step()`; torch only warns. It happens when both
`net` and `net.encoder` are listed, or when a loop over `modules()` collects the `parameters()` of each module, which
include those of all its submodules.

The same happens when a loop over the parameters applies the gradient by hand, `p.data.add_(p.grad, alpha=-lr)`, and an
optimizer then steps with it. Only source analysis finds that.

Two optimizers may step after one `backward()` if each holds its own parameters. They are reported when both hold the
same ones: `model` and `model.encoder`, or two networks with a shared trunk.
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


_LISTED_TWICE = "{what} is given the same parameters twice, and updates them twice"
_HELD_TWICE = "{what} shares parameters with the optimizer on line {line}"
_HOLD_ONCE = "give every parameter to one optimizer, once"


def breaks(one: HeldTwice) -> Iterator[Broken]:
    """Parameters that are held twice, and so stepped twice."""
    if one.other is None:
        yield Broken(one.site, True, {"what": one.what}, _LISTED_TWICE, _HOLD_ONCE)
    else:
        names = {"what": one.what, "line": str(one.other.line)}
        related = (Related(one.other, "creates the other optimizer"),)
        yield Broken(one.site, True, names, _HELD_TWICE, _HOLD_ONCE, related=related)


RULE = Rule(
    code="ZG004",
    name="repeated-step",
    message="{step} applies the same gradients a second time",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="remove this second {step}",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.DEPOSIT if event.kind is Kind.CONSUME and state.content is Content.SPENT else None,
    asks=Question(HeldTwice, breaks),
    led_by=(Content.SPENT,),
    beside=((Kind.CONSUME, "has already used these gradients"),),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
