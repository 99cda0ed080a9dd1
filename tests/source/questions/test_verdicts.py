"""What may be certain: the same fault is only possible, or none, where something cannot be read."""

import pytest

from zerograd.source.check import check_text

SCENERY = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from elsewhere import Model, build, help

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
TRAIN = """\
for x, y in loader:
    opt.zero_grad()
    {}
    loss.backward({})
    opt.step()
"""
CASES = {
    "ZG402 a module of torch": (TRAIN.format("loss = net(x).mean()", "retain_graph=True"), "certain"),
    "ZG402 a module from elsewhere": (
        "other = Model()\n" + TRAIN.format("loss = other(x).mean()", "retain_graph=True"),
        "certain",
    ),
    "ZG402 a recurrent module from elsewhere": (
        "other = Model()\n" + TRAIN.format("other.detach_hidden(); loss = other(x).mean()", "retain_graph=True"),
        "certain",
    ),
    "ZG402 a state that goes round": (
        "h = 0\n" + TRAIN.format("h = net(x) + h; loss = h.mean()", "retain_graph=True"),
        None,
    ),
    "ZG402 a graph from before the loop": (
        "out = net(z)\n" + TRAIN.format("loss = out.mean() + net(x).mean()", "retain_graph=True"),
        None,
    ),
    "ZG402 a flag": (TRAIN.format("loss = net(x).mean()", "retain_graph=keep"), None),
    "ZG402 for a second derivative": (
        TRAIN.format("loss = net(x).mean()", "retain_graph=True, create_graph=True") + "net.weight.grad.norm()\n",
        None,
    ),
    "ZG402 for a second derivative that nobody takes": (
        TRAIN.format("loss = net(x).mean()", "create_graph=True"),
        "certain",
    ),
    "ZG303 nothing in between": (
        "W = torch.ones(3, requires_grad=True)\nW.grad.zero_()\nW.sum().backward()",
        "certain",
    ),
    "ZG303 a call that cannot be read": (
        "W = torch.ones(3, requires_grad=True)\nhelp(x)\nW.grad.zero_()\nW.sum().backward()",
        "certain",
    ),
    "ZG303 a call that trains": (
        "W = torch.ones(3, requires_grad=True)\nhelp.train(W)\nW.grad.zero_()\nW.sum().backward()",
        None,
    ),
    "ZG303 in a branch": (
        "W = torch.ones(3, requires_grad=True)\nif again:\n    W.grad.zero_()\nW.sum().backward()",
        None,
    ),
    "ZG303 of another library": ("W = other.ones(3, requires_grad=True)\nW.grad.zero_()\nW.sum().backward()", None),
    "ZG010 built again": ("net = nn.Linear(4, 2)\n" + TRAIN.format("loss = net(x).mean()", ""), "certain"),
    "ZG010 built from the old one": ("net = build(net)\n" + TRAIN.format("loss = net(x).mean()", ""), None),
    "ZG010 an optimizer is made from it": (
        "net = nn.Linear(4, 2)\nopt = build(net)\n" + TRAIN.format("loss = net(x).mean()", ""),
        None,
    ),
    "ZG304 in a function that only updates": (
        "def update():\n    for p in net.parameters():\n        p -= p.grad\n        opt.step()\n\n\nloss.backward()",
        "possible",
    ),
    "ZG401 zeros": ("loss.backward()\nopt.step()\nopt.zero_grad(set_to_none=False)", "certain"),
    "ZG401 something reads them": (
        "loss.backward()\nopt.step()\nopt.zero_grad(set_to_none=False)\nprint(net.weight.grad)",
        None,
    ),
    "ZG401 under capture": ("g = torch.cuda.CUDAGraph()\nloss.backward()\nopt.zero_grad(set_to_none=False)", None),
    "ZG403 a model that is not the optimizer's": (
        "opt.zero_grad()\nother.zero_grad()\nloss.backward()\nopt.step()",
        None,
    ),
    "ZG403 one of a list, then another": (
        "opts[i].zero_grad()\nopts[j].zero_grad()\nloss.backward()\nopt.step()",
        None,
    ),
}


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_certainty(name: str, case: tuple[str, str | None]) -> None:
    text, certainty = case
    code = name.split()[0]
    found = [finding.certainty.value for finding in check_text(SCENERY + text) if finding.code == code]
    assert found == ([certainty] if certainty else [])
