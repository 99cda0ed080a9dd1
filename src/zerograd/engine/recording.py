"""One step as one CUDA graph, for inputs of one shape."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from zerograd.core.events import Event
from zerograd.engine.baked import Baked
from zerograd.engine.block import Block
from zerograd.engine.inputs import Leaves, read
from zerograd.engine.outcome import Ending, Outcome

Body = Callable[[tuple[Any, ...]], tuple[Block, Any]]


class Recording:
    """Made by running `body` once, under capture: nothing of it happens, everything is written down."""

    def __init__(self, inputs: tuple[Any, ...], body: Body, pool: Any, stream: torch.cuda.Stream) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._inputs = list(filter(_is_tensor, read(inputs)[0]))
        self.baked: Baked | None = None
        self.events: list[Event] = []
        # "thread_local": a loader that pins memory in a thread of its own does not spoil the recording.
        with torch.cuda.graph(self._graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            block, out = body(inputs)
            self._told = _told(block)
            flat, self._shape = pytree.tree_flatten(out)
            # Detached: the graphs behind them have been used, and would keep their activations alive.
            self._outputs = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in flat]
        self._counted = block.tally.counted
        total = block.tally.total
        self._weight = None if isinstance(total, Tensor) else total
        self._measured = block.ready is not None and block.ready.norm is not None

    def replay(self, leaves: Leaves) -> Any:
        """One step with these inputs; what the function returned, in memory that later steps leave alone."""
        for mine, given in zip(self._inputs, filter(_is_tensor, leaves), strict=True):
            mine.copy_(given, non_blocking=True)
        self._graph.replay()
        if self._outputs == [None]:
            return None
        outputs = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in self._outputs]
        return pytree.tree_unflatten(outputs, self._shape)

    @property
    def told(self) -> Tensor | None:
        """Found, norm and weight of the last replay, on the device; None if there is nothing to be told."""
        return self._told

    def outcome(self, numbers: list[float]) -> Outcome:
        """How it ended if nothing was found."""
        norm = numbers[1] if self._measured else None
        weight = numbers[2] if self._weight is None else self._weight
        return Outcome(Ending.COMMITTED, weight, self._counted, "", norm)


def _is_tensor(leaf: object) -> bool:
    return isinstance(leaf, Tensor)


def _told(block: Block) -> Tensor | None:
    """What is known, and no more than that is asked for: in a small step every operation counts."""
    ready, total = block.ready, block.tally.total
    if ready is None:
        return None
    known = [ready.found, ready.norm, total if isinstance(total, Tensor) else None]
    while known and known[-1] is None:
        known.pop()
    if not known:
        return None
    filled = [torch.zeros((), device=block.slots.device) if one is None else one for one in known]
    if len(filled) == 1:
        return filled[0].unsqueeze(0)
    if len({one.dtype for one in filled}) > 1:
        filled = [one.double() for one in filled]
    return torch.stack(filled)
