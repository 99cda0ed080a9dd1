"""The names of a model's parameters, without those of the wrappers it happens to be in.

So that what two ranks saved under DistributedDataParallel, or compiled, can be loaded by one that is neither.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP

from zerograd.engine.checkpoint import refusals

_INNER = {"DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}


def state_of(model: nn.Module) -> dict[str, tuple[str, object]]:
    """What the model keeps: by plain name, the name it has there, and the value."""
    plain = plain_names(model)
    named: dict[str, tuple[str, object]] = {}
    for name, value in tensors_of(model).items():
        if plain(name) in named:
            raise refusals.two_names(plain(name))
        named[plain(name)] = (name, value)
    return named


def tensors_of(module: nn.Module) -> dict[str, object]:
    """Its state, with the parameters themselves in it, unless a state_dict() of its own does not take the word."""
    try:
        return module.state_dict(keep_vars=True)
    except TypeError:
        return module.state_dict()


def parameter_names(model: nn.Module) -> dict[int, str]:
    """By id."""
    plain = plain_names(model)
    return {id(parameter): plain(name) for name, parameter in model.named_parameters()}


def buffers_beside(model: nn.Module) -> dict[str, Tensor]:
    """Those that are not part of the model's state (persistent=False)."""
    plain = plain_names(model)
    kept = {id(value) for _, value in state_of(model).values()}
    return {plain(name): buffer for name, buffer in model.named_buffers() if id(buffer) not in kept}


def plain_names(model: nn.Module) -> Callable[[str], str]:
    prefixes = [
        (f"{name}.{inner}." if name else f"{inner}.", f"{name}." if name else "")
        for name, module in model.named_modules()
        if (inner := _inner_of(module))
    ]

    def plain(name: str) -> str:
        for long, short in reversed(prefixes):  # inner ones first: the names of outer ones stay true
            if name.startswith(long):
                name = short + name.removeprefix(long)
        return name

    return plain


def _inner_of(module: nn.Module) -> str:
    return "module" if isinstance(module, DDP) else _INNER.get(type(module).__name__, "")
