"""Whether a node that runs foreign code exists at all, in any graph.

[Note: living nodes] To walk a graph before every backward costs 4 to 8 % of it. Mostly there is nothing to find, and
that can be known at once: in CPython an instance holds a reference to its class, and a node of a Python-defined
Function is an instance of a class of its own. So a class with no more references than one that was never used has no
node anywhere. Whoever else holds such a class only makes us walk. Where instances are not counted so, we always walk.
"""

import weakref
from sys import getrefcount

import torch
from torch import Tensor
from torch.autograd import function
from torch.autograd.function import BackwardCFunction

from zerograd.engine.leaves import runs_foreign_code


class _Foreign:
    """The kinds of node that run foreign code, among all that were ever defined."""

    def __init__(self) -> None:
        self._defined = ""
        self._kinds: list[weakref.ref[type]] = []  # weak: a class that somebody defined in a function may go

    def kinds(self) -> list[type]:
        # torch 2.13 autograd/function.py:359 counts every Function that is defined. repr() reads an itertools.count
        # without moving it; to go through 200 subclasses each time would cost more than to walk a small graph.
        defined = repr(_counter)
        if defined != self._defined:
            self._defined = defined
            everything = BackwardCFunction.__subclasses__()
            self._kinds = [weakref.ref(kind) for kind in everything if runs_foreign_code(kind)]
        return [kind for known in self._kinds if (kind := known()) is not None]


def foreign_nodes_live() -> bool:
    """False only if no graph of this process holds a node that runs foreign code. See [Note: living nodes]."""
    return _unused is None or max(map(getrefcount, _foreign.kinds())) > _unused


class _Probe(torch.autograd.Function):
    """Never used but once, here. Being foreign itself, it also keeps the kinds from being none."""

    @staticmethod
    def forward(ctx: object, value: Tensor) -> Tensor:
        return value.clone()


def _references_of_an_unused_kind() -> int | None:
    """None if a node does not count, or if torch no longer counts what is defined."""

    def probe() -> int:
        return max(map(getrefcount, [_Probe._backward_cls]))  # counted as the others are

    before = probe()
    with torch.inference_mode(mode=False), torch.enable_grad():  # whatever mode we are imported in
        node = _Probe.apply(torch.zeros((), device="cpu", requires_grad=True))  # type: ignore[no-untyped-call]
    during = probe()
    del node
    return before if _counter is not None and during == before + 1 and probe() == before else None


_counter: object = getattr(function, "AUTOGRAD_FUNCTION_COUNTER", None)
_foreign = _Foreign()
_unused = _references_of_an_unused_kind()
