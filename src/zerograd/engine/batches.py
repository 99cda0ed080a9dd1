"""Counting and cutting the rows of a batch."""

from collections.abc import Mapping
from typing import Any, TypeVar

from torch import Tensor

from zerograd.engine import refusals

T = TypeVar("T")


def rows_of(batch: object) -> int:
    """The rows of a tensor; of the tensors in a tuple or a dict; else what len() says."""
    match batch:
        case Tensor() if batch.dim():
            return len(batch)
        case tuple() | Mapping():
            columns = batch.values() if isinstance(batch, Mapping) else batch
            counts = {len(column) for column in columns if isinstance(column, Tensor) and column.dim()}
            if len(counts) == 1:
                return counts.pop()
        case Tensor():
            raise refusals.uncut_scalar()
        case list():  # the columns of a batch, or its samples? Nobody can tell.
            raise refusals.uncut_list()
        case _ if hasattr(batch, "__len__") and hasattr(batch, "__getitem__"):
            return len(batch)
    raise refusals.uncut(batch)


def cut(batch: T, start: int, stop: int) -> T:
    """The rows from `start` to `stop`. What has no rows goes with every part."""
    match batch:
        case tuple():
            parts: list[Any] = [_rows(column, start, stop) for column in batch]
            return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
        case Mapping():
            return type(batch)({key: _rows(column, start, stop) for key, column in batch.items()})  # type: ignore[call-arg]
        case _:
            return batch[start:stop]  # type: ignore[index, no-any-return]


def _rows(column: object, start: int, stop: int) -> object:
    return column[start:stop] if isinstance(column, Tensor) and column.dim() else column
