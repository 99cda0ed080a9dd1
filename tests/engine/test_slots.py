"""The slots follow the optimizers: groups that are added, parameters that are exchanged, names."""

import torch
from torch import nn

from engine.nets import BATCHES, make_model, weights
from zerograd import Step
from zerograd.engine.slots import Slots


def test_a_group_that_is_added_between_blocks_takes_part() -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
    step = Step(optimizer)
    before = weights(model[2])
    for _ in range(2):
        with step:
            step.backward(model(BATCHES[0][0]).sum())
        assert torch.equal(before, weights(model[2]))
    optimizer.add_param_group({"params": model[2].parameters()})
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert not torch.equal(before, weights(model[2]))


def test_a_parameter_exchanged_in_place_is_noticed() -> None:
    old, new = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([old], lr=0.1)
    slots = Slots([optimizer], None)
    assert slots.current() is slots
    optimizer.param_groups[0]["params"][0] = new
    assert slots.current().parameters[0] is new


def test_frozen_and_unused_parameters_stay() -> None:
    model = make_model()
    model[0].requires_grad_(False)
    unused = nn.Parameter(torch.ones(3))
    frozen = weights(model[0])
    step = Step(torch.optim.AdamW([*model.parameters(), unused], lr=0.1), clip=1.0)
    for _ in range(2):
        with step:
            step.backward(model(BATCHES[0][0]).sum())
    assert torch.equal(frozen, weights(model[0]))
    assert torch.equal(unused.detach(), torch.ones(3))  # no gradient is no decay either
    model[0].requires_grad_(True)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert not torch.equal(frozen, weights(model[0]))


def test_names_are_the_models_else_the_optimizers_else_places() -> None:
    model = make_model()
    optimizers = [torch.optim.SGD(model[0].named_parameters()), torch.optim.SGD(model[2].parameters())]
    assert Slots(optimizers, None).names == ["weight", "bias", "1.0", "1.1"]
    assert Slots(optimizers, model).names == ["0.weight", "0.bias", "2.weight", "2.bias"]
