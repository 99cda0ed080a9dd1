"""Closures: every evaluation must leave the gradient of the weights it was made with, and of no others (ZG009).

Several backwards in one evaluation add up at the same weights, which is legal. An evaluation that finds what another
left, after the weights have moved, adds the gradients of two points. One that clears behind its backward leaves nothing
(ZG002); an optimizer that clears inside its own step has moved the weights before that.

[Note: one evaluation] Where a framework runs both, the step and the closure's backward (Lightning's automatic
optimization), a step is what it is in any loop: the closure is evaluated once, and when it returns, what lies there is
what the step reads. Then it is judged. What a closure of one's own adds up is its own affair.
"""

from zerograd.core.events import Event, Site
from zerograd.run.slots import Slots


class Closure:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._weights: list[int] | None = None  # versions of a few parameters when the last backward deposited
        self._before: int | None = None  # while a step with a closure runs: the backwards of this thread before it
        self._step: Event | None = None  # that step
        self._evaluations = 0  # of its closure that have returned
        self._framework = False  # runs the first of them
        self.awaited = False  # the step will read what lies there when the closure has returned
        self.erased: Event | None = None  # the clear that took away what the closure had deposited for its step

    def forget(self) -> None:
        self._weights = self._before = self.erased = None

    def begins(self, backwards: int, step: Event) -> None:
        self._before, self._step, self.erased = backwards, step, None
        self._evaluations, self._framework, self.awaited = 0, False, False

    @property
    def running(self) -> bool:
        """Whether a step that was given a closure is running."""
        return self._before is not None

    def awaits(self, site: Site) -> bool:
        """A backward on this line feeds its step: whether that is judged when the closure has returned.

        See [Note: one evaluation].
        """
        self.awaited = self.running and not self._evaluations and self._step is not None and self._step.site == site
        self._framework = self._framework or self.awaited
        return self.awaited

    def returned(self) -> Event | None:
        """An evaluation has returned: the step that reads what it has left, if that is to be judged."""
        awaited, self.awaited = self.awaited, False
        self._evaluations += self.running
        return self._step if awaited and self.running else None

    @property
    def judged(self) -> bool:
        """Whether all that its last step has read was judged."""
        return self._framework and self._evaluations == 1

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
