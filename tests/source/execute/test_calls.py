"""Functions, methods, closures, generators and containers need nothing said about them."""

import pytest

from source.execute.reading import certain, found

HELPERS = """
def do_it(thing):
    return thing.step()


def tidy(thing):
    return thing.zero_grad()


def pull(value):
    return value.backward()


def train(model, loader, optimizer, scheduler):
    for x, y in loader:
        {clear}
        pull(F.mse_loss(model(x), y))
        do_it(optimizer)
        do_it(scheduler)
"""


def test_helpers_do_what_they_do_to_whom_they_are_handed() -> None:
    assert found(HELPERS.format(clear="tidy(optimizer)")) == []


def test_what_happens_in_a_forwarding_function_happens_at_its_call() -> None:
    made = HELPERS.format(clear="pass").replace("scheduler", "schedule").replace("do_it(schedule)", "pass")
    assert certain(made) == ["ZG001"]


@pytest.mark.parametrize(
    "loop",
    [
        "def pairs():\n    for a in loader:\n        optimizer.zero_grad()\n        yield a\n\nfor x, y in pairs():",
        "clear = optimizer.zero_grad\nfor x, y in loader:\n    clear()",
        "todo = {'clear': optimizer.zero_grad}\nfor x, y in loader:\n    todo['clear']()",
        "for x, y in loader:\n    (lambda one: one.zero_grad())(optimizer)",
        "opts = [optimizer]\nfor x, y in loader:\n    for one in opts:\n        one.zero_grad()",
        "for x, y in loader:\n    for p in model.parameters():\n        p.grad = None",
    ],
)
def test_a_clear_by_any_way(loop: str) -> None:
    assert found(f"{loop}\n    F.mse_loss(model(x), y).backward()\n    optimizer.step()\n") == []


def test_a_call_that_cannot_be_read_is_doubted() -> None:
    body = """
from somewhere import prepare

for x, y in loader:
    prepare(optimizer)
    F.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    assert found(body) == [("ZG001", "possible")]


def test_a_method_of_a_base_class() -> None:
    body = """
class Base:
    def update(self, loss):
        loss.backward()
        self.optimizer.step()


class Trainer(Base):
    def __init__(self):
        self.optimizer = optimizer

    def train(self):
        for x, y in loader:
            self.update(F.mse_loss(model(x), y))


Trainer().train()
"""
    assert certain(body) == ["ZG001"]


def test_a_finally_runs_before_a_jump() -> None:
    body = """
for x, y in loader:
    try:
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        continue
    finally:
        optimizer.zero_grad()
"""
    assert found(body) == []


def test_what_was_read_from_a_given_thing_is_called_as_its_method() -> None:
    text = """
def train(model, batches, given):
    for x in batches:
        pull = criterion(model(x)).backward
        pull()
        move = given.step
        move()
"""
    assert certain(text) == ["ZG001"]


def test_a_helper_may_be_handed_something_that_uses_it_itself() -> None:
    text = """
def do_it(thing):
    return thing.step()


class Warm:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self):
        print("step")
        do_it(self.optimizer)


def train(model, batches):
    warm = Warm(torch.optim.SGD(model.parameters()))
    for x in batches:
        model(x).mean().backward()
        do_it(warm)
"""
    assert certain(text) == ["ZG001"]


def test_what_somebody_else_is_to_write_returns_something() -> None:
    body = """
class Trainer:
    def warn(self, x):
        raise NotImplementedError("to be written")

    def fit(self):
        for x, y in loader:
            self.warn(x)
            F.mse_loss(model(x), y).backward()
            optimizer.step()


Trainer().fit()
"""
    assert certain(body) == ["ZG001"]


def test_a_schedule_of_the_project_moves_as_those_of_torch_unless_it_steps_by_itself() -> None:
    body = """
class Warm(torch.optim.lr_scheduler.LRScheduler):
    def {method}(self):
        return [0.1]


schedule = Warm(optimizer)
for x, y in loader:
    schedule.step()
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    assert certain(body.format(method="get_lr")) == ["ZG301"]
    assert found(body.format(method="step")) == []


def test_a_clip_is_no_part_of_what_accumulate_holds_back() -> None:
    body = """
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer = accelerator.prepare(model, optimizer)
for x, y in loader:
    with accelerator.accumulate(model):
        accelerator.backward(F.mse_loss(model(x), y))
        {clip}
        optimizer.step()
        optimizer.zero_grad()
"""
    clip = "accelerator.clip_grad_norm_(model.parameters(), 1.0)"
    assert certain(body.format(clip=clip)) == ["ZG302"]
    assert found(body.format(clip=f"if accelerator.sync_gradients: {clip}")) == []


def test_a_method_that_takes_other_arguments_is_not_meant() -> None:
    body = """
class Env:
    def step(self, action):
        self.net.zero_grad()


def train(net, loader, optimizer):
    for x, y in loader:
        F.mse_loss(net(x), y).backward()
        optimizer.step()
"""
    assert certain(body) == ["ZG001"]
    assert certain(body.replace("self, action", "self")) == []


def test_a_sharpness_aware_step_has_two_halves() -> None:
    body = """
def train(net, loader, optimizer):
    for x, y in loader:
        F.mse_loss(net(x), y).backward()
        optimizer.first_step(zero_grad=True)
        F.mse_loss(net(x), y).backward()
        optimizer.second_step(zero_grad=True)
"""
    assert found(body) == []
    assert certain(body.replace("first_step(zero_grad=True)", "first_step()")) == ["ZG001"]


def test_a_package_cannot_clear_what_nobody_has_shown_it() -> None:
    body = """
import toolbox


def main():
    net = nn.Linear(4, 1)
    {made} = torch.optim.SGD(net.parameters(), lr=0.1)
    {shown}
    for x, y in loader:
        toolbox.tick()
        F.mse_loss(net(x), y).backward()
        {made}.step()


main()
"""
    assert certain(body.format(made="made", shown="pass")) == ["ZG001"]
    assert certain(body.format(made="made", shown="toolbox.keep(made)")) == []


def test_a_clip_behind_the_step_of_its_own_branch_is_too_late() -> None:
    body = """
seen = 0
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    seen += x.shape[0]
    if seen == 64:
        {}
        {}
        optimizer.zero_grad()
        seen = 0
"""
    step, clip = "optimizer.step()", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    assert certain(body.format(step, clip)) == ["ZG302"]
    assert certain(body.format(clip, step)) == []


def test_who_was_handed_in_may_have_been_made_of_what_the_file_knows() -> None:
    body = """
def train(keeper):
    for x, y in loader:
        keeper.tick()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
"""
    assert certain(body) == []


def test_lightning_hands_out_optimizers_without_their_schedules() -> None:
    body = """
import lightning as pl


class Net(pl.LightningModule):
    def configure_optimizers(self):
        one, other = torch.optim.Adam(model.parameters()), torch.optim.Adam(self.head.parameters())
        if self.plain:
            return [{"optimizer": one}, {"optimizer": other}]
        paced = torch.optim.lr_scheduler.StepLR(one, 1)
        return [{"optimizer": one, "lr_scheduler": paced}, {"optimizer": other}]

    def training_step(self, batch, i):
        one, other = self.optimizers()
        %s.zero_grad()
        self.manual_backward(F.mse_loss(model(batch), batch))
        if (i + 1) %% 4 == 0:
            one.step()
"""
    assert "ZG002" in certain(body % "one")
    assert "ZG002" not in certain(body % "other")


def test_a_dict_that_may_be_something_else_is_not_known_to_be_empty() -> None:
    body = """
from settings import read

def as_dict(settings):
    if settings is None:
        return {{}}
    return read(settings)

def train(settings):
    {made}
    n = int(told.get("n", 1))
    if n > 1:
        optimizer.zero_grad()
    for x, y in loader:
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        if n > 1:
            optimizer.zero_grad()
"""
    assert certain(body.format(made="told = {}")) == ["ZG001"]
    assert certain(body.format(made="told = as_dict(settings)")) == []


@pytest.mark.parametrize("made", ["Config(4)", "Config(**options)"])
def test_a_dataclass_does_something_behind_its_fields(made: str) -> None:
    body = f"""
from dataclasses import dataclass


@dataclass
class Config:
    size: int
    rounded: int = None

    def __post_init__(self):
        self.rounded = self.size + 1


def train(options):
    config = {made}
    assert config.rounded is not None
    for x, y in loader:
        F.mse_loss(model(x), y).backward()
        optimizer.step()
"""
    assert certain(body) == ["ZG001"]
