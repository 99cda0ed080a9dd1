"""How much a thread has done for gradients: whether a loss was computed, and nobody asked for its gradient."""

from collections.abc import Callable
from typing import NamedTuple

import torch

# The number that this thread's next node will have. Without it nobody can tell that a loss was computed.
nodes_made: Callable[[], int] = getattr(torch.autograd, "_get_sequence_nr", int)


class Work(NamedTuple):
    """How much one thread has done for gradients, so far."""

    thread: int
    nodes: int  # of graphs, that autograd has made; always 0 where torch does not tell
    gradients: int  # backwards that reached a leaf, and calls of autograd.grad()

    def left_a_loss(self, before: "Work | None") -> bool:
        """Whether something was computed since then, and no gradient of anything was asked for."""
        if before is None or self.thread != before.thread:
            return False
        return self.nodes > before.nodes and self.gradients == before.gradients
