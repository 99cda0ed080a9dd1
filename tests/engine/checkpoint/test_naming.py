"""Wrappers do not show in names, and no two tensors get one."""

import pytest
import torch
from torch import nn

from zerograd import CheckpointError
from zerograd.engine.checkpoint.naming import parameter_names, state_of


class OptimizedModule(nn.Module):
    """As torch.compile makes it."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self._orig_mod = inner


def test_wrappers_do_not_show() -> None:
    plain = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    wrapped = OptimizedModule(nn.Sequential(OptimizedModule(plain[0]), plain[1]))
    assert list(state_of(wrapped)) == list(state_of(plain)) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert parameter_names(wrapped) == parameter_names(plain)
    assert state_of(wrapped)["0.weight"][1] is plain[0].weight


def test_a_wrapper_with_a_parameter_of_the_same_name() -> None:
    wrapper = OptimizedModule(nn.Linear(2, 1))
    wrapper.weight = nn.Parameter(torch.zeros(1))
    with pytest.raises(CheckpointError, match="two tensors of the model are called weight"):
        state_of(wrapper)


class Terse(nn.Linear):
    """Its state_dict() takes no words."""

    def state_dict(self):
        return {"both": torch.cat([self.weight.detach().flatten(), self.bias.detach()])}


def test_a_state_dict_of_its_own() -> None:
    model = Terse(2, 1)
    assert list(state_of(model)) == ["both"]
