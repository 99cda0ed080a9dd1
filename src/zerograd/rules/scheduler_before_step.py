"""The learning-rate scheduler runs before the optimizer has stepped.

A scheduler sets the learning rate of the next step. If it runs before the first step, it skips the first value of the
schedule: a warm-up starts too high, a decay comes one epoch too early, and every later value is off by one. Torch warns
about it once, and the warning is easily missed.

A run also reports, as possible, a scheduler that moves although a `GradScaler` has skipped the step because its
gradients were not finite: the schedule gets ahead of the training.

A scheduler that is given the epoch (`scheduler.step(epoch)`) or a metric is not reported.
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
    message="{what} runs before the first optimizer step and skips a value",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call {what} after the optimizer's step()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: (
        Kind.SCHEDULE if event.kind is Kind.SCHEDULE and Mark.STEPPED not in state.marks else None
    ),
    led_by=(Kind.CONSUME,),
    beside=((Kind.CONSUME, "is the first step of the optimizer"),),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
