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
        """Drop what was not scattered yet, which zero_grad() does not reach, and what a forward left open."""
        for module in self._modules:
            if module._get_fsdp_state()._is_root:  # None before the first forward: then there is nothing to drop
                module.reset_iter_state()

    @property
    def hooked(self) -> bool:
        return False
