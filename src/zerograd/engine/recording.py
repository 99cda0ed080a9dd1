"""One step as one CUDA graph, for inputs of one shape."""

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from zerograd.core.events import Event
from zerograd.engine.baked import Baked
from zerograd.engine.block import Block
from zerograd.engine.board import Board
from zerograd.engine.inputs import Leaves, read
from zerograd.engine.outcome import Ending, Outcome
from zerograd.engine.promise import Promises, Tell

Body = Callable[[tuple[Any, ...]], tuple[Block, Any]]


class Recording:
    """Made by running `body` once, under capture: nothing of it happens, everything is written down.

    What there is to tell goes to `board`, if there is one: see [Note: board].
    """

    def __init__(
        self, inputs: tuple[Any, ...], body: Body, pool: Any, stream: torch.cuda.Stream, board: Board | None
    ) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._inputs = list(filter(_is_tensor, read(inputs)[0]))
        self.baked: Baked | None = None
        self.events: list[Event] = []
        self._board = board
        # "thread_local": a loader that pins memory in a thread of its own does not spoil the recording.
        with (
            _no_garbage_collected(),
            torch.cuda.graph(self._graph, pool=pool, stream=stream, capture_error_mode="thread_local"),
        ):
            block, out = body(inputs)
            self._told = told(block)
            if board is not None and self._told is not None:
                board.write(self._told)
            flat, self._shape = pytree.tree_flatten(out)
            # Detached: the graphs behind them have been used, and would keep their activations alive.
            self._outputs = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in flat]
        self._counted = block.tally.counted
        total = block.tally.total
        self._weight = None if isinstance(total, Tensor) else total
        self._measured = block.ready is not None and block.ready.norm is not None
        self._checked = block.ready is not None and block.ready.found is not None

    def replay(self, leaves: Leaves) -> Any:
        """One step with these inputs; what the function returned, in memory that later steps leave alone."""
        for mine, given in zip(self._inputs, filter(_is_tensor, leaves), strict=True):
            mine.copy_(given, non_blocking=True)
        if self._board is not None:
            self._row = self._board.next_row()
        self._graph.replay()
        if self._outputs == [None]:
            return None
        outputs = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in self._outputs]
        return pytree.tree_unflatten(outputs, self._shape)

    @property
    def tells(self) -> bool:
        """Whether the device knows something of a replay that the host does not."""
        return self._told is not None

    def promise(self, promises: Promises, tell: Tell) -> None:
        """What the last replay has to tell will be told."""
        assert self._told is not None
        if self._board is None:
            promises.add(self._told, tell)
        else:
            promises.expect(self._row, self._told.device, tell)

    def found(self, numbers: list[float]) -> bool:
        """Whether the gradients were not finite."""
        if not self._checked:
            return False
        return not numbers[0] < math.inf if self._measured else bool(numbers[0])

    def outcome(self, numbers: list[float]) -> Outcome:
        """How it ended if nothing was found."""
        norm = numbers[0] if self._measured else None
        weight = numbers[-1] if self._weight is None else self._weight
        return Outcome(Ending.COMMITTED, weight, self._counted, "", norm)


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """A CUDA graph that goes while another one is recorded spoils the recording, whoever it belonged to."""
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:
            gc.enable()


def _is_tensor(leaf: object) -> bool:
    return isinstance(leaf, Tensor)


def told(block: Block) -> Tensor | None:
    """What the host cannot know: the norm, or else whether something was found, and the weight.

    A norm tells by itself whether something was found. In a small step every operation counts.
    """
    ready, total = block.ready, block.tally.total
    if ready is None:
        return None
    first = ready.found if ready.norm is None else ready.norm
    known = [one for one in (first, total) if isinstance(one, Tensor)]
    if len(known) < 2:
        return known[0].reshape(1) if known else None
    if known[0].dtype != known[1].dtype:
        known = [one.double() for one in known]
    return torch.stack(known)
