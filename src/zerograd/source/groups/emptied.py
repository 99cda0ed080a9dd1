"""A clear with every micro-batch and a step with every Nth, of a trainer that is split into methods (ZG002).

for i, batch in enumerate(loader):
    self.forward_backward(batch)            # optimizer.zero_grad(), loss.backward()
    if (i + 1) % self.accumulate == 0:
        self.optimizer.step()

The interpreter tells it where all stands in one function. Here the calls are put in place: the clear must come in any
case, and a backward behind it in any case, and whatever cannot be read may be the step that is missing.
"""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import erased
from zerograd.source.lowering.skeleton import Act, Block, Blur, Jump, walk
from zerograd.source.walking.guarded import Window


def emptied(window: Window) -> Iterator[Finding]:
    guard, body = window.guard, window.loop.body
    if window.inverted or window.stepped_outside or window.shared or guard.conjoined or not guard.accumulates:
        return
    if guard.phase not in (0, -1, None) or any(isinstance(node, Blur | Jump) for node in walk(body)):
        return
    slots = {act.slot for act in window.stepped}
    clears = [act for act in body if isinstance(act, Act) and act.kind is Kind.CLEAR and not act.partial]
    clears = [act for act in clears if act.slot in slots]
    if len(clears) == 1 and _deposits_behind(body, clears[0]):
        related = (Related(window.stepped[0].site, "not every micro-batch reaches this step"),)
        yield erased(REGISTRY["ZG002"], clears[0].site, clears[0].what, related)


def _deposits_behind(body: Block, clear: Act) -> bool:
    """In the same iteration, or whatever stands before it in the next."""
    return any(isinstance(act, Act) and act.kind is Kind.DEPOSIT for act in body[body.index(clear) :])
