"""Rows are counted and cut in tensors, tuples and dicts; what is ambiguous is refused."""

from typing import NamedTuple

import pytest
import torch

from zerograd import StepError
from zerograd.engine.batches import cut, rows_of


class Pair(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


X, Y = torch.arange(6).reshape(3, 2), torch.arange(3)


@pytest.mark.parametrize("batch", [X, (X, Y), Pair(X, Y), {"x": X, "y": Y, "scale": torch.tensor(2.0)}, "abc"])
def test_rows(batch: object) -> None:
    assert rows_of(batch) == 3
    part = cut(batch, 1, 3)
    assert type(part) is type(batch)
    assert rows_of(part) == 2


def test_what_has_no_rows_goes_with_every_part() -> None:
    part = cut({"x": X, "scale": torch.tensor(2.0), "name": "n"}, 0, 1)
    assert (part["scale"], part["name"]) == (2.0, "n")


@pytest.mark.parametrize(
    ("batch", "match"),
    [
        ([X, Y], "columns of the batch or its samples"),
        ((X, Y[:2]), "rows of a tuple"),
        (3, "int"),
        (torch.tensor(1.0), "a tensor without dimensions"),
    ],
)
def test_what_cannot_be_cut(batch: object, match: str) -> None:
    with pytest.raises(StepError, match=match):
        rows_of(batch)
