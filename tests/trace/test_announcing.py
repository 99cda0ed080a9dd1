"""Announcements: heard by everyone who listens, and by nobody else."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from zerograd.core.events import Event, Kind
from zerograd.trace.announcing import announced, listen

EVENTS = (Event(Kind.CLEAR), Event(Kind.DEPOSIT), Event(Kind.CONSUME))


def test_every_listener_hears_it_around_the_work() -> None:
    heard: list[object] = []

    @contextmanager
    def listener(optimizers: object, events: object) -> Iterator[None]:
        heard.append((optimizers, events))
        yield
        heard.append("done")

    endings = [listen(listener), listen(listener)]
    with announced(["adam"], EVENTS):
        heard.append("work")
    for end in endings:
        end()
    with announced(["adam"], EVENTS):
        heard.append("alone")
    assert heard == [(["adam"], EVENTS), (["adam"], EVENTS), "work", "done", "done", "alone"]


def test_what_the_work_raises_is_raised() -> None:
    @contextmanager
    def listener(optimizers: object, events: object) -> Iterator[None]:
        yield

    end = listen(listener)
    with pytest.raises(ValueError, match="work"), announced([], EVENTS):
        raise ValueError("work")
    end()
