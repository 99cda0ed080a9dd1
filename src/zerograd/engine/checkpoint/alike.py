"""What all ranks hold alike is stored once; what is not the same on all of them is each rank's own.

Nobody has to say which is which: replicas are alike, a sharded optimizer's state or BatchNorm's statistics are not, and
whatever a user's thing holds is looked at. Tensors are compared by a fingerprint that is taken on their device.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zerograd.engine.checkpoint import refusals
from zerograd.engine.checkpoint.together import Together

_WORDS = 1 << 22  # looked at together: 32 MiB
# The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): a word that differs by one bit gives another number.
_GOLDEN, _FIRST, _SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685


class Division(NamedTuple):
    """Names of what is common to all: parts of the state, and tensors by path."""

    parts: frozenset[str]
    tensors: frozenset[str]

    def stored_as(self, path: str, rank: int) -> str:
        return common_name(path) if path in self.tensors else own_name(path, rank)


def common_name(path: str) -> str:
    return f"common/{path}"


def own_name(path: str, rank: int) -> str:
    return f"rank{rank}/{path}"


def divided(ranks: Together, encoded: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Division:
    """Asked of all ranks together, about the parts that each of them has encoded."""
    if ranks.group is None:
        return Division(frozenset(encoded), frozenset(tensors))

    def told() -> tuple[dict[str, str], dict[str, Any]]:
        parts = {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in encoded.items()}
        return parts, {path: _fingerprint(tensor, ranks.rank) for path, tensor in tensors.items()}

    of_all = ranks.gathered(told)
    common = Division(_same([parts for parts, _ in of_all]), _same([prints for _, prints in of_all]))
    ranks.all(lambda: _require_whole(tensors, common))
    return common


def _require_whole(tensors: Mapping[str, Tensor], common: Division) -> None:
    for path, tensor in tensors.items():
        if _is_sharded(tensor) and path not in common.tensors:
            raise refusals.shard_of_some(path)


def _same(of_all: list[dict[str, Any]]) -> frozenset[str]:
    first = of_all[0]
    return frozenset(name for name, one in first.items() if all(other.get(name) == one for other in of_all[1:]))


def _is_sharded(tensor: Tensor) -> bool:
    return hasattr(tensor, "device_mesh")


def _fingerprint(tensor: Tensor, rank: int) -> list[Any]:
    """Equal for equal bytes and, but for one chance in 2**64, for those only."""
    kind = [str(tensor.dtype), *tensor.shape]
    if _is_sharded(tensor):  # each rank has its part, and torch puts them together
        return ["sharded", *kind]
    if type(tensor) not in (Tensor, nn.Parameter):  # of a class that need not have bytes
        return ["of rank", rank]
    words = _words(tensor)
    total = torch.zeros((), dtype=torch.int64, device=tensor.device)
    for start in range(0, len(words), _WORDS):
        part = words[start : start + _WORDS]
        places = torch.arange(start + 1, start + 1 + len(part), device=tensor.device)
        total += _mixed(part ^ (places * _GOLDEN)).sum()
    return [*kind, int(total)]


def _words(tensor: Tensor) -> Tensor:
    data = tensor.contiguous().flatten().view(torch.uint8)
    return nn.functional.pad(data, (0, -len(data) % 8)).view(torch.int64)


def _mixed(words: Tensor) -> Tensor:
    words = (words ^ _shifted(words, 30)) * _FIRST
    words = (words ^ _shifted(words, 27)) * _SECOND
    return words ^ _shifted(words, 31)


def _shifted(words: Tensor, by: int) -> Tensor:
    """To the right, as if there were no sign."""
    return (words >> by) & ((1 << (64 - by)) - 1)
