"""The learning-rate schedule moves before the optimizer has stepped.

A scheduler sets the rate for the step that comes next. Moved before the first step, it skips the first value of the
schedule: a warm-up starts one notch too high, a decay one epoch too early, and every later value is off by one. Torch
warns about it once; the warning is easily lost in the output of a run.

A run also calls it possible where a schedule moves after each step, and a `GradScaler` has skipped that step because
its gradients were not finite: the schedule runs ahead of what was learned.

A scheduler that is told the epoch (`scheduler.step(epoch)`) or a metric is not meant.
"""

from zerograd.core.events import Kind
from zerograd.core.machine import Mark
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
for x, y in loader:
    scheduler.step()  # error: [ZG301]
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

GOOD = """\
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
"""

RULE = Rule(
    code="ZG301",
    name="scheduler-before-step",
    message="{what} moves the schedule before the optimizer has stepped: its first value is skipped",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call scheduler.step() after optimizer.step()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: (
        Kind.SCHEDULE if event.kind is Kind.SCHEDULE and Mark.STEPPED not in state.marks else None
    ),
    led_by=(Kind.CONSUME,),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
