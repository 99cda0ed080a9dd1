"""Entering autograd where torch.autograd.backward enters it.

That function looks at its arguments for longer (0.3 us for each parameter in `inputs`) than a Step takes for everything
else. Where they are what they nearly always are, a real scalar without dimensions and plain parameters, we pass the
engine what it would have passed (torch 2.13 autograd/__init__.py:395). Anything else
takes the public way.
"""

import warnings
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd import graph

from zerograd.engine import refusals

_enter = getattr(graph, "_engine_run_backward", None)


class Options(NamedTuple):
    """What torch.autograd.backward can be asked for besides."""

    retain_graph: bool | None = None
    create_graph: bool = False
    gradient: Tensor | None = None

    @property
    def retains(self) -> bool:
        return self.create_graph if self.retain_graph is None else self.retain_graph


USUAL = Options()


def backward(loss: Tensor, inputs: tuple[Tensor, ...] | None, *, plain: bool, options: Options = USUAL) -> None:
    """Deposit into `inputs` only, or everywhere if None. `plain`: none of them is of a subclass with its own mind."""
    if inputs is not None and not inputs:
        raise refusals.all_frozen()
    unusual = options.create_graph or options.gradient is not None
    if _enter is None or not plain or unusual or type(loss) is not Tensor or loss.dim() or not loss.is_floating_point():
        public(loss, inputs, options)
        return
    # A new seed each time: a backward written by somebody else may change what it is given.
    seed = torch.ones_like(loss)
    retain = options is not USUAL and options.retains
    _enter((loss,), (seed,), retain, False, inputs or (), allow_unreachable=True, accumulate_grad=True)


def public(loss: Tensor, inputs: tuple[Tensor, ...] | None, options: Options) -> None:
    """By torch's own function."""
    retain, create, gradient = options
    if not create:
        torch.autograd.backward(loss, gradient, retain, inputs=inputs)
        return
    with warnings.catch_warnings():
        # Of a leak: parameter, gradient and graph hold each other. They do not outlive the block, which clears.
        warnings.filterwarnings("ignore", message=r"Using backward\(\) with create_graph=True")
        torch.autograd.backward(loss, gradient, retain, create, inputs=inputs)
