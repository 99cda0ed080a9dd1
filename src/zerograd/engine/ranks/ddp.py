"""DistributedDataParallel, kept from reducing gradients except when the Step says so.

The module decides in its forward whether the next backward reduces; a Step can only know in between, when all ranks
have voted. So every forward runs as under `no_sync`, and the one backward that shall reduce is armed before it begins,
with what `forward` would have done (torch 2.13 nn/parallel/distributed.py:1828).
"""

from collections.abc import Sequence

from torch import Tensor
from torch.nn.parallel import DistributedDataParallel as DDP


class Wrapped:
    """The wrappers of this Step's parameters, and those of others, which get no gradient here and must not wait."""

    def __init__(self, ours: Sequence[DDP], others: Sequence[DDP]) -> None:
        self._ours, self._others = ours, others
        self._before: list[tuple[DDP, bool, bool]] = []

    def hold(self, *, each: bool) -> None:
        """No backward reduces; or, if `each`, every one does."""
        known = (*self._ours, *self._others)
        self._before = [(ddp, ddp.require_backward_grad_sync, ddp.require_forward_param_sync) for ddp in known]
        for ddp in self._others:
            ddp.require_backward_grad_sync = False
        for ddp in self._ours:
            ddp.require_backward_grad_sync = each
            # A broadcast of buffers inside a forward would wait for ranks that have no micro-batch. See meet().
            ddp.require_forward_param_sync = False

    def release(self) -> None:
        for ddp, grads, buffers in self._before:
            ddp.require_backward_grad_sync, ddp.require_forward_param_sync = grads, buffers
        self._before = []

    def arm(self, loss: Tensor) -> None:
        for ddp in self._ours:
            ddp.require_backward_grad_sync = True
            ddp.reducer.prepare_for_backward([loss] if ddp.find_unused_parameters and not ddp.static_graph else [])

    def disarm(self) -> None:
        for ddp in self._ours:
            ddp.require_backward_grad_sync = False

    def covers(self) -> bool:
        """Whether every parameter that a reduction would wait for has a gradient."""
        return all(
            ddp.find_unused_parameters or ddp.static_graph or parameter.grad is not None
            for ddp in self._ours
            for parameter in ddp._module_parameters
            if parameter.requires_grad
        )

    def must_reduce(self) -> bool:
        """A static graph is learnt in the first backward, which reduces whatever anybody says."""
        return any(ddp.static_graph and not ddp._static_graph_delay_allreduce_enqueued for ddp in self._ours)

    def meet(self) -> None:
        """What DDP does at the beginning of a forward and with all ranks, now, while all of them are here.

        After its first reduction it puts its buckets into the order of the backward; and buffers are the first rank's.
        """
        for ddp in self._ours:
            ddp.reducer._rebuild_buckets()
            if ddp.broadcast_buffers and ddp.modules_buffers:
                ddp._sync_buffers()  # type: ignore[no-untyped-call]

    def forget(self) -> None:
        """Nothing is kept outside of the slots."""

    @property
    def hooked(self) -> bool:
        return any(ddp._comm_hooks for ddp in self._ours)


def reduced_by(ddp: DDP) -> set[int]:
    """The parameters that it reduces."""
    return {id(parameter) for parameter in ddp._module_parameters if parameter.requires_grad}
