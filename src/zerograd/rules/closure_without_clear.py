"""A closure runs backward without clearing first.

An optimizer such as LBFGS calls its closure several times in one step, to evaluate the loss at different points. Each
call must leave the gradient of that point in `.grad`. Without a clear it leaves the sum over all points so far, and the
line search follows a direction that is not the gradient at any point.
"""

from collections.abc import Iterator

from zerograd.core.world import UnclearedClosure
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
lbfgs = torch.optim.LBFGS(model.parameters())
for x, y in loader:
    def closure():
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss
    lbfgs.step(closure)  # error: [ZG009]
"""

GOOD = """\
lbfgs = torch.optim.LBFGS(model.parameters())
for x, y in loader:
    def closure():
        lbfgs.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss
    lbfgs.step(closure)
"""


def breaks(closure: UnclearedClosure) -> Iterator[Broken]:
    """A closure that adds to what its last evaluation left."""
    yield Broken(closure.site, closure.certain, {"step": closure.step})


RULE = Rule(
    code="ZG009",
    name="closure-without-clear",
    message="the closure of {step} runs backward() without clearing first",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call {clearing} at the top of the closure",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(UnclearedClosure, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
