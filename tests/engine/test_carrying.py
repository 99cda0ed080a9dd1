"""Hidden state goes from block to block without its graph; what a failed block made of it is forgotten."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

from engine.nets import weights
from zerograd import Step, StepError
from zerograd.engine.carrying import detach, has_history

CHUNKS = list(torch.randn(5, 2, 3, 4, generator=torch.Generator().manual_seed(0)))  # batch 2, time 3


class Pair(NamedTuple):
    h: torch.Tensor
    c: object


def _rnn() -> nn.LSTM:
    torch.manual_seed(0)
    return nn.LSTM(4, 4, batch_first=True)


def _train(skipped: set[int], how: str) -> torch.Tensor:
    """Chunks in `skipped` fail on the way ("left out": are not there at all)."""
    rnn = _rnn()
    step = Step(torch.optim.SGD(rnn.parameters(), lr=0.5))
    h = None
    for number, chunk in enumerate(CHUNKS):
        if how == "left out" and number in skipped:
            continue
        try:
            with step:
                out, h = rnn(chunk, step.carry(h))
                step.backward(out.square().mean() * (float("nan") if how == "nan" and number in skipped else 1.0))
                if number in skipped and how == "raise":
                    raise ZeroDivisionError
                if number in skipped and how == "abort":
                    step.abort()
        except ZeroDivisionError:
            pass
    return weights(rnn)


@pytest.mark.filterwarnings("ignore:zerograd skipped")
@pytest.mark.parametrize("how", ["raise", "abort", "nan"])
@pytest.mark.parametrize("skipped", [{0}, {2}, {1, 2}, {0, 1, 4}])
def test_a_chunk_that_fails_is_as_if_it_had_not_been(skipped: set[int], how: str) -> None:
    assert torch.equal(_train(skipped, how), _train(skipped, "left out"))


def test_whoever_begins_afresh_is_not_given_the_old_state() -> None:
    rnn = _rnn()
    step = Step(torch.optim.SGD(rnn.parameters(), lr=0.5))
    with step:
        _, h = rnn(CHUNKS[0], step.carry(None))
        step.backward(h[0].sum())
    with pytest.raises(ZeroDivisionError), step:
        step.carry(h)
        raise ZeroDivisionError
    with step:
        assert step.carry(None) is None
        step.abort()
    with pytest.raises(StepError, match=r"carry\(\) outside"):
        step.carry(h)


def test_structures() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    state = {"a": (x, [x, 3]), "b": Pair(x, None)}
    bare = detach(state)
    assert has_history(state)
    assert not has_history(bare)
    assert isinstance(bare["b"], Pair)
    assert bare["a"][1][1] == 3
