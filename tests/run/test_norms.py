"""Full mode says which loss, which parameter and which step was the first to go wrong."""

import pytest
import torch
from torch import nn

import zerograd
from zerograd.run import norms


def test_the_first_number_that_is_none_is_named() -> None:
    model = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect", mode="full") as watch:
        for step in range(5):
            optimizer.zero_grad()
            loss = model(torch.ones(8, 4)).mean()
            if step == 3:
                model[1].weight.register_hook(lambda gradient: gradient * float("inf"))
                loss = model(torch.ones(8, 4)).mean()
            loss.backward()
            optimizer.step()
    said = watch.summary().splitlines()[0]
    assert said.startswith("first gradient that is not finite: step 4, 1 parameter (1.weight), from backward() at ")


def test_it_is_named_where_the_loop_has_become_a_routine() -> None:
    weight, other = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([other, weight], lr=0.0)
    with zerograd.audit(on_finding="collect", mode="full") as watch:
        for step in range(60):
            optimizer.zero_grad()
            (other.sum() + (weight * torch.tensor(1.0 if step < 50 else float("inf"))).sum()).backward()
            optimizer.step()
    said = watch.summary().splitlines()[0]
    assert said.startswith("first gradient that is not finite: step 51, 1 parameter")
    assert "not measured" not in said


def test_a_sound_run_says_nothing() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect", mode="full") as watch:
        for _ in range(3):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
    assert watch.summary() == "every gradient accounted for; 3 steps, 3 backwards, 1 slot audited"


@pytest.mark.parametrize(("bad", "said"), [(1, "step 2"), (2, "step 4")])
def test_of_many_tensors_some_backwards_are_left_out(bad: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norms, "_AFFORDABLE", 2)  # of three tensors, every second backward
    weights = [nn.Parameter(torch.ones(2)) for _ in range(3)]
    optimizer = torch.optim.SGD(weights, lr=0.0)
    with zerograd.audit(on_finding="collect", mode="full") as watch:
        for step in range(5):
            optimizer.zero_grad()
            loss = torch.stack([weight.sum() for weight in weights]).sum()
            if step >= bad:
                loss.register_hook(lambda gradient: gradient * float("inf"))
            loss.backward()
            optimizer.step()
    (first, *_) = watch.summary().splitlines()
    assert said in first
    assert first.endswith("; the one before it not measured")
