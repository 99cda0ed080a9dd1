"""Two parameters share one `.grad`, and clearing one of them by None leaves the other growing.

`shared.grad = local.grad` does not copy: both names hold the same tensor. `zero_grad()` sets one of them to None, the
other keeps the tensor with all that is in it, and the next backward adds to what a step has consumed already. Asking
each optimizer alone, everything is cleared; so it is found late. Copy the values, or clear both.
"""

from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
local = nn.Linear(4, 1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(local(x), y).backward()
    for mine, shared in zip(local.parameters(), model.parameters()):
        shared.grad = mine.grad
    optimizer.step()  # error: [ZG305]
"""

GOOD = """\
local = nn.Linear(4, 1)
for x, y in loader:
    local.zero_grad()
    nn.functional.mse_loss(local(x), y).backward()
    for mine, shared in zip(local.parameters(), model.parameters()):
        shared.grad = mine.grad
    optimizer.step()
"""

RULE = Rule(
    code="ZG305",
    name="aliased-gradient",
    message="{step} consumes gradients that another parameter holds as well: cleared here, they kept growing there",
    sees=Sees.RUN,
    remedy="copy the gradients (p.grad.clone()), or clear both parameters",
    fix=Fix.NONE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
