"""Updates by hand that change no parameter."""

import pytest

from source.execute.reading import certain, found

BACK = "W = torch.zeros(4, 1, requires_grad=True)\nfor x, y in loader:\n    F.mse_loss(x @ W, y).backward()\n"
NET = "for x, y in loader:\n    model.zero_grad()\n    F.mse_loss(model(x), y).backward()\n"


@pytest.mark.parametrize(
    "body",
    [
        BACK + "    W = W - 0.1 * W.grad\n",
        BACK + "    W -= 0.1 * W.grad\n    W.grad = None\n",
        NET + "    for p in model.parameters():\n        p = p - 0.1 * p.grad\n",
        NET + "    for p in model.parameters():\n        p.data.clamp(-1, 1)\n",
        NET + "    for p in model.parameters():\n        p.grad.mul(0.5)\n",
        "def move(p):\n    p.sub(0.1)\n\n\n" + NET + "    for p in model.parameters():\n        move(p)\n",
    ],
    ids=["a new tensor", "watched", "a loop variable", "dropped", "of a gradient", "in a function"],
)
def test_changes_no_parameter(body: str) -> None:
    assert certain(body).count("ZG304") == 1


@pytest.mark.parametrize(
    "body",
    [
        BACK + "    with torch.no_grad():\n        W -= 0.1 * W.grad\n    W.grad = None\n",
        BACK + "    W.data -= 0.1 * W.grad\n    W.grad = None\n",
        BACK + "    W = (W - 0.1 * W.grad).detach().requires_grad_()\n",
        NET + "    fast = []\n    for p in model.parameters():\n        p = p - 0.1 * p.grad\n        fast.append(p)\n",
        NET + "    for p in model.parameters():\n        p = p.data\n        p.mul_(0.9)\n",
        NET + "    for p in model.parameters():\n        p = p.detach()\n",
        NET + "    seen = [p.data.clamp(-1, 1) for p in model.parameters()]\n",
        BACK + "    with quiet():\n        W -= 0.1 * W.grad\n    W.grad = None\n",
    ],
    ids=["unwatched", "data", "a leaf again", "fast weights", "a view", "a copy", "kept", "in a block of nobody knows"],
)
def test_changes_a_parameter_or_means_none(body: str) -> None:
    assert "ZG304" not in [code for code, _ in found(body)]
