"""A comment ignores a finding that does not exist.

The loop was fixed, or moved away from its comment, or the comment names a rule that never fired. If it stays, it hides
the next finding on that line. Remove it; `--fix` does, and leaves the other codes and comments of the line alone.

Only comments addressed to zerograd are checked: `# zerograd: ignore[...]`, and codes that begin with ZG in `# noqa:
...`. Rules that were not selected, or that only a run can see, do not count as unused.
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
    message="this comment ignores {allowed}",
    sees=Sees.SOURCE,
    severity=Severity.WARNING,
    remedy="remove it, before it hides a new finding",
    fix=Fix.SAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
