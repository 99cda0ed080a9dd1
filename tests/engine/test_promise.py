"""What the device tells late is told once, in order, and to whoever asks."""

import pytest
import torch

from zerograd.engine.promise import Promises


def test_in_order_and_once() -> None:
    promises, told = Promises(), list[list[float]]()
    for number in range(20):
        promises.add(torch.tensor([float(number), 0.0]), told.append)
        promises.keep(all_of_them=False)
    promises.keep(all_of_them=True)
    assert told == [[float(number), 0.0] for number in range(20)]


def test_what_one_raises_leaves_the_others() -> None:
    promises, told = Promises(), list[list[float]]()

    def refuse(numbers: list[float]) -> None:
        raise ValueError("told")

    promises.add(torch.tensor([1.0]), refuse)
    promises.add(torch.tensor([2.0]), told.append)
    with pytest.raises(ValueError, match="told"):
        promises.keep(all_of_them=True)
    promises.keep(all_of_them=True)
    assert told == [[2.0]]


def test_numbers_of_another_kind() -> None:
    promises, told = Promises(), list[list[float]]()
    promises.add(torch.tensor([1.0]), told.append)
    promises.add(torch.tensor([1.0, 2.0, 2.0**40 + 1], dtype=torch.float64), told.append)
    promises.keep(all_of_them=True)
    assert told == [[1.0], [1.0, 2.0, 2.0**40 + 1]]
