"""One step as one CUDA graph, for inputs of one shape."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from zerograd.core.events import Event
from zerograd.engine.baked import Baked
from zerograd.engine.block import Block
from zerograd.engine.inputs import Leaves, arrange
from zerograd.engine.outcome import Ending, Outcome

Body = Callable[[tuple[Any, ...]], tuple[Block, Any]]


class Recording:
    """Made by running `body` once, under capture: nothing of it happens, everything is written down."""

    def __init__(self, leaves: Leaves, arrangement: Any, body: Body, pool: Any, stream: torch.cuda.Stream) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        self.baked: Baked | None = None
        self.events: list[Event] = []
        # "thread_local": a loader that pins memory in a thread of its own does not spoil the recording.
        with torch.cuda.graph(self._graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            block, out = body(arrange(leaves, arrangement))
            self._told = _told(block)
            flat, self._shape = pytree.tree_flatten(out)
            # Detached: the graphs behind them have been used, and would keep their activations alive.
            self._outputs = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in flat]
        self._counted = block.tally.counted
        self._weight = block.tally.total if self._told is None else None
        self._measured = block.ready is not None and block.ready.norm is not None

    def replay(self, leaves: Leaves) -> Any:
        """One step with these inputs; what the function returned, in memory that later steps leave alone."""
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if given:
            torch._foreach_copy_(self._inputs, given, non_blocking=True)
        self._graph.replay()
        outputs = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in self._outputs]
        return pytree.tree_unflatten(outputs, self._shape)

    @property
    def told(self) -> Tensor | None:
        """Found, norm and weight of the last replay, on the device; None if there is nothing to be told."""
        return self._told

    def outcome(self, numbers: list[float]) -> Outcome:
        """How it ended if nothing was found."""
        if self._weight is not None:
            return Outcome(Ending.COMMITTED, float(self._weight), self._counted)
        norm = numbers[1] if self._measured else None
        return Outcome(Ending.COMMITTED, numbers[2], self._counted, "", norm)


def _told(block: Block) -> Tensor | None:
    ready, total = block.ready, block.tally.total
    if ready is None or (ready.found is None and ready.norm is None and not isinstance(total, Tensor)):
        return None
    zero = torch.zeros((), device=block.slots.device, dtype=torch.float64)
    found = zero if ready.found is None else ready.found.double()
    norm = zero if ready.norm is None else ready.norm.double()
    return torch.stack([found, norm, total if isinstance(total, Tensor) else zero + total])
