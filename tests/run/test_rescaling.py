"""By what hands multiply fresh gradients."""

import pytest
import torch

from zerograd.run.rescaling import Rescaling, again_and_again


@pytest.mark.parametrize(("factor", "told"), [(1.0, 1.0), (0.25, 0.25), (3.0, 3.0)])
def test_the_factor_is_told(factor: float, told: float) -> None:
    rescaling, gradient = Rescaling(), torch.randn(8)
    rescaling.deposited({0: gradient})
    rescaling.look({0: gradient * factor})
    assert rescaling.factors() == [pytest.approx(told)]
    assert rescaling.known is (factor != 1.0)


def test_gradients_that_vanish_are_left_alone_like_any_others() -> None:
    rescaling = Rescaling()
    rescaling.deposited({0: torch.zeros(8)})
    rescaling.look({0: torch.zeros(8)})
    assert rescaling.factors() == [1.0]
    assert not rescaling.known  # else samples would be taken for ever


def test_what_is_no_multiple_has_no_factor() -> None:
    rescaling = Rescaling()
    rescaling.deposited({0: torch.tensor([1.0, 2.0])})
    rescaling.look({0: torch.tensor([2.0, 1.0])})
    assert rescaling.factors() == [None]
    assert rescaling.known


def test_a_habit_is_one_number_again_and_again() -> None:
    assert again_and_again([0.25, 0.25])
    assert not again_and_again([1.0, 1.0])
    assert not again_and_again([0.25])
    assert not again_and_again([0.25, None])
