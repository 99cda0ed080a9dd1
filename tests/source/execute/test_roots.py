"""What is executed: each root once, whoever it leads to, and no further than it can be finished."""

from pathlib import Path
from typing import Any

import pytest

from source.execute.reading import MADE, certain
from zerograd.source.check import check_text
from zerograd.source.execute import roots
from zerograd.source.execute.execution import Execution
from zerograd.source.project.files import Project

PARTS = {
    "backward.py": """
import torch

def learn(loss, optimizer):
    loss.backward()
""",
    "stepping.py": """
import torch

def move(model, optimizer):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
""",
    "main.py": """
import torch
from torch import nn
from backward import learn
from stepping import move

def train(loader):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        learn(nn.functional.mse_loss(model(x), y), optimizer)
        move(model, optimizer)
""",
}


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The roots that are executed: file and function."""
    done: list[tuple[str, str]] = []
    execute = roots._execute

    def counted(*given: Any, **options: Any) -> Any:
        file, function = given[3:5]
        done.append((file.path, function.name if function is not None else "body"))
        return execute(*given, **options)

    monkeypatch.setattr(roots, "_execute", counted)
    return done


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name, text in PARTS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return Project(str(tmp_path))


def test_a_caller_is_executed_once_for_all_whom_it_leads_to(executed: list[tuple[str, str]], project: Project) -> None:
    alone = [check_text(text, name, project=Project(str(Path.cwd()))) for name, text in PARTS.items()]
    assert executed.count(("main.py", "train")) == 3
    executed.clear()
    assert [check_text(text, name, project=project) for name, text in PARTS.items()] == alone
    assert executed.count(("main.py", "train")) == 2  # for those who call it, and for its own file
    assert [[one.code for one in found] for found in alone] == [[], ["ZG001"], ["ZG001"]]


def test_a_change_of_a_file_is_seen(project: Project) -> None:
    before = check_text(PARTS["stepping.py"], "stepping.py", project=project)
    mended = PARTS["main.py"].replace("move(model, optimizer)", "move(model, optimizer)\n        optimizer.zero_grad()")
    assert check_text(mended, "main.py", project=project) == []
    assert [one.code for one in before] == ["ZG001"]
    assert check_text(PARTS["stepping.py"], "stepping.py", project=project) == []


def test_a_root_that_cannot_be_finished_is_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "for x, y in loader:\n    F.mse_loss(model(x), y).backward()\n    optimizer.step()\n" + "    print(x)\n" * 90
    spent: list[Execution] = []
    spend = Execution.spend
    monkeypatch.setattr(Execution, "spend", lambda ex: (spent.append(ex), spend(ex)))
    assert certain(MADE + body, made="") == ["ZG001"]
    monkeypatch.setattr(roots, "_WORK", 200)
    spent.clear()
    assert certain(MADE + body, made="") == []
    assert len(spent) <= 52  # a third of what the body may cost, as it is executed three times at least


def test_a_root_that_cannot_be_finished_is_executed_again_without_what_leads_to_no_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = "def count(x):\n" + "    for row in x:\n        print(row, x)\n" * 40 + "    return x\n\n"
    body = "for x, y in loader:\n    F.mse_loss(model(x), y).backward()\n    optimizer.step()\n    count(x)\n"
    monkeypatch.setattr(roots, "_WORK", 300)
    assert certain(MADE + counted + body, made="") == ["ZG001"]
    monkeypatch.setattr(roots, "_WORK", 40)
    assert certain(MADE + counted + body, made="") == []
