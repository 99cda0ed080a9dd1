"""Whether somebody wants to see gradients on their way: hooks, and retain_grad(), on tensors that are no slots.

[Note: hooks off the way] A backward that is asked for the slots alone computes what leads to them, and nothing else: a
hook on a tensor that leads only to an input, or to another model's parameters, would never run. In a plain loop it
does. To look for hooks in the graph is to walk it, before every backward. But torch numbers the handles of all hooks:
if there is none since the last block, there is none in a graph that was built since. retain_grad() has no handle, so
its calls are counted, from the first Step on.
"""

import weakref
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle

_retained = 0


class Hooks:
    """What one Step knows of them."""

    def __init__(self) -> None:
        self.before = self.now = _asked()  # up to the last block, and up to the last backward
        self._looked = False  # leaves of others may have had hooks before the first backward
        self._hooked: list[weakref.ref[Tensor]] = []  # those that have: their hooks stay from step to step

    def may_be_there(self) -> bool:
        """Whether the graph of the next backward has to be looked at."""
        self.now = now = (RemovableHandle.next_id, _retained)
        return now != self.before or bool(self._hooked) or not self._looked

    def want_all(self, others: Sequence[Tensor]) -> bool:
        """Whether what leads to these leaves has to be computed, although they are to keep nothing of it.

        Not where somebody waits for their deposits: there are to be none.
        """
        self._looked = True
        if any(leaf._post_accumulate_grad_hooks for leaf in others):
            return False
        hooked = [leaf for leaf in others if leaf._backward_hooks]
        known = [leaf for ref in self._hooked if (leaf := ref()) is not None and leaf._backward_hooks]
        self._hooked = [weakref.ref(leaf) for leaf in {id(leaf): leaf for leaf in (*known, *hooked)}.values()]
        return bool(hooked) or (bool(others) and self.now != self.before)


def count_retained() -> None:
    """From now on. Once per process: the method of torch.Tensor is followed by nobody else."""
    if torch.Tensor.retain_grad is not _retain_grad:
        torch.Tensor.retain_grad = _retain_grad  # type: ignore[method-assign, assignment]


def _asked() -> tuple[int, int]:
    return RemovableHandle.next_id, _retained


def _retain_grad(self: Tensor) -> None:
    """torch's own, counted. See [Note: hooks off the way]."""
    global _retained
    _retained += 1
    _torchs(self)


_torchs = torch.Tensor.retain_grad
