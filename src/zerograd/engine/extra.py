"""Tensors beside the slots that shall get a gradient: `backward(loss, also=[x])`. Leaves, and those that retain it.

They get what a plain `loss.backward()` would leave there: the loss's own gradient, without weight and loss scale. What
lay there before the block is not added to; if the block does not commit, it is put back.
"""

from collections.abc import Sequence

from torch import Tensor

from zerograd.engine import refusals
from zerograd.engine.slots import Slots


class Extra:
    def __init__(self) -> None:
        self._before: dict[int, tuple[Tensor, Tensor | None]] = {}
        self._sums: dict[int, Tensor] = {}  # of the earlier deposits of the block

    def expect(self, leaves: Sequence[Tensor], slots: Slots) -> None:
        for leaf in leaves:
            if not (isinstance(leaf, Tensor) and leaf.requires_grad and (leaf.is_leaf or leaf.retains_grad)):
                raise refusals.no_leaf()
            if id(leaf) in slots.ids:
                raise refusals.leaf_is_slot()
        for leaf in leaves:
            self._before.setdefault(id(leaf), (leaf, leaf.grad))
            leaf.grad = None

    def take(self, leaves: Sequence[Tensor], coefficient: float | Tensor) -> None:
        """The deposit has arrived, times `coefficient`."""
        for leaf in {id(leaf): leaf for leaf in leaves}.values():
            if leaf.grad is not None:
                own = leaf.grad / coefficient
                self._sums[id(leaf)] = self._sums[id(leaf)] + own if id(leaf) in self._sums else own
            leaf.grad = self._sums.get(id(leaf))

    def put_back(self) -> None:
        for leaf, gradient in self._before.values():
            leaf.grad = gradient
