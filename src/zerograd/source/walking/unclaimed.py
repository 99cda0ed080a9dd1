"""What would be a fault of each of several optimizers: whosever it is, it is one.

scheduler.step()                # of one of the two, and before either has stepped
for x, y in loader:
    ...
    optimizer.step()
    center_optimizer.step()

A schedule that was handed in, or a clip of a list, names no optimizer. Beside several it is judged for each as if it
were its own, and moves none. It is told only if it is a certain fault for every one of them, at the same event, through
the same calls: what is too early for one and in place for the other is that other's. Silent where the function knows an
optimizer that it does not step.
"""

from collections.abc import Iterable

from zerograd.core.events import Site
from zerograd.core.judgement import Verdict
from zerograd.rules.rule import Rule

Through = tuple[Site | None, ...]  # the calls that lead to an event
Met = tuple[int, Through, Verdict[Rule]]  # by whose identity an event is one: rounds of a loop may share its place


class Unclaimed:
    """Of as many slots as there are, the verdicts on which all agree."""

    def __init__(self, slots: int) -> None:
        self._left = slots
        self._common: frozenset[tuple[int, Through, str]] | None = None

    def agreed(self, met: Iterable[Met]) -> list[Verdict[Rule]]:
        """Those of one slot more; nothing before the last one is heard."""
        certain = {(act, through, one.law.code): one for act, through, one in met if one.certain}
        keys = frozenset(certain)
        self._common = keys if self._common is None else keys & self._common
        self._left -= 1
        return [] if self._left else [one for key, one in certain.items() if key in self._common]
