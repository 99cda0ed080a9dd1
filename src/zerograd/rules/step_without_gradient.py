"""A step consumes gradients that no backward() has deposited.

Every `.grad` the optimizer reads is empty: `backward()` is missing, or the loss was detached, or the model that is
trained is not the one the optimizer holds, or its network is called only under `torch.no_grad()`. Parameters whose
`.grad` is None are skipped without a word, so the program runs to its end and learns nothing.

`Variable(loss, requires_grad=True)` and `torch.tensor(loss, requires_grad=True)` make a new leaf: `backward()` fills
that, and nothing that the loss was computed from. So it is with copies of the weights, which
`higher.innerloop_ctx(model, ...)` trains unless it is told `copy_initial_weights=False`.

A term of a loss can be without a gradient while the others have one: `entropy.item()`, `torch.tensor(values)`, what a
network returned under `torch.no_grad()`, a penalty on the `x.grad` of a `backward()` without `create_graph=True`, or
what was rounded: the gradient of `torch.round` is 0. It is in the value that is printed, and teaches nothing.

The very first step of an optimizer may be a warm-up that quiets a scheduler or builds state: the fault begins with the
second step that finds nothing. In source the finding is certain only when every call before the step is known not to
run a `backward()` of its own. A run only calls it possible of an optimizer that is never fed while another one is: an
expert may not have had its turn, a network may still be frozen. Where every parameter of the optimizer is frozen, the
finding says so: no `backward()` can fill them.
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
    Why.CUT: "a term of this loss was cut from its graph: it is in the value and teaches nothing",
    Why.NEW_LEAF: "the loss is made a new leaf: backward() stops there, and nothing that it was computed from gets a "
    "gradient",
    Why.NOT_RETURNED: "training_step() returns no loss: Lightning has nothing to go backward with",
    Why.NO_GRADIENT: "a tensor that takes no gradient is given to the optimizer: no step will move it",
}


def breaks(one: Untaught) -> Iterator[Broken]:
    """What is trained in vain, beside steps that find nothing at all."""
    yield Broken(one.site, one.certain, {}, _REASONS[one.why])


RULE = Rule(
    code="ZG003",
    name="step-without-gradient",
    message="{step} has nothing to consume: no backward() has deposited a gradient",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call loss.backward() before step()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.DEPOSIT if event.kind is Kind.CONSUME and state.content is Content.EMPTY else None,
    asks=Question(Untaught, breaks),
    led_by=(),
    needs_loss=True,
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
