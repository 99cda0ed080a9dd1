"""Whether a node that runs foreign code exists at all, in any graph.

[Note: living nodes] To walk a graph before every backward costs 4 to 8 % of it. Mostly there is nothing to find, and
that can be known at once: in CPython an instance holds a reference to its class, and a node of a Python-defined
Function is an instance of a class of its own. So a class with no more references than one that was never used has no
node anywhere. Whoever else holds such a class only makes us walk. Where instances are not counted so, we always walk.
"""

from collections.abc import Iterator
from sys import getrefcount
from weakref import ref

import torch
from torch import Tensor
from torch.autograd import function
from torch.autograd.function import BackwardCFunction

from zerograd.engine.leaves import runs_foreign_code


def foreign_nodes_live() -> bool:
    """False only if no graph of this process holds a node that runs foreign code. See [Note: living nodes]."""
    global _number, _kinds
    if _counter is None or _unused is None:
        return True
    # torch 2.13 autograd/function.py:359 takes a number for every Function that is defined. So do we, each time: if it
    # is not the one after our last, there is a new kind. To go through all 200 would cost more than to walk a graph.
    number, expected = next(_counter), _number + 1
    _number = number
    if number != expected:
        _kinds = [ref(kind) for kind in BackwardCFunction.__subclasses__() if runs_foreign_code(kind)]
    for known in _kinds:
        kind = known()
        if kind is not None and getrefcount(kind) > _unused:
            return True
    return False


class _Probe(torch.autograd.Function):
    """Never used but once, here."""

    @staticmethod
    def forward(ctx: object, value: Tensor) -> Tensor:
        return value.clone()


def _references_of_an_unused_kind() -> int | None:
    """None if a node does not count, or if torch no longer counts what is defined."""

    def probe() -> int:
        kind = ref(_Probe._backward_cls)()  # counted as the others are
        return getrefcount(kind)

    before = probe()
    with torch.inference_mode(mode=False), torch.enable_grad():  # whatever mode we are imported in
        node = _Probe.apply(torch.zeros((), device="cpu", requires_grad=True))  # type: ignore[no-untyped-call]
    during = probe()
    del node
    return before if _counter is not None and during == before + 1 and probe() == before else None


_counter: Iterator[int] | None = getattr(function, "AUTOGRAD_FUNCTION_COUNTER", None)
_number = -2  # the last one we took; no number comes after it
_kinds: list[ref[type]] = []  # those that run foreign code. Weak: a class that was defined in a function may go
_unused = _references_of_an_unused_kind()
