"""Opening blocks: none of two open ones may share a parameter, and whatever strikes meanwhile, they end."""

from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING

from zerograd.engine import commit, refusals
from zerograd.engine.block import Block
from zerograd.engine.interrupts import hold_signals, release_signals
from zerograd.engine.transaction import Transaction, WayOut, open_blocks

if TYPE_CHECKING:
    from zerograd.engine.step import Step


def open_block(transaction: Transaction, step: "Step", block: Block) -> None:
    """From here on the block is the transaction's, and ends with it."""
    if open_blocks:
        _refuse_shared(block)
    transaction.blocks += (block,)
    open_blocks.append(block)
    step._latest = block
    # Contexts of torch's are not entered all at once: a handler that raised in between would leave one open.
    delicate = block.terms.autocast is not None or block.exchange is not None
    if delicate:
        hold_signals(transaction)
    block.open()
    if step._resumed is not None:
        step._resumed.go_on(block)
        step._resumed = None
    if delicate:
        release_signals(transaction)


def _refuse_shared(block: Block) -> None:
    open_blocks[:] = [other for other in open_blocks if not other.over]
    for other in open_blocks:
        shared = block.slots.ids & other.slots.ids
        if shared:
            raise refusals.shared_parameters(len(shared))


_way_out = WayOut(commit.left_behind)


class Entered:
    """What a `with` is written on: each gets an exit of its own. See [Note: the way out]."""

    _transaction: Transaction
    _begins: Transaction | None = None  # that of the `with` which has asked for its exit

    def _begin(self) -> Transaction:
        """That of the `with` which begins now."""
        transaction, self._begins = self._begins, None
        return transaction or _way_out.asked_of_the_class()

    def _exit(self, kind: object, error: BaseException | None, trace: object) -> bool:
        blocks = self._transaction.blocks  # all of one thread
        if blocks and blocks[0].thread != get_ident():
            raise refusals.other_thread("the block is left")  # it stays open, for its own thread to leave
        return commit.end(self._transaction, error)

    if TYPE_CHECKING:

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> bool: ...

    else:
        __exit__ = _way_out


class Opened(Entered):
    """`with Opened(step, block):` for blocks that no user opens: the same end, whatever happens."""

    def __init__(self, step: "Step", block: Block) -> None:
        self._step, self._block = step, block

    def __enter__(self) -> Transaction:
        self._transaction = self._begin()
        open_block(self._transaction, self._step, self._block)
        return self._transaction

    def _exit(self, kind: object, error: BaseException | None, trace: object) -> bool:
        try:
            return commit.end(self._transaction, error)
        finally:
            self._step._latest = None  # what is captured knows its Step: they would keep each other alive
