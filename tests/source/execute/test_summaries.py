"""What a function without events did is put down elsewhere: with the same findings, and without executing it again."""

from collections.abc import Callable
from typing import Any

import pytest

from source.execute.reading import MADE, certain, found
from zerograd.rules import REGISTRY
from zerograd.source.check import check_text
from zerograd.source.execute import calls
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.values import Value
from zerograd.source.text.suppression import JUDGED

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


@pytest.mark.parametrize("code", sorted(JUDGED))
def test_the_same_without_them(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_them = [check_text(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)]
    monkeypatch.setattr(calls.summaries, "once", _executing)
    assert [check_text(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)] == with_them


def test_what_was_done_is_not_executed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    executed = []
    spend = Execution.spend
    monkeypatch.setattr(Execution, "spend", lambda ex: (executed.append(1), spend(ex)))
    found = check_text(MADE + LOGGER, "program.py")
    with_them = len(executed)
    monkeypatch.setattr(calls.summaries, "once", _executing)
    assert check_text(MADE + LOGGER, "program.py") == found
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


def test_who_is_handed_what_to_call_may_do_anything() -> None:
    body = """
def act(what):
    return what()

head = nn.Linear(1, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for x, y in loader:
    for o in (optimizer, other):
        act(lambda: o.zero_grad())
    F.mse_loss(head(model(x)), y).backward()
    for o in (optimizer, other):
        act(o.step)
"""
    assert certain(body) == []
    assert set(certain(body.replace("act(lambda: o.zero_grad())", "pass"))) == {"ZG001"}


def test_what_one_instance_does_another_one_does_too(monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
class Meter:
    def __init__(self):
        self.seen, self.last = [], None
        self.path = [str(one) for one in range(4)]

    def update(self, value):
        self.seen.append(value)
        self.last = value
        print(self.path)
        return self

first, second, third = Meter(), Meter(), Meter()
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    for meter in (first.update(1.0), second.update(2.0), third.update(3.0)):
        print(meter.last)
"""
    executed = []
    spend = Execution.spend
    monkeypatch.setattr(Execution, "spend", lambda ex: (executed.append(1), spend(ex)))
    found = check_text(MADE + body, "program.py")
    with_them = len(executed)
    monkeypatch.setattr(calls.summaries, "once", _executing)
    assert check_text(MADE + body, "program.py") == found
    assert [one.code for one in found] == ["ZG001"]
    assert with_them < len(executed) - with_them


def test_what_two_instances_share_they_share_in_the_next_call() -> None:
    body = """
class Switch:
    def __init__(self, state):
        self.state = state

    def turn(self, yes):
        self.state["on"] = yes

    def is_on(self):
        return self.state["on"]

one, other = {"on": False}, {"on": False}
first, second, third = Switch(one), Switch(one), Switch(other)
first.turn(True)
third.turn(False)
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    if LAST.is_on():
        optimizer.zero_grad()
"""
    assert certain(body.replace("LAST", "second")) == []
    assert certain(body.replace("LAST", "third")) == ["ZG001"]


def test_each_given_thing_has_settings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
def is_on(options):
    return options.accumulate

def train(loader, first, second):
    for x, y in loader:
        F.mse_loss(model(x), y).backward()
        if is_on(first):
            optimizer.step()
        if is_on(SECOND):
            optimizer.zero_grad()
"""
    one, two = (found(body.replace("SECOND", name)) for name in ("first", "second"))
    monkeypatch.setattr(calls.summaries, "once", _executing)
    assert [found(body.replace("SECOND", name)) for name in ("first", "second")] == [one, two]
    assert one == []
    assert two != []
