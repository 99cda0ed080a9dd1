"""A checkpoint of so many ranks, resumed on so many others.

What ranks have in common is the same for any number of them. What each had alone is handed on: the data position by the
samples that were taken; the deposits of an open block, added up, to the first rank; an optimizer's state, put together
from those who had it. Of a replica that was not like the others the first is everybody's. Random states, and what the
user's things kept, go to the ranks that have their numbers; a rank that is new keeps its random state.
"""

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.distributed.checkpoint.metadata import Metadata

from zerograd.engine.checkpoint import refusals
from zerograd.engine.checkpoint.alike import common_name, own_name
from zerograd.engine.checkpoint.cursor import Cursor
from zerograd.engine.checkpoint.values import moved, paths
from zerograd.engine.resuming import InFlight
from zerograd.engine.weighing import Weighing


def chosen(path: Path, common: dict[str, Any], rank: int, size: int, stored: Metadata) -> dict[str, Any]:
    """What this rank needs, still encoded, with its tensors under the names they are stored by."""
    before = common["ranks"]
    if before == size:
        return {**_part_of(path, common, rank, stored), "all_inflight": None, "positions": None}
    parts = [_part_of(path, common, one, stored) for one in range(before)]
    first, same_number = parts[0], parts[rank] if rank < before else parts[0]
    return {
        **first,
        "optimizers": [_put_together(of_each) for of_each in zip(*(one["optimizers"] for one in parts), strict=True)],
        "also": same_number["also"],
        "chance": same_number["chance"] if rank < before else None,
        "inflight": [None for _ in first["inflight"]],
        "all_inflight": [one["inflight"] for one in parts],
        "positions": [one["position"]["taken"] for one in parts if one["position"] and "taken" in one["position"]],
    }


def _part_of(path: Path, common: dict[str, Any], rank: int, stored: Metadata) -> dict[str, Any]:
    """All that one rank had."""
    own = json.loads((path / f"rank{rank}.json").read_text("utf-8"))
    part = {**common["parts"], **own}
    names = stored.state_dict_metadata
    places = {one: name if (name := own_name(one, rank)) in names else common_name(one) for one in paths(part)}
    for name in places.values():
        if name not in names:
            raise refusals.damaged(path.name, f"it has no {name}")
    found: dict[str, Any] = moved(part, places)
    return found


def _put_together(of_each: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One optimizer's, of all ranks: what is known of a parameter by the first who knows it."""
    parts = list(of_each)
    return {**parts[0], "state": {place: one for part in reversed(parts) for place, one in part["state"].items()}}


def steps(state: dict[str, Any], before: int, rank: int, size: int) -> list[dict[str, Any]]:
    """What each Step will be given: its counters, and the deposits that its next block begins with."""
    deposits = _inflight(state, before, rank, size)
    return [{**counters, "inflight": one} for counters, one in zip(state["steps"], deposits, strict=True)]


def _inflight(state: dict[str, Any], before: int, rank: int, size: int) -> list[dict[str, Any] | None]:
    deposits: list[dict[str, Any] | None] = state["inflight"]
    if before != size:
        of_each = zip(*state["all_inflight"], strict=True)
        deposits = [_sum([one for one in of_all if one], rank, before, size) for of_all in of_each]
    for one, sharded in zip(deposits, state["sharded"], strict=True):
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
        "done": 0 if rank else sum(InFlight(**one).micro_batches for one in of_all),
        "gradients": [_added([one for one in column if one is not None]) for column in columns],
    }


def _in_unit(one: dict[str, Any], unit: float, share: float) -> list[Tensor | None]:
    """Each rank's weights were divided by a unit of its own; what has none counts by its share."""
    factor = one["unit"] / unit if one["weighing"] == Weighing.MEAN.value else share
    return [None if gradient is None else gradient * factor for gradient in one["gradients"]]


def _added(gradients: list[Tensor]) -> Tensor | None:
    return sum(gradients[1:], gradients[0]) if gradients else None


def load_position(loader: Any, state: dict[str, Any], size: int) -> None:
    position, positions = state["position"], state["positions"]
    if position is None:
        _begins_anew("the checkpoint was saved without loader=")
    elif positions is None:
        loader.load_state_dict(position)
    elif isinstance(loader, Cursor) and positions:
        loader.load_state_dict(position, taken=sum(positions) // size)
    else:
        _begins_anew("this loader cannot be divided among another number of ranks")


def _begins_anew(why: str) -> None:
    warnings.warn(f"zerograd: the data begins anew: {why}", RuntimeWarning, stacklevel=8)
