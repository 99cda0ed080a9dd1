"""Where the watcher is hung into torch, and how every trace of it is taken out again.

The engine proxy sees every backward, also of names imported early, checkpointing, DDP and compiled models; its
`accumulate_grad` argument tells `backward` from `autograd.grad`. Torch's global hooks see steps. The rest is patched to
learn where something happened, never to decide whether it did.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.variable import Variable
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from zerograd.run.watcher import Watcher


class _EngineProxy:
    """Stands where torch keeps its autograd engine and passes everything on."""

    def __init__(self, engine: Any, watcher: Watcher) -> None:
        self._engine, self._watcher = engine, watcher

    def run_backward(self, roots: tuple[Tensor, ...], *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("accumulate_grad"):
            return self._engine.run_backward(roots, *args, **kwargs)
        backward = self._watcher.before_backward(roots)
        try:
            return self._engine.run_backward(roots, *args, **kwargs)
        finally:
            self._watcher.after_backward(backward)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@contextlib.contextmanager
def installed(watcher: Watcher) -> Iterator[None]:
    """Watch until the block ends."""
    with contextlib.ExitStack() as undo:
        _engine(watcher, undo)
        _steps(watcher, undo)
        _clears(watcher, undo)
        _optimizers(watcher, undo)
        _scaler(watcher, undo)
        yield


def _engine(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    real = Variable._execution_engine
    setattr(Variable, "_execution_engine", _EngineProxy(real, watcher))  # noqa: B010 (its type is torch's own)
    undo.callback(setattr, Variable, "_execution_engine", real)


def _steps(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    def before(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        watcher.before_step(optimizer, closure=any(callable(value) for value in (*args, *kwargs.values())))

    def after(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        watcher.after_step(optimizer)

    undo.callback(register_optimizer_step_pre_hook(before).remove)
    undo.callback(register_optimizer_step_post_hook(after).remove)


def _clears(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    def around(zero_grad: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> None:
            watcher.clearing()
            return zero_grad(self, *args, **kwargs)

        return noted

    _patch(Optimizer, "zero_grad", around, undo)
    _patch(torch.nn.Module, "zero_grad", around, undo)


def _optimizers(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    def around(add_param_group: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            add_param_group(self, *args, **kwargs)
            if "state" in vars(self):
                watcher.account(self)

        return noted

    _patch(Optimizer, "add_param_group", around, undo)


def _scaler(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    def around(step: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            steps = watcher.steps
            result = step(self, optimizer, *args, **kwargs)
            if watcher.steps == steps:
                watcher.skipped_step(optimizer)
            return result

        return noted

    _patch(torch.amp.GradScaler, "step", around, undo)


def _patch(
    owner: type, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]], undo: contextlib.ExitStack
) -> None:
    real = getattr(owner, name)
    wrapper = around(real)
    wrapper.__name__, wrapper.__qualname__, wrapper.__doc__ = real.__name__, real.__qualname__, real.__doc__
    setattr(owner, name, wrapper)
    undo.callback(setattr, owner, name, real)
