"""The names of a model's parameters, without those of the wrappers it happens to be in.

So that what two ranks saved under DistributedDataParallel, or compiled, can be loaded by one that is neither.
"""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim import Optimizer

_INNER = {"DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}


def state_of(model: nn.Module) -> dict[str, tuple[str, object]]:
    """What the model keeps: by plain name, the name it has there, and the value."""
    plain = _plain(model)
    return {plain(name): (name, value) for name, value in model.state_dict().items()}


def parameter_names(model: nn.Module, optimizers: Sequence[Optimizer]) -> dict[int, str]:
    """A name for every parameter, by id; its place in the optimizers where the model does not have it."""
    plain = _plain(model)
    names = {id(parameter): plain(name) for name, parameter in model.named_parameters()}
    for number, optimizer in enumerate(optimizers):
        listed = (parameter for group in optimizer.param_groups for parameter in group["params"])
        for place, parameter in enumerate(listed):
            names.setdefault(id(parameter), f"{number}.{place}")
    return names


def slots_by_name(model: nn.Module, optimizers: Sequence[Optimizer]) -> dict[str, Tensor]:
    names = parameter_names(model, optimizers)
    listed = (p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"])
    return {names[id(parameter)]: parameter for parameter in listed}


class _plain:
    def __init__(self, model: nn.Module) -> None:
        self._prefixes = [
            (f"{name}.{inner}." if name else f"{inner}.", f"{name}." if name else "")
            for name, module in model.named_modules()
            if (inner := _inner_of(module))
        ]

    def __call__(self, name: str) -> str:
        for long, short in reversed(self._prefixes):  # inner ones first: the names of outer ones stay true
            if name.startswith(long):
                name = short + name.removeprefix(long)
        return name


def _inner_of(module: nn.Module) -> str:
    return "module" if isinstance(module, DDP) else _INNER.get(type(module).__name__, "")
