"""Closures: every evaluation must leave the gradient of the weights it was made with, and of no others (ZG009).

Several backwards in one evaluation add up at the same weights, which is legal. An evaluation that finds what another
left, after the weights have moved, adds the gradients of two points.
"""

from zerograd.run.slots import Slots


class Closure:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._weights: list[int] | None = None  # versions of a few parameters when the last backward deposited
        self._before: int | None = None  # while a step with a closure runs: the backwards of this thread before it

    def begins(self, backwards: int) -> None:
        self._before = backwards

    def ends(self, backwards: int) -> bool | None:
        """Whether it fed its step; it may do nothing (Lightning's manual optimization). None: there was none."""
        before, self._before = self._before, None
        return None if before is None else backwards != before

    def evaluated(self) -> None:
        """A backward is over."""
        self._weights = self._versions()

    def moved(self) -> bool:
        """Whether the weights have changed since the last backward."""
        return self._weights is not None and self._versions() != self._weights

    def _versions(self) -> list[int]:
        return self._slots.versions(self._slots.guarded())
