"""Where the watcher is hung into torch, and how every trace of it is taken out again.

The engine proxy sees every backward, also of names imported early, checkpointing, DDP and compiled models; its
`accumulate_grad` argument tells `backward` from `autograd.grad`. Torch's global hooks see steps. The rest is patched to
learn where something happened, never to decide whether it did. What stands around torch's functions is not in the way
of their warnings: see [Note: warnings] in patching.py.

Under torch.compile everything but steps and clears keeps out: see [Note: tracing] in patching.py.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import graph
from torch.autograd.variable import Variable
from torch.nn.utils import clip_grad
from torch.optim import Optimizer
from torch.optim import optimizer as torch_optimizer
from torch.utils.data.dataloader import _BaseDataLoaderIter

from zerograd.run.clears import Clears
from zerograd.run.patching import in_place_of, patch, patch_cell, uncounted, untraced
from zerograd.run.replays import Replays
from zerograd.run.routine import Routine
from zerograd.run.surroundings import Surroundings
from zerograd.run.thread import Backward
from zerograd.run.watcher import Watcher
from zerograd.trace.announcing import listen

# What ranks exchange tensors by.
_COLLECTIVES = (
    "all_reduce", "all_reduce_coalesced", "all_gather", "all_gather_into_tensor", "reduce", "reduce_scatter_tensor",
    "broadcast", "send", "recv", "isend", "irecv", "all_to_all",
)  # fmt: skip
_Arguments = tuple[tuple[Any, ...], dict[str, Any]]
_ours: list[object] = []  # step hooks of our own: two audits may run at once


class _EngineProxy:
    """Stands where torch keeps its autograd engine and passes everything on."""

    def __init__(self, engine: Any, watcher: Watcher) -> None:
        self._engine, self._watcher = engine, watcher

    @in_place_of(graph._engine_run_backward, "run_backward")
    def run_backward(self, roots: tuple[Tensor, ...], *args: Any, **kwargs: Any) -> Any:
        deposits, backward, raised = bool(kwargs.get("accumulate_grad")), None, True
        if deposits:
            backward = self._begins(roots, args)
        else:
            self._watcher.asked()
        try:
            result = self._engine.run_backward(roots, *args, **kwargs)
            raised = False
            return result
        finally:
            if deposits:
                self._watcher.after_backward(backward, raised=raised)

    def _begins(self, roots: tuple[Tensor, ...], args: tuple[Any, ...]) -> Backward | Routine | None:
        # torch 2.13 autograd/graph.py _engine_run_backward: gradients, retain_graph, create_graph, inputs
        kept = len(args) > 2 and bool(args[1]) and not args[2]
        return self._watcher.before_backward(roots, seeds=args[0] if args else (), kept=kept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@contextlib.contextmanager
def installed(watcher: Watcher) -> Iterator[None]:
    """Watch until the block ends."""
    with contextlib.ExitStack() as undo:
        _engine(watcher, undo)
        _steps(watcher, undo)
        _clears(Clears(watcher), undo)
        _clips(Clears(watcher), undo)
        _scaler(Surroundings(watcher), undo)
        _surroundings(Surroundings(watcher), undo)
        _replays(Replays(watcher), undo)
        yield


def _engine(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    real = Variable._execution_engine
    setattr(Variable, "_execution_engine", _EngineProxy(real, watcher))  # noqa: B010 (its type is torch's own)
    undo.callback(setattr, Variable, "_execution_engine", real)


def _steps(watcher: Watcher, undo: contextlib.ExitStack) -> None:
    @untraced
    def before(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments | None:
        closure = any(map(callable, args)) or any(map(callable, kwargs.values()))
        watcher.before_step(optimizer, closure=closure, hooked=_hooked(optimizer))
        return _heard(args, kwargs, evaluated=lambda: watcher.evaluated(optimizer, hooked=_hooked(optimizer)))

    @untraced
    def after(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        watcher.after_step(optimizer, hooked=_hooked)

    undo.callback(torch_optimizer.register_optimizer_step_pre_hook(before).remove)
    undo.callback(torch_optimizer.register_optimizer_step_post_hook(after).remove)
    _ours.append(before)
    undo.callback(_ours.remove, before)


def _heard(args: tuple[Any, ...], kwargs: dict[str, Any], *, evaluated: Callable[[], None]) -> _Arguments | None:
    """What the step is to be called with, so that we hear when its closure has returned. None: as it is."""
    # torch 2.13 optim/optimizer.py:518: args[0] is the optimizer itself.
    given = args[1] if len(args) > 1 else kwargs.get("closure")
    if not callable(given):
        return None
    closure = given

    @functools.wraps(closure)
    def heard(*its: Any, **own: Any) -> Any:
        result = closure(*its, **own)
        evaluated()
        return result

    around = uncounted(heard)
    return ((args[0], around, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "closure": around})


def _hooked(optimizer: Optimizer) -> bool:
    """Whether others than us are called before the step: they come after us, and may fill or clear `.grad`."""
    # torch 2.13 optim/optimizer.py:515: the global hooks run first, in the order in which they were registered.
    own = getattr(optimizer, "_optimizer_step_pre_hooks", None)
    return bool(own) or len(torch_optimizer._global_optimizer_pre_hooks) > len(_ours)


def _clears(clears: Clears, undo: contextlib.ExitStack) -> None:
    def around_optimizers(zero_grad: Callable[..., None]) -> Callable[..., None]:
        @untraced
        def noted(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            accounts = clears.begins(self)
            zero_grad(self, *args, **kwargs)
            clears.ended(self, accounts, to_none=_to_none(*args, **kwargs))

        return noted

    def around_modules(zero_grad: Callable[..., None]) -> Callable[..., None]:
        def noted(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            if torch.compiler.is_compiling():
                return zero_grad(self, *args, **kwargs)
            accounts = clears.begins(None)
            zero_grad(self, *args, **kwargs)
            return clears.ended(None, accounts, to_none=_to_none(*args, **kwargs))

        return noted

    patch(Optimizer, "zero_grad", around_optimizers, undo)
    patch(torch.nn.Module, "zero_grad", around_modules, undo)


def _to_none(set_to_none: bool = True) -> bool:
    return set_to_none


def _clips(clears: Clears, undo: contextlib.ExitStack) -> None:
    def around_norms(clip: Callable[..., None]) -> Callable[..., None]:
        def noted(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> None:
            if torch.compiler.is_compiling():
                return clip(parameters, max_norm, *args, **kwargs)
            held = _listed(parameters)
            clip(held, max_norm, *args, **kwargs)
            return clears.clipped(held, max_norm, total=args[0] if args else kwargs.get("total_norm"))

        return noted

    def around_values(clip: Callable[..., None]) -> Callable[..., None]:
        def noted(parameters: Any, clip_value: Any, *args: Any, **kwargs: Any) -> None:
            if torch.compiler.is_compiling():
                return clip(parameters, clip_value, *args, **kwargs)
            held = _listed(parameters)
            if not held:  # torch raises: there is nothing to group by device
                clears.clipped(held, clip_value, by_value=True)
            clip(held, clip_value, *args, **kwargs)
            return clears.clipped(held, clip_value, by_value=True)

        return noted

    # Not clip_grad_norm_ itself: that name has been imported by others before we came.
    patch(clip_grad, "_clip_grads_with_norm_", around_norms, undo)
    # Nor clip_grad_value_: torch 2.13 nn/utils/clip_grad.py:33 keeps the function in a cell of what it exports.
    patch_cell(clip_grad.clip_grad_value_, around_values, undo)


def _listed(parameters: Any) -> list[Tensor]:
    """A generator is read once."""
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _scaler(seen: Surroundings, undo: contextlib.ExitStack) -> None:
    def around_step(step: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not isinstance(optimizer, Optimizer):
                return step(self, optimizer, *args, **kwargs)
            before = seen.scaler_steps(self, optimizer)
            try:
                result = step(self, optimizer, *args, **kwargs)
            finally:
                seen.scaler_stepped()
            seen.skipped_step(self, optimizer, since=before)
            return result

        return noted

    def around_unscale(unscale: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any, optimizer: Optimizer) -> None:
            if self.is_enabled() and not torch.compiler.is_compiling():
                seen.unscaling(self, optimizer)
            unscale(self, optimizer)

        return noted

    def around_scale(scale: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, outputs: Any) -> Any:
            result = scale(self, outputs)
            if self.is_enabled() and not torch.compiler.is_compiling():
                seen.scaled(result)
            return result

        return noted

    patch(torch.amp.GradScaler, "step", around_step, undo)
    patch(torch.amp.GradScaler, "unscale_", around_unscale, undo)
    patch(torch.amp.GradScaler, "scale", around_scale, undo)


def _surroundings(seen: Surroundings, undo: contextlib.ExitStack) -> None:
    """New optimizers, schedules, passes over a DataLoader, forwards that decide about averaging, collectives, swaps."""

    def around_schedules(step: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> None:
            if not args and not kwargs and not torch.compiler.is_compiling():
                seen.scheduled(self)
            step(self, *args, **kwargs)

        return noted

    def around_passes(begin: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any) -> Any:
            seen.data_begins()
            return begin(self)

        return noted

    def around_batches(advance: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any) -> Any:
            batch = advance(self)
            seen.data_handed_out()
            return batch

        return noted

    def around_forwards(forward: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not torch.compiler.is_compiling():
                seen.forward(self)
            return forward(self, *args, **kwargs)

        return noted

    def around_wrappers(init: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            seen.wrapped(self)

        return noted

    def around_collectives(collective: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            if not torch.compiler.is_compiling():
                seen.exchanged([*args, *kwargs.values()])
            return collective(*args, **kwargs)

        return noted

    def around_swaps(swap_tensors: Callable[..., None]) -> Callable[..., None]:
        def noted(*args: Any, **kwargs: Any) -> None:
            seen.swapping()
            swap_tensors(*args, **kwargs)

        return noted

    def around_makers(init: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            seen.made(self)

        return noted

    patch(Optimizer, "__init__", around_makers, undo)
    patch(torch.optim.lr_scheduler.LRScheduler, "step", around_schedules, undo)
    patch(torch.utils.data.DataLoader, "__iter__", around_passes, undo)
    patch(_BaseDataLoaderIter, "__next__", around_batches, undo)
    patch(torch.nn.parallel.DistributedDataParallel, "__init__", around_wrappers, undo)
    patch(torch.nn.parallel.DistributedDataParallel, "_pre_forward", around_forwards, undo)
    for name in _COLLECTIVES:
        collective: Any = getattr(torch.distributed, name, None)
        if getattr(collective, "__closure__", None):  # what others have imported early runs what is in its cell
            patch_cell(collective, around_collectives, undo)
        elif collective is not None:
            patch(torch.distributed, name, around_collectives, undo)
    # module.to() and load_state_dict() of tensor subclasses, and of all under torch.__future__
    patch(torch.utils, "swap_tensors", around_swaps, undo)


def _replays(replays: Replays, undo: contextlib.ExitStack) -> None:
    def around_begin(begin: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any, *args: Any, **kwargs: Any) -> None:
            begin(self, *args, **kwargs)
            replays.capture_begins(self)

        return noted

    def around_end(end: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any) -> None:
            try:
                end(self)
            finally:
                replays.capture_ended()

        return noted

    def around_replay(replay: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Any) -> None:
            replay(self)
            replays.replayed(self)

        return noted

    patch(torch.cuda.CUDAGraph, "capture_begin", around_begin, undo)
    patch(torch.cuda.CUDAGraph, "capture_end", around_end, undo)
    patch(torch.cuda.CUDAGraph, "replay", around_replay, undo)
    undo.callback(listen(replays.announced))
