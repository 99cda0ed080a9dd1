"""What given things are: by where they came from, by their uses, and last by a hint."""

from source.execute.reading import certain, found

TRAIN = """
def train(model, loader, optimizer, {name}):
    for epoch in range(10):
        {name}.step()
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        print({asked})
"""


def test_what_is_named_a_schedule_beside_the_only_optimizer_is_one() -> None:
    assert certain(TRAIN.format(name="scheduler", asked="epoch")) == ["ZG301"]
    assert found(TRAIN.format(name="thing", asked="epoch")) == []


def test_what_is_asked_for_more_than_a_schedule_has_is_none() -> None:
    assert certain(TRAIN.format(name="scheduler", asked="scheduler.last_epoch")) == ["ZG301"]
    assert found(TRAIN.format(name="scheduler", asked="scheduler.temperature")) == []


def test_what_was_made_of_an_optimizer_and_steps_beside_it_is_its_schedule() -> None:
    body = """
from recipes import prepare

thing = prepare(optimizer)
for x, y in loader:
    thing.step()
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    {step}.step()
"""
    assert certain(body.format(step="optimizer")) == ["ZG301"]
    assert "ZG301" not in certain(body.format(step="thing"))


def test_an_optimizer_that_a_configuration_makes_is_known_by_its_step() -> None:
    body = """
import hydra

def train(cfg):
    net = hydra.utils.instantiate(cfg.net)
    thing = hydra.utils.instantiate(cfg.thing, net.parameters())
    for x, y in loader:
        {clear}
        F.mse_loss(net(x), y).backward()
        thing.step()
"""
    assert certain(body.format(clear="pass")) == ["ZG001"]
    assert found(body.format(clear="thing.zero_grad()")) == []


def test_a_field_that_nobody_knows_is_neither_true_nor_false() -> None:
    body = """
class Mine(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad.is_sparse:
                    raise ValueError("sparse")
                p.data.add_(p.grad, alpha=-0.1)


mine = Mine(model.parameters(), {})
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    mine.step()
"""
    assert certain(body) == ["ZG001"]
