"""Entering autograd where torch.autograd.backward enters it.

That function looks at its arguments for longer (0.3 us for each parameter in `inputs`) than a Step takes for everything
else. Where they are what they nearly always are, a real scalar without dimensions and plain parameters, we pass the
engine what it would have passed (torch 2.13 autograd/__init__.py:395). Anything else
takes the public way.
"""

import torch
from torch import Tensor
from torch.autograd import graph

from zerograd.engine import refusals

_enter = getattr(graph, "_engine_run_backward", None)


def backward(loss: Tensor, inputs: tuple[Tensor, ...] | None, *, plain: bool) -> None:
    """Deposit into `inputs` only, or everywhere if None. `plain`: none of them is of a subclass with its own mind."""
    if inputs is not None and not inputs:
        raise refusals.all_frozen()
    if _enter is None or not plain or type(loss) is not Tensor or loss.dim() or not loss.is_floating_point():
        torch.autograd.backward(loss, inputs=inputs)
        return
    # A new seed each time: a backward written by somebody else may change what it is given.
    seed = torch.ones_like(loss)
    _enter((loss,), (seed,), False, False, inputs or (), allow_unreachable=True, accumulate_grad=True)
