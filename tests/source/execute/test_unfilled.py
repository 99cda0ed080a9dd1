"""Gradients that are used where there is none."""

import pytest

from source.execute.reading import certain

LEAF = "W = torch.zeros(4, 1, requires_grad=True)\n"


@pytest.mark.parametrize(
    "body",
    [
        LEAF + "W.grad.zero_()\nW.sum().backward()\n",
        LEAF + "print(0.1 * W.grad)\nW.sum().backward()\n",
        LEAF + "print(W.grad[0])\nW.sum().backward()\n",
        LEAF + "W.sum().backward()\nW.grad = None\nW.grad.norm()\n",
        "model(loader[0][0]).sum().backward()\nmodel.zero_grad()\nfor p in model.parameters():\n    p.grad.norm()\n",
        LEAF + "z = W * 2\nz.sum().backward()\nprint(z.grad.norm())\n",
    ],
    ids=["a method", "an operand", "an item", "cleared by None", "of a network", "of what is computed"],
)
def test_used_where_it_is_none(body: str) -> None:
    assert certain(body) == ["ZG303"]


@pytest.mark.parametrize(
    "body",
    [
        LEAF + "W.sum().backward()\nW.grad.zero_()\nW.grad.norm()\n",
        LEAF + "if W.grad is not None:\n    W.grad.zero_()\nW.sum().backward()\n",
        LEAF + "if again:\n    W.grad.zero_()\nW.sum().backward()\n",
        LEAF + "for i in range(9):\n    if i > 0:\n        W.grad.zero_()\n    W.sum().backward()\n",
        LEAF + "fill(W)\nW.grad.zero_()\nW.sum().backward()\n",
        LEAF + "z = W * 2\nz.retain_grad()\nz.sum().backward()\nprint(z.grad.norm())\n",
        LEAF + "print(W.grad)\nW.sum().backward()\n",
        "model(loader[0][0]).sum().backward()\noptimizer.zero_grad(set_to_none=False)\nmodel.weight.grad.norm()\n",
        "def norm(net):\n    return sum(p.grad.norm() for p in net.parameters())\n",
    ],
    ids=[
        "filled",
        "asked",
        "under a test that nobody can answer",
        "from the second iteration on",
        "handed to who may fill it",
        "told to keep it",
        "shown",
        "zeros",
        "of what was given",
    ],
)
def test_there_or_may_be(body: str) -> None:
    assert "ZG303" not in certain(body)
