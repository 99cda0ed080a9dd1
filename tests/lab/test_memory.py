import torch

from zerograd.lab.memory import Bytes, peak_bytes


def test_what_lives_is_counted_once_and_forgotten() -> None:
    with Bytes() as meter:
        one = torch.ones(100)
        one.add_(1)
        view = one[:10]
        assert meter.live == 400
        two = one + one
        assert meter.live == 800
        del two, view
        assert (meter.live, meter.peak) == (400, 800)


def test_a_backward_is_seen() -> None:
    model = torch.nn.Linear(50, 50)
    x = torch.ones(1, 50)
    assert peak_bytes(lambda: model(x).sum().backward()) >= 4 * (50 * 50 + 50)
