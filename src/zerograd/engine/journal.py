"""A rehearsal that leaves no trace: every tensor that it writes to gets its old bytes back.

torch tells of each operation which of its arguments it writes to. The first time that one of them is memory from before
the rehearsal, its bytes are copied. So weights, optimizer state, BatchNorm's buffers, averages kept by hand: whatever
it is and whoever owns it, it is found where it is changed, and not where we would have thought of looking for it.
"""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode

from zerograd.engine.restoring import random_state

# Written to without a word in the schema: torch 2.13 native_batch_norm, cudnn_batch_norm and their kin.
_SILENT = ("running_mean", "running_var")


class Journal(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Active, it notes; `undo` brings back everything that was noted. Memory that a kernel of the user's own writes to
    is not seen."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._born: set[int] = set()  # storages made since: nobody will miss them
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        here = {storage_of(tensor) for tensor in tensors_in((args, tuple(given.values())))}
        for argument, value in _arguments(func, args, given):
            if argument.name in _SILENT or (argument.alias_info is not None and argument.alias_info.is_write):
                for tensor in tensors_in(value):
                    self._keep(tensor)
        out = func(*args, **given)
        if not any(returned.alias_info is not None for returned in func._schema.returns):  # else it is no new memory
            self._born.update(storage_of(tensor) for tensor in tensors_in(out) if storage_of(tensor) not in here)
        return out

    def _keep(self, tensor: Tensor) -> None:
        key = storage_of(tensor)
        if key not in self._born and key not in self._kept:
            memory = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            self._kept[key] = (memory, memory.clone())

    def undo(self) -> None:
        for memory, before in self._kept.values():
            memory.copy_(before)


class Rehearsal:
    """`with Rehearsal(...) as rehearsal: with rehearsal.noted(): ...` - the first run is noted, others may follow."""

    def __init__(self, optimizers: Iterable[Optimizer], parameters: list[Tensor]) -> None:
        self._optimizers, self._parameters = tuple(optimizers), parameters
        self.noted = Journal()

    def __enter__(self) -> "Rehearsal":
        self._random = random_state({parameter.device for parameter in self._parameters})
        self._gradients = [parameter.grad for parameter in self._parameters]
        # Which tensors they hold; their values are the journal's.
        self._states = [{key: dict(values) for key, values in one.state.items()} for one in self._optimizers]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if any(parameter.is_cuda for parameter in self._parameters):
            torch.cuda.synchronize()  # it may have run on a stream of its own
        self.noted.undo()
        for optimizer, state in zip(self._optimizers, self._states, strict=True):
            for gone in [key for key in optimizer.state if key not in state]:
                del optimizer.state[gone]
            for key, values in state.items():
                optimizer.state[key].clear()
                optimizer.state[key].update(values)
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient
        self._random()


def storage_of(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def tensors_in(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        if value.layout is torch.strided:
            yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)


def _arguments(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    declared = func._schema.arguments
    yield from zip(declared, args, strict=False)
    yield from ((argument, kwargs[argument.name]) for argument in declared[len(args) :] if argument.name in kwargs)
