"""What is handed in may be of a class in a file beside: an optimizer that clears, a schedule that moves first."""

from pathlib import Path

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text
from zerograd.source.project.files import Project

ENGINE = """\
import torch.nn.functional as F


def train(model, loader, optimizer, scheduler):
    for x, y in loader:
        {first}
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""
TIDY = """\
import torch


class {name}(torch.optim.Adam):
    def step(self, closure=None):
        super().step(closure)
        {last}

    def reset(self):
        self.zero_grad()
"""
WARMUP = """\
class Warmup:
    def __init__(self, optimizer):
        self.optimizer, self.n = optimizer, 0

    def step(self):
        self.n += 1
        for group in self.optimizer.param_groups:
            {sets}
"""
GENERATOR = """\
def batches(loader, optimizer):
    for batch in loader:
        optimizer.zero_grad()
        yield batch
"""


def _codes(text: str, path: str = "engine.py") -> list[str]:
    Path(path).write_text(text)
    findings = check_text(text, path, project=Project("."))
    return [finding.code for finding in findings if finding.certainty is Certainty.CERTAIN]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("last", "codes"), [("self.zero_grad()", []), ("self.count += 1", ["ZG001"])])
def test_an_optimizer_that_is_handed_in_may_clear(last: str, codes: list[str]) -> None:
    Path("optimizers.py").write_text(TIDY.format(name="Tidy", last=last))
    assert _codes(ENGINE.format(first="pass")) == codes


@pytest.mark.parametrize(("sets", "codes"), [('group["lr"] = self.n / 100', []), ("print(group)", ["ZG301"])])
def test_a_schedule_that_is_handed_in_may_move_first(sets: str, codes: list[str]) -> None:
    Path("schedules.py").write_text(WARMUP.format(sets=sets))
    assert _codes(ENGINE.format(first="scheduler.step(); optimizer.zero_grad()")) == codes


def test_an_imported_class_tells_for_itself() -> None:
    Path("optimizers.py").write_text(TIDY.format(name="Tidy", last="self.zero_grad()"))
    loop = "    loss = model(x).mean()\n    loss.backward()\n    optimizer.step()\n"
    made = "from optimizers import Tidy\n\noptimizer = Tidy(model.parameters())\nfor x in loader:\n"
    assert _codes(made + loop, "train.py") == []


def test_an_imported_generator_clears_for_every_batch() -> None:
    Path("data.py").write_text(GENERATOR)
    loop = "    loss = model(x).mean()\n    loss.backward()\n    optimizer.step()\n"
    made = "import torch\n\nfrom data import batches\n\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    assert _codes(f"{made}for x in batches(loader, optimizer):\n{loop}", "train.py") == []
    assert _codes(f"{made}for x in loader:\n{loop}", "train.py") == ["ZG001"]
