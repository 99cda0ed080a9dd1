"""Modules under `fully_shard`: parameters are gathered in every forward, gradients are scattered in backward."""

from collections.abc import Sequence

from torch import Tensor
from torch.distributed.fsdp import FSDPModule


class Sharded:
    def __init__(self, modules: Sequence[FSDPModule]) -> None:
        self._modules = modules

    def hold(self, *, each: bool) -> None:
        for module in self._modules:
            module.set_requires_gradient_sync(each, recurse=False)

    def release(self) -> None:
        self.hold(each=True)

    def arm(self, loss: Tensor) -> None:
        self.hold(each=True)

    def disarm(self) -> None:
        self.hold(each=False)

    def covers(self) -> bool:
        return True

    def must_reduce(self) -> bool:
        return False

    def meet(self) -> None:
        """fully_shard leaves buffers to their owner."""

    def forget(self) -> None:
        """Drop what was not scattered yet, which zero_grad() does not reach, and what a forward left open.

        torch 2.13: reset_iter_state() does the latter alone, and for the former there is no public way.
        """
        for module in self._modules:
            state = module._get_fsdp_state()
            for group in state._fsdp_param_groups:
                for parameter in group.fsdp_params:
                    parameter.unsharded_accumulated_grad = None
                    if hasattr(parameter, "_unsharded_param"):
                        parameter._unsharded_param.grad = None
            if state._is_root and hasattr(module, "reset_iter_state"):  # not in 2.11
                module.reset_iter_state()

    @property
    def hooked(self) -> bool:
        return False
