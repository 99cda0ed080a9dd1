"""Plain Python values as JSON, and the tensors among them by name.

Not pickle: what is read back can be data and nothing else.

[Note: paths] A tensor is stored under the path at which it was found. No two have the same: a list names its parts by
place, a dict whose keys are all texts by key (with what separates paths written otherwise), any other dict by place.
"""

import base64
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from zerograd.engine.checkpoint import refusals

_TAG = "$"
_SEQUENCES: dict[str, Any] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "size": torch.Size,
    "deque": deque,
}  # a tuple with names is a tuple: its class would have to be called
_MAPPINGS: dict[str, Any] = {"counter": Counter, "ordered": OrderedDict, "pairs": dict}


def encode(value: object, path: str, tensors: dict[str, Tensor]) -> Any:
    """`value` in words of JSON; its tensors go to `tensors`, under the path at which they were found."""
    match value:
        case None | bool():
            return value
        # As the number or text that it is: a class of its own (an IntEnum, NumPy's float64) cannot be kept.
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case str():
            return str.__str__(value)
        case complex():
            return {_TAG: "complex", "of": [value.real, value.imag]}
        case Tensor():
            tensors[path] = _dense(value, path)
            return {_TAG: "tensor", "at": path}
        case bytes() | bytearray():
            kind = "bytes" if isinstance(value, bytes) else "bytearray"
            return {_TAG: kind, "of": base64.b64encode(value).decode("ascii")}
        case torch.dtype():
            return {_TAG: "dtype", "of": str(value).removeprefix("torch.")}
        case torch.device():
            return {_TAG: "device", "of": str(value)}
        case Mapping():
            return _encode_mapping(value, path, tensors)
        case list():
            return _encode_parts(value, path, tensors)
        case set() | frozenset():  # in an order that is the same in every process
            parts = sorted(value, key=repr)
            return {_TAG: "set" if isinstance(value, set) else "frozenset", "of": _encode_parts(parts, path, tensors)}
        case tuple() | deque():
            kind = next(kind for kind in ("size", "tuple", "deque") if isinstance(value, _SEQUENCES[kind]))
            coded = {_TAG: kind, "of": _encode_parts(value, path, tensors)}
            return {**coded, "maxlen": value.maxlen} if isinstance(value, deque) else coded
        case _ if hasattr(value, "__array__") and hasattr(value, "dtype"):
            return _encode_numpy(value, path, tensors)
    raise refusals.unkeepable(path, f"a {type(value).__name__}")


def _encode_parts(value: Iterable[object], path: str, tensors: dict[str, Tensor]) -> list[Any]:
    return [encode(part, f"{path}/{place}", tensors) for place, part in enumerate(value)]


def _encode_mapping(value: Mapping[Any, Any], path: str, tensors: dict[str, Tensor]) -> Any:
    kind = "counter" if isinstance(value, Counter) else "ordered" if isinstance(value, OrderedDict) else "pairs"
    if kind == "pairs" and all(type(key) is str for key in value) and _TAG not in value:
        return {key: encode(part, f"{path}/{in_path(key)}", tensors) for key, part in value.items()}
    return {_TAG: kind, "of": _encode_parts(value.items(), path, tensors)}


def in_path(key: str) -> str:
    """A key as one part of a path. See [Note: paths]."""
    return key.replace("%", "%25").replace("/", "%2F")


def _dense(value: Tensor, path: str) -> Tensor:
    if value.layout is not torch.strided or value.is_meta or value.is_quantized:
        raise refusals.unkeepable(path, "a tensor that is sparse, quantized or without data")
    value = value.detach()
    return value.resolve_conj().resolve_neg() if value.is_conj() or value.is_neg() else value


def _encode_numpy(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if not value.shape:
        return encode(value.item(), path, tensors)
    try:
        tensors[path] = torch.from_numpy(value.astype(value.dtype.newbyteorder("=")))
    except TypeError:  # of objects, texts, dates
        raise refusals.unkeepable(path, f"an array of {value.dtype}") from None
    return {_TAG: "array", "at": path}


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
        case "array":
            return tensors[value["at"]].numpy()
        case "bytes":
            return base64.b64decode(value["of"])
        case "bytearray":
            return bytearray(base64.b64decode(value["of"]))
        case "complex":
            return complex(*value["of"])
        case "dtype":
            return getattr(torch, value["of"])
        case "device":
            return torch.device(value["of"])
        case "deque":
            return deque(decode(value["of"], tensors), value["maxlen"])
        case kind if kind in _MAPPINGS:
            return _MAPPINGS[kind](dict(decode(value["of"], tensors)))
        case kind:
            return _SEQUENCES[kind](decode(value["of"], tensors))


def paths(value: Any) -> list[str]:
    """Where the tensors of an encoded value are."""
    if isinstance(value, list):
        return [path for part in value for path in paths(part)]
    if not isinstance(value, dict):
        return []
    if _TAG in value and "at" in value:
        return [value["at"]]
    return [path for part in value.values() for path in paths(part)]


def moved(value: Any, places: Mapping[str, str]) -> Any:
    """The same encoded value, with its tensors somewhere else."""
    if isinstance(value, list):
        return [moved(part, places) for part in value]
    if not isinstance(value, dict):
        return value
    if _TAG in value and "at" in value:
        return {**value, "at": places[value["at"]]}
    return {key: moved(part, places) for key, part in value.items()}
