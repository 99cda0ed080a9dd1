"""torch as a small machine can run it: no GPU, no ranks, no files; and modules of torch that take whatever shape
comes."""

import argparse
import builtins
import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from laws.reader.driver.standins import BATCH, WIDTH, Net, Settings, bent, made_of


class Alone(nn.Module):
    """A wrapper for ranks in a process that has none."""

    def __init__(self, module: nn.Module, *args: object, **kwargs: object) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: object, **kwargs: object) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        yield

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


def tame() -> None:
    """Once in a process of its own: nothing is put back."""
    _devices()
    _ranks()
    _files()
    _shapes()


def _devices() -> None:
    for cls in (Tensor, nn.Module):
        real_to = cls.to

        def to(self: Any, *args: Any, real: Any = real_to, **kwargs: Any) -> Any:
            args = tuple(one for one in args if isinstance(one, torch.dtype | Tensor))
            kwargs = {name: value for name, value in kwargs.items() if name in ("dtype", "copy")}
            return real(self, *args, **kwargs) if args or kwargs else self

        cls.to = to
        cls.cuda = lambda self, *args, **kwargs: self
        cls.half = cls.bfloat16 = lambda self, *args, **kwargs: self
    for name in ("synchronize", "empty_cache", "set_device", "manual_seed_all", "reset_peak_memory_stats"):
        setattr(torch.cuda, name, lambda *args, **kwargs: None)
    for module in (torch.cuda.amp, torch.amp):
        module.GradScaler = _Scaler
        module.autocast = lambda *args, **kwargs: contextlib.nullcontext()
    torch.autocast = lambda *args, **kwargs: contextlib.nullcontext()
    torch.compile = lambda thing=None, *args, **kwargs: thing if thing is not None else (lambda it: it)


_REAL_SCALER = torch.amp.GradScaler


class _Scaler(_REAL_SCALER):
    """A scaler that is on, whatever it is told: its part is to scale."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__("cpu", init_scale=4.0, growth_interval=1000)


def _ranks() -> None:
    nn.parallel.DistributedDataParallel = nn.DataParallel = Alone
    nn.parallel.DataParallel = Alone
    distributed = torch.distributed
    for name in ("init_process_group", "all_reduce", "barrier", "broadcast", "destroy_process_group", "all_gather"):
        setattr(distributed, name, lambda *args, **kwargs: None)
    distributed.get_rank = lambda *args: 0
    distributed.get_world_size = lambda *args: 1
    distributed.is_initialized = lambda: False


def _files() -> None:
    torch.save = lambda *args, **kwargs: None
    torch.load = lambda *args, **kwargs: Net()
    nn.Module.load_state_dict = lambda self, *args, **kwargs: None
    torch.optim.Optimizer.load_state_dict = lambda self, *args, **kwargs: None
    builtins.print = lambda *args, **kwargs: None
    builtins.input = lambda *args: "1"

    def parse_args(self: argparse.ArgumentParser, *args: object, **kwargs: object) -> Settings:
        known = {action.dest: action.default for action in self._actions}
        return Settings(**{name: value for name, value in known.items() if value is not None and name != "help"})

    argparse.ArgumentParser.parse_args = parse_args


def _shapes() -> None:
    """A module of torch that cannot take what it is given gives something made of it and of its own parameters."""
    real = nn.Module.__call__

    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        try:
            return real(self, *args, **kwargs)
        except (
            RuntimeError,
            TypeError,
            ValueError,
            IndexError,
            AssertionError,
            AttributeError,
            NotImplementedError,
        ) as error:
            if not type(self).__module__.startswith("torch.") or isinstance(self, nn.Sequential | Alone):
                raise
            if "grad" in str(error):
                raise
            bent.append(type(self).__name__)
            return made_of([self, args, kwargs], shape=(BATCH, WIDTH))

    nn.Module.__call__ = call
    real_from_numpy = torch.from_numpy
    torch.from_numpy = lambda array: real_from_numpy(array) if not isinstance(array, Tensor) else array
    for name in (
        "cross_entropy",
        "nll_loss",
        "mse_loss",
        "l1_loss",
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy",
    ):
        setattr(nn.functional, name, _forgiving(getattr(nn.functional, name)))


def _forgiving(function: Any) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError):
            bent.append(function.__name__)
            return made_of([args, kwargs])

    return called
