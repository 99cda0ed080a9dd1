"""A micro-batch is known for an item that a Cursor has handed out, or it is not; what is known is known in order."""

from collections.abc import Callable

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from zerograd import Cursor, groups
from zerograd.engine.supply import UNKNOWN, supply

DATA = TensorDataset(torch.arange(24.0).reshape(12, 2), torch.arange(12))


@pytest.fixture(autouse=True)
def _nothing_handed_out():
    supply.clear()
    yield
    supply.clear()


def _cursor() -> Cursor:
    return Cursor(DataLoader(DATA, batch_size=2))


def _places(things: object) -> list[int]:
    places: list[int] = []
    for thing in things:
        places.append(supply.place_of(thing, places))
    return places


@pytest.mark.parametrize(
    "wrap",
    [
        lambda group: group,
        iter,
        enumerate,
        lambda group: zip(group, group, strict=True),
        lambda group: ((x, y) for x, y in group),
        lambda group: [{"x": x, "y": y, "n": len(x)} for x, y in group],
    ],
)
def test_what_holds_a_batch_whole_is_that_batch(wrap: Callable) -> None:
    cursor = _cursor()
    group = next(groups(cursor, 4))
    assert _places(wrap(group)) == [0, 1, 2, 3]
    assert [supply.still_to_come(cursor, list(range(used))) for used in range(5)] == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda group: [x.split(1) for x, _ in group],
        lambda group: [x * 1 for x, _ in group],
        lambda group: [x for x, _ in group],
        lambda group: range(4),
    ],
)
def test_a_part_of_a_batch_is_not_known(wrap: Callable) -> None:
    cursor = _cursor()
    assert set(_places(wrap(next(groups(cursor, 4))))) == {UNKNOWN}
    assert supply.still_to_come(cursor, [UNKNOWN]) is None


def test_another_order_tells_nothing() -> None:
    cursor = _cursor()
    group = next(groups(cursor, 4))
    assert supply.still_to_come(cursor, _places(group[1:])[:1]) is None
    assert _places([group[2], group[0]]) == [2, UNKNOWN]


def test_batches_that_were_changed_before_they_were_grouped() -> None:
    cursor = _cursor()
    group = next(groups((x * 10 for x, y in cursor if y[0] != 2), 3))
    assert _places(group) == [0, 1, 2]
    assert supply.still_to_come(cursor, [0]) == 3  # the one that was left out will be left out again


def test_items_that_share_a_batch_go_together() -> None:
    cursor = _cursor()
    group = next(groups((part for x, _ in cursor for part in x.split(1)), 4))
    assert _places(group) == [0, 1, 2, 3]
    assert [supply.still_to_come(cursor, list(range(used))) for used in range(5)] == [2, None, 1, None, 0]


def test_other_cursors_are_left_alone() -> None:
    evaluation, cursor = _cursor(), _cursor()
    for _ in evaluation:
        pass
    next(iter(cursor))  # to see what a batch looks like
    group = next(groups(cursor, 3))
    assert supply.still_to_come(cursor, _places(group)[:1]) == 2


def test_it_does_not_grow_for_ever() -> None:
    cursor = Cursor(DataLoader(range(5000), batch_size=None))
    for _ in cursor:
        pass
    assert len(supply.owners) < 5000
    assert supply.still_to_come(cursor, []) is None
