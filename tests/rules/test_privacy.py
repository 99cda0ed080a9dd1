"""A class whose optimizer nobody clears: certain only if nobody else could."""

from pathlib import Path

import pytest

from zerograd.cli import main

AGENT = """
import torch
from torch import nn


class Agent{base}:
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.opt = torch.optim.Adam(self.net.parameters())

    def learn(self, x, y):
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.opt.step()
"""
MAIN = """
from agent import Agent

agent = Agent()
for x, y in batches:
    {before}agent.learn(x, y)
"""
OTHERS = {
    "the caller clears": (AGENT.format(base=""), MAIN.format(before="agent.opt.zero_grad(); ")),
    "the caller clears the model": (AGENT.format(base=""), MAIN.format(before="agent.net.zero_grad(); ")),
    "the caller takes the optimizer": (AGENT.format(base=""), MAIN.format(before="begin(agent.opt); ")),
    "a base that nobody has read": (AGENT.format(base="(Base)"), MAIN.format(before="")),
    "another method clears": (
        AGENT.format(base="") + "\n    def begin(self):\n        self.opt.zero_grad()\n",
        MAIN.format(before=""),
    ),
    "another method clears the net": (
        AGENT.format(base="") + "\n    def begin(self):\n        self.net.zero_grad()\n",
        MAIN.format(before=""),
    ),
}


CLEARS_ITS_OWN = """

class Other:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def learn(self, x, y):
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(x), y).backward()
        self.optimizer.step()
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_nobody_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    Path("agent.py").write_text(AGENT.format(base=""))
    Path("main.py").write_text(MAIN.format(before=""))
    assert main(["check"]) == 1
    assert "agent.py:14:9: ZG001" in capsys.readouterr().out


@pytest.mark.parametrize(("agent", "caller"), OTHERS.values(), ids=OTHERS)
def test_somebody_may_have(agent: str, caller: str) -> None:
    Path("agent.py").write_text(agent)
    Path("main.py").write_text(caller)
    assert main(["check"]) == 0


def test_what_is_kept_hangs_on_the_neighbours() -> None:
    Path("agent.py").write_text(AGENT.format(base=""))
    assert main(["check"]) == 1
    Path("main.py").write_text(MAIN.format(before="agent.opt.zero_grad(); "))  # one more file in the folder
    assert main(["check"]) == 0
    Path("main.py").write_text(MAIN.format(before=""))
    assert main(["check"]) == 1


def test_another_class_of_the_file_clears_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("agent.py").write_text(AGENT.format(base="") + CLEARS_ITS_OWN)
    Path("main.py").write_text(MAIN.format(before=""))
    assert main(["check", "agent.py"]) == 1
    assert "ZG001" in capsys.readouterr().out


SCALED = """
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.scaler = torch.cuda.amp.GradScaler()

    def learn(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
"""


@pytest.mark.parametrize(("line", "status"), [("trainer.scaler.update()", 0), ("pass", 1)])
def test_a_scaler_that_the_caller_updates(
    line: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trainer.py").write_text(SCALED)
    loop = f"for x, y in batches:\n    trainer.learn(x, y)\n    {line}\n"
    (tmp_path / "main.py").write_text(f"from trainer import Trainer\n\ntrainer = Trainer()\n{loop}")
    assert main(["check", "--isolated", "."]) == status
