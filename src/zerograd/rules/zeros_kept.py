"""Gradients are filled with zeros where nothing needs the zeros.

`zero_grad(set_to_none=False)` writes zeros to every gradient, and the next `backward()` reads them back to add to them.
If gradients are set to None, which is torch's default since 2.0, their memory is free in between and the first backward
simply writes. Optimizers also skip a parameter whose gradient is None, while momentum and weight decay still move one
whose gradient is zero.

Zeros are needed where gradients must keep their addresses, as in a captured CUDA graph, and where something reads
`.grad` after the clear. A file in which either is possible is not reported.
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
    message="{clear} writes zeros that nothing needs",
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
    in_run="{what} writes zeros that nothing needs",
)
