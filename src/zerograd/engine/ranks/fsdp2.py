"""Modules under `fully_shard`: parameters are gathered in every forward, gradients are scattered in backward."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor
from torch.distributed.fsdp import FSDPModule

from zerograd.engine.ranks import refusals
from zerograd.engine.weighing import Number


class Sharded:
    lives = True  # parameters that are shards stay so

    def __init__(self, modules: Sequence[FSDPModule]) -> None:
        self._modules = modules

    def hold(self, *, each: bool) -> None:
        for module in self._modules:
            module.set_requires_gradient_sync(each, recurse=False)

    def release(self) -> None:
        self.hold(each=True)

    def arm(self, loss: Tensor) -> None:
        self.hold(each=True)

    def disarm(self) -> bool:
        self.hold(each=False)
        return True

    def covers(self) -> bool:
        return True

    def must_reduce(self) -> bool:
        return False

    def is_known(self) -> bool:
        return True

    def meet(self) -> None:
        """fully_shard leaves buffers to their owner."""

    def forget(self) -> None:
        """Drop what was not scattered yet, which zero_grad() does not reach, and what a forward left open.

        torch 2.13: reset_iter_state() does the latter alone, and for the former there is no public way.
        """
        for group in self._groups():
            for parameter in group.fsdp_params:
                parameter.unsharded_accumulated_grad = None
                if hasattr(parameter, "_unsharded_param"):
                    parameter._unsharded_param.grad = None
        for module in self._modules:
            if module._get_fsdp_state()._is_root and hasattr(module, "reset_iter_state"):  # not in 2.11
                module.reset_iter_state()

    def rescale(self, factor: Number) -> None:
        """What was not scattered yet."""
        for group in self._groups():
            for parameter in group.fsdp_params:
                unsharded = getattr(parameter, "_unsharded_param", None)
                for gradient in (parameter.unsharded_accumulated_grad, getattr(unsharded, "grad", None)):
                    if gradient is not None:
                        gradient.mul_(factor)

    def reduction(self) -> None:
        """At commit there is nothing left to reduce, but what lies beside the shards."""

    def divisor(self, ranks: int) -> float:
        """What the sum over all these ranks is divided by: their number, unless somebody has set another factor.

        The first module's factor, where they differ: see finish().
        """
        return ranks * next(map(_ratio, self._groups()), 1.0)

    def finish(self, *, mean: bool) -> None:
        """Bring the gradients of all modules to one divisor."""
        if not mean:
            return
        ratios = [(group, _ratio(group)) for group in self._groups()]
        if any(group._all_reduce_hook is not None for group, _ in ratios):
            raise refusals.all_reduce_hook()
        for group, ratio in ratios:
            if ratio != ratios[0][1]:
                for parameter in group.fsdp_params:
                    if parameter.sharded_param.grad is not None:
                        parameter.sharded_param.grad.mul_(ratio / ratios[0][1])

    def _groups(self) -> Iterator[Any]:
        """Parameters that are gathered and scattered together, as fully_shard keeps them."""
        for module in self._modules:
            yield from module._get_fsdp_state()._fsdp_param_groups


def _ratio(group: Any) -> float:
    """What its sums are divided by, over the number of ranks that are summed."""
    mesh, factor = group.mesh_info, group.gradient_divide_factor
    summed: int = getattr(mesh, "shard_mesh_size", 1) * getattr(mesh, "replicate_mesh_size", 1)
    return 1.0 if factor is None else factor / summed
