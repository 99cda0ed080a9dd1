"""A loss function that copies what it is given into a leaf teaches nobody, unless somebody knows the leaf."""

import pytest

from source.execute.reading import certain

BODY = """
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
    assert certain(BODY.format(keep="pass", told="leaf.mean()")) == ["ZG003"]
    called = "\n\ndef train(colours, made):\n    for x, y in loader:\n        show(ColourLoss().measure(made, y))\n"
    assert certain(BODY.format(keep="pass", told="leaf.mean()") + called) == ["ZG003"]


@pytest.mark.parametrize("told", ["leaf", "(leaf, leaf.mean())", "leaf.mean() + made.mean()", "leaf.mean().item()"])
def test_a_leaf_or_more_than_copies_is_handed_back(told: str) -> None:
    assert certain(BODY.format(keep="pass", told=told)) == []


@pytest.mark.parametrize("keep", ["self.leaf = leaf", "show(leaf)", "slope = torch.autograd.grad(leaf.mean(), leaf)"])
def test_somebody_else_knows_the_leaf(keep: str) -> None:
    assert certain(BODY.format(keep=keep, told="leaf.mean()")) == []
