"""Whether a backward leads to the step that runs, by the bytecode: what may come between is an exception, or a test."""

import sys
from collections.abc import Callable

import pytest
import torch

from zerograd.core.events import Site
from zerograd.run.bytecode import always_steps, in_one_body, turned_by_its_loss
from zerograd.run.sites import site_at

ALWAYS = """
for i in range(3):
    loss.backward()
    if i == 9: raise ValueError
    optimizer.step()
""", """
for i in range(3):
    try:
        loss.backward(); optimizer.step()
    except ValueError:
        continue
""", """
def train():
    with open('/dev/null'):
        loss.backward()
        log = [one for one in (1, 2) if one]
    apply()
def apply():
    for group in range(2):
        pass
    optimizer.step()
train()
""", """
while True:
    loss.backward()
    if True:
        optimizer.step()
    else:
        optimizer.step(None)
    break
"""  # fmt: skip
NOT_ALWAYS = """
for i in range(3):
    loss.backward()
    if i == 9: continue
    optimizer.step()
""", """
for i in range(3):
    for _ in range(2):
        loss.backward()
    optimizer.step()
""", """
def train():
    loss.backward()
    apply(1)
def apply(n):
    if n > 1:
        return
    optimizer.step()
train()
""", """
loss.backward()
for one in [1]:
    optimizer.step()
""", """
for i in range(3):
    optimizer.step() if i else loss.backward()
""", """
for i in range(3):
    loss.backward(); waiting = i
    if waiting == 2: optimizer.step(); waiting = 0
"""  # fmt: skip

BY_ITS_LOSS = """
for i in range(3):
    loss.backward()
    if loss > 50 and i:
        continue
    optimizer.step()
""", """
def train():
    for i in range(3):
        mine = loss
        mine.backward()
        value = float(mine)
        if value > 50:
            return
        optimizer.step()
train()
""", """
for i in range(3):
    loss.backward()
    size = loss.grad
    if size is None:
        optimizer.step()
""", """
for i in range(3): loss.backward(); value = float(loss); done = value < 50 and optimizer.step()
"""  # fmt: skip
NOT_BY_ITS_LOSS = """
for i in range(3):
    loss.backward()
    if loss > 50:
        continue
    if i % 2:
        optimizer.step()
""", """
for i in range(3):
    loss.backward()
    if loss > 50:
        print("high")
    if i == 2:
        optimizer.step()
""", """
for i in range(3):
    loss.backward()
    if loss > 50:
        raise ValueError
    optimizer.step()
""", """
for i in range(3):
    loss.backward(); value = float(loss); k = i
    if k == 2: optimizer.step(); value = 0
"""  # fmt: skip


class Loop:
    """Stands for the loss and the optimizer of a program: knows where the last backward was, and asks at each step."""

    def __init__(self, question: Callable[[Site], bool]) -> None:
        self.question = question
        self.place = Site("", 0)
        self.answers: set[bool] = set()

    def backward(self) -> None:
        frame = sys._getframe(2)
        self.place = site_at(frame.f_code, frame.f_lasti)

    def step(self, _: object = None) -> None:
        self.answers.add(self.question(self.place))


class Loss(torch.Tensor):
    loop: Loop

    def backward(self) -> None:  # type: ignore[override]
        self.loop.backward()


def answers(text: str, monkeypatch: pytest.MonkeyPatch, question: Callable[[Site], bool] = always_steps) -> set[bool]:
    # This test stands between the program and the question; torch would not.
    monkeypatch.setattr("zerograd.run.bytecode.theirs", lambda name: name == "loop.py")
    monkeypatch.setattr("zerograd.run.bytecode.is_machinery", lambda name: True)
    loss, optimizer = Loss([1.0]), Loop(question)
    loss.loop = optimizer
    exec(compile(text, "loop.py", "exec"), {"loss": loss, "optimizer": optimizer})
    return optimizer.answers


@pytest.mark.parametrize("text", ALWAYS)
def test_always(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers(text, monkeypatch) == {True}


@pytest.mark.parametrize("text", NOT_ALWAYS)
def test_not_always(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers(text, monkeypatch) == {False}


@pytest.mark.parametrize("text", BY_ITS_LOSS)
def test_given_up_by_its_loss(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers(text, monkeypatch, turned_by_its_loss) == {True}


@pytest.mark.parametrize("text", [*ALWAYS, *NOT_ALWAYS, *NOT_BY_ITS_LOSS])
def test_given_up_by_nothing_or_by_something_else(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers(text, monkeypatch, turned_by_its_loss) == {False}


def test_a_package_in_between_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zerograd.run.bytecode.theirs", lambda name: name == "loop.py")
    monkeypatch.setattr("zerograd.run.bytecode.is_machinery", lambda name: False)
    assert not always_steps(Site("loop.py", 1))


def test_nothing_runs() -> None:
    assert not in_one_body(None, Site("loop.py", 1))
