"""Values are read exactly, and where they cannot be read nothing is claimed."""

import pytest
import torch
from torch import Tensor

from zerograd.run.values import Likeness, compared, largest, nonzero, rewritten, sample

TENSORS = {
    "zeros": (torch.zeros(3), False),
    "a number too small to square": (torch.tensor([0.0, 1e-30]), True),
    "not a number": (torch.tensor([float("nan"), 0.0]), True),
    "nothing at all": (torch.zeros(0), False),
    "half precision": (torch.tensor([0.0, 1.0], dtype=torch.bfloat16), True),
    "complex": (torch.tensor([0j, 1j]), True),
    "sparse zeros": (torch.sparse_coo_tensor([[1]], [0.0], (3,), check_invariants=True), False),
    "sparse": (torch.sparse_coo_tensor([[1]], [2.0], (3,), check_invariants=True), True),
    "meta": (torch.zeros(3, device="meta"), True),
}


@pytest.mark.parametrize(("tensor", "answer"), TENSORS.values(), ids=TENSORS)
def test_what_is_not_zero(tensor: Tensor, answer: bool) -> None:
    assert nonzero(largest([tensor])) == [answer]


def test_many_at_once_get_the_same_answers() -> None:
    tensors, answers = zip(*TENSORS.values(), strict=True)
    assert nonzero(largest(tensors)) == list(answers)
    assert nonzero([]) == []


def _of(*tensors: Tensor):
    return sample(dict(enumerate(tensors)))


def test_what_became_of_a_value() -> None:
    old = _of(torch.ones(3), torch.ones(3), torch.ones(3), torch.zeros(3), torch.ones(70, 70))
    new = _of(torch.ones(3), torch.zeros(3), torch.arange(3.0), torch.zeros(3), torch.ones(70, 70))
    assert compared(old, new) == {
        0: Likeness.SAME,
        1: Likeness.EMPTIED,
        2: Likeness.OTHER,
        3: Likeness.UNKNOWN,
        4: Likeness.SAME,
    }


def test_a_sample_is_a_copy() -> None:
    tensor = torch.ones(3)
    before = _of(tensor)
    tensor.zero_()
    assert compared(before, _of(tensor)) == {0: Likeness.EMPTIED}


def test_what_is_only_longer_or_shorter_was_not_rewritten() -> None:
    tensor = torch.randn(5)
    assert rewritten(_of(tensor, tensor, tensor), _of(tensor * 0.01, tensor.roll(1), -tensor)) == {1}


def test_where_there_is_no_asking_nothing_is_claimed() -> None:
    ghost = torch.ones(3, device="meta")
    assert compared(_of(ghost), _of(ghost)) in ({}, {0: Likeness.UNKNOWN})
    assert compared(None, _of(torch.ones(3))) == {}
    assert sample({}) is None
