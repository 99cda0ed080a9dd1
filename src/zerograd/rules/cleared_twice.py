"""Gradients are cleared twice in a row.

The second clear finds nothing to do: `model.zero_grad()` next to `optimizer.zero_grad()` when the optimizer holds the
whole model, or a clear at the end of an iteration and another at the top of the next. It does no harm, but it is
confusing to read and easy to get wrong when one of the two is moved.
"""

from collections.abc import Iterator

from zerograd.core.findings import Related, Severity
from zerograd.core.world import Clear
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    model.zero_grad()
    optimizer.zero_grad()  # note: [ZG403]
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

GOOD = """\
for x, y in loader:
    model.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""


def breaks(clear: Clear) -> Iterator[Broken]:
    """A clear of what another one has emptied."""
    if clear.after:
        related = (Related(clear.first, "has already cleared them"),) if clear.first is not None else ()
        yield Broken(clear.site, True, {"clear": clear.what, "other": clear.after}, related=related)


RULE = Rule(
    code="ZG403",
    name="cleared-twice",
    message="{clear} repeats {other}",
    sees=Sees.SOURCE,
    severity=Severity.NOTE,
    remedy="remove this {clear}",
    fix=Fix.SAFE,
    lacks=idiom,
    asks=Question(Clear, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
