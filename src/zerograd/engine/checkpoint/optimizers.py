"""An optimizer's state by the places of its parameters, as `state_dict()` has it: honouring those that have their own.

An optimizer that shares its state among ranks (torch's ZeroRedundancyOptimizer, fairscale's OSS) has no `state_dict()`
before all of it has been sent to one rank. It steps by means of an inner optimizer, which has this rank's part; and its
`load_state_dict()` takes what is this rank's out of whatever it is given.
"""

from typing import Any

from torch import Tensor
from torch.optim import Optimizer


def class_of(optimizer: Optimizer) -> str:
    """Of the one that steps."""
    return type(_inner(optimizer) or optimizer).__name__


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def read(optimizer: Optimizer) -> dict[str, Any]:
    """What it knows of each parameter, by place; its groups, without the parameters; and what else it keeps."""
    packed = _packed(optimizer)
    if not {"state", "param_groups"} <= packed.keys():  # in a form of its own
        return {"state": {}, "groups": [], "rest": packed}
    by_place = {str(place): values for place, values in packed["state"].items() if type(place) is int}
    return {
        "state": by_place,
        "groups": [{key: value for key, value in group.items() if key != "params"} for group in packed["param_groups"]],
        "rest": {
            **{key: value for key, value in packed.items() if key not in ("state", "param_groups")},
            "state": {key: value for key, value in packed["state"].items() if type(key) is not int},
        },
    }


def write(optimizer: Optimizer, state: dict[str, Any]) -> None:
    """What `read` gave; of several ranks' parts, put together, it takes its own."""
    rest = state["rest"]
    if not state["groups"]:
        optimizer.load_state_dict(rest)
        return
    inner = _inner(optimizer)
    if inner is not None:
        inner.state.clear()
    places = iter(range(len(parameters_of(optimizer))))
    groups = [
        {**_on_device(saved, group), "params": [next(places) for _ in group["params"]]}
        for saved, group in zip(state["groups"], optimizer.param_groups, strict=True)
    ]
    by_place = {int(place): values for place, values in state["state"].items()}
    optimizer.load_state_dict({**rest, "state": {**by_place, **rest["state"]}, "param_groups": groups})
    _keep_precision(inner or optimizer, parameters_of(optimizer), by_place)


def _packed(optimizer: Optimizer) -> dict[str, Any]:
    inner = _inner(optimizer)
    if inner is None:
        return optimizer.state_dict()
    place_of = {id(parameter): place for place, parameter in enumerate(parameters_of(optimizer))}
    state = {place_of[id(parameter)]: values for parameter, values in inner.state.items()}
    return {"state": dict(sorted(state.items())), "param_groups": optimizer.param_groups}


def _inner(optimizer: Optimizer) -> Optimizer | None:
    inner = getattr(optimizer, "optim", None)
    return inner if isinstance(inner, Optimizer) and hasattr(optimizer, "consolidate_state_dict") else None


def _on_device(saved: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    """A learning rate that is a tensor goes to where it was."""
    return {
        key: value.to(here.device)
        if isinstance(value, Tensor) and isinstance(here := group.get(key), Tensor)
        else value
        for key, value in saved.items()
    }


def _keep_precision(optimizer: Optimizer, parameters: list[Tensor], saved: dict[int, Any]) -> None:
    """torch casts floating state to its parameter's dtype; moments that were kept in float32 for bfloat16 stay so."""
    for place, values in saved.items():
        loaded = optimizer.state.get(parameters[place], {})
        for key, value in values.items() if isinstance(values, dict) else ():
            here = loaded.get(key)
            if isinstance(value, Tensor) and isinstance(here, Tensor) and here.dtype != value.dtype:
                loaded[key] = value.to(here.device)
