"""Accumulated gradients are rescaled once per micro-batch instead of once per step.

Multiplying `.grad` by 1 / N after every `backward()` also multiplies the gradients of earlier micro-batches, so the
first one ends up divided by N to the power of N. Divide the loss, or rescale the gradients once, right before the step.
"""

from zerograd.core.events import Kind
from zerograd.core.machine import Content, Mark
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  # error: [ZG107]
    for p in model.parameters():
        p.grad.mul_(1 / accumulation_steps)
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

GOOD = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        for p in model.parameters():
            p.grad.mul_(1 / accumulation_steps)
        optimizer.step()
        optimizer.zero_grad()
"""

RULE = Rule(
    code="ZG107",
    name="rescaled-each-micro-batch",
    message="{deposit} adds to gradients that are rescaled after every micro-batch",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="rescale the gradients once, right before step()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: (
        Kind.CONSUME
        if event.kind is Kind.DEPOSIT and state.content is Content.FRESH and Mark.RESCALED in state.marks
        else None
    ),
    led_by=(Kind.RESCALE,),
    beside=((Kind.RESCALE, "rescales earlier micro-batches again"),),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
