"""Which network an optimizer holds, and which one a loss goes through: told apart where they surely are."""

import pytest

from source.execute.reading import certain

LOOP = """
{made}
steps = torch.optim.SGD({held}.parameters(), lr=0.1)
for x, y in loader:
    steps.zero_grad()
    F.mse_loss({trained}(x), y).backward()
    steps.step()
"""
TWO = "first, second = nn.Linear(4, 1), nn.Linear(4, 1)"


def loop(made: str, *, held: str, trained: str) -> str:
    return LOOP.format(made=made, held=held, trained=trained)


def test_an_optimizer_of_another_network_starves() -> None:
    assert certain(loop(TWO, held="first", trained="second")) == ["ZG003"]
    assert certain(loop(TWO, held="first", trained="first")) == []


def test_a_copy_is_another_network() -> None:
    body = """
import copy


def train(net):
    steps = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        fast = {copied}
        steps.zero_grad()
        F.mse_loss(fast(x), y).backward()
        steps.step()
"""
    assert certain(body.format(copied="copy.deepcopy(net)")) == ["ZG003"]
    assert certain(body.format(copied="net")) == []


def test_gradients_of_a_copy_may_be_brought_to_the_original() -> None:
    body = """
import copy


def train(net):
    steps = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        fast = copy.deepcopy(net)
        F.mse_loss(fast(x), y).backward()
        for mine, theirs in zip(net.parameters(), fast.parameters()):
            {brought}
        steps.step()
        steps.zero_grad()
"""
    assert certain(body.format(brought="mine.grad = theirs.grad.clone()")) == []
    assert certain(body.format(brought="mine.grad.add_(mine.data - theirs.data)")) == []


@pytest.mark.parametrize(
    "made",
    [
        f"{TWO}\nsecond.weight = first.weight",
        f"{TWO}\nsecond.load_state_dict(first.state_dict(), assign=True)",
        "first = nn.Linear(4, 1)\nsecond = nn.Sequential(first)",
        "from engine import Engine\nfirst = nn.Linear(4, 1)\nsecond = Engine(first)",
        "from engine import Engine\nfirst = nn.Linear(4, 1)\nsecond = Engine(lambda x: first(x))",
        "from engine import Engine\nsecond = Engine()\nfirst = nn.Linear(4, 1)\nsecond.net = first",
        "from engine import Engine\nparts = {}\nsecond = Engine(parts)\nfirst = nn.Linear(4, 1)\nparts[0] = first",
        "from engine import Engine, use\nfirst = nn.Linear(4, 1)\nsecond = Engine()\nuse(first)",
    ],
)
def test_what_may_share_weights_is_not_told_apart(made: str) -> None:
    assert certain(loop(made, held="first", trained="second")) == []


def test_a_given_network_that_was_put_into_another() -> None:
    body = """
def train(encoder):
    whole = nn.Sequential(encoder, nn.Linear(4, 1))
    steps = torch.optim.SGD(whole.parameters(), lr=0.1)
    for x, y in loader:
        steps.zero_grad()
        F.mse_loss(encoder(x), y).backward()
        steps.step()
"""
    assert certain(body) == []


def test_a_network_of_an_object_may_be_handed_to_its_method() -> None:
    body = """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(4, 1)
        self.steps = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, net, x, y):
        self.steps.zero_grad()
        F.mse_loss(net(x), y).backward()
        self.steps.step()
"""
    assert certain(body) == []
