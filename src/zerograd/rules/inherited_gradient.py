"""A step also uses the gradients of an iteration that was skipped.

A batch goes wrong after its `backward()`: the loss is NaN, or an exception is caught. The loop moves on to the next
batch, with `continue` or because an `if` skips both the step and the clear. The gradients of the bad batch are still
there. If the loop clears only after its steps, the next step applies them together with those of the next batch, and
the NaN that was meant to be skipped reaches the weights after all.

Clear before you skip, test the loss before `backward()`, or clear at the top of the loop.
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
    message="{step} also uses gradients of an iteration that was skipped",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call {clearing} before {exit}",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CLEAR if event.kind is Kind.CONSUME and Mark.LEFT in state.marks else None,
    led_by=(Kind.ABANDON,),
    beside=((Kind.ABANDON, "skips the step and leaves the gradients"),),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{step} also uses gradients of an iteration that was skipped",
)
