"""Several Steps that commit together, or not at all: simultaneous updates."""

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Literal, TypeVar

from zerograd.engine import commit, refusals
from zerograd.engine.block import Block, iterate
from zerograd.engine.ranks.exchange import gather
from zerograd.engine.step import Step, weighing_of

T = TypeVar("T")


class join:
    """`with join(step_d, step_g) as both:` opens all blocks; leaving commits all of them or none.

    All gradients are taken before any weight moves. One step that is not finite, or is aborted, holds the others back.
    """

    def __init__(self, *steps: Step) -> None:
        if not steps:
            raise refusals.optimizers("join() was given no Step")
        self._steps = steps
        self._blocks: list[Block] = []

    def __enter__(self) -> "join":
        if self._blocks:
            raise refusals.nested_block()
        try:
            for step in self._steps:
                self._blocks.append(step._open())
            gather(self._blocks)
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        return self._end(error)

    def micro_batches(
        self,
        iterable: Iterable[T],
        *,
        weight: Callable[[T], float] | None = None,
        reduce: Literal["mean", "sum"] = "mean",
    ) -> Iterator[T]:
        """As Step.micro_batches, for all of them at once."""
        if not self._blocks:
            raise refusals.outside_block("micro_batches()")
        return iterate(self._blocks, iterable, weight, weighing_of(weight, reduce))

    def abort(self) -> None:
        """Give all of these steps up."""
        self._steps[0].abort()

    def _end(self, error: BaseException | None) -> bool:
        blocks, self._blocks = self._blocks, []
        try:
            return commit.end(blocks, error)
        finally:
            for step, block in zip(self._steps, blocks, strict=False):
                step._forget(block)
