"""A tensor that takes no gradient is not moved by the optimizer that it was given to."""

from source.execute.reading import certain

BODY = """
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
    assert certain(BODY.format(before="", behind="")) == ["ZG003"]


def test_it_may_be_told_to_take_one() -> None:
    assert certain(BODY.format(before="weight.requires_grad_()", behind="")) == []
    assert certain(BODY.format(before="", behind="weight.requires_grad = True")) == []
    assert certain(BODY.format(before="from tools import prepare\nprepare([weight])", behind="")) == []
