"""What an iteration leaves behind with its graph is found, unless a backward goes through it."""

import pytest

from source.execute.reading import MADE, certain
from zerograd.core.findings import Severity
from zerograd.source.check import check_text

BODY = """
{before}
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {kept}
"""


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("total = 0.0", "total += loss"),
        ("total = 0", "total = total + loss * len(x)"),
        ("mean = None", "mean = loss if mean is None else 0.9 * mean + 0.1 * loss"),
        ("losses = []", "losses.append(loss)"),
        ("rows = []", 'rows.append({"loss": loss.mean(), "n": len(x)})'),
        ('sums = {"loss": 0.0}', 'sums["loss"] += loss'),
        ("curve = torch.zeros(4)", "curve[0] = loss"),
    ],
)
def test_what_goes_on_with_its_graph(before: str, kept: str) -> None:
    assert certain(BODY.format(before=before, kept=kept)) == ["ZG402"]


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("total = 0.0", "total += loss.item()"),
        ("total = 0.0", "total += loss.detach()"),
        ("total = torch.zeros(())", "total += loss; total.detach_()"),
        ("losses = []", "losses.append(loss.detach())"),
        ("losses = []", "losses.append(loss); losses.clear()"),
        ("from collections import deque\nlosses = deque(maxlen=2)", "losses.append(loss)"),
        ("best = None", "best = loss"),
    ],
)
def test_what_is_let_go(before: str, kept: str) -> None:
    assert certain(BODY.format(before=before, kept=kept)) == []


def test_a_graph_that_backward_has_freed_is_a_note() -> None:
    freed = BODY.format(before="total = 0.0", kept="total += loss")
    whole = BODY.format(before="total = 0.0", kept="total += F.l1_loss(model(x), y)")
    told = [[one.severity for one in check_text(MADE + body)] for body in (freed, whole)]
    assert told == [[Severity.NOTE], [Severity.WARNING]]


def test_a_sum_that_goes_backward_is_wanted() -> None:
    body = """
total = 0.0
for x, y in loader:
    total = total + F.mse_loss(model(x), y)
optimizer.zero_grad()
total.backward()
optimizer.step()
"""
    assert certain(body) == []
