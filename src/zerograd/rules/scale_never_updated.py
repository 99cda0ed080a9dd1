"""`scaler.step()` is called, and `scaler.update()` never is.

The scaler lowers its scale when a step overflows and raises it when many have not; both happen in `update()`. Without
it the scale stays where it started: if that is too large every step is skipped and nothing is learned, and if it is too
small the gradients underflow. `update()` also resets what the scaler remembers about the step, so that a second
`unscale_()` raises.

Inside an accumulation `update()` belongs under the guard of the step: called for a micro-batch that took no step it
raises, because there is nothing to judge the scale by, or changes the scale in the middle of a sum.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Scaling, Unsettled
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import SCALED

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # error: [ZG203]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


_SENTENCES = {
    Scaling.EARLY: "{scaler} moves the scale in every micro-batch, while {step} waits for the group",
    Scaling.LATE: "{step} runs again before {scaler}.update() has run: then it raises",
    Scaling.NEVER: "{step} is called, and {scaler}.update() never is",
    Scaling.FORGOTTEN: "{scaler} makes a new scaler in every iteration: the scale that was found is forgotten",
}
_KEEP_IT = "make the scaler once, before the loop, and keep it"


def breaks(one: Unsettled) -> Iterator[Broken]:
    """A scaler whose steps and updates do not fit together."""
    remedy = _KEEP_IT if one.why is Scaling.FORGOTTEN else ""
    yield Broken(one.site, one.certain, {"scaler": one.scaler, "step": one.step}, _SENTENCES[one.why], remedy)


RULE = Rule(
    code="ZG203",
    name="scale-never-updated",
    message="{what}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="call scaler.update() after scaler.step(optimizer), once for each",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Unsettled, breaks),
    led_by=(),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
    in_run="{step} is called, and {scaler}.update() never is",
)
