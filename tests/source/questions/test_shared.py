"""A gradient that two parameters share: who clears one of them by None leaves the other growing."""

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text

SCENE = """
import torch
from torch import nn

def ensure(local, shared):
    for mine, theirs in zip(local.parameters(), shared.parameters()):
        if theirs.grad is not None:
            return
        theirs._grad = {given}

def work(shared, opt, loader):
    local = nn.Linear(4, 1)
    for x, y in loader:
        local.load_state_dict(shared.state_dict())
        {clears}
        nn.functional.mse_loss(local(x), y).backward()
        ensure(local, shared)
        opt.step()
"""


def found(clears: str = "opt.zero_grad()", given: str = "mine.grad") -> set[Certainty]:
    text = SCENE.format(clears=clears, given=given)
    return {one.certainty for one in check_text(text) if one.code == "ZG305"}


def test_who_hands_its_gradient_over_and_keeps_it_hands_it_over_again() -> None:
    assert found() == {Certainty.CERTAIN}


@pytest.mark.parametrize(
    "clears",
    [
        "opt.zero_grad(); local.zero_grad()",
        "opt.zero_grad(set_to_none=False)",
        "opt.zero_grad()\n        for p in local.parameters(): p.grad = None",
        "opt.zero_grad(); local = nn.Linear(4, 1)",
    ],
)
def test_both_are_cleared(clears: str) -> None:
    assert Certainty.CERTAIN not in found(clears)


@pytest.mark.parametrize("given", ["mine.grad.clone()", "mine.grad.to('cuda')"])
def test_a_copy_is_shared_with_nobody(given: str) -> None:
    assert Certainty.CERTAIN not in found(given=given)
