"""What values are made of is followed only so far; behind that, nothing that rests on it is told."""

import pytest

from zerograd.source.check import check_text
from zerograd.source.values import reading

NEEDED = """
import torch

def train(critic, generator, optimizer, loader):
    for real in loader:
        optimizer.zero_grad()
        score, features = critic(generator(real))
        first = -torch.log(score + 1e-4).mean()
        first.backward(retain_graph=True)
        second = torch.norm(features.mean(0) - real.mean(0), 1)
        second.backward()
        optimizer.step()
"""
NEEDLESS = """
import torch

def train(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward(retain_graph=True)
        optimizer.step()
"""


def certain(text: str) -> set[str]:
    return {finding.code for finding in check_text(text) if finding.certainty.value == "certain"}


def test_with_patience_the_needless_one_is_told() -> None:
    assert "ZG402" in certain(NEEDLESS)
    assert "ZG402" not in certain(NEEDED)


@pytest.mark.parametrize("text", [NEEDED, NEEDLESS])
def test_without_it_neither_is(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = reading.File.__init__

    def impatient(self: reading.File, *given: object, **named: object) -> None:
        made(self, *given, **named)  # type: ignore[arg-type]
        self.patience = 2

    monkeypatch.setattr(reading.File, "__init__", impatient)
    assert "ZG402" not in certain(text)
