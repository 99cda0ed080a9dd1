"""Does every network that losses go through belong to an optimizer that steps it?"""

import pytest

from zerograd.core.findings import Certainty, Finding
from zerograd.source.check import check_text

SCENE = """
import copy
import torch
from torch import nn
from torch.nn import functional as F

def train(loader, path, device):
    model, head = nn.Linear(4, 4), nn.Linear(4, 3)
    {made}
    for x, y in loader:
        optimizer.zero_grad()
        {loop}
        loss.backward()
        optimizer.step()
"""
MADE = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
LOOP = "loss = F.cross_entropy(head(model(x)), y)"


def told(made: str = MADE, loop: str = LOOP) -> list[Finding]:
    text = SCENE.format(made=made, loop=loop)
    return [one for one in check_text(text) if one.code == "ZG008"]


def test_a_head_that_no_optimizer_holds() -> None:
    (found,) = told()
    assert found.certainty is Certainty.CERTAIN
    assert "the parameters of head" in found.message
    assert found.site.line == 13


def test_an_optimizer_that_is_never_stepped_is_where_it_is_told() -> None:
    (found,) = told(MADE + "\n    other = torch.optim.SGD(head.parameters(), lr=0.1)")
    assert found.site.line == 10
    assert found.message.startswith("other never steps")


@pytest.mark.parametrize(
    "made",
    [
        "optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)",
        "optimizer = torch.optim.SGD([{'params': net.parameters()} for net in (model, head)], lr=0.1)",
        "given = list(model.parameters())\n    given.extend(head.parameters())\n    optimizer = torch.optim.SGD(given)",
        MADE + "\n    optimizer.add_param_group({'params': head.parameters()})",
        MADE + "\n    head.requires_grad_(False)",
        MADE + "\n    for p in head.parameters():\n        p.requires_grad = False",
        MADE + "\n    if path:\n        head.requires_grad_(False)",
        MADE + "\n    head.load_state_dict(torch.load(path))",
        MADE + "\n    head.weight = nn.Parameter(torch.ones(3, 4))",
        MADE + "\n    head.weight.data.fill_(1.0)",
        MADE + "\n    head.eval()",
        MADE + "\n    watch(head)",
        "optimizer = make_optimizer(model, head)",
        "optimizer = torch.optim.SGD(pick(model, head), lr=0.1)",
    ],
)
def test_who_is_held_fixed_written_or_shown_is_not_forgotten(made: str) -> None:
    assert told(made) == []


@pytest.mark.parametrize(
    "loop",
    [
        "with torch.no_grad():\n            x = head(x)\n        loss = F.cross_entropy(model(x), y)",
        "loss = F.cross_entropy(model(x), head(x).detach())",
        LOOP + "\n        print(head.weight.grad)",
        LOOP + "\n        head.weight.data -= 0.1 * x.mean()",
        "loss = F.cross_entropy(head(x), y)",  # nothing that is held learns: a worse fault
        "loss = F.cross_entropy(nn.MaxPool1d(2)(model(x)), y)",
    ],
)
def test_who_is_cut_off_or_read_by_hand_is_not_forgotten(loop: str) -> None:
    assert told(loop=loop) == []


def test_what_was_computed_before_the_loop_is_given() -> None:
    assert told(MADE + "\n    given = head(path)", "loss = F.mse_loss(model(x), given)") == []
