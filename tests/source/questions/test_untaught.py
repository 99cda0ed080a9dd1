"""What looks as if it learned, and does not."""

import pytest

from source.execute.reading import certain

# A term of a loss that was cut from its graph is found, and one that is meant is not.


def test_a_term_without_its_graph_teaches_nothing() -> None:
    body = """
for x, y in loader:
    out = model(x)
    penalty = out.pow(2).mean().item()
    loss = F.mse_loss(out, y) + 0.1 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    assert certain(body) == ["ZG003"]
    assert certain(body.replace(".item()", "")) == []


def test_a_value_of_one_and_the_gradient_of_the_other_is_meant() -> None:
    body = """
for x, y in loader:
    soft = F.mse_loss(model(x), y)
    hard = F.l1_loss(model(x), y)
    optimizer.zero_grad()
    (soft + (hard - soft).detach()).backward()
    optimizer.step()
"""
    assert certain(body) == []


COPIED_OF_TERM = """
for x, y in loader:
    out = model(x)
    optimizer.zero_grad()
    F.mse_loss(out, y).backward(retain_graph=True)
    bonus = torch.tensor(out.mean(), requires_grad=True)
    bonus.backward()
    {used}
    optimizer.step()
"""


def test_a_loss_that_is_a_copy_teaches_nothing() -> None:
    assert certain(COPIED_OF_TERM.format(used="pass")) == ["ZG003"]


def test_a_copy_whose_gradient_is_handed_on_teaches() -> None:
    assert certain(COPIED_OF_TERM.format(used="out.mean().backward(bonus.grad)")) == []


def test_a_penalty_of_gradients_needs_their_graph() -> None:
    body = """
for x, y in loader:
    x.requires_grad = True
    model(x).mean().backward({told})
    penalty = x.grad.square().sum()
    optimizer.zero_grad()
    (F.mse_loss(model(x), y) + penalty).backward()
    optimizer.step()
"""
    assert certain(body.format(told="")) == ["ZG003"]
    assert certain(body.format(told="create_graph=True")) == []


def test_a_term_that_a_hook_has_cut() -> None:
    body = """
seen = {{}}


def keep(module, given, output):
    seen["out"] = output{cut}


model.register_forward_hook(keep)
for x, y in loader:
    out = model(x)
    loss = F.mse_loss(out, y) + 0.1 * seen["out"].var()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    assert certain(body.format(cut=".detach()")) == ["ZG003"]
    assert certain(body.format(cut="")) == []


# A loss function that copies what it is given into a leaf teaches nobody, unless somebody knows the leaf.


BODY_OF_COPY = """
class ColourLoss:
    def measure(self, made, wanted):
        gaps = []
        for one, other in zip(made, wanted):
            gaps.append(abs(one.detach().numpy() - other.numpy()).mean())
        leaf = torch.tensor(gaps, requires_grad=True)
        {keep}
        return {told}
"""


def test_a_loss_of_copies_alone() -> None:
    assert certain(BODY_OF_COPY.format(keep="pass", told="leaf.mean()")) == ["ZG003"]
    called = "\n\ndef train(colours, made):\n    for x, y in loader:\n        show(ColourLoss().measure(made, y))\n"
    assert certain(BODY_OF_COPY.format(keep="pass", told="leaf.mean()") + called) == ["ZG003"]


@pytest.mark.parametrize("told", ["leaf", "(leaf, leaf.mean())", "leaf.mean() + made.mean()", "leaf.mean().item()"])
def test_a_leaf_or_more_than_copies_is_handed_back(told: str) -> None:
    assert certain(BODY_OF_COPY.format(keep="pass", told=told)) == []


@pytest.mark.parametrize("keep", ["self.leaf = leaf", "show(leaf)", "slope = torch.autograd.grad(leaf.mean(), leaf)"])
def test_somebody_else_knows_the_leaf(keep: str) -> None:
    assert certain(BODY_OF_COPY.format(keep=keep, told="leaf.mean()")) == []


# Lightning learns from what training_step() returns.


BODY_OF_STEP = """
import lightning as L


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        {init}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

    def training_step(self, batch, number):
        x, y = batch
        loss = F.mse_loss(self.layer(x), y)
        self.log("loss", loss)
        {end}
"""


def test_a_step_that_returns_no_loss() -> None:
    assert certain(BODY_OF_STEP.format(init="pass", end="pass")) == ["ZG003"]


def test_the_loss_may_be_returned_kept_or_handed_on() -> None:
    assert certain(BODY_OF_STEP.format(init="pass", end="return loss")) == []
    assert certain(BODY_OF_STEP.format(init="pass", end='return {"loss": loss}')) == []
    assert certain(BODY_OF_STEP.format(init="pass", end="self.last = loss")) == []
    assert certain(BODY_OF_STEP.format(init="pass", end="learn(loss)")) == []
    assert (
        certain(BODY_OF_STEP.format(init="self.automatic_optimization = False", end="self.manual_backward(loss)")) == []
    )
    assert certain(BODY_OF_STEP.format(init="self.automatic_optimization = False", end="pass")) == []


# A tensor that takes no gradient is not moved by the optimizer that it was given to.


BODY_OF_GIVEN = """
weight = torch.ones(1)
{before}
steps = torch.optim.SGD([{{"params": model.parameters()}}, {{"params": [weight]}}], lr=0.1)
{behind}
for x, y in loader:
    steps.zero_grad()
    F.mse_loss(model(x) * weight, y).backward()
    steps.step()
"""


def test_a_tensor_without_a_gradient() -> None:
    assert certain(BODY_OF_GIVEN.format(before="", behind="")) == ["ZG003"]


def test_it_may_be_told_to_take_one() -> None:
    assert certain(BODY_OF_GIVEN.format(before="weight.requires_grad_()", behind="")) == []
    assert certain(BODY_OF_GIVEN.format(before="", behind="weight.requires_grad = True")) == []
    assert certain(BODY_OF_GIVEN.format(before="from tools import prepare\nprepare([weight])", behind="")) == []
