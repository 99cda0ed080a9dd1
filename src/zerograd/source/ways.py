"""The ways out of a block, and how much walking a file is worth."""

from typing import NamedTuple

from zerograd.core.facts import NOWHERE, Facts, join


class Flow(NamedTuple):
    """The facts with which a block may be left, by the way it is left."""

    normal: Facts = NOWHERE
    breaks: Facts = NOWHERE
    continues: Facts = NOWHERE
    returns: Facts = NOWHERE
    raises: Facts = NOWHERE

    def then(self, after: "Flow") -> "Flow":
        """This block, and after its normal end that one."""
        return Flow(after.normal, *(join(mine, its) for mine, its in zip(self[1:], after[1:], strict=True)))

    def beside(self, other: "Flow") -> "Flow":
        return Flow(*(join(mine, its) for mine, its in zip(self, other, strict=True)))


class TooMuch(Exception):
    """A file asks for more than it is worth: what is left of it is not judged."""


class Budget:
    """How many facts may still be moved. A tangle of flags and calls must not hold up a check."""

    def __init__(self, facts: int = 20_000) -> None:
        self._left = facts

    def spend(self, facts: int) -> None:
        self._left -= facts + 1
        if self._left < 0:
            raise TooMuch
