"""Modules that are not installed: whatever is asked of them is there, and is what its name suggests.

A name with a capital is a class. Made with the parameters of networks it is an optimizer, with an optimizer a schedule,
else a network; and a program may derive from it.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from laws.reader.driver import roles
from laws.reader.driver.probe import PROGRAM
from laws.reader.driver.standins import Engine, Net

REAL = {*sys.stdlib_module_names, "torch", "numpy", "zerograd", "pytest"}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, own: set[str]) -> None:
        self._own = own  # the modules of the program itself

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.split(".")[0] in REAL | self._own or not _asked_by_program():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Missing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


def _asked_by_program() -> bool:
    """Whether the import stands in the program: what torch and others import for themselves is there."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename == PROGRAM


class Missing(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _thing(name)
        setattr(self, name, value)
        return value


def _thing(name: str) -> Any:
    if name == "LightningModule":
        return Lightning
    if name in ("Accelerator", "Fabric"):
        return Engine
    if name in ("seed_everything", "set_seed", "init"):
        return lambda *args, **kwargs: None
    if name[:1].isupper():
        return type(name, (Anything,), {})
    return roles.given(name)


class Anything(Net):
    """A class that nobody can read."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        if cls.__mro__[1] is not Anything:  # derived from by the program
            return super().__new__(cls)
        handed = [*args, *kwargs.values()]
        optimizer = next((one for one in handed if isinstance(one, torch.optim.Optimizer)), None)
        said = set(roles.words(cls.__name__))
        if optimizer is not None and not said & {"engine", "trainer"}:
            return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0) if _is_schedule(said) else optimizer
        parameters = next((found for one in handed if (found := _parameters(one))), None)
        if parameters:
            return torch.optim.SGD(parameters, lr=0.01)
        if "scaler" in said:
            return torch.amp.GradScaler("cpu", init_scale=4.0)
        return super().__new__(cls)


def _is_schedule(said: set[str]) -> bool:
    return bool(said & {"lr", "scheduler", "schedule", "warmup", "cosine", "annealing", "decay"})


def _parameters(thing: object) -> list[Any]:
    """The parameters in what is handed over as such: an iterator, a list of tensors, a list of groups."""
    if isinstance(thing, Tensor | nn.Module | str | dict):
        return []
    try:
        listed = list(thing)
    except TypeError:
        return []
    held = [one["params"] if isinstance(one, dict) and "params" in one else one for one in listed]
    return listed if held and all(isinstance(one, nn.Parameter | list) for one in held) else []


class Lightning(Net):
    """pl.LightningModule without a trainer: what it offers to a training step of the program."""

    automatic_optimization = True
    device = torch.device("cpu")

    def optimizers(self, *args: object, **kwargs: object) -> Any:
        if not hasattr(self, "_own"):
            self._own = optimizers_of(self.configure_optimizers())
        return self._own[0] if len(self._own) == 1 else self._own

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def manual_backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        loss.backward(*args, **kwargs)

    def lr_schedulers(self) -> Any:
        own = self.optimizers()
        first = own[0] if isinstance(own, Sequence) else own
        return torch.optim.lr_scheduler.LambdaLR(first, lambda epoch: 1.0)

    def log(self, *args: object, **kwargs: object) -> None: ...

    log_dict = save_hyperparameters = toggle_optimizer = untoggle_optimizer = log

    def clip_gradients(self, optimizer: torch.optim.Optimizer, **how: object) -> None:
        nn.utils.clip_grad_norm_([one for group in optimizer.param_groups for one in group["params"]], 1.0)


def optimizers_of(configured: Any) -> list[torch.optim.Optimizer]:
    if isinstance(configured, torch.optim.Optimizer):
        return [configured]
    if isinstance(configured, dict):
        return [configured["optimizer"]]
    first = configured[0]
    return optimizers_of(first) if isinstance(first, list | tuple) else [
        one["optimizer"] if isinstance(one, dict) else one for one in configured
    ]  # fmt: skip
