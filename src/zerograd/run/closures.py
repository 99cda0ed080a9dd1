"""Closures: every evaluation must leave the gradient of the weights it was made with, and of no others (ZG009).

Several backwards in one evaluation add up at the same weights, which is legal. An evaluation that finds what another
left, after the weights have moved, adds the gradients of two points. One that clears behind its backward leaves nothing
(ZG002); an optimizer that clears inside its own step has moved the weights before that.
"""

from zerograd.core.events import Event
from zerograd.run.slots import Slots


class Closure:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._weights: list[int] | None = None  # versions of a few parameters when the last backward deposited
        self._before: int | None = None  # while a step with a closure runs: the backwards of this thread before it

        self.erased: Event | None = None  # the clear that took away what the closure had deposited for its step

    def forget(self) -> None:
        self._weights = self._before = self.erased = None

    def begins(self, backwards: int) -> None:
        self._before, self.erased = backwards, None

    def cleared(self, clear: Event) -> None:
        """The optimizer's own zero_grad() has returned."""
        if self._before is not None and not self.moved():
            self.erased = clear

    def ends(self, backwards: int) -> bool | None:
        """Whether it fed its step; it may do nothing (Lightning's manual optimization). None: there was none."""
        before, self._before = self._before, None
        return None if before is None else backwards != before

    def evaluated(self) -> None:
        """A backward is over."""
        self._weights = self._versions()
        self.erased = None

    def moved(self) -> bool:
        """Whether the weights have changed since the last backward."""
        return self._weights is not None and self._versions() != self._weights

    def _versions(self) -> list[int]:
        return self._slots.versions(self._slots.guarded())
