"""A single change is judged at once; of a burst, the first and the last. The clock is ours: nothing sleeps."""

from collections.abc import Callable

import pytest

from zerograd.server import pace
from zerograd.server.pace import Pace


class Loop:
    """Stands for the event loop: timers that go off when they are told to."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, delay: float, call: Callable[[str], None], uri: str) -> "Timer":
        self.timers.append(Timer(call, uri))
        return self.timers[-1]

    def rest(self) -> None:
        for timer in self.timers[:]:
            self.timers.remove(timer)
            if not timer.cancelled:
                timer.call(timer.uri)


class Timer:
    def __init__(self, call: Callable[[str], None], uri: str) -> None:
        self.call, self.uri, self.cancelled = call, uri, False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    loop = Loop()
    monkeypatch.setattr(pace.asyncio, "get_running_loop", lambda: loop)
    return loop


def test_a_burst(loop: Loop) -> None:
    judged: list[str] = []
    hands = Pace(judged.append)
    for _ in range(5):
        hands.touch("a")
    assert judged == ["a"]
    loop.rest()
    assert judged == ["a", "a"]
    loop.rest()
    assert judged == ["a", "a"]
    hands.touch("a")
    assert judged == ["a", "a", "a"]


def test_texts_do_not_wait_for_each_other(loop: Loop) -> None:
    judged: list[str] = []
    hands = Pace(judged.append)
    hands.touch("a")
    hands.touch("b")
    assert judged == ["a", "b"]


def test_what_is_closed_is_judged_no_more(loop: Loop) -> None:
    judged: list[str] = []
    hands = Pace(judged.append)
    hands.touch("a")
    hands.touch("a")
    hands.forget("a")
    loop.rest()
    assert judged == ["a"]
