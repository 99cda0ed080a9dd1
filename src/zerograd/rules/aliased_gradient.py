"""Two parameters share one gradient, and only one of them lets go of it.

`shared.grad = local.grad` copies nothing: both names stand for one tensor. Asynchronous actor-critics use this to hand
a worker's gradients to the shared model. It was safe while `zero_grad()` filled with zeros, because that emptied both;
since torch 2.0 it sets the one it is called on to None. The other keeps the old tensor, the next `backward()` adds to
it, and the sum of all past gradients is handed over again.

Clear both models, copy (`local.grad.clone()`), or clear with `set_to_none=False`.
"""

from collections.abc import Iterator

from zerograd.core.world import Shared
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
local = nn.Linear(4, 1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(local(x), y)
    loss.backward()
    for mine, shared in zip(local.parameters(), model.parameters()):
        shared.grad = mine.grad  # source: [ZG305]
    optimizer.step()  # run: [ZG305]
    local.load_state_dict(model.state_dict())
"""

GOOD = """\
local = nn.Linear(4, 1)
for x, y in loader:
    optimizer.zero_grad()
    local.zero_grad()
    loss = nn.functional.mse_loss(local(x), y)
    loss.backward()
    for mine, shared in zip(local.parameters(), model.parameters()):
        shared.grad = mine.grad
    optimizer.step()
    local.load_state_dict(model.state_dict())
"""


def breaks(one: Shared) -> Iterator[Broken]:
    """A gradient that one of its two holders never clears."""
    yield Broken(one.site, one.certain, {"what": one.what, "giver": one.giver, "cleared": one.cleared})


RULE = Rule(
    code="ZG305",
    name="aliased-gradient",
    message="{what} shares one gradient between two parameters: {cleared} leaves {giver} adding to the old sum",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="clear both models, or assign local.grad.clone()",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Shared, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{step} consumes gradients that another parameter holds as well: cleared here, they kept growing there",
)
