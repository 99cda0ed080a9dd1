"""Settings in one file, the loop in another, and whoever else may read them."""

from pathlib import Path

import pytest

from zerograd.source.check import check_text

CONFIG = "class Config:\n    lr = 0.1\n    gradient_accumulation_steps = 4\n"
TRAIN = """\
import torch
from config import Config


def train(model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=Config.lr)
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
"""
ALONE = TRAIN.replace("from config import Config\n", f"\n\n{CONFIG}")


def _codes(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> list[str]:
    (folder / "parts").mkdir()
    for name, text in files.items():
        (folder / f"{name.replace('__', '/')}.py").write_text(text)
    monkeypatch.chdir(folder)
    return [finding.code for finding in check_text(files["train"], "train.py")]


def test_nobody_reads_what_is_set_in_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _codes(tmp_path, monkeypatch, config=CONFIG, train=TRAIN) == ["ZG106"]


def test_a_third_file_that_imports_it_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = "from config import Config\nsize = Config.gradient_accumulation_steps\n"
    assert _codes(tmp_path, monkeypatch, config=CONFIG, train=TRAIN, parts__loader=reads) == []


def test_another_file_that_trains_may_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains = TRAIN.replace("def train", "def finetune")
    assert _codes(tmp_path, monkeypatch, config=CONFIG, train=TRAIN, finetune=trains) == []


def test_a_file_that_has_to_do_with_neither_is_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = "import sys\ngradient_accumulation_steps = 8\nprint(sys.argv, 2 * gradient_accumulation_steps)\n"
    assert _codes(tmp_path, monkeypatch, train=ALONE, other=reads) == ["ZG106"]


def test_a_framework_in_a_file_that_is_imported_may_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = "from accelerate import Accelerator\n\n\ndef prepare(config):\n    return Accelerator(config)\n"
    train = ALONE.replace("import torch\n", "import torch\nfrom engine import prepare\n")
    assert _codes(tmp_path, monkeypatch, train=train, engine=engine) == []
