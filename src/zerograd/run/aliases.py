"""Gradients that come back (ZG305): one object is the `.grad` of two parameters.

Clearing one of the two by None leaves the other with the object, and whatever is deposited there is added to what was
consumed before. Seen from the optimizer that steps: the gradient it consumed was cleared, and then the same object lies
there again, written into once for every backward, never zeroed.
"""

from zerograd.run.slots import Look, guards


class Aliases:
    def __init__(self) -> None:
        self._consumed: Look | None = None  # what the guards held when a step read it
        self._backwards = 0
        self.returned = False  # something that a step had consumed and a clear had removed lies there again

    def forget(self) -> None:
        self._consumed = None

    def consumed(self, seen: Look) -> None:
        self._consumed = seen
        self._backwards = 0
        self.returned = False

    def backward(self) -> None:
        """A backward ran, through whatever parameters."""
        self._backwards += 1

    def replaced(self, slots: set[int], now: Look) -> None:
        """Outside of any backward these slots hold another object than at the last look."""
        before = self._consumed
        if before is None or len(before.addresses) != len(now.addresses):
            return
        for slot, known, was in zip(guards(len(now.addresses)), now.guards, before.guards, strict=True):
            if slot in slots and known is not None and was is known:
                written = now.versions[slot] - before.versions[slot]
                # Zeroed in place it would have one version more: then it is clean, and sharing it is harmless.
                self.returned = self.returned or 0 < written <= self._backwards
