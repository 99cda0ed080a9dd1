"""Which graphs a backward goes through, and whether another one comes back to what it was told to keep."""

import pytest

from source.execute.reading import certain

LOOP = "for x, y in loader:\n    optimizer.zero_grad()\n    out = model(x)\n    loss = F.mse_loss(out, y)\n"
RETAINED = LOOP + "    loss.backward(retain_graph=True)\n"
STEP = "    optimizer.step()\n"
NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 8)

    def forward(self, x, h):
        return self.rnn(x, h)


net = Net()
descent = torch.optim.SGD(net.parameters(), lr=0.1)
"""
CARRIED = """\
h = None
for x, y in loader:
    descent.zero_grad()
    {before}
    out, h = net(x, h)
    F.mse_loss(out, y).backward()
    descent.step()
"""


@pytest.mark.parametrize(
    "body",
    [
        RETAINED + STEP,
        LOOP + "    loss.backward(retain_graph=True)\n    model(x).sum().backward()\n" + STEP,
        "def learn(x, y):\n    loss = F.mse_loss(model(x.detach()), y)\n    loss.backward(retain_graph=True)\n"
        "    optimizer.step()\n",
        "class Agent:\n    def learn(self, x):\n        self.loss = model(x).mean()\n"
        "        self.loss.backward(retain_graph=True)\n        optimizer.step()\n",
        LOOP + "    torch.autograd.grad(loss, out, retain_graph=True)\n" + STEP,
        RETAINED + "    seen = loss.item()\n" + STEP,
        NET + CARRIED.format(before="pass"),
    ],
    ids=["alone", "another pass", "a function", "in a field", "a derivative", "a number", "carried on, and freed"],
)
def test_nobody_comes_back(body: str) -> None:
    assert certain(body).count("ZG402") == 1


@pytest.mark.parametrize(
    "body",
    [
        RETAINED + "    out.abs().mean().backward()\n" + STEP,
        "kept = model(loader[0][0])\nfor x, y in loader:\n    kept.sum().backward(retain_graph=True)\n" + STEP,
        "def learn(x, y):\n    loss = F.mse_loss(model(x), y)\n    loss.backward(retain_graph=True)\n    return loss\n",
        RETAINED + "    again(loss)\n" + STEP,
        "class Agent:\n    def first(self, x):\n        self.loss = model(x).mean()\n"
        "        self.loss.backward(retain_graph=True)\n\n    def second(self):\n        self.loss.backward()\n",
        "h = torch.zeros(8, 1)\nfor x, y in loader:\n    h = 0.5 * h + model(x)\n"
        "    h.sum().backward(retain_graph=True)\n" + STEP,
        LOOP + "    torch.autograd.grad(loss, out, retain_graph=True)\n    loss.backward()\n" + STEP,
        "def learn(fake):\n    model(fake).mean().backward(retain_graph=True)\n    (-model(fake)).mean().backward()\n"
        "    optimizer.step()\n",
        NET + CARRIED.format(before="h = h.detach() if h is not None else None"),
        "def each(losses, n):\n    for i in range(n):\n        losses[i].log().backward(retain_graph=True)\n",
    ],
    ids=[
        "a second loss of one pass",
        "made before the loop",
        "handed back",
        "handed on",
        "in a field that another method reads",
        "what goes on",
        "a derivative before the backward",
        "what was handed in may have a graph",
        "let go of",
        "one of several losses that were handed in",
    ],
)
def test_somebody_comes_back_or_may(body: str) -> None:
    assert "ZG402" not in certain(body)
