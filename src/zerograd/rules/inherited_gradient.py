"""A step consumes what an iteration that was given up has left.

A batch goes wrong after its `backward()`: the loss is NaN, or an exception is caught, and the loop goes on with the
next batch, with `continue` or past an `if` that holds both the step and the clear. The gradients of the bad batch are
still there. If the loop clears only behind its steps, the next step adds them to the next batch's: the NaN that was to
be skipped reaches the weights after all.

Clear before going on, test before `backward()`, or clear at the top of the loop.
"""

from zerograd.core.events import Kind
from zerograd.core.machine import Mark
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) * (float("nan") if i == 1 else 1.0)
    loss.backward()
    if not torch.isfinite(loss):
        continue
    optimizer.step()  # error: [ZG007]
    optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y) * (float("nan") if i == 1 else 1.0)
    loss.backward()
    if not torch.isfinite(loss):
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
"""

RULE = Rule(
    code="ZG007",
    name="inherited-gradient",
    message="{step} also consumes what an earlier iteration left: {exit} goes on without clearing",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call optimizer.zero_grad() before going on with the next batch",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CLEAR if event.kind is Kind.CONSUME and Mark.LEFT in state.marks else None,
    led_by=(Kind.ABANDON,),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{step} consumes what a broken iteration left: {deposit} {why}, and nothing cleared it",
)
