"""The loop clears one optimizer and also steps another one that is never cleared.

The gradients of the second optimizer add up over the whole run, exactly as if there were no `zero_grad()` at all. The
clear that is there makes the loop look right. The usual causes: a second optimizer that was added later, a
discriminator whose clear was forgotten, or `model.zero_grad()` when the optimizer also holds parameters outside that
model.
"""

from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
head = nn.Linear(1, 1)
head_optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(head(model(x)), y)
    loss.backward()
    optimizer.step()
    head_optimizer.step()  # error: [ZG006]
"""

GOOD = """\
head = nn.Linear(1, 1)
head_optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    head_optimizer.zero_grad()
    loss = nn.functional.mse_loss(head(model(x)), y)
    loss.backward()
    optimizer.step()
    head_optimizer.step()
"""

RULE = Rule(
    code="ZG006",
    name="partial-clear",
    message="{step} uses old gradients: {slot} is never cleared",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call {clearing} right after {step}",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    refines="ZG001",
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
