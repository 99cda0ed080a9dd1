"""When the graph of a line's loss is walked: see graph.py for what that tells.

The first time, and when an optimizer has come or gone. And when it has other nodes than before, because something was
unfrozen: nodes are numbered as they are made, so how many there are between two losses costs one question. And when the
last backward has filled another number of slots: a layer was replaced by one of the same kind. A loop whose graphs are
never alike (sentences, episodes) is walked at its 1st, 2nd, 4th, 8th ... backward alone.
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from zerograd.core.events import Site
from zerograd.run.graph import Survey, number_of


class _Line:
    """The last walk from one line, and what has happened there since."""

    __slots__ = ("asked", "changed", "filled", "found", "made", "times", "turnovers")

    def __init__(self) -> None:
        self.found = Survey()
        self.turnovers = -1  # as many as there were then
        self.made: int | None = None  # nodes since the backward before, of whichever line
        self.filled: int | None = None  # slots, by the backward before
        self.changed = False  # there was another number of them, and nobody has asked why
        self.times = 0  # backwards
        self.asked = 0  # walks that found no other reason than `changed`


class Surveys:
    def __init__(self) -> None:
        self._lines: dict[Site, _Line] = {}
        self._newest = 0

    def forget(self) -> None:
        self._lines.clear()

    def of(
        self, site: Site, roots: Sequence[Tensor], *, turnovers: int, walk: Callable[[], Survey]
    ) -> tuple[Survey, bool]:
        """What is known of the loss that this line is about to deposit, and whether it is news."""
        line = self._lines.get(site)
        if line is None:
            line = self._lines[site] = _Line()
        self._count(line, number_of(getattr(roots[0], "grad_fn", None)))
        if turnovers == line.turnovers and not (line.changed and line.times >= 1 << line.asked):
            return line.found, False
        line.asked += turnovers == line.turnovers
        line.found, line.turnovers, line.changed = walk(), turnovers, False
        return line.found, True

    def filled(self, site: Site, slots: int) -> None:
        """A backward of this line is over, which has filled so many slots."""
        line = self._lines.get(site)
        if line is not None:
            line.changed = line.changed or line.filled not in (None, slots)
            line.filled = slots

    def _count(self, line: _Line, number: int) -> None:
        made, self._newest = number - self._newest, number
        if made:  # else it is asked of the same loss again
            line.times += 1
            line.changed = line.changed or line.made not in (None, made)
            line.made = made
