"""A checkpoint of so many ranks, resumed on so many others.

What ranks have in common is the same for any number of them. What each had alone is handed on: the data position by the
samples that were taken, the deposits of an open block, added up, to the first rank. Random states go to the ranks that
have their numbers; a rank that is new keeps its own.
"""

import warnings
from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata

from zerograd.engine.checkpoint import refusals
from zerograd.engine.checkpoint.cursor import Cursor
from zerograd.engine.weighing import Weighing


def chosen(saved: Sequence[dict[str, Any]], rank: int, size: int) -> dict[str, Any]:
    """What this rank needs of what each of them had, still encoded."""
    if len(saved) == size:
        return {**saved[rank], "all_inflight": None, "positions": None}
    return {
        "chance": saved[rank]["chance"] if rank < len(saved) else None,
        "buffers": {},
        "position": saved[0]["position"],
        "inflight": [None for _ in saved[0]["inflight"]],
        "all_inflight": [one["inflight"] for one in saved],
        "positions": [one["position"]["taken"] for one in saved if one["position"] and "taken" in one["position"]],
    }


def inflight(common: dict[str, Any], own: dict[str, Any], rank: int, size: int) -> list[dict[str, Any] | None]:
    """The deposits that the next block of each Step begins with."""
    before = common["ranks"]
    deposits: list[dict[str, Any] | None] = own["inflight"]
    if before != size:
        of_each = zip(*own["all_inflight"], strict=True)
        deposits = [_sum([one for one in of_all if one], rank, before, size) for of_all in of_each]
    for one, sharded in zip(deposits, common["sharded"], strict=True):
        if one is not None and sharded is not None:  # means over the ranks there were
            factor = before / size if one["weighing"] == Weighing.MEAN.value else 1.0
            one["gradients"] = [None if part is None else part * factor for part in sharded]
    return deposits


def _sum(of_all: list[dict[str, Any]], rank: int, before: int, size: int) -> dict[str, Any] | None:
    """The first rank takes over what all ranks had. What has no weights was to be averaged over so many."""
    if not of_all or (rank and of_all[0]["gradients"] is not None):
        return None
    first = of_all[0]
    unit = max(one["unit"] for one in of_all)
    columns = zip(*(_in_unit(one, unit, size / before) for one in of_all if one["gradients"]), strict=True)
    return {
        **first,
        "unit": unit,
        "total": 0.0 if rank else sum(one["total"] for one in of_all),
        "counted": 0 if rank else sum(one["counted"] for one in of_all),
        "empty": 0 if rank else sum(one["empty"] for one in of_all),
        "gradients": [_added([one for one in column if one is not None]) for column in columns],
    }


def _in_unit(one: dict[str, Any], unit: float, share: float) -> list[Tensor | None]:
    """Each rank's weights were divided by a unit of its own; what has none counts by its share."""
    factor = one["unit"] / unit if one["weighing"] == Weighing.MEAN.value else share
    return [None if gradient is None else gradient * factor for gradient in one["gradients"]]


def _added(gradients: list[Tensor]) -> Tensor | None:
    return sum(gradients[1:], gradients[0]) if gradients else None


def load_position(loader: Any, own: dict[str, Any], size: int) -> None:
    if own["position"] is None:
        return
    if own["positions"] is None:
        loader.load_state_dict(own["position"])
    elif isinstance(loader, Cursor) and own["positions"]:
        loader.load_state_dict(own["position"], taken=sum(own["positions"]) // size)
    else:
        warnings.warn(
            "zerograd: the data begins anew: this loader cannot be divided among another number of ranks",
            RuntimeWarning,
            stacklevel=4,
        )


def same_shape(name: str, value: Tensor, stored: Metadata) -> None:
    found = stored.state_dict_metadata.get(f"common/model/{name}")
    if not isinstance(found, TensorStorageMetadata) or found.size != value.shape:
        size = list(found.size) if isinstance(found, TensorStorageMetadata) else "missing"
        raise refusals.other_model(f"{name} is {size} there and {list(value.shape)} here")
