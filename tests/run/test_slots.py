"""A slot is told by its parameter, and a gradient by itself: not by an address that another can have later."""

import gc
import weakref

import torch
from torch import nn

import zerograd
from zerograd.run.slots import Slots


def test_a_gradient_at_an_old_address_is_another_one() -> None:
    weight = nn.Parameter(torch.ones(3))
    slots = Slots(torch.optim.SGD([weight], lr=0.1))
    weight.grad = torch.ones(3)
    for _ in range(20):
        before = slots.look([weight])
        weight.grad = None
        weight.grad = torch.ones(3)
        assert slots.look([weight]).since(before).replaced == {0}


def test_what_changed_is_told_apart() -> None:
    weights = [nn.Parameter(torch.ones(2)) for _ in range(5)]
    slots = Slots(torch.optim.SGD(weights, lr=0.1))
    for weight in weights[:3]:
        weight.grad = torch.ones(2)
    before = slots.look(weights)
    weights[0].grad = None
    weights[1].grad.mul_(2)
    weights[2].grad = torch.ones(2)
    weights[3].grad = torch.ones(2)
    now = slots.look(weights)
    assert now.since(before) == ({0}, {2, 3}, {1})
    assert not now.same(before)
    assert slots.look(weights).same(now)


def test_parameters_that_come_and_go_are_renumbered() -> None:
    a, b, c = (nn.Parameter(torch.ones(2)) for _ in range(3))
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b]}], lr=0.1)
    slots = Slots(optimizer)
    assert slots.renumbered(slots.parameters()) == [None, None]
    assert slots.renumbered(slots.parameters()) is None
    optimizer.param_groups[0]["params"][0] = c
    assert slots.renumbered(slots.parameters()) == [None, 1]
    del optimizer.param_groups[0]
    assert slots.renumbered(slots.parameters()) == [1]


def test_a_parameter_at_an_old_address_is_another_one() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    slots = Slots(optimizer)
    slots.renumbered(slots.parameters())
    reused = False
    group = optimizer.param_groups[0]["params"]
    for _ in range(20):
        values = torch.ones(2)
        address = id(group.pop())
        group.append(nn.Parameter(values))
        reused = reused or id(group[0]) == address
        assert slots.renumbered(slots.parameters()) == [None]
    assert reused  # else this test has shown nothing


def test_the_audit_keeps_no_parameter_and_no_gradient_alive() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect"):
        weight.sum().backward()
        optimizer.step()
        gradient, old = weakref.ref(weight.grad), weakref.ref(weight)
        weight.grad = None
        assert gradient() is None
        optimizer.param_groups[0]["params"][0] = weight = nn.Parameter(torch.ones(5))
        gc.collect()
        assert old() is None
        weight.sum().backward()
        optimizer.step()
        dead = weakref.ref(optimizer)
        del optimizer
        gc.collect()
        assert dead() is None


def test_a_tensor_without_versions_stops_nobody() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            with torch.inference_mode():
                weight.grad = torch.ones(3)
            optimizer.step()
            optimizer.zero_grad()
    assert watch.findings == []
