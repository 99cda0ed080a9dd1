"""Who holds what, what a loss reaches, and for whom a backward was meant."""

import pytest

from source.execute.reading import certain, found

GAN = """
G, D = nn.Linear(2, 4), nn.Linear(4, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
for x, _ in loader:
    opt_d.zero_grad()
    fake = G(torch.randn(8, 2))
    (D(fake.detach()).mean() - D(x).mean()).backward()
    opt_d.step()
    opt_g.zero_grad()
    (-D(fake).mean()).backward()
    opt_g.step()
"""


def test_by_catch_that_is_cleared_is_legal() -> None:
    assert found(GAN) == []


def test_by_catch_that_is_stepped_on_is_not() -> None:
    late = GAN.replace("    opt_d.zero_grad()\n    fake", "    fake").replace(
        "    opt_d.step()\n", "    opt_d.step()\n    opt_d.zero_grad()\n"
    )
    assert certain(late) == ["ZG005"]


def test_a_loss_of_two_optimizers_is_shared() -> None:
    body = """
head = nn.Linear(1, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    other.zero_grad()
    F.mse_loss(head(model(x)), y).backward()
    optimizer.step()
    other.step()
"""
    assert found(body) == []


def test_an_optimizer_of_another_network_starves() -> None:
    body = """
other = nn.Linear(4, 1)
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(other(x), y).backward()
    optimizer.step()
"""
    assert [code for code, _ in found(body)] == ["ZG003"]


def test_a_scaler_remembers_what_it_has_unscaled() -> None:
    body = """
scaler = torch.amp.GradScaler()
for x, y in loader:
    scaler.scale(F.mse_loss(model(x), y)).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if torch.isfinite(norm):
        scaler.step(optimizer)
        scaler.update()
    optimizer.zero_grad()
"""
    assert certain(body) == ["ZG204"]


def test_a_tensor_that_is_told_to_require_a_gradient_is_a_leaf_under_every_name() -> None:
    text = """\
for x, y in loader:
    optimizer.zero_grad()
    image = x.detach()
    {told}
    model(image).sum().backward()
    x = image + image.grad.sign()
    {clear}
    model(x.detach()).sum().backward()
    optimizer.step()
"""
    for told in ("image.requires_grad = True", "image.requires_grad_()"):
        assert certain(text.format(told=told, clear="pass")) == ["ZG005"]
        assert certain(text.format(told=told, clear="optimizer.zero_grad()")) == []


def test_what_a_network_says_is_no_objective_of_its_own() -> None:
    body = """
policy, critic = nn.Linear(4, 2), nn.Linear(2, 1)
one = torch.optim.SGD(policy.parameters(), lr=0.1)
two = torch.optim.SGD(critic.parameters(), lr=0.1)
for x, y in loader:
    own = F.mse_loss(critic(torch.randn(8, 2)), y)
    one.zero_grad()
    two.zero_grad()
    own.backward()
    {loss}.backward()
    one.step()
    two.step()
"""
    assert certain(body.format(loss="(-critic(policy(x)).mean())")) == ["ZG005"]
    assert found(body.format(loss="F.mse_loss(critic(policy(x)), y)")) == []


def test_an_optimizer_that_a_network_keeps_is_its_own() -> None:
    body = """
class Agent:
    def learn(self):
        for x, y in loader:
            self.actor.optimizer.zero_grad()
            self.critic.optimizer.zero_grad()
            advantage = y - self.critic(x){cut}
            (self.actor(x) * advantage).mean().backward()
            self.actor.optimizer.step()
            (y - self.critic(x)).square().mean().backward()
            self.critic.optimizer.step()
"""
    assert certain(body.format(cut="")) == ["ZG005"]
    assert found(body.format(cut=".detach()")) == []


def test_lightning_is_asked_for_its_optimizers_in_every_batch() -> None:
    body = """
import lightning as pl


class GAN(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.g, self.d = nn.Linear(4, 4), nn.Linear(4, 1)

    def training_step(self, x, i):
        one, two = self.optimizers()
        one.zero_grad()
        two.zero_grad()
        self.manual_backward(F.mse_loss(self.d(self.g(x)), x))
        one.step()
        {clear}
        self.manual_backward(F.mse_loss(self.d(x), x))
        two.step()

    def configure_optimizers(self):
        return [torch.optim.SGD(self.g.parameters(), lr=0.1), torch.optim.SGD(self.d.parameters(), lr=0.1)], []
"""
    assert certain(body.format(clear="pass")) == ["ZG005"]
    assert found(body.format(clear="two.zero_grad()")) == []


def test_accumulate_holds_back_what_was_prepared_and_no_network() -> None:
    body = """
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer = accelerator.prepare(model, optimizer)
for x, y in loader:
    with accelerator.accumulate(model):
        accelerator.backward(F.mse_loss(model(x), y))
        optimizer.step()
        {}.zero_grad()
"""
    assert certain(body.format("optimizer")) == []
    assert certain(body.format("model")) == ["ZG002"]


def test_a_loss_that_is_divided_by_the_window_is_meant_to_be_added_up() -> None:
    body = """
def train(n):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y){}
        loss.backward()
        if i % n == 0:
            optimizer.step()
"""
    assert "ZG002" in certain(body.format(" / n"))
    assert "ZG002" not in certain(body.format(""))  # a network that is asked every time, and stepped seldom


def test_another_tensor_in_every_iteration_is_another_leaf() -> None:
    """Fast adversarial training: what is detached at the end of an iteration has no gradient in the next one."""
    text = """\
delta = torch.zeros(8, 4)
for x, y in loader:
    if {fresh}:
        delta = torch.zeros_like(x)
    delta.requires_grad = True
    F.mse_loss(model(x + delta), y).backward()
    delta.data = delta + delta.grad.sign()
    {last}
    optimizer.zero_grad()
    F.mse_loss(model(x + delta), y).backward()
    optimizer.step()
"""
    assert certain(text.format(fresh="flag", last="delta = delta.detach()")) == []


def test_lightning_tells_the_number_of_the_batch() -> None:
    body = """
import lightning as pl


class Net(pl.LightningModule):
    def training_step(self, batch, i):
        one = self.optimizers()
        {clear}one.zero_grad()
        self.manual_backward(F.mse_loss(model(batch), batch) / 4)
        if (i + 1) % 4 == 0:
            one.step()
"""
    assert "ZG002" in certain(body.format(clear=""))
    assert "ZG002" not in certain(body.format(clear="if i % 4 == 0: "))


WAITING = """
def train(n, total, retried):
    for i, (x, y) in enumerate(loader):
        if retried:
            {early}.zero_grad()
        F.mse_loss(model(x), y).backward()
        if (i + 1) % n == 0 or {end}:
            optimizer.step()
            {late}.zero_grad()
"""


@pytest.mark.parametrize("end", ["i + 1 == total", "i + 1 == len(loader)", "i == n + total"])
def test_a_window_may_end_early_where_the_loop_does(end: str) -> None:
    assert "ZG002" in certain(WAITING.format(end=end, early="optimizer", late="nobody"))
    assert "ZG002" not in certain(WAITING.format(end=end, early="nobody", late="optimizer"))


SHARP = """
from sam import SAM

climber = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
def train(n, held):
    for i, (x, y) in enumerate(loader):
        held.append((x, y))
        (F.mse_loss(model(x), y) / n).backward()
        if (i + 1) % n == 0:
            climber.first_step(zero_grad=True)
            {again}.backward()
            climber.second_step(zero_grad=True)
"""


def test_the_other_half_of_a_step_asks_for_the_whole_window() -> None:
    assert "ZG002" in certain(SHARP.format(again="(F.mse_loss(model(x), y) / n)"))
    assert "ZG002" not in certain(SHARP.format(again="F.mse_loss(model(torch.cat(held)), y)"))
    each = "for x, y in held: (F.mse_loss(model(x), y) / n)"
    assert "ZG002" not in certain(SHARP.format(again=each))


def test_lightning_is_told_its_optimizers_in_several_ways() -> None:
    body = """
import lightning as pl


class Net(pl.LightningModule):
    def __init__(self, schedule):
        self.one, self.other, self.schedule = nn.Linear(4, 1), nn.Linear(4, 1), schedule

    def configure_optimizers(self):
        first = torch.optim.SGD(self.one.parameters())
        second = torch.optim.SGD(self.other.parameters())
        if self.schedule:
            return [{{"optimizer": first}}, {{"optimizer": second, "lr_scheduler": self.schedule(second)}}]
        return [{{"optimizer": first}}, {{"optimizer": second}}]

    def training_step(self, batch, i):
        first, second = self.optimizers()
        self.manual_backward(F.mse_loss(self.one(batch), batch) / 4)
        if (i + 1) % 4 == 0:
            self.clip_gradients(first, gradient_clip_val=1.0)
            first.step()
            first.zero_grad()
        {clear}second.zero_grad()
        self.manual_backward(F.mse_loss(self.other(batch), batch) / 4)
        if (i + 1) % 4 == 0:
            second.step()
"""
    assert "ZG002" in certain(body.format(clear=""))
    assert {"ZG002", "ZG302"}.isdisjoint(certain(body.format(clear="if i % 4 == 0: ")))


def test_another_loss_behind_the_step_makes_no_group_longer() -> None:
    body = """
critic = nn.Linear(4, 1)
second = torch.optim.SGD(critic.parameters())


def train(n):
    for i, (x, y) in enumerate(loader):
        (F.mse_loss(critic(model(x)), y) / n).backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
        (F.mse_loss(critic(model(x)), -y) / n).backward()
        if (i + 1) % n == 0:
            second.step()
            second.zero_grad()
"""
    assert "ZG103" not in certain(body)


def test_how_many_parameters_there_are_has_no_graph() -> None:
    body = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"table": nn.Embedding(4, 4)})

    def size(self):
        return self.inner.table.weight.numel()


net, kept = Net(), 0.0
moving = torch.optim.SGD(net.parameters())
for x, y in loader:
    moving.zero_grad()
    F.mse_loss(net(x), y).backward()
    moving.step()
    kept = 0.9 * kept + 0.1 * net.size()
"""
    assert certain(body) == []


def test_a_shape_has_no_graph_whatever_it_is_the_shape_of() -> None:
    body = """
from data import make_loader

seen = 0
for batch in make_loader(model.tokenizer):
    one = batch["tokens"].to(device="cpu")
    optimizer.zero_grad()
    model(one).mean().backward()
    optimizer.step()
    seen += one.shape[0]
"""
    assert certain(body) == []
