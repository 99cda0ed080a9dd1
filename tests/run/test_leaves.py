"""What a hand updates, a hand has to clear."""

import pytest
import torch

import zerograd
from zerograd.core.findings import Finding
from zerograd.run.audit import Mode

CLEARS = {
    "never": lambda leaf: None,
    "None": lambda leaf: setattr(leaf, "grad", None),
    "zeros": lambda leaf: leaf.grad.zero_(),
    "zeros through data": lambda leaf: leaf.grad.data.zero_(),
    "another": lambda leaf: setattr(leaf, "grad", torch.zeros_like(leaf)),
}


def train(how: str, mode: Mode) -> list[Finding]:
    torch.manual_seed(0)
    weight = torch.randn(5, requires_grad=True)
    with zerograd.audit(on_finding="collect", mode=mode) as watch:
        for _ in range(6):
            (weight * torch.randn(5)).sum().square().backward()
            weight.data -= 0.01 * weight.grad
            CLEARS[how](weight)
    return watch.findings


@pytest.mark.parametrize("mode", ["lean", "full"])
@pytest.mark.parametrize("how", CLEARS)
def test_a_leaf_that_is_updated_by_hand(how: str, mode: Mode) -> None:
    found = train(how, mode)
    assert [(one.code, one.times) for one in found] == [("ZG001", 4)] * (how == "never")
    for one in found:
        assert one.message == "backward() adds to the gradient of weight, which an update by hand has already used"
        assert one.fails


def test_where_nothing_is_updated_nobody_asks_for_long() -> None:
    weight, used = torch.ones(3, requires_grad=True), torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(used.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(60):
            optimizer.zero_grad()
            used(weight).sum().backward()
            optimizer.step()
        assert watch._watcher.mine.routine.going
    assert not watch.findings
