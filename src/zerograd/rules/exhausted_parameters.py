"""A generator of parameters is given to the optimizer and then used again.

`model.parameters()` and `filter(...)` are generators, and the optimizer's constructor reads them to their end. If the
same variable is used afterwards, usually in `clip_grad_norm_`, it is empty: nothing is clipped, and no error is raised.
The same happens with a generator that is created before a loop and read inside it: from the second iteration on,
nothing is clipped. Keep a list, or call `model.parameters()` again.
"""

from collections.abc import Iterator

from zerograd.core.findings import Related
from zerograd.core.world import Exhausted
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
parameters = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # error: [ZG306]
    optimizer.step()
"""

GOOD = """\
parameters = list(filter(lambda p: p.requires_grad, model.parameters()))
optimizer = torch.optim.SGD(parameters, lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
"""


def breaks(one: Exhausted) -> Iterator[Broken]:
    """Whoever reads a generator of which nothing is left."""
    related = (Related(one.read_at, "reads it to its end"),) if one.read_at is not None else ()
    yield Broken(one.site, one.certain, {"name": one.name, "consumer": one.consumer}, related=related)


RULE = Rule(
    code="ZG306",
    name="exhausted-parameters",
    message="{name} is a generator, already used up by {consumer}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="make {name} a list: list(model.parameters())",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Exhausted, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
