"""A torch.amp.GradScaler in a Step.

One block has one scale, read when it is entered. The commit divides by it, together with the weights, and tells the
scaler once, for all optimizers, whether the gradients were finite. GradScaler.unscale_ and .step are not used: they
would divide a second time, and wait for the device once per optimizer.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler, OptState
from torch.optim import Optimizer

from zerograd.engine import refusals


class Scaling:
    def __init__(self, scaler: GradScaler, optimizers: Sequence[Optimizer]) -> None:
        self.scaler = scaler
        self._ids = [id(optimizer) for optimizer in optimizers]
        self._one: Tensor | None = None

    def read(self, device: torch.device) -> Tensor:
        """The scale, as a tensor on the device: to know it as a number would be to wait for it."""
        if self._one is None or self._one.device != device:
            self._one = torch.ones((), device=device)
        try:
            return self.scaler.scale(self._one)
        except BaseException:
            if self.scaler._growth_tracker is None:  # torch makes the two one after the other, when they are first used
                self.scaler._scale = None
            raise

    def refuse_by_hand(self) -> None:
        """unscale_() divides without a trace in the version counters: only the scaler itself remembers it."""
        if any(self._stage(optimizer) is not OptState.READY for optimizer in self._ids):
            raise refusals.unscaled_inside()

    def refuse_scaled(self, loss: Tensor) -> None:
        """scaler.scale(loss) was written by hand: the update would be tens of thousands of times too large."""
        factor, scale = getattr(loss.grad_fn, "_saved_other", None), self.scaler._scale
        if isinstance(factor, Tensor) and scale is not None and factor.data_ptr() == scale.data_ptr():
            raise refusals.scaled_by_hand()

    def tell(self, found: Tensor) -> None:
        """What update() will act on. torch 2.13 amp/grad_scaler.py: found_inf is exactly 0.0 or 1.0."""
        self.scaler._per_optimizer_states[self._ids[0]]["found_inf_per_device"] = {found.device: found}

    def forget(self) -> None:
        """Drop what was done by hand to our optimizers: else the next step would pass for unscaled already."""
        for optimizer in self._ids:
            self.scaler._per_optimizer_states.pop(optimizer, None)

    def is_exhausted(self) -> bool:
        """No loss scale is left to lower: it is not the scale that makes the gradients infinite."""
        return self.scaler.get_scale() <= 1.0

    def _stage(self, optimizer: int) -> OptState:
        states = self.scaler._per_optimizer_states
        stage: OptState = states[optimizer]["stage"] if optimizer in states else OptState.READY
        return stage


def updates(scalings: Iterable[Scaling]) -> list[Callable[[], object]]:
    """What updates each scaler once, however many Steps share it."""
    return [scaler.update for scaler in {id(scaling.scaler): scaling.scaler for scaling in scalings}.values()]
