"""What the graph of a loss says: mean or sum, items, factor; and not the loss scale."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from rules.programs import Program, audited_in_full
from zerograd.run.losses import mark_scale, read

X = torch.randn(6, 3, requires_grad=True)
Y = torch.tensor([0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    ("loss", "mean", "items", "factor"),
    [
        (lambda: F.cross_entropy(X, Y), True, 6, 1.0),
        (lambda: F.cross_entropy(X, Y) / 4, True, 6, 0.25),
        (lambda: F.cross_entropy(X, Y, reduction="sum") * 0.5, False, 6, 0.5),
        (lambda: X.square().mean(), True, 18, 1.0),
        (lambda: X.square().sum(), False, None, 1.0),
    ],
)
def test_what_is_read(loss, mean: bool, items: float | None, factor: float) -> None:
    assert read(loss()) == (mean, items, factor)


def test_a_loss_scale_is_no_factor() -> None:
    scaled: Tensor = (X.square().mean() / 4) * torch.tensor(65536.0)
    assert read(scaled).factor == 16384.0
    mark_scale(scaled)
    assert read(scaled) == (True, 18, 0.25)


SCALED = """
import torch
from torch import nn
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", enabled={enabled})
for i in range(12):
    x = torch.randn({rows}, 4)
    loss = nn.functional.mse_loss(model(x), torch.zeros(len(x), 1)){divided}
    scaler.scale(loss).backward()  # error: [{code}]
    if (i + 1) % 3 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("rows", "divided", "code"), [("8", "", "ZG101"), ("4 + i % 2", " / 3", "ZG104"), ("8", " / 3", "none")]
)
def test_a_scaler_changes_nothing(enabled: bool, rows: str, divided: str, code: str) -> None:
    text = SCALED.format(enabled=enabled, rows=rows, divided=divided, code=code)
    line = 1 + text[: text.index("# error")].count("\n")
    assert audited_in_full(Program("scaled", text)) == ({(line, code)} if code != "none" else set())
