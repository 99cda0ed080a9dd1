"""What a block that does not commit brings back, beside gradients: random state, buffers, weights.

Taken when the block is entered, and only what was asked for: a copy of the weights costs as much memory as they do.
"""

import copy
import random
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from zerograd.engine.slots import Slots

if TYPE_CHECKING:
    from zerograd.engine.terms import Terms

WORDS = ("rng", "buffers", "weights")
PutBack = Callable[[], None]


class Undo:
    """Call it to bring everything back, bit for bit and into the same tensors; as often as you like."""

    def __init__(self, words: frozenset[str], put_back: list[PutBack]) -> None:
        self.words, self._put_back = words, put_back

    @torch.no_grad()
    def __call__(self) -> None:
        for put_back in self._put_back:
            put_back()


def snapshot(words: frozenset[str], slots: Slots, terms: "Terms") -> Undo:
    """What is there now of what the words name."""
    undos: list[PutBack] = []
    if "rng" in words:
        undos.append(random_state({parameter.device for parameter in slots.parameters}))
    if "buffers" in words and terms.model is not None:
        undos.append(_buffers(terms.model))
    if "weights" in words:
        undos += [_weights(slots), *map(_state, terms.optimizers), *map(_schedule, terms.schedulers)]
    return Undo(words, undos)


def random_state(devices: set[torch.device]) -> PutBack:
    """torch's, on the CPU and where the parameters are; Python's; NumPy's, if anybody uses it."""
    own, here = random.getstate(), torch.get_rng_state()
    there = [(device, torch.get_device_module(device)) for device in devices if device.type not in ("cpu", "meta")]
    states = [(device, module, module.get_rng_state(device)) for device, module in there]
    numpy = sys.modules.get("numpy")
    theirs = numpy.random.get_state() if numpy is not None else None

    def undo() -> None:
        random.setstate(own)
        torch.set_rng_state(here)
        for device, module, state in states:
            module.set_rng_state(state, device)
        if numpy is not None:
            numpy.random.set_state(theirs)

    return undo


def _buffers(model: nn.Module) -> PutBack:
    kept = [
        (module, name, buffer, None if buffer is None else buffer.clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
    ]

    def undo() -> None:
        for module, name, buffer, value in kept:
            module._buffers[name] = None if buffer is None or value is None else _refill(buffer, value)

    return undo


def _weights(slots: Slots) -> PutBack:
    kept = [(parameter, parameter.detach().clone()) for parameter in slots.parameters]

    def undo() -> None:
        for parameter, value in kept:
            parameter.copy_(value)

    return undo


def _state(optimizer: Optimizer) -> PutBack:
    # A wrapper may keep no state where torch's optimizers do; then there is none to lose.
    state = {key: dict(_copied(values)) for key, values in getattr(optimizer, "state", {}).items()}
    options = [dict(_copied(group)) for group in optimizer.param_groups]

    def undo() -> None:
        for gone in [key for key in getattr(optimizer, "state", {}) if key not in state]:
            del optimizer.state[gone]
        for key, values in state.items():
            _put_back(optimizer.state[key], values)
        # A group that was added meanwhile stays: what the user does to the optimizer is the user's.
        for group, values in zip(optimizer.param_groups, options, strict=False):
            _put_back(group, values)

    return undo


def _schedule(scheduler: LRScheduler) -> PutBack:
    state = copy.deepcopy(scheduler.state_dict())
    return lambda: scheduler.load_state_dict(state)


def _copied(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if key != "params":
            yield key, value.clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def _put_back(current: dict[str, Any], values: dict[str, Any]) -> None:
    for gone in [key for key in current if key not in values and key != "params"]:
        del current[gone]
    for key, value in values.items():
        now = current.get(key)
        current[key] = _refill(now, value) if isinstance(now, Tensor) and isinstance(value, Tensor) else value


def _refill(tensor: Tensor, value: Tensor) -> Tensor:
    """The same tensor with the old value, for others may hold it; the old value itself where it no longer fits."""
    if tensor.shape != value.shape or tensor.dtype != value.dtype:
        return value
    return tensor.copy_(value)
