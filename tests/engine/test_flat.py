"""grads="flat" is the same step, with its gradients in one buffer."""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from zerograd import Step, StepError, groups


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))


def data(count: int = 9) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2 + place % 3, 6, generator=generator) for place in range(count)]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize(
    "terms", [{}, {"clip": 0.1}, {"clip": {"value": 0.01}}, {"clip": {"norm": 0.1, "per": "group"}}]
)
def test_it_trains_the_same(optimizer: type[torch.optim.Optimizer], terms: dict[str, object]) -> None:
    one, other = net(), net()
    plain = Step(optimizer(one.parameters(), lr=0.1), **terms)  # type: ignore[arg-type, call-arg]
    flat = Step(optimizer(other.parameters(), lr=0.1), grads="flat", **terms)  # type: ignore[arg-type, call-arg]
    for group in groups(data(), 4):
        for model, step in ((one, plain), (other, flat)):
            with step:
                for batch in step.micro_batches(group, weight=len):
                    step.backward(model(batch).square().mean())
        assert all(parameter.grad is None for parameter in other.parameters())
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
    if plain.outcome is not None and flat.outcome is not None and plain.outcome.norm is not None:
        assert flat.outcome.norm == pytest.approx(plain.outcome.norm)


def test_a_slot_without_a_deposit_does_not_move() -> None:
    model = net()
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5), grads="flat")
    with step:
        step.backward(model(data()[0]).sum())
    before = model[4].weight.detach().clone()
    with step:
        step.backward(model[:4](data()[0]).sum())
    assert torch.equal(before, model[4].weight)
    with pytest.raises(StepError, match="nothing was deposited"), step:
        pass


def test_edits_inside_the_block_are_seen() -> None:
    model = net()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), grads="flat")
    with pytest.raises(StepError, match="changed inside"), step:
        step.backward(model(data()[0]).sum())
        model[0].weight.grad.mul_(2)
    with pytest.raises(StepError, match="cleared inside"), step:
        step.backward(model(data()[0]).sum())
        model.zero_grad()


def test_inspect_sees_and_changes_them() -> None:
    model = net()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), model=model, grads="flat", inspect=lambda g: zero(g))

    def zero(named: object) -> None:
        for gradient in named.values():  # type: ignore[attr-defined]
            gradient.zero_()

    before = copy.deepcopy(model.state_dict())
    with step:
        step.backward(model(data()[0]).sum())
    assert all(map(torch.equal, before.values(), model.state_dict().values()))


def test_frozen_parameters_and_new_groups() -> None:
    model, more = net(), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = Step(optimizer, grads="flat")
    model[0].requires_grad_(False)
    before = model[0].weight.detach().clone()
    with step:
        step.backward(model(data()[0]).sum())
    optimizer.add_param_group({"params": more.parameters()})
    start = more.weight.detach().clone()
    with step:
        step.backward(more(model(data()[1])).sum())
    assert torch.equal(before, model[0].weight)
    assert not torch.equal(start, more.weight)


def test_it_goes_on_from_a_checkpoint() -> None:
    one, other = net(), net()
    steps = [Step(torch.optim.SGD(model.parameters(), lr=0.1), grads="flat") for model in (one, other)]
    batches = data(4)
    with steps[0] as step:
        for batch in step.micro_batches(batches, weight=len):
            step.backward(one(batch).square().mean())
            if batch is batches[1]:
                state = step.state_dict(inflight="include")
    steps[1].load_state_dict(state)
    with steps[1] as step:
        for batch in step.micro_batches(batches[2:], weight=len):
            step.backward(other(batch).square().mean())
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_across_ranks_it_is_refused_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zerograd.engine.ranks.party.find", lambda slots, sync: SimpleNamespace(wrapper=None))
    step = Step(torch.optim.SGD(net().parameters(), lr=0.1), grads="flat")
    for _ in range(2):
        with pytest.raises(StepError, match="across ranks"), step:
            pass
