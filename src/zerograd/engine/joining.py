"""Several Steps that commit together, or not at all: simultaneous updates."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar

from zerograd.engine import commit, refusals
from zerograd.engine.block import iterate
from zerograd.engine.opening import Entered, open_block
from zerograd.engine.ranks.exchange import gather
from zerograd.engine.step import Step, weighing_of
from zerograd.engine.transaction import Transaction

T = TypeVar("T")


class join(Entered):
    """`with join(step_d, step_g) as both:` opens all blocks; leaving commits all of them or none.

    All gradients are taken before any weight moves. One step that is not finite, or is aborted, holds the others back.
    """

    def __init__(self, *steps: Step) -> None:
        if not steps:
            raise refusals.optimizers("join() was given no Step")
        self._steps = steps
        self._transaction = Transaction()

    def __enter__(self) -> "join":
        if not self._transaction.over:
            raise refusals.nested_block()
        self._transaction = transaction = self._begin()
        try:
            for step in self._steps:
                open_block(transaction, step, step._new_block())
            gather(transaction.blocks)
        except BaseException as error:
            commit.end(transaction, error)
            raise
        return self

    def micro_batches(
        self,
        iterable: Iterable[T],
        *,
        weight: Callable[[T], float] | None = None,
        reduce: Literal["mean", "sum"] = "mean",
    ) -> Iterator[T]:
        """As Step.micro_batches, for all of them at once."""
        if self._transaction.over:
            raise refusals.outside_block("micro_batches()")
        return iterate(self._transaction.blocks, iterable, weight, weighing_of(weight, reduce))

    def abort(self) -> None:
        """Give all of these steps up."""
        self._steps[0].abort()
