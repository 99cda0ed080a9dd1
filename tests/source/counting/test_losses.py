"""Whether something divides a loss, as far as its function shows."""

import ast

import pytest

from zerograd.source.counting.losses import Losses, loss_of
from zerograd.source.names.bindings import bind_module
from zerograd.source.text.nodes import Nodes

CASES = {
    "loss = F.mse_loss(model(x), y)": False,
    "loss = model(x).loss": False,
    "loss = (criterion(out, y) * mask).mean()": False,
    "loss = a + 0.5 * b\na = F.l1_loss(o, y)\nb = F.l1_loss(p, y)": False,
    "loss = criterion(out, y) / N": True,
    "loss = criterion(out, y)\nloss = loss / N": True,
    "loss = criterion(out, y)\nloss /= N": True,
    "loss = criterion(out, y).sum()": True,
    "loss = F.cross_entropy(out, y, reduction='sum')": True,
    "loss = criterion(out, y) * len(x)": True,
    "loss = given": True,
    "while True:\n  loss = 0\n  for o in out:\n    loss += F.mse_loss(o, y)\n  loss.backward()": True,
    "while True:\n  loss = F.mse_loss(o, y)\n  loss += F.l1_loss(o, y)\n  loss.backward()": False,
}


def _loss(text: str):
    tree = ast.parse(text + "\nloss.backward()")
    losses = Losses(Nodes(tree), bind_module(tree).module)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node) == "loss.backward()"]
    call = max(calls, key=lambda call: call.col_offset)  # the innermost
    return losses, loss_of(call)


@pytest.mark.parametrize(("text", "normalised"), CASES.items())
def test_normalised(text: str, normalised: bool) -> None:
    losses, loss = _loss(text)
    assert losses.may_be_normalised(loss) is normalised


def test_divisors() -> None:
    losses, loss = _loss("loss = criterion(out, y) / accum\nloss /= world")
    assert sorted(losses.divisors(loss)) == ["accum", "world"]


def test_what_is_differentiated() -> None:
    for text, found in {
        "loss.backward()": "loss",
        "scaler.scale(loss).backward()": "loss",
        "accelerator.backward(loss)": "loss",
        "(a + b).backward()": "a + b",
    }.items():
        call = ast.parse(text, mode="eval").body
        assert ast.unparse(loss_of(call)) == found


@pytest.mark.parametrize(
    ("text", "sums"),
    {
        "total = 0\nwhile more():\n  total = total + criterion(out, y)\nloss = total / n": True,
        "while more():\n  total += criterion(out, y)\nloss = total / n": True,
        "losses = []\nwhile more():\n  losses.append(criterion(out, y))\nloss = torch.stack(losses).mean() / n": True,
        "n += 1\nloss = criterion(out, y) / n": False,
        "loss = criterion(out, y)\nloss = loss / n": False,
    }.items(),
)
def test_sum_over_iterations(text: str, sums: bool) -> None:
    losses, loss = _loss(text)
    assert losses.adds_up(loss) is sums
