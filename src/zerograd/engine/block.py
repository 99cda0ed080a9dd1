"""One `with step:`: who opened it, which slots are its own, what was deposited, and whether it may be committed."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from torch import Tensor

from zerograd.engine import refusals
from zerograd.engine.weighing import MicroBatch, Tally, Weighing, checked

T = TypeVar("T")


class Abort(BaseException):
    """step.abort() on its way to the end of its own block."""

    def __init__(self, block: "Block") -> None:
        super().__init__("the step of an outer block was aborted")
        self.block = block


class Block:
    """Made when the block is entered, and never used again: nothing of it has to be reset."""

    def __init__(self, slots: list[Tensor], tally: Tally) -> None:
        self.slots = slots
        self.broken = False  # a backward did not come back: to the end of the block, whatever comes back after it
        self.aborted = False  # obeyed even if a bare `except:` swallowed the Abort
        self.ended = False  # its outcome is known, and final
        self.over = False  # it was left
        self._thread = threading.get_ident()
        self._tally = tally
        self._micro: MicroBatch | None = None
        self._iterating = False
        self._sites: set[object] = set()  # of the deposits
        tally.reset()

    def admit(self, what: str) -> None:
        """Refuse what comes from another thread; go no further after an abort that was swallowed."""
        if self._thread != threading.get_ident():
            raise refusals.other_thread(what)
        if self.aborted:
            raise Abort(self)

    def abort(self) -> None:
        self.aborted = True
        raise Abort(self)

    def micro_batch(self, weight: float | None, site: object) -> MicroBatch:
        """What a deposit belongs to: outside micro_batches() one of its own or, without a weight, plain PyTorch."""
        if self.broken:
            raise refusals.broken_backward()
        if self._micro is not None:
            if weight is not None:
                raise refusals.weight_inside()
            return self._micro
        if weight is not None:
            return MicroBatch(Weighing.MEAN, checked(weight))
        if site in self._sites:
            raise refusals.looped_backward()
        return MicroBatch(Weighing.BARE, 1.0)

    def deposited(self, micro: MicroBatch, site: object) -> None:
        self._tally.count(micro)
        self._sites.add(site)

    def iterate(self, items: Iterable[T], weight: Callable[[T], float] | None, weighing: Weighing) -> Iterator[T]:
        self._refuse_if_over()
        self.admit("micro_batches()")
        if self._iterating:
            raise refusals.second_iteration()
        self._iterating = True
        for item in items:
            amount = 1.0 if weight is None else checked(weight(item))
            if amount == 0:
                self._tally.empty += 1
                continue
            self._micro = MicroBatch(weighing, amount)
            yield item
            self._refuse_if_over()
        self._micro, self._iterating = None, False

    def require_complete(self) -> None:
        """Refuse to commit part of what the block set out to deposit."""
        if self._iterating:
            raise refusals.left_early()
        if self.broken:
            raise refusals.broken_backward()

    def _refuse_if_over(self) -> None:
        if self.over:
            raise refusals.other_block()
