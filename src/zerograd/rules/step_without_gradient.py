"""A step finds no gradients, because no backward() has run for its parameters.

Every `.grad` the optimizer reads is empty: `backward()` is missing, the loss was detached, the optimizer holds a
different model, or its network is called only under `torch.no_grad()`. Parameters whose `.grad` is None are skipped
silently, so the program runs to its end and learns nothing.

`Variable(loss, requires_grad=True)` and `torch.tensor(loss, requires_grad=True)` create a new tensor. `backward()`
fills its gradient and reaches nothing that the loss was computed from. `higher.innerloop_ctx(model, ...)` has the same
effect unless you pass `copy_initial_weights=False`: it trains copies of the weights.

One term of a loss can have no gradient while the others have one: `entropy.item()`, `torch.tensor(values)`, the output
of a network called under `torch.no_grad()`, a penalty on `x.grad` from a `backward()` without `create_graph=True`, or a
rounded value, since the gradient of `torch.round` is 0. Such a term is part of the value you print, but trains nothing.

The very first step of an optimizer may be a warm-up, for example to silence a scheduler's warning, so reporting starts
with the second step that finds nothing. In source the finding is certain only if no call before the step can run a
`backward()` of its own. In a run it is only possible while another optimizer does receive gradients: this one may
belong to an expert that was not selected, or to a network that is still frozen. If all its parameters are frozen, the
finding says so.
"""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.machine import Content
from zerograd.core.world import Untaught, Why
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.step()  # error: [ZG003]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""


_REASONS = {
    Why.CUT: "a term of this loss has no graph: it changes the value but trains nothing",
    Why.NEW_LEAF: "the loss is copied into a new tensor, where backward() stops",
    Why.NOT_RETURNED: "training_step() returns no loss, so Lightning never runs backward()",
    Why.NO_GRADIENT: "the optimizer is given a tensor without requires_grad: it is never trained",
}
_FIXES = {
    Why.CUT: "keep that term attached: compute it without detach(), item(), torch.tensor() or no_grad()",
    Why.NEW_LEAF: "call backward() on the loss itself, not on a copy of it",
    Why.NOT_RETURNED: "return the loss from training_step()",
    Why.NO_GRADIENT: "set requires_grad=True on that tensor before it goes to the optimizer",
}


def breaks(one: Untaught) -> Iterator[Broken]:
    """What is trained in vain, beside steps that find nothing at all."""
    yield Broken(one.site, one.certain, {}, _REASONS[one.why], _FIXES[one.why])


RULE = Rule(
    code="ZG003",
    name="step-without-gradient",
    message="{step} finds no gradients: no backward() has filled them",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call backward() on the loss before {step}",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.DEPOSIT if event.kind is Kind.CONSUME and state.content is Content.EMPTY else None,
    asks=Question(Untaught, breaks),
    led_by=(),
    needs_loss=True,
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
