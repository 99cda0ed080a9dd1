"""Lists of losses that outlive the function which appends to them: who makes them, who empties them, which loop."""

from pathlib import Path

import pytest

from zerograd.source.check import check_text

STEP = """\
import pickle

import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []


def train(x, y{parameter}):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    {kept}


def show(values):
    {shown}


"""
GLOBAL = "for x, y in loader:\n    train(x, y)\n"
HANDED = "kept = []\nfor x, y in loader:\n    train(x, y, kept)\n"
PLOTS = "print(len(values), sum(values))"


def _found(text: str, path: str = "train.py") -> list[str]:
    return [one.certainty.value for one in check_text(text, path) if one.code == "ZG402"]


def _step(behind: str, *, parameter: str = "", kept: str = "losses.append(loss)", shown: str = PLOTS) -> list[str]:
    return _found(STEP.format(parameter=parameter, kept=kept, shown=shown) + behind)


@pytest.mark.parametrize(
    ("behind", "found"),
    [
        (GLOBAL, ["certain"]),
        (GLOBAL + "print(sum(losses) / len(losses))\n", ["certain"]),
        (GLOBAL + "pickle.dump(losses, file)\n", ["certain"]),
        (GLOBAL + "show(losses)\n", ["certain"]),
        (GLOBAL + "    unknown(losses)\n", ["possible"]),
        (GLOBAL + "    losses.clear()\n", []),
        (GLOBAL + "    losses = []\n", []),
        (GLOBAL + "    losses = [one.item() for one in losses]\n", []),
        (GLOBAL + "    del losses[:]\n", []),
        (GLOBAL + "    losses[-1] = losses[-1].item()\n", []),
        (GLOBAL + "def fresh():\n    global losses\n    losses = []\n", []),
        ("train(x, y)\n", ["possible"]),
        ("for _ in range(3):\n    train(x, y)\n", ["possible"]),
    ],
)
def test_a_global(behind: str, found: list[str]) -> None:
    assert _step(behind) == found


@pytest.mark.parametrize("shown", ["values.clear()", "values.pop()", "values[:] = []"])
def test_the_one_who_shows_them_empties_them(shown: str) -> None:
    assert _step(GLOBAL + "    show(losses)\n", shown=shown) == []


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("losses.append(loss.item())", []),
        ("losses.append(loss.detach())", []),
        ("losses.append(float(loss))", []),
        ("loss = loss.item(); losses.append(loss)", []),
        ("losses.append(loss); losses.pop(0)", []),
        ("losses.append(loss); torch.stack(losses).sum().backward()", []),
    ],
)
def test_what_is_appended(kept: str, found: list[str]) -> None:
    assert _step(GLOBAL, kept=kept) == found


@pytest.mark.parametrize(
    ("behind", "found"),
    [
        (HANDED, ["certain"]),
        ("kept = []\nfor _ in range(3):\n    for i in range(9):\n        train(x, y, kept)\n", ["certain"]),
        (HANDED + "    kept = []\n", []),
        ("for x, y in loader:\n    kept = []\n    train(x, y, kept)\n", []),
        ("from collections import deque\n" + HANDED.replace("[]", "deque(maxlen=9)"), []),
        ("train(x, y, [])\n", []),
        ("", []),
    ],
)
def test_a_parameter(behind: str, found: list[str]) -> None:
    assert _step(behind, parameter=", history", kept="history.append(loss)") == found


@pytest.mark.parametrize(
    ("made", "behind", "found"),
    [
        ('{"loss": [], "score": []}', "", ["certain"]),
        ("defaultdict(list)", "print(sum(history['loss']))\n", ["certain"]),
        ("{}", 'print(history.keys())\nhistory["score"].clear()\n', ["certain"]),
        ('{"loss": []}', "for each in history.values():\n    each.clear()\n", ["possible"]),
        ('{"loss": []}', 'history["loss"].clear()\n', []),
        ('{"loss": []}', 'history["loss"] = []\n', []),
        ('{"loss": []}', "history[name] = []\n", []),
        ('{"loss": deque(maxlen=9)}', "", []),
        ("make()", "", []),
    ],
)
def test_a_list_of_a_dictionary(made: str, behind: str, found: list[str]) -> None:
    assert _step(f"history = {made}\n{GLOBAL}{behind}", kept='history["loss"].append(loss)') == found


TRAINER = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        {made}

    def train(self, loader):
        for x, y in loader:
            {begun}
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss)

    def save(self):
        {saved}
"""


@pytest.mark.parametrize(
    ("made", "begun", "saved", "found"),
    [
        ("self.losses, self.scores = [], []", "pass", "torch.save({'losses': self.losses}, 'l.pt')", ["certain"]),
        ("self.losses = []", "pass", "state = {'losses': self.losses}; torch.save(state, 'l.pt')", ["certain"]),
        ("self.losses = []", "pass", "return self.losses", ["possible"]),
        ("self.losses = []", "pass", "self.losses = []", []),
        ("self.losses = []", "self.losses = []", "pass", []),
        ("self.losses = []", "pass", "self.losses.clear()", []),
        ("self.losses = deque(maxlen=10)", "pass", "pass", []),
        ("self.losses = losses", "pass", "pass", []),
    ],
)
def test_an_attribute(made: str, begun: str, saved: str, found: list[str]) -> None:
    assert _found(TRAINER.format(made=made, begun=begun, saved=saved)) == found


def test_a_file_beside_it_empties_the_attribute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = TRAINER.format(made="self.losses = []", begun="pass", saved="pass")
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "main.py").write_text("print(trainer.losses)\n")
    assert _found(text) == ["certain"]
    (tmp_path / "main.py").write_text("trainer.losses.clear()\n")
    assert _found(text) == ["possible"]
    (tmp_path / "main.py").write_text("class Other:\n    def __init__(self):\n        self.losses = []\n")
    assert _found(text) == ["certain"]
    (tmp_path / "main.py").write_text(
        "import train\n\n\nclass Sub(train.Trainer):\n    def end(self):\n        self.losses = []\n"
    )
    assert _found(text) == ["possible"]


LEARNER = """\
    def learn(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss)
"""


@pytest.mark.parametrize(
    ("behind", "found"),
    [
        ("trainer = Trainer(model)\nfor x, y in loader:\n    trainer.learn(x, y)\n", ["certain"]),
        ("for x, y in loader:\n    trainer = Trainer(model)\n    trainer.learn(x, y)\n", ["possible"]),
        ("for x, y in loader:\n    model.learn(x, y)\n", ["possible"]),
        ("class Sub(Trainer):\n    def end(self):\n        self.losses = []\n", []),
        ("def end(trainer):\n    trainer.losses = []\n", []),
    ],
)
def test_a_method_that_a_loop_calls(behind: str, found: list[str]) -> None:
    text = TRAINER.format(made="self.losses = []", begun="pass", saved="pass")
    head = text[: text.index("    def train")]
    assert _found(head + LEARNER + "\n\n" + behind) == found
