"""The live line: one row, never wider than the terminal."""

import re

import pytest

from zerograd.report.live import line


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def shown(width: int = 200, **told: object) -> str:
    usual = {"steps": 1200, "backwards": 4800, "processes": 1, "findings": (), "seconds": 3725.1}
    return line(**{**usual, **told}, width=width)  # type: ignore[arg-type]


def test_what_it_says() -> None:
    assert plain(shown()) == "| zerograd  1:02:05  1,200 steps, 4,800 backwards  every gradient accounted for"
    told = plain(shown(processes=2, findings=("a.py:1:1: ZG002 x", "b.py:2:1: ZG001 y"), seconds=61))
    assert told == "| zerograd  1:01  1,200 steps, 4,800 backwards in 2 processes  2 findings: b.py:2:1: ZG001 y"


@pytest.mark.parametrize("width", [1, 20, 40, 80])
def test_it_fits(width: int) -> None:
    text = shown(width, findings=("long/path/" * 20 + "train.py:1:1: ZG001 \u6f22\u5b57",))
    assert "\n" not in text
    assert len(plain(text)) < width
