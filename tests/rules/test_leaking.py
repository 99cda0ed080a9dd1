"""Attacks in another file: what they leave in the model is a fault if a step consumes it, and only then."""

from pathlib import Path

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text
from zerograd.source.project.files import Project

ATTACK = """\
import torch
import torch.nn.functional as F


class Attack:
    def __init__(self, model, eps):
        self.model = model
        self.eps = eps

    def __call__(self, x, y):
        return self.forward(x, y)

    def perturb(self, x, y):
        return self.run(x, y)

    def run(self, x, y):
        return self.ascend(x, y)

    def ascend(self, x, y):
        raise NotImplementedError


class PGD(Attack):
    def forward(self, x, y):
        x_adv = x.detach().clone()
        for _ in range(7):
            x_adv.requires_grad = True
            {before}
            cost = F.cross_entropy(self.model(x_adv), y)
            {deposit}
            if x_adv.grad is not None:
                x_adv.grad.data.fill_(0)
        {after}
        return x_adv.detach()


    def ascend(self, *given):
        return self.forward(*given)


class Noise(Attack):
    def forward(self, x, y):
        return x + self.eps * torch.randn_like(x)

    def ascend(self, *given):
        return self.forward(*given)


def pgd(model, x, y):
    delta = torch.zeros_like(x, requires_grad=True)
    F.cross_entropy(model(x + delta), y).backward()
    return x + delta.grad.sign()
"""
TRAINER = """\
import torch
import torch.nn.functional as F
from attack import PGD, Noise, pgd


class Trainer:
    def __init__(self, model, attack):
        self.model = model
        self.optimizer = torch.optim.SGD({optimized}, lr=0.1)
        if attack == "pgd":
            self.attack = PGD({attacked}, 0.1)
        else:
            self.attack = Noise(model, 0.1)

    def train(self, loader):
        self.model.train()
        for x, y in loader:
            self.optimizer.zero_grad()
            {freeze}
            x = {attack}
            {clear}
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
"""
STEPS = "x_adv = x_adv.detach() + self.eps * x_adv.grad.sign()"
FAULTY_ATTACK = {"before": "pass", "deposit": f"cost.backward(); {STEPS}", "after": "pass"}
FAULTY_TRAINER = {
    "optimized": "model.parameters()",
    "attacked": "model",
    "attack": "self.attack(x, y)",
    "freeze": "pass",
    "clear": "pass",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _codes(here: Path, attack: dict[str, str], trainer: dict[str, str]) -> list[str]:
    (here / "attack.py").write_text(ATTACK.format(**FAULTY_ATTACK | attack))
    found = check_text(TRAINER.format(**FAULTY_TRAINER | trainer), "train.py", project=Project("."))
    return [finding.code for finding in found if finding.certainty is Certainty.CERTAIN]


@pytest.mark.parametrize(
    ("attack", "trainer"),
    [
        ({}, {}),
        ({"before": "self.model.zero_grad()"}, {}),  # it clears for itself, and leaves what comes last
        ({}, {"optimized": "self.model.parameters()", "attacked": "self.model"}),
        ({}, {"optimized": "[p for p in model.parameters() if p.requires_grad]"}),  # nobody says what it holds
        ({}, {"attack": "pgd(self.model, x, y)"}),
        ({}, {"attack": "self.attack.perturb(x, y)"}),  # through methods that leave the work to others
        (
            {
                "before": "inner = torch.optim.Adam([x_adv])",
                "deposit": "inner.zero_grad(); cost.backward(); inner.step()",
            },
            {},
        ),
    ],
)
def test_a_step_that_consumes_an_attack(here: Path, attack: dict[str, str], trainer: dict[str, str]) -> None:
    assert _codes(here, attack, trainer) == ["ZG005"]


@pytest.mark.parametrize(
    ("attack", "trainer"),
    [
        ({"after": "self.model.zero_grad()"}, {}),
        ({"deposit": f"grad = torch.autograd.grad(cost, x_adv)[0]; {STEPS}".replace("x_adv.grad", "grad")}, {}),
        ({}, {"clear": "self.optimizer.zero_grad()"}),
        ({}, {"clear": "self.model.zero_grad()"}),
        ({"before": "[p.requires_grad_(False) for p in self.model.parameters()]"}, {}),
        ({}, {"freeze": "set_requires_grad(self.model, False)"}),
        ({}, {"attacked": "copy.deepcopy(model)"}),
        ({}, {"attacked": "model.teacher", "optimized": "model.student.parameters()"}),
        ({}, {"attack": "pgd(surrogate, x, y)"}),
    ],
)
def test_legal_attacks(here: Path, attack: dict[str, str], trainer: dict[str, str]) -> None:
    assert _codes(here, attack, trainer) == []


def test_the_attack_is_the_objective(here: Path) -> None:
    """Free adversarial training: one backward serves the input and the parameters, and the step follows it."""
    text = """\
import torch
from torch import nn


def ascend(model, x, y, delta):
    delta.requires_grad_()
    loss = nn.functional.cross_entropy(model(x + delta), y)
    loss.backward()
    return (delta + delta.grad.sign()).detach()


def train(model, optimizer, loader, delta):
    model.train()
    for x, y in loader:
        for _ in range(4):
            optimizer.zero_grad()
            delta = ascend(model, x, y, delta)
            optimizer.step()
"""
    assert check_text(text, "train.py", project=Project(".")) == []


@pytest.mark.parametrize(
    ("behind", "codes"),
    [
        ("pass", ["ZG005"]),
        ("(delta.grad ** 2).sum().backward()", []),  # a penalty on what was deposited
    ],
)
def test_a_helper_that_deposits_an_objective_as_well(behind: str, codes: list[str]) -> None:
    text = f"""\
import torch
from torch import nn


def attack(model, x, y):
    delta = torch.zeros_like(x, requires_grad=True)
    loss = nn.functional.cross_entropy(model(x + delta), y)
    loss.backward({"create_graph=True" if "**" in behind else ""})
    x = x + delta.grad.sign()
    {behind}
    return x


def train(model, optimizer, loader):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        x = attack(model, x, y)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


net = nn.Linear(4, 2)
train(net, torch.optim.SGD(net.parameters(), lr=0.1), loader)
"""
    assert [finding.code for finding in check_text(text, "train.py")] == codes


@pytest.mark.parametrize(("clears", "codes"), [("behind", ["ZG005"]), ("before", [])])
def test_an_evaluation_under_attack(clears: str, codes: list[str]) -> None:
    """The first step of the next epoch consumes what the evaluation left, unless it is cleared before."""
    text = f"""\
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def attack(x, y):
    delta = torch.zeros_like(x, requires_grad=True)
    nn.functional.cross_entropy(model(x + delta), y).backward()
    return x + delta.grad.sign()


def train(loader):
    model.train()
    for x, y in loader:
        {"optimizer.zero_grad()" if clears == "before" else ""}
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        {"optimizer.zero_grad()" if clears == "behind" else ""}


def evaluate(loader):
    return [model(attack(x, y)) for x, y in loader]


def main(loader):
    for _ in range(10):
        train(loader)
        evaluate(loader)
"""
    found = check_text(text, "train.py")
    assert [finding.code for finding in found if finding.certainty is Certainty.CERTAIN] == codes
