"""A comment allows a finding that is not there.

The loop was mended, or moved away from its comment, or the comment names a rule that never fired. Left standing, it
hides the next finding on that line, which will be a new one and nobody's decision. Take it away; `--fix` does, and
leaves the other codes of the comment and the other comments of the line alone.

Only what is addressed to zerograd is judged: `# zerograd: ignore[...]`, and in `# noqa: ...` the codes that begin with
ZG. A rule that was not selected, or that only a run can see, is no evidence.
"""

from zerograd.core.findings import Severity
from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()  # zerograd: ignore[ZG001] # error: [ZG901]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""

RULE = Rule(
    code="ZG901",
    name="unused-suppression",
    message="the comment allows {allowed}",
    sees=Sees.SOURCE,
    severity=Severity.WARNING,
    remedy="take it away before it hides the next finding",
    fix=Fix.SAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
