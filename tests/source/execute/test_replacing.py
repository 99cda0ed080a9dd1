"""Networks that take the place of others when an optimizer holds those already."""

import pytest

from zerograd.core.findings import Certainty, Finding
from zerograd.source.check import check_text

SCENE = """
import copy
import torch
from torch import nn
from torch.nn import functional as F

def built(path):
    made = nn.Linear(4, 3)
    return made, torch.optim.SGD(made.parameters(), lr=0.1)

def train(loader, path, more):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
    {before}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    {after}
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        {behind}
"""


def told(after: str = "", before: str = "", behind: str = "") -> list[Finding]:
    text = SCENE.format(before=before, after=after, behind=behind)
    return [one for one in check_text(text) if one.code in ("ZG003", "ZG010")]


REPLACED = [
    "net = nn.Linear(4, 3)",
    "net = copy.deepcopy(net)",
    "net = torch.load(path)",
    "net[1] = nn.Linear(4, 3)",
    "net.head = nn.Linear(4, 3)",
    "if path:\n        net = torch.load(path)",
    "other = net\n    net = nn.Linear(4, 3)",
]


@pytest.mark.parametrize("after", [one for one in REPLACED if "[1]" not in one])
def test_what_takes_the_place_of_what_is_held_is_told_there(after: str) -> None:
    (found,) = told(after)
    assert found.code == "ZG010"
    assert found.certainty is Certainty.CERTAIN
    assert found.related[0].site.line == 14


@pytest.mark.parametrize("before", [one for one in REPLACED if "[1]" not in one])
def test_the_optimizer_is_made_behind_it(before: str) -> None:
    assert told(before=before) == []


@pytest.mark.parametrize(
    "after",
    [
        "net = net.to('cuda')",
        "net = nn.DataParallel(net)",
        "net = torch.compile(net)",
        "net = prepare(net)",
        "net.load_state_dict(torch.load(path))",
        "net = nn.Linear(4, 3)\n    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)",
        "net.head = nn.Linear(4, 3)\n    optimizer.add_param_group({'params': net.head.parameters()})",
        "net, optimizer = built(path)",
        "if path:\n        net, optimizer = built(path)",
        "kept = net\n    net = copy.deepcopy(net)\n    net = kept",
        "for one in (nn.Linear(4, 3), nn.Linear(4, 3)):\n        one.train()",
    ],
)
def test_who_keeps_or_hands_over_the_parameters_is_right(after: str) -> None:
    assert told(after) == []


def test_what_is_replaced_behind_the_last_step_is_not_trained() -> None:
    text = SCENE.format(before="", after="", behind="pass") + "    net = copy.deepcopy(net)\n    return net\n"
    assert [one for one in check_text(text) if one.code == "ZG010"] == []


def test_the_next_round_trains_what_the_last_one_has_replaced() -> None:
    (found,) = told(behind="if more(x):\n            net = copy.deepcopy(net)")
    assert (found.code, found.certainty) == ("ZG010", Certainty.CERTAIN)


def test_where_a_call_may_have_made_it_good_it_is_possible() -> None:
    found = told("net.head = nn.Linear(4, 3)\n    bring_together(net, optimizer)")
    assert {one.certainty for one in found} <= {Certainty.POSSIBLE}
