"""Running a backward so that it leaves gradients in this Step's parameters and nowhere else.

`inputs=` does that, and costs nothing. Reentrant checkpointing breaks it (torch 2.13: it raises, or silently yields
nothing), so the graph of each call site is looked at once; where such a node is found, the backward runs as usual and
what it left in other leaves is put back.
"""

from collections.abc import Hashable, Iterator, Sequence

import torch
from torch import Tensor


class Isolation:
    def __init__(self) -> None:
        self._reentrant: dict[Hashable, bool] = {}

    def backward(self, loss: Tensor, parameters: Sequence[Tensor], *, site: Hashable) -> None:
        reentrant = self._reentrant.get(site)
        if reentrant is None:
            reentrant = self._reentrant[site] = any("CheckpointFunction" in node.name() for node in _nodes(loss))
        if not reentrant:
            torch.autograd.backward(loss, inputs=[parameter for parameter in parameters if parameter.requires_grad])
            return
        mine = set(map(id, parameters))
        others = [leaf for leaf in _leaves(loss) if id(leaf) not in mine]
        # What lies in other people's slots is theirs: kept aside, so that the sweep gives back the very same tensors.
        kept = [leaf.grad for leaf in others]
        for leaf in others:
            leaf.grad = None
        try:
            torch.autograd.backward(loss)
        finally:
            for leaf, gradient in zip(others, kept, strict=True):
                leaf.grad = gradient


def _nodes(loss: Tensor) -> Iterator[torch.autograd.graph.Node]:
    stack = [loss.grad_fn] if loss.grad_fn is not None else []
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)


def _leaves(loss: Tensor) -> Iterator[Tensor]:
    """Every leaf the backward can reach. What a checkpoint hides is found through the function it will run again."""
    seen: set[int] = set()
    for node in _nodes(loss):
        leaf = getattr(node, "variable", None)
        hidden = _parameters_behind(getattr(node, "run_function", None))
        for found in [leaf, *hidden] if leaf is not None else hidden:
            if id(found) not in seen:
                seen.add(id(found))
                yield found


def _parameters_behind(function: object) -> list[Tensor]:
    """The parameters of the modules that a function is, belongs to, or closes over."""
    if isinstance(function, torch.nn.Module):
        return list(function.parameters())
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    owners = [getattr(function, "__self__", None), getattr(function, "func", None), *cells]
    return [found for owner in owners if owner is not None for found in _parameters_behind(owner)]
