"""Graphs are kept alive that nobody will use again.

`total_loss += loss` adds a tensor with its whole graph to the last iteration's: the memory of every forward pass of the
epoch stays allocated until the sum is dropped. Add `loss.item()` or `loss.detach()`.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
total = 0.0
for x, y in loader * 5:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  # run: [ZG402]
    optimizer.step()
    total += loss  # source: [ZG402]
print(total / len(loader))
"""

GOOD = """\
total = 0.0
for x, y in loader * 5:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.item()
print(total / len(loader))
"""

RULE = Rule(
    code="ZG402",
    name="retained-graph",
    message="{what} keeps the graph of every iteration alive",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="add loss.item() or loss.detach()",
    fix=Fix.SAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
