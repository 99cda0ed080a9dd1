"""What differs in one bit is not alike."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from zerograd.engine.checkpoint.alike import _WORDS, _fingerprint

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int8, torch.bool, torch.int64]


def prints(tensor: torch.Tensor) -> list:
    return _fingerprint(tensor, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_tensors_wherever_they_lie(dtype: torch.dtype) -> None:
    tensor = torch.arange(15).reshape(3, 5).to(dtype)
    assert prints(tensor) == prints(tensor.clone()) == prints(tensor.t().contiguous().t())
    assert prints(tensor) != prints(tensor.reshape(5, 3))
    assert prints(tensor) != prints(tensor.flip(0))


@given(some.integers(1, 40), some.data())
def test_one_bit_of_one_byte(size: int, data: some.DataObject) -> None:
    one = torch.randint(0, 256, (size,), dtype=torch.uint8)
    other = one.clone()
    other[data.draw(some.integers(0, size - 1))] ^= 1 << data.draw(some.integers(0, 7))
    assert prints(one) != prints(other)


def test_small_changes_do_not_cancel() -> None:
    """One ulp more here and one less there: replicas that drift differ just so."""
    bits = torch.randn(64).view(torch.int32)
    seen = {tuple(prints(bits.view(torch.float32)))}
    for first in range(64):
        for second in range(first):
            other = bits.clone()
            other[first] += 1
            other[second] -= 1
            seen.add(tuple(prints(other.view(torch.float32))))
    assert len(seen) == 64 * 63 // 2 + 1


def test_more_than_is_looked_at_together() -> None:
    tensor = torch.zeros(_WORDS + 3, dtype=torch.int64)
    other = tensor.clone()
    other[-1] = 1
    assert prints(tensor) != prints(other)
    assert prints(torch.zeros(0)) == prints(torch.zeros(0)) != prints(torch.zeros(0, 2))


def test_minus_zero_and_nan_are_bytes() -> None:
    assert prints(torch.tensor([0.0])) != prints(torch.tensor([-0.0]))
    assert prints(torch.tensor([float("nan")])) == prints(torch.tensor([float("nan")]))
