"""The ways out of a block, and how much walking a file is worth."""

from typing import NamedTuple

from zerograd.core.facts import NOWHERE, Doubts, Facts, doubt, join

_PART = 8_000  # facts that one part of the laws may move


class Flow(NamedTuple):
    """The facts with which a block may be left, by the way it is left."""

    normal: Facts = NOWHERE
    breaks: Facts = NOWHERE
    continues: Facts = NOWHERE
    returns: Facts = NOWHERE
    raises: Facts = NOWHERE

    def then(self, after: "Flow") -> "Flow":
        """This block, and after its normal end that one."""
        if not (self.breaks or self.continues or self.returns or self.raises):
            return after  # nearly always: most blocks have one way out
        return Flow(
            after.normal,
            join(self.breaks, after.breaks),
            join(self.continues, after.continues),
            join(self.returns, after.returns),
            join(self.raises, after.raises),
        )

    def beside(self, other: "Flow") -> "Flow":
        if not (self.breaks or self.continues or self.returns or self.raises):
            if not self.normal:
                return other
            if not (other.breaks or other.continues or other.returns or other.raises):
                return Flow(join(self.normal, other.normal))
        return Flow(
            join(self.normal, other.normal),
            join(self.breaks, other.breaks),
            join(self.continues, other.continues),
            join(self.returns, other.returns),
            join(self.raises, other.raises),
        )

    def doubting(self, kinds: Doubts) -> "Flow":
        """The same, where it goes on: what such events would have changed is not sure."""
        return self._replace(normal=doubt(self.normal, kinds), returns=doubt(self.returns, kinds)) if kinds else self


class TooMuch(Exception):
    """A file asks for more than it is worth: what is left of it is not judged."""


class Budget:
    """How many facts may still be moved. A tangle of flags and calls must not hold up a check."""

    def __init__(self, facts: int = 20_000) -> None:
        self.left = facts
        self._rest = facts // 4  # for what else is in a file, where a tangle has used up the whole
        self._parts = facts // 2  # for what is left of tangles, law by law
        self._given = facts

    def renew(self) -> None:
        if self.is_spent:
            self.left, self._rest = self._rest, -1

    def part(self) -> "Budget":
        """What one part of the laws may spend on a tangle."""
        return Budget(min(_PART, self._parts) if self._parts > 0 else -1)

    def spend_on(self, part: "Budget") -> None:
        self._parts -= part._given - part.left

    @property
    def is_spent(self) -> bool:
        return self.left < 0

    def spend(self, facts: int) -> None:
        self.pay(facts + 1)

    def pay(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise TooMuch
