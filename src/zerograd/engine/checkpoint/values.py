"""Plain Python values as JSON, and the tensors among them by name.

Not pickle: what is read back can be data and nothing else.
"""

import base64
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from zerograd.engine.checkpoint import refusals

_TAG = "$"


def encode(value: object, path: str, tensors: dict[str, Tensor]) -> Any:
    """`value` in words of JSON; its tensors go to `tensors`, under the path at which they were found."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return value if type(value) in (int, float) else value.__class__.__mro__[-2](value)
        case Tensor():
            tensors[path] = value.detach()
            return {_TAG: "tensor", "at": path}
        case bytes():
            return {_TAG: "bytes", "of": base64.b64encode(value).decode("ascii")}
        case torch.dtype():
            return {_TAG: "dtype", "of": str(value).removeprefix("torch.")}
        case list():
            return [encode(part, f"{path}/{place}", tensors) for place, part in enumerate(value)]
        case tuple() | set() | frozenset():
            parts = [encode(part, f"{path}/{place}", tensors) for place, part in enumerate(value)]
            return {_TAG: "tuple" if isinstance(value, tuple) else "set", "of": parts}
        case Mapping():
            return _encode_mapping(value, path, tensors)
        case _ if hasattr(value, "__array__") and hasattr(value, "dtype"):
            return encode(_from_numpy(value), path, tensors)
    raise refusals.unkeepable(path, value)


def _encode_mapping(value: Mapping[Any, Any], path: str, tensors: dict[str, Tensor]) -> Any:
    if all(type(key) is str for key in value) and _TAG not in value and not isinstance(value, Counter):
        return {key: encode(part, f"{path}/{key}", tensors) for key, part in value.items()}
    pairs = [
        [encode(key, f"{path}/key{place}", tensors), encode(part, f"{path}/{key}", tensors)]
        for place, (key, part) in enumerate(value.items())
    ]
    return {_TAG: "counter" if isinstance(value, Counter) else "pairs", "of": pairs}


def _from_numpy(value: Any) -> object:
    return value.item() if not value.shape else torch.from_numpy(value.copy())


def decode(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """What was encoded. A tensor that is not among `tensors` is an error of the caller's."""
    if isinstance(value, list):
        return [decode(part, tensors) for part in value]
    if not isinstance(value, dict):
        return value
    match value.get(_TAG):
        case None:
            return {key: decode(part, tensors) for key, part in value.items()}
        case "tensor":
            return tensors[value["at"]]
        case "bytes":
            return base64.b64decode(value["of"])
        case "dtype":
            return getattr(torch, value["of"])
        case "tuple":
            return tuple(decode(part, tensors) for part in value["of"])
        case "set":
            return {decode(part, tensors) for part in value["of"]}
        case "counter":
            return Counter(dict(decode(value["of"], tensors)))
        case _:
            return dict(decode(value["of"], tensors))


def paths(value: Any) -> list[str]:
    """Where the tensors of an encoded value are."""
    if isinstance(value, list):
        return [path for part in value for path in paths(part)]
    if not isinstance(value, dict):
        return []
    if value.get(_TAG) == "tensor":
        return [value["at"]]
    return [path for part in value.values() for path in paths(part)]
