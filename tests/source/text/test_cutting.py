"""Losses of another file that names no event: read for what they cut off, and for nothing else."""

from pathlib import Path

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text
from zerograd.source.lowering.library import Library
from zerograd.source.text.cutting import cuts

LOOP = """\
import torch
from torch import nn
{imports}

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    out = model(x)
    loss = nn.functional.mse_loss(out, y) + {term}
    loss.backward()
    optimizer.step()
"""
HARD = "import torch\n\n\ndef dice_loss(pred, target):\n    return 1 - hard(pred, target)\n\n\n"
HARD += "def hard(pred, target):\n    pred = (pred > 0.5).float()\n    return (pred * target).mean()\n"
SOFT = HARD.replace("(pred > 0.5).float()", "pred.sigmoid()  # .detach() is not for training")
MODULE = "from torch import nn\n\n\nclass DiceLoss(nn.Module):\n    def __init__(self, smooth=1.0):\n"
MODULE += "        super().__init__()\n        self.smooth = smooth\n\n    def forward(self, pred, target):\n"
MODULE += "        pred = pred.argmax(dim=1).float()\n        return 1 - (pred * target).sum() / self.smooth\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _codes(imports: str, term: str) -> list[str]:
    findings = check_text(LOOP.format(imports=imports, term=term), "train.py", library=Library())
    return [finding.code for finding in findings if finding.certainty is Certainty.CERTAIN]


@pytest.mark.parametrize(
    ("imports", "term"),
    [
        ("from losses import dice_loss", "dice_loss(out, y)"),
        ("from losses import *", "0.5 * dice_loss(out, y)"),
        ("import losses", "losses.dice_loss(out, y)"),
    ],
)
def test_a_loss_of_another_file_is_read(here: Path, imports: str, term: str) -> None:
    (here / "losses.py").write_text(HARD)
    assert _codes(imports, term) == ["ZG003"]


def test_a_loss_that_keeps_its_graph_is_no_fault(here: Path) -> None:
    (here / "losses.py").write_text(SOFT)
    assert _codes("from losses import dice_loss", "dice_loss(out, y)") == []


def test_a_loss_that_cannot_be_found_is_no_fault() -> None:
    assert _codes("from losses import dice_loss", "dice_loss(out, y)") == []


def test_a_loss_module_of_another_file_is_read(here: Path) -> None:
    (here / "losses.py").write_text(MODULE)
    assert _codes("from losses import DiceLoss\ndice = DiceLoss()", "dice(out, y)") == ["ZG003"]


def test_words_are_looked_for_in_what_is_called_too() -> None:
    assert cuts("dice_loss", HARD)
    assert not cuts("dice_loss", HARD.replace("(pred > 0.5).float()", "pred.sigmoid()"))
    assert not cuts("iou_loss", HARD)
