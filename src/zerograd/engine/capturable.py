"""What can be recorded as a CUDA graph, and what is told to whom it cannot."""

import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, distributed
from torch.optim import Optimizer

from zerograd.engine import refusals
from zerograd.engine.slots import Slots
from zerograd.engine.terms import Terms
from zerograd.errors import StepError, TornStep


def check(terms: Terms, slots: Slots) -> None:
    """Everything that can be known without running anything."""
    if len({parameter.device for parameter in slots.parameters}) > 1:
        raise refusals.not_captured("its parameters are on several devices", "Put them on one.")
    if terms.inspect:
        raise refusals.not_captured(
            "inspect= would be called once, while it is recorded, and never again",
            "Change gradients with clip=fn, and read them from what the captured function returns.",
        )
    if "rng" in terms.restore or "buffers" in terms.restore:
        raise refusals.not_captured(
            "what restore= brings back after a skip is decided on the host", "Leave out restore=."
        )
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        raise refusals.not_captured("several processes have to agree on it", "Capture in one process.")
    for optimizer in terms.optimizers:
        if terms.schedulers and any(_bakes_rate(group) for group in optimizer.param_groups):
            raise refusals.not_captured(
                f"{type(optimizer).__name__} reads its learning rate on the host, and a scheduler moves it",
                f"Write {type(optimizer).__name__}(..., fused=True), or take an optimizer that has capturable=.",
            )


def _bakes_rate(group: dict[str, object]) -> bool:
    return "capturable" not in group and not group.get("fused")


def make_capturable(optimizers: Sequence[Optimizer], device: torch.device) -> Callable[[], None]:
    """Let them count their steps on the device. Returns what brings the old ways back."""
    undone: list[tuple[dict[str, object], str, object]] = []
    for optimizer in optimizers:
        counts = [group for group in optimizer.param_groups if "capturable" in group]
        for group in counts:
            undone.append((group, "capturable", group["capturable"]))
            group["capturable"] = True
        for values in optimizer.state.values() if counts else ():
            count = values.get("step")
            if isinstance(count, Tensor) and not count.is_cuda:
                undone.append((values, "step", count))
                values["step"] = count.to(device, torch.float32)

    def undo() -> None:
        for holder, key, value in undone:
            holder[key] = value

    return undo


def state_keys(optimizers: Sequence[Optimizer]) -> list[dict[int, tuple[str, ...]]]:
    """What each optimizer keeps for each parameter."""
    return [{id(parameter): tuple(values) for parameter, values in optimizer.state.items()} for optimizer in optimizers]


def numbers(optimizers: Sequence[Optimizer]) -> list[list[object]]:
    """What they keep on the host, where a recording does not count on."""
    return [
        [float(value) for values in optimizer.state.values() for value in values.values() if _on_host(value)]
        for optimizer in optimizers
    ]


def _on_host(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, Tensor) and not value.is_cuda and value.numel() == 1)


def check_state(optimizers: Sequence[Optimizer], before: list[list[object]]) -> None:
    for optimizer, earlier, now in zip(optimizers, before, numbers(optimizers), strict=True):
        if now != earlier:
            name = type(optimizer).__name__
            raise refusals.not_captured(
                f"{name} counts its steps on the host, where a recording stands still",
                "Take an optimizer that has capturable= or fused=: Adam, AdamW, NAdam, RMSprop, SGD.",
            )


@contextmanager
def no_waiting(strict: bool) -> Iterator[None]:
    """Where a step waits for the device there is something that Python wants to know: it cannot be recorded."""
    if not strict:
        yield
        return
    mode = torch.cuda.get_sync_debug_mode()
    try:
        _set_sync_debug_mode("error")
        yield
    finally:
        _set_sync_debug_mode(mode)


def _set_sync_debug_mode(mode: int | str) -> None:
    with warnings.catch_warnings():  # torch 2.11 says at the first use, when it is set already, that it is a prototype
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode(mode)


@contextmanager
def told_why() -> Iterator[None]:
    """An error of torch's while it is recorded, as one that says what to do."""
    try:
        yield
    except Exception as error:
        if isinstance(error, StepError) and not isinstance(error, TornStep):
            raise
        why = error.__cause__ if isinstance(error, TornStep) and isinstance(error.__cause__, Exception) else error
        told = f"{_first_line(why)}{_where(why)}"
        del why  # else it and its traceback would keep each other alive, and with them the graph of the rehearsal
        raise refusals.not_captured(
            told,
            "Inside it nothing may wait for the device: no .item(), no print of a tensor, no Python `if` on one.",
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _where(error: Exception) -> str:
    """The last line of the user's own code on the way to it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    return f" ({frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line})" if frames else ""


def _is_ours(path: str) -> bool:
    return any(part in path for part in ("/zerograd/engine/", "/torch/", "/contextlib.py"))
