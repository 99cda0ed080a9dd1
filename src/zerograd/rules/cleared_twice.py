"""Two clears do the same work.

The second one finds nothing to clear: `model.zero_grad()` beside `optimizer.zero_grad()` for an optimizer that holds
all of the model, or a clear at the end of an iteration and another at the top of the next. It does no harm but to the
reader, who looks for the reason, and to the next change: whoever moves one of them finds that nothing depends on it.
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
        related = (Related(clear.first, "they are cleared here"),) if clear.first is not None else ()
        yield Broken(clear.site, True, {"clear": clear.what, "other": clear.after}, related=related)


RULE = Rule(
    code="ZG403",
    name="cleared-twice",
    message="{clear} clears what {other} has already cleared",
    sees=Sees.SOURCE,
    severity=Severity.NOTE,
    remedy="keep one of the two",
    fix=Fix.SAFE,
    lacks=idiom,
    asks=Question(Clear, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
