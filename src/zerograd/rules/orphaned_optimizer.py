"""The optimizer holds parameters that the model no longer uses.

An optimizer keeps the parameters it was given. A layer that is replaced after that, a model that is built again or
wrapped in something that copies it, has new ones: the gradients go there, and the step moves the old ones, or nothing.
Build the optimizer last, or add the new parameters to it.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model[1] = nn.Linear(4, 1)
for x, y in loader * 2:
    model.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()  # error: [ZG010]
"""

GOOD = """\
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
model[1] = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader * 2:
    model.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

RULE = Rule(
    code="ZG010",
    name="orphaned-optimizer",
    message="{step} holds {held} that the model no longer uses; the gradients go to {used}",
    sees=Sees.RUN,
    severity=Severity.WARNING,
    remedy="build the optimizer after the model has its last shape, or call add_param_group()",
    fix=Fix.NONE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
