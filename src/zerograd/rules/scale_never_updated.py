"""`scaler.step()` is called, but `scaler.update()` never is.

The scaler lowers its scale after a step that overflows, and raises it after many that do not. Both happen in
`update()`. Without it the scale stays where it started: if it is too large, every step is skipped and nothing is
learned; if it is too small, the gradients underflow. `update()` also resets the scaler for the next step; without it a
second `unscale_()` raises.

With gradient accumulation, call `update()` only where `step()` is called. After a micro-batch without a step it raises,
or changes the scale in the middle of a sum.
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
    Scaling.EARLY: "{scaler} runs after every micro-batch, {step} only once per group",
    Scaling.LATE: "{step} runs a second time before {scaler}.update(), and raises",
    Scaling.NEVER: "{step} is called, but {scaler}.update() never is",
    Scaling.FORGOTTEN: "{scaler} creates a new scaler in every iteration and loses its scale",
}
_KEEP_IT = "create the scaler once, before the loop"
_TOGETHER = "call update() only where {step} has run"


def breaks(one: Unsettled) -> Iterator[Broken]:
    """A scaler whose steps and updates do not fit together."""
    remedy = {Scaling.FORGOTTEN: _KEEP_IT, Scaling.EARLY: _TOGETHER}.get(one.why, "")
    yield Broken(one.site, one.certain, {"scaler": one.scaler, "step": one.step}, _SENTENCES[one.why], remedy)


RULE = Rule(
    code="ZG203",
    name="scale-never-updated",
    message="{what}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="call scaler.update() after {step}",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Unsettled, breaks),
    led_by=(),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
    in_run="{step} runs a second time before {scaler}.update(), and raises",
)
