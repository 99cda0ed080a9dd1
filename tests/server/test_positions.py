"""Columns in bytes become columns in the units that the editor counts."""

import pytest
from lsprotocol.types import Position, Range

from zerograd.core.events import Site
from zerograd.core.findings import Edit
from zerograd.server.positions import Encoding, touches

LINES = ["a\u00e9\U0001f40dz", "plain"]  # 1, 2, 4 and 1 bytes of UTF-8


@pytest.mark.parametrize(("kind", "start", "end"), [(None, 2, 4), ("utf-16", 2, 4), ("utf-8", 3, 7), ("utf-32", 2, 3)])
def test_every_encoding(kind: str | None, start: int, end: int) -> None:
    snake = Site("x.py", 1, 4, 1, 8)
    assert Encoding(kind).range(LINES, snake) == Range(Position(0, start), Position(0, end))


def test_a_place_without_an_end_reaches_to_that_of_its_line() -> None:
    assert Encoding(None).range(LINES, Site("x.py", 2, 3)) == Range(Position(1, 2), Position(1, 5))


def test_an_edit_may_reach_behind_the_last_line() -> None:
    assert Encoding(None).range(LINES, Edit(2, 1, 3, 1, "")) == Range(Position(1, 0), Position(2, 0))


def test_touching() -> None:
    def span(start: int, end: int) -> Range:
        return Range(Position(0, start), Position(0, end))

    assert touches(span(1, 4), span(4, 4))
    assert touches(span(1, 4), span(2, 3))
    assert not touches(span(1, 4), span(5, 9))
