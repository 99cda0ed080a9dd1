"""What a function without events did is put down elsewhere: with the same findings, and without executing it again."""

from collections.abc import Callable
from typing import Any

import pytest

from source.execute.reading import MADE, certain
from zerograd.rules import REGISTRY
from zerograd.source.abstract import CODES, check_abstractly
from zerograd.source.execute import calls
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.values import Value

LOGGER = """
class Logger:
    def __init__(self):
        self.rows, self.head, self.first = [], [], True

    def row(self, name, value):
        if self.first:
            self.head.append(name)
        self.rows.append((name, float(value)))

    def dump(self):
        for name, value in self.rows:
            print(name, value)
        self.first = False

logger = Logger()
for epoch in range(3):
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        logger.row("loss", loss.item())
        logger.row("size", len(x))
        logger.row("rate", 0.1)
    logger.dump()
"""


def _executing(*_: Any, run: Callable[[], Value] | None = None, **__: Any) -> Value:
    return (run or _[-1])()


@pytest.mark.parametrize("code", sorted(CODES))
def test_the_same_without_them(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_them = [check_abstractly(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)]
    monkeypatch.setattr(calls.summaries, "once", _executing)
    assert [check_abstractly(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)] == with_them


def test_what_was_done_is_not_executed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    executed = []
    spend = Execution.spend
    monkeypatch.setattr(Execution, "spend", lambda ex: (executed.append(1), spend(ex)))
    found = check_abstractly(MADE + LOGGER, "program.py")
    with_them = len(executed)
    monkeypatch.setattr(calls.summaries, "once", _executing)
    assert check_abstractly(MADE + LOGGER, "program.py") == found
    assert with_them < len(executed) - with_them


def test_a_counter_is_told_from_call_to_call() -> None:
    body = """
class Meter:
    def __init__(self):
        self.n = 0

    def tick(self):
        self.n += 1
        return self.n % 4 == {place}

meter = Meter()
for x, y in loader:
    (F.mse_loss(model(x), y) / 4).backward()
    if meter.tick():
        optimizer.step()
        optimizer.zero_grad()
"""
    assert certain(body.format(place=0)) == []
    assert certain(body.format(place=1)) == ["ZG103"]


def test_what_a_call_makes_is_another_thing_each_time() -> None:
    body = """
def made(size):
    return nn.Linear(size, 1)

one, other = made(4), made(4)
first, second = torch.optim.SGD(one.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)
for x, y in loader:
    first.zero_grad()
    second.zero_grad()
    F.mse_loss(one(x), y).backward()
    first.step()
    second.step()
"""
    assert certain(body) == ["ZG003"]


def test_what_is_handed_in_is_told_apart() -> None:
    body = """
def chosen(things, index):
    print(index)
    return things[index]

nets = [nn.Linear(4, 1), nn.Linear(4, 1)]
first = torch.optim.SGD(chosen(nets, 0).parameters(), lr=0.1)
second = torch.optim.SGD(chosen(nets, 1).parameters(), lr=0.1)
for x, y in loader:
    first.zero_grad()
    second.zero_grad()
    F.mse_loss(chosen(nets, 0)(x), y).backward()
    first.step()
    second.step()
"""
    assert certain(body) == ["ZG003"]
