"""Gradients are filled with zeros where nothing needs the zeros.

`zero_grad(set_to_none=False)` writes every gradient once to clear it, and the next `backward()` reads it back to add to
it. Cleared by None, which is torch's own default since 2.0, the memory is free in between and the first backward simply
writes. Optimizers also skip a parameter without a gradient, where they move one with a gradient of zero: momentum and
weight decay go on.

Zeros are needed where gradients must keep their addresses, as under a captured CUDA graph, and where something reads
`.grad` after the clear; nothing is said about a file in which either may be so.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import Clear
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    optimizer.zero_grad(set_to_none=False)  # note: [ZG401]
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""


def breaks(clear: Clear) -> Iterator[Broken]:
    """A clear that writes zeros."""
    if clear.zeros:
        yield Broken(clear.site, True, {"clear": clear.what})


RULE = Rule(
    code="ZG401",
    name="zeros-kept",
    message="{clear} fills every gradient with zeros that nothing here reads",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.NOTE,
    remedy="call zero_grad() without set_to_none=False",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Clear, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{what} fills gradients with zeros that nobody needs",
)
