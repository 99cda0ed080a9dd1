"""What a thing from outside is, by what is done with it, and by what the project's own classes would do."""

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
    optimizer.zero_grad()
"""
TIDY = """\
import torch


class Tidy(torch.optim.Adam):
    def step(self, closure=None):
        super().step(closure)
        {last}
"""
IMPORTED = """\
import torch
from nowhere import {names}

for x, y in loader:
    {first}
    torch.nn.functional.mse_loss(net(x), y).backward()
    thing.step()
"""


def _certain(text: str, folder: Path | None = None) -> list[str]:
    project = Project(str(folder)) if folder is not None else None
    path = str(folder / "engine.py") if folder is not None else "engine.py"
    findings = check_text(text, path, project=project)
    return [one.code for one in findings if one.certainty is Certainty.CERTAIN]


@pytest.mark.parametrize(("last", "codes"), [("self.zero_grad()", []), ("self.count += 1", ["ZG001"])])
def test_an_optimizer_that_is_handed_in_may_clear_by_itself(tmp_path: Path, last: str, codes: list[str]) -> None:
    (tmp_path / "optimizers.py").write_text(TIDY.format(last=last))
    assert _certain(ENGINE.format(first="pass"), tmp_path) == codes


def test_what_is_imported_from_a_file_that_cannot_be_read_is_told_by_its_uses() -> None:
    assert _certain(IMPORTED.format(names="net, thing, loader", first="net.train()")) == ["ZG001"]
    assert _certain(IMPORTED.format(names="net, thing, loader", first="thing.zero_grad()")) == []


CRITIC = """\
import torch


class Judge:
    def __init__(self):
        self.critic = torch.nn.Linear(4, 1)
        self.own = torch.optim.Adam(self.critic.parameters())

    def teach(self, data, made_by, theirs):
        made = made_by(data)
        told = self.critic(made)
        theirs.zero_grad()
        told.mean().backward(retain_graph=True)
        self.own.zero_grad()
        (self.critic({seen}).mean() - self.critic(data).mean()).backward()
        theirs.step()
        self.own.step()
"""


def test_the_only_optimizer_that_was_given_steps_the_only_network_that_was_given() -> None:
    assert _certain(CRITIC.format(seen="made")) == ["ZG005"]
    assert "ZG005" not in _certain(CRITIC.format(seen="made.detach()"))


ACCUMULATED = """\
import torch


class Trainer:
    def __init__(self, hand, policy, stepping):
        self.hand, self.policy, self.stepping = hand, policy, stepping

    def compute(self, batch):
        raise NotImplementedError

    def run(self, batches):
        for batch in batches:
            with self.hand.accumulate(self.policy):
                loss = self.compute(batch)
                self.hand.backward(loss)
                if self.hand.sync_gradients:
                    self.hand.clip_grad_norm_(self.policy.parameters(), 1.0)
                self.stepping.step()
                self.{cleared}.zero_grad()
"""


def test_an_optimizer_that_is_given_holds_what_is_accumulated_around_its_step() -> None:
    assert _certain(ACCUMULATED.format(cleared="policy")) == ["ZG002"]
    assert _certain(ACCUMULATED.format(cleared="stepping")) == []


UPDATER = """\
import torch


class Updater:
    def __init__(self, config, network):
        self.network, self.config, self.moving = network, config, None
        for name in ("one", "other"):
            if config.float(name, 0.0):
                raise NotImplementedError
        self.limit = config.float("limit", 0.0)

    def create(self):
        self.moving = self.config.make(self.network.parameters())

    def update(self, keeper=None):
        if keeper is not None:
            {first}
        if self.limit:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.limit)
        if keeper is not None:
            keeper.step(self.moving)
            keeper.update()
        else:
            self.moving.step()
"""


def test_who_is_handed_what_others_step_and_is_updated_is_a_scaler() -> None:
    assert _certain(UPDATER.format(first="pass")) == ["ZG201"]
    assert _certain(UPDATER.format(first="keeper.unscale_(self.moving)")) == []
