"""Who averages over the ranks: passes that a wrapper hears of, and steps that use what it has missed."""

import pytest

from source.execute.reading import certain

MADE = """\
import contextlib
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

bare = nn.Linear(4, 1)
net = DDP(bare)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""

WINDOW = """
def train(loader, n, distributed):
    for i, (x, y) in enumerate(loader):
        ends = (i + 1) % n == 0{tail}
        with {context}:
            (F.mse_loss({network}(x), y) / n).backward()
        {by_hand}
        if ends:
            optimizer.step()
            optimizer.zero_grad()
"""
CHOSEN = "net.no_sync() if {test} else contextlib.nullcontext()"


def codes(context: str, *, tail: str = "", network: str = "net", by_hand: str = "pass") -> list[str]:
    body = WINDOW.format(context=context, tail=tail, network=network, by_hand=by_hand)
    return [code for code in certain(body, made=MADE) if code != "ZG102"]


@pytest.mark.parametrize("test", ["not ends", "(i + 1) % n != 0", "i % n != n - 1", "distributed and not ends"])
def test_all_but_the_last_micro_batch_may_be_quiet(test: str) -> None:
    assert codes(CHOSEN.format(test=test)) == []


@pytest.mark.parametrize("test", ["ends", "i % n != 0", "(i + 1) % n == 0"])
def test_the_last_micro_batch_may_not(test: str) -> None:
    assert codes(CHOSEN.format(test=test)) == ["ZG502"]


def test_nor_may_the_last_one_of_the_data() -> None:
    tail = " or i + 1 == len(loader)"
    assert codes(CHOSEN.format(test="(i + 1) % n != 0"), tail=tail) == ["ZG502"]
    assert codes(CHOSEN.format(test="not ends"), tail=tail) == []


def test_every_micro_batch_is_averaged_without_need() -> None:
    assert codes("contextlib.nullcontext()") == ["ZG501"]


def test_whoever_averages_by_hand_needs_no_wrapper() -> None:
    by_hand = "[dist.all_reduce(p.grad) for p in net.parameters()]"
    assert codes("net.no_sync()") == ["ZG502"]
    assert codes("net.no_sync()", by_hand=by_hand) == []


LOOP = """
def inner(network):
    return network.module if hasattr(network, "module") else network


for x, y in loader:
    optimizer.zero_grad()
    {backward}
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("backward", "found"),
    [
        ("F.mse_loss(net(x), y).backward()", []),
        ("F.mse_loss(bare(x), y).backward()", ["ZG502"]),
        ("F.mse_loss(net.module(x), y).backward()", ["ZG502"]),
        ("F.mse_loss(inner(net)(x), y).backward()", ["ZG502"]),
        ("F.mse_loss(net.module.predict(x), y).backward()", ["ZG502"]),
        ("(F.mse_loss(net(x), y) + net.module.penalty(x)).backward()", []),
        ("F.mse_loss(net(x), y).backward(); net.module.penalty().backward()", []),
    ],
)
def test_a_pass_past_the_wrapper(backward: str, found: list[str]) -> None:
    assert certain(LOOP.format(backward=backward), made=MADE) == found


def test_nobody_knows_whether_there_is_a_wrapper() -> None:
    made = MADE.replace("net = DDP(bare)", "net = DDP(bare) if dist.is_initialized() else bare")
    assert certain(LOOP.format(backward="F.mse_loss(bare(x), y).backward()"), made=made) == []


def test_quiet_up_to_the_last_of_the_group() -> None:
    body = """
for group in loader:
    optimizer.zero_grad()
    with net.no_sync():
        for x, y in group[:-1]:
            (F.mse_loss(net(x), y) / len(group)).backward()
    {last}
    optimizer.step()
"""
    last = "(F.mse_loss(net(group[-1][0]), group[-1][1]) / len(group)).backward()"
    assert certain(body.format(last=last), made=MADE) == []
    assert certain(body.format(last="pass"), made=MADE) == ["ZG502"]


NESTED = """
def train(loader, n, distributed):
    for i, (x, y) in enumerate(loader):
        context = contextlib.nullcontext
        if distributed:
            context = net.no_sync if {test} else context
        with context():
            (F.mse_loss(net(x), y) / n).backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(("test", "found"), [("(i + 1) % n != 0", []), ("i % n != 0", ["ZG502"])])
def test_a_choice_within_a_choice(test: str, found: list[str]) -> None:
    assert [code for code in certain(NESTED.format(test=test), made=MADE) if code != "ZG102"] == found
