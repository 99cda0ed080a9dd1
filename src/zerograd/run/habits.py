"""What one optimizer usually does: how many micro-batches its steps consume, or that they find nothing, and where."""

from collections import Counter

from zerograd.core.events import Site

_ALIKE = 2
_RARE = 4


class Habits:
    def __init__(self) -> None:
        self.sizes: list[int] = []  # of the first windows, in order
        self._counted: Counter[int] = Counter()
        self._backwards: Counter[Site] = Counter()
        self._raised: Counter[Site] = Counter()  # those of them that ended by an exception
        self.starved: dict[Site | None, int] = {}  # steps in a row that found nothing, by their place
        self.nourished: dict[Site | None, int] = {}  # steps that found something

    def stepped(self, size: int) -> None:
        if len(self.sizes) < 64:
            self.sizes.append(size)
        self._counted[size] += 1

    def usual(self) -> int | None:
        """The size that windows usually have. None while there was none."""
        return self._counted.most_common(1)[0][0] if self._counted else None

    def always(self, size: int) -> bool:
        """Whether every window so far had this size."""
        return len(self._counted) == 1 and size in self._counted

    def lone(self) -> bool:
        """Whether nearly every window held one backward: then a larger one is out of the ordinary."""
        ones = self._counted[1]
        return ones >= _ALIKE and _RARE * (self._counted.total() - ones) <= ones

    def deposited(self, site: Site, *, raised: bool) -> None:
        self._backwards[site] += 1
        self._raised[site] += raised

    def raised(self, site: Site) -> float:
        """The share of this line's backwards that ended by an exception."""
        return self._raised[site] / max(1, self._backwards[site])
