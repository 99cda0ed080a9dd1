"""Two parameters share one gradient tensor, and only one of them is cleared.

`shared.grad = local.grad` copies nothing: both names refer to one tensor. Asynchronous actor-critics do this to give a
worker's gradients to the shared model. It was safe when `zero_grad()` filled gradients with zeros, because that cleared
both. Since torch 2.0 `zero_grad()` sets only its own `.grad` to None. The other parameter keeps the old tensor, the
next `backward()` adds to it, and the sum of all past gradients is assigned again.

Clear both models, or clear with `set_to_none=False`.
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
    message="{what} shares one gradient, and only one side is cleared",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="in every iteration, also clear the model that {giver} belongs to",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Shared, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{step} uses gradients that another parameter shares and never clears",
)
