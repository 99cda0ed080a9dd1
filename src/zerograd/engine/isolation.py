"""Running a backward so that it leaves gradients in this Step's parameters and nowhere else.

`inputs=` does that, and costs nothing. But a node that runs a backward of its own (reentrant checkpointing is one)
breaks it: torch 2.13 raises, or never reaches the node and silently yields nothing. So the graph of every loss is
looked through first, each time anew: what a call site built last time says nothing about this time. Where such a node
is found, the backward runs as usual and what it left in other leaves is put back. So it does where somebody wants to
see a gradient that leads to none of the parameters. See also [Note: living nodes], [Note: hooks off the way].
"""

from collections.abc import Sequence
from itertools import compress
from operator import attrgetter

from torch import Tensor
from torch.autograd.function import BackwardCFunction

from zerograd.engine.entrance import USUAL, Options, backward, public
from zerograd.engine.hooks import Hooks
from zerograd.engine.leaves import LEAF, leaves, runs_foreign_code
from zerograd.engine.living import foreign_nodes_live

# Kinds of nodes written in C++, which run no Python. Python's are asked each time: torch.compile makes new ones for
# every graph, and to keep those here would keep the graphs alive.
_plain: set[type] = set()
_requires_grad = attrgetter("requires_grad")


def isolated_backward(
    loss: Tensor, parameters: Sequence[Tensor], hooks: Hooks, *, plain: bool = False, options: Options = USUAL
) -> None:
    inner = foreign_nodes_live() and may_run_inner_backward(loss)
    others = _leaves_beside(loss, parameters) if hooks.may_be_there() or inner else None
    if not inner and (others is None or not hooks.want_all(others)):
        backward(loss, tuple(compress(parameters, map(_requires_grad, parameters))), plain=plain, options=options)
        return
    assert others is not None
    # What lies in other people's slots is theirs: kept aside, so that the sweep gives back the very same tensors.
    kept = [leaf.grad for leaf in others]
    for leaf in others:
        leaf.grad = None
    try:
        public(loss, None, options)
    finally:
        for leaf, gradient in zip(others, kept, strict=True):
            leaf.grad = gradient


def _leaves_beside(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    mine = set(map(id, parameters))
    return [leaf for leaf in leaves(loss) if id(leaf) not in mine]


def may_run_inner_backward(loss: Tensor) -> bool:
    """Whether some node of the graph runs Python that is not torch's own.

    Where the graph must be walked, nodes are gathered first and their kinds judged after.
    """
    root = loss.grad_fn
    if root is None:
        return False
    nodes, seen = [root], {root, None}
    push, add, leaf = nodes.append, seen.add, LEAF
    for node in nodes:
        for following, _ in node.next_functions:
            if type(following) is not leaf and following not in seen:
                add(following)
                push(following)  # type: ignore[arg-type]  # None has been seen
    if _plain.issuperset(map(type, nodes)):
        return False
    strange = set(map(type, nodes)) - _plain
    _plain.update(kind for kind in strange if not issubclass(kind, BackwardCFunction))
    return any(map(runs_foreign_code, strange))
