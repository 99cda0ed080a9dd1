"""What versions cannot tell: `p.grad.data.zero_()` and `p.data.copy_(saved)` leave no trace but the values.

A small sample of gradients and weights is taken when a step has ended, and of what it has left when the next backward
begins. They are read only when the books accuse someone. Only where that once told of a hand that writes unseen are the
sizes of all spent gradients taken before every backward.

Samples are taken of the first steps, and then only where something once looked wrong: a loop that clears before it
deposits is never accused, and pays for no proof. What is found wrong for the first time later on can be proved from the
next time on.
"""

import operator
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from torch import Tensor

from zerograd.run.slots import Slots
from zerograd.run.values import Likeness, Sample, compared, largest, least, nonzero, rewritten, sample

_FEW = 4
_FIRST = 8  # steps of which samples are taken in any case
_MANY = 64  # backwards since the last step: an optimizer that steps no more must not collect samples for ever
_version: Callable[[Tensor], int] = operator.attrgetter("_version")
Held = dict[int, Tensor]  # slots and their gradients


class Told(NamedTuple):
    """What the values tell about slots that the books call MIXED."""

    cleared: set[int]  # nothing but zeros lay there before the deposit
    doubted: set[int]  # nobody can say


class Proof:
    def __init__(self) -> None:
        self._careful = False  # somebody writes unseen: take all sizes
        self._awake = False  # something looked wrong once: samples are taken of every step
        self._steps = 0
        self.renumber()

    @property
    def watching(self) -> bool:
        """Whether samples are still taken."""
        return self._awake or self._careful or self._steps <= _FIRST

    def wake(self) -> None:
        self._awake = True

    def renumber(self) -> None:
        """The slots have other numbers now."""
        self._chosen: list[int] = []
        self._among: set[int] = set()  # to choose from, if there is a wish
        self.forget()

    def forget(self) -> None:
        """A step begins: what was known is about the one before it."""
        self._sizes: dict[int, Tensor | None] = {}  # of spent gradients, before something was added to them
        self._found: list[tuple[set[int], Sample]] = []  # what lay there each time something was added
        self._added: Sample | None = None  # what lay there when something had been added
        self._between: list[tuple[Sample, Sample]] = []  # that, and what lay there when more was to be added
        self._gradients: Sample | None = None  # what the last step left
        self._parameters: Sample | None = None
        self._versions: list[int] | None = None

    def before_deposit(self, spent: set[int], mixed: set[int], parameters: Sequence[Tensor]) -> None:
        """A backward begins, and these slots hold what a step has read, alone or with more on top of it."""
        self.wake()
        if self._careful:
            held = _held(spent | mixed, parameters)
            for slot, size in zip(held, largest(held.values()), strict=True):
                # What was zero once was cleared once.
                self._sizes[slot] = size if slot in spent else least(self._sizes.get(slot, size), size)
        if self._gradients is not None:
            found = sample(_held((spent | mixed).intersection(self._gradients.slots), parameters))
            if found is not None:
                self._found.append((spent, found))
                self._between += [(self._added, found)] if self._added else []
            if len(self._found) > _MANY:
                self.forget()

    def after_deposit(self, mixed: set[int], parameters: Sequence[Tensor]) -> None:
        """A backward is over, and these slots hold old and new."""
        if self._gradients is not None:
            self._added = sample(_held(mixed.intersection(self._gradients.slots), parameters))

    def after_step(self, slots: Slots) -> None:
        """A step has ended. After it, and not before: fused optimizers divide the loss scale out in place."""
        self._steps += 1
        if not self._awake and self._steps > _FIRST:
            return
        parameters = slots.parameters()
        held = _held(self._chosen, parameters)
        if not held:
            self._chosen = _smallest(parameters, self._among)
            held = _held(self._chosen, parameters)
        self._gradients = sample(held)
        self._parameters = sample({slot: parameters[slot] for slot in held})
        try:
            self._versions = list(map(_version, parameters))
        except RuntimeError:  # inference tensors count no versions
            self._versions = None

    def of_mixed(self, mixed: set[int], undoubted: set[int], parameters: Sequence[Tensor]) -> Told:
        """Something was added to what a step had read: was it still there, and was it that?"""
        if self._gradients is None and not self._sizes:
            return Told(set(), mixed)  # nobody has looked yet: it is said as possible, and proved the next time
        known = [slot for slot in mixed if slot in self._sizes]
        holds = nonzero([self._sizes[slot] for slot in known])
        likenesses = self._likenesses()
        now = sample(_held(self._added.slots, parameters)) if self._added else None
        for added, later in [*self._between, (self._added, now)]:
            likenesses |= dict.fromkeys(rewritten(added, later), Likeness.OTHER)
        cleared = {slot for slot, held in zip(known, holds, strict=True) if not held}
        cleared |= {slot for slot in mixed if likenesses.get(slot) is Likeness.EMPTIED}
        left = mixed - cleared
        seen = {likeness for slot, likeness in likenesses.items() if slot in left & undoubted}
        if not left or (Likeness.SAME in seen and Likeness.OTHER not in seen):
            return Told(cleared, set())  # one that is stale for certain is enough
        if cleared and not seen and not self._careful:  # who clears some of them by hand, clears all
            cleared, left = mixed, set()
        self._careful = True
        # Nothing is known of these. Look into others the next time, if there are any.
        self._among = left.difference(self._chosen) or left
        self._chosen = [] if left else self._chosen
        return Told(cleared, left)

    def stale_share(self, parameters: Sequence[Tensor]) -> float | None:
        """How much of what lies in the sampled slots was there before the first deposit on top of it, by norms."""
        if not self._found:
            return None
        before = self._found[0][1]
        now = sample(_held(before.slots, parameters))
        if now is None or now.lengths != before.lengths:
            return None
        old, new = float(before.values.norm()), float((now.values - before.values).norm())
        return old / (old + new) if 0 < old + new < float("inf") else None

    def _likenesses(self) -> dict[int, Likeness]:
        """What became of each slot between the step and the deposit on top of it; or was it emptied after that."""
        told: dict[int, Likeness] = {}
        for spent, found in self._found:
            for slot, likeness in compared(self._gradients, found).items():
                if slot in spent or likeness is Likeness.EMPTIED:
                    told[slot] = likeness
        return told

    def emptied(self, zeros: set[int], parameters: Sequence[Tensor]) -> bool:
        """Whether the slots that are zero now were not so when the last step had ended."""
        if self._gradients is None:
            return False
        now = compared(self._gradients, sample(_held(zeros.intersection(self._gradients.slots), parameters)))
        return Likeness.EMPTIED in now.values()

    def untouched(self, parameters: Sequence[Tensor]) -> bool:
        """Whether gradients and weights are those that the last step left: only then is a second step the same one."""
        if self._gradients is None or self._versions is None or self._versions != list(map(_version, parameters)):
            return False
        slots, unlike = self._gradients.slots, {Likeness.OTHER, Likeness.EMPTIED}
        weights = compared(self._parameters, sample({slot: parameters[slot] for slot in slots}))
        gradients = compared(self._gradients, sample(_held(slots, parameters)))
        return unlike.isdisjoint(weights.values()) and set(gradients.values()) - {Likeness.UNKNOWN} == {Likeness.SAME}


def _held(slots: Collection[int], parameters: Sequence[Tensor]) -> Held:
    return {slot: gradient for slot in slots if (gradient := parameters[slot].grad) is not None}


def _smallest(parameters: Sequence[Tensor], wanted: set[int]) -> list[int]:
    """A few slots that hold a gradient and cost little to copy: whoever writes by hand writes into all of them."""
    held = [slot for slot, parameter in enumerate(parameters) if parameter.grad is not None]
    held.sort(key=lambda slot: (slot not in wanted, parameters[slot].numel()))
    return [slot for slot in held if parameters[slot].device == parameters[held[0]].device][:_FEW]
