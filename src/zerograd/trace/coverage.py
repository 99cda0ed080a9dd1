"""How many steps of a run were judged, how many were not, and why: what was not audited is not accounted for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Coverage(NamedTuple):
    steps: int = 0  # of all optimizers
    unaudited: tuple[tuple[str, int], ...] = ()  # steps that nothing is said about, by the reason, the commonest first

    @classmethod
    def of(cls, steps: int, unaudited: Mapping[str, int]) -> "Coverage":
        return cls(steps, tuple(sorted(unaudited.items(), key=lambda item: (-item[1], item[0]))))

    @property
    def missed(self) -> int:
        return sum(count for _, count in self.unaudited)

    @property
    def audited(self) -> int:
        return max(0, self.steps - self.missed)

    @property
    def whole(self) -> bool:
        return not self.missed

    @property
    def share(self) -> str:
        """ "20 steps", or "8 of 20 steps"."""
        return many(self.steps, "step") if self.whole else f"{self.audited:,} of {many(self.steps, 'step')}"

    @property
    def why(self) -> str:
        """ "12 not audited: 10 fed by a closure, 2 inside a backward"; with one reason it need not be counted again."""
        if self.whole:
            return ""
        reasons = [reason for reason, _ in self.unaudited]
        told = [f"{count:,} {reason}" for reason, count in self.unaudited] if len(reasons) > 1 else reasons
        return f"{self.missed:,} not audited: {', '.join(told)}"


def together(parts: Iterable[Coverage]) -> Coverage:
    """That of several processes."""
    steps, unaudited = 0, Counter[str]()
    for part in parts:
        steps += part.steps
        unaudited.update(dict(part.unaudited))
    return Coverage.of(steps, unaudited)


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
