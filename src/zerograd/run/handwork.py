"""What someone did to a gradient outside of any backward, told from what lies there now.

Master weights are copied, gradients are clipped, unscaled, averaged and cleared by hand; all that is seen is another
object, or another version of the same. So the values are asked; and where they can be read in two ways, the slot keeps
a doubt, and nothing is certain on its strength.
"""

from torch import Tensor

from zerograd.core.events import Event, Kind
from zerograd.core.facts import Doubts
from zerograd.core.machine import HOLLOW, Content
from zerograd.run.books import Books
from zerograd.run.proof import Proof
from zerograd.run.slots import Slots
from zerograd.run.values import nonzero, numbers

# `p.grad = None` has no call that we could see: a clear without a line is better than one with a wrong line.
UNSEEN = Event(Kind.CLEAR, what="the clear")
ASSIGNED = Event(Kind.DEPOSIT, what="an assignment to .grad")
WRITTEN = Event(Kind.DEPOSIT, what="a write into .grad")
MAYBE_FILLED: Doubts = frozenset({Kind.DEPOSIT})
MAYBE_CLEARED: Doubts = frozenset({Kind.CLEAR})
_WATCHFUL = 3  # steps for which the sizes of deposits are taken after all gradients were written to zero by hand


class Handwork:
    def __init__(self, slots: Slots, books: Books, proof: Proof) -> None:
        self._slots, self._books, self._proof = slots, books, proof
        self._latest = WRITTEN  # the last deposit by a backward
        self._watchful = 0
        self._deposited: dict[int, Tensor | None] = {}  # while watchful: the size of what was deposited

    @property
    def watching(self) -> bool:
        return self._watchful > 0

    def renumber(self) -> None:
        """The slots have other numbers now."""
        self._deposited.clear()

    def deposited(self, event: Event) -> None:
        """A backward is over."""
        self._latest = event
        live = {Content.FRESH, Content.MIXED}
        self._deposited = self._slots.sizes(self._books.within(live)) if self._watchful else {}

    def consumed(self) -> None:
        self._watchful = max(0, self._watchful - 1)

    def replaced(self, slots: set[int], clear: Event) -> None:
        """There is another object, or there was none."""
        if not slots:
            return
        zeros = self._slots.zeros(slots)
        self._books.clear(slots, clear)
        # A new object that is not zero is a gradient the user made: gradient surgery, a hand-written reduction.
        self._books.deposit(slots - zeros, ASSIGNED)
        self._books.doubt(zeros, MAYBE_FILLED)  # and one that is zero may be a gradient that is truly zero

    def written(self, slots: set[int], clear: Event | None) -> None:
        """The same object was written into. `clear`: a zero_grad() that has just returned."""
        if clear is not None and slots:
            zeros = self._slots.zeros(slots)
            self._books.clear(zeros, clear)
            slots = slots - zeros
        if not slots:
            return
        fresh, mixed = slots & self._books.within({Content.FRESH}), slots & self._books.within({Content.MIXED})
        hollow, spent = slots & self._books.within(HOLLOW), slots & self._books.within({Content.SPENT})
        zeros = self._slots.zeros(hollow | spent | mixed)
        self._books.deposit(hollow - zeros, WRITTEN)
        self._books.doubt(hollow & zeros, MAYBE_FILLED)  # with a gradient that is truly zero
        emptied = self._proof.emptied(spent & zeros, self._slots.parameters())
        self._books.clear(spent & zeros, UNSEEN)
        self._books.doubt(set() if emptied else spent & zeros, MAYBE_FILLED)
        self._books.doubt(spent - zeros, MAYBE_FILLED | MAYBE_CLEARED)
        self._books.doubt(mixed - zeros, MAYBE_CLEARED)
        self._emptied(mixed & zeros)
        if fresh and self._slots.zeros({min(fresh)}) and self._slots.zeros(fresh) == fresh:
            self._emptied(fresh)  # one that is not zero would be enough for a step: then the others are not asked

    def _emptied(self, slots: set[int]) -> None:
        """All is zero after someone wrote. That is a clear by hand, unless it was zero when it was deposited."""
        known = [i for i in slots if i in self._deposited]
        held = nonzero(numbers(self._deposited[i] for i in known))
        lost = {i for i, holds in zip(known, held, strict=True) if holds}
        self._books.clear(lost, UNSEEN)
        self.nothing_old(slots - lost)
        if slots:
            self._watchful = _WATCHFUL  # if nobody knows what was deposited: the next time somebody will

    def nothing_old(self, slots: set[int]) -> None:
        """What the last deposit was added to was nothing, or zero: only the deposit counts."""
        self._books.move(slots, UNSEEN)
        self._books.move(slots, self._latest)
