"""The slots follow the optimizers: groups that are added, parameters that are exchanged, names."""

import pytest
import torch
from torch import nn

from engine.nets import BATCHES, make_model, weights
from zerograd import Step, StepError
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


@pytest.mark.parametrize("grads", ["none", "flat"])
@pytest.mark.parametrize("convert", [nn.Module.half, nn.Module.bfloat16, nn.Module.double])
def test_a_step_made_before_the_model_is_converted_follows_it(convert, grads: str) -> None:
    ends = []
    for late in (True, False):
        layer = nn.Linear(16, 1, bias=False)
        nn.init.zeros_(layer.weight)
        if not late:
            convert(layer)
        step = Step(torch.optim.SGD(layer.parameters(), lr=0.1), clip=1.0, grads=grads)
        convert(layer)
        with step:
            step.backward((layer.weight * 16384.0).float().sum())
        ends.append((step.outcome.norm, layer.weight.detach()))
    assert ends[0][0] == ends[1][0] == 65536.0
    assert torch.equal(ends[0][1], ends[1][1])


def test_conversion_inside_the_block() -> None:
    layer = nn.Linear(16, 1, bias=False)
    step = Step(torch.optim.SGD(layer.parameters(), lr=0.1), clip=1.0)
    with step:
        layer.half()
        step.backward((layer.weight * 16384.0).float().sum())
    assert step.outcome.norm == 65536.0
    flat = Step(torch.optim.SGD(layer.parameters(), lr=0.1), grads="flat")
    with pytest.raises(StepError, match="another device or dtype"), flat:
        layer.float()
        flat.backward(layer.weight.sum())


def test_a_parameter_that_changes_its_group_is_clipped_with_the_new_one() -> None:
    ends = []
    for anew in (True, False):
        model = make_model()
        optimizer = torch.optim.SGD([{"params": list(model[0].parameters())}, {"params": list(model[2].parameters())}])
        clip = {"norm": 0.05, "per": "group"}
        step = Step(optimizer, clip=clip)
        with step:
            step.backward(model(BATCHES[0][0]).square().mean())
        optimizer.param_groups[1]["params"].insert(0, optimizer.param_groups[0]["params"].pop())
        step = Step(optimizer, clip=clip) if anew else step
        with step:
            step.backward(model(BATCHES[1][0]).square().mean())
        assert step._slots.names[1] == "1.0"
        ends.append(weights(model))
    assert torch.equal(*ends)
