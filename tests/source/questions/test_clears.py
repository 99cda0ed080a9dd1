"""Clears that have nothing to clear, and zeros that nobody needs."""

from zerograd.source.check import check_text

SCENE = """
import torch
from torch import nn

def train(model, loader, opt):
    for x, y in loader:
        {before}
        nn.functional.mse_loss(model(x), y).backward()
        {behind}
"""


def found(before: str, behind: str = "opt.step()") -> list[str]:
    text = SCENE.format(before=before, behind=behind)
    return [one.code for one in check_text(text) if one.code in ("ZG401", "ZG403")]


def test_a_clear_behind_another_one_finds_nothing() -> None:
    assert found("opt.zero_grad(); opt.zero_grad()") == ["ZG403"]
    assert found("opt.zero_grad()", "opt.step(); opt.zero_grad()") == ["ZG403"]


def test_one_clear_is_enough() -> None:
    assert found("opt.zero_grad()") == []
    assert found("pass", "opt.step(); opt.zero_grad()") == []


def test_two_clears_of_which_each_may_be_the_only_one() -> None:
    assert found("opt.zero_grad()", "opt.step()\n        if y.sum() > 0: opt.zero_grad()") == []


def test_zeros_that_nobody_reads() -> None:
    assert found("opt.zero_grad(set_to_none=False)") == ["ZG401"]


def test_zeros_that_somebody_reads() -> None:
    assert found("opt.zero_grad(set_to_none=False)", "opt.step(); print([p.grad for p in model.parameters()])") == []
