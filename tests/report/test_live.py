"""The live line and the live panel: so many rows and no more, never wider than the terminal."""

import re

import pytest

from zerograd.report.live import Past, line, panel, sparkline


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def shown(width: int = 200, **told: object) -> str:
    usual = {"steps": 1200, "backwards": 4800, "processes": 1, "findings": (), "seconds": 3725.1}
    return line(**{**usual, **told}, width=width)  # type: ignore[arg-type]


def test_what_is_not_audited_is_not_accounted_for() -> None:
    told = shown(missed=200)
    assert plain(told).endswith("4,800 backwards  1,000 of 1,200 steps audited, nothing found")
    assert "\x1b[32m" not in told


def test_what_it_says() -> None:
    assert plain(shown()) == "| zerograd  1:02:05  1,200 steps, 4,800 backwards  every gradient accounted for"
    told = plain(shown(processes=2, findings=("a.py:1:1: ZG002 x", "b.py:2:1: ZG001 y"), seconds=61))
    assert told == "| zerograd  1:01  1,200 steps, 4,800 backwards in 2 processes  2 findings: b.py:2:1: ZG001 y"


@pytest.mark.parametrize("width", [1, 20, 40, 80])
def test_it_fits(width: int) -> None:
    text = shown(width, findings=("long/path/" * 20 + "train.py:1:1: ZG001 \u6f22\u5b57",))
    assert "\n" not in text
    assert len(plain(text)) < width


def past(looks: int) -> Past:
    known = Past()
    for look in range(looks):
        known.add(look * 0.25, steps=look * look, loss=5.0 - look / 20, norm=1.0)
    return known


def test_the_panel() -> None:
    text = plain(panel(past(9), steps=1200, backwards=4800, processes=2, findings=(), seconds=61, width=80))
    lines = text.split("\n")
    assert len(lines) == 6
    assert "zerograd  1:01  1,200 steps, 4,800 backwards, 2 processes" in lines[0]
    assert [line.split()[1:3] for line in lines[1:4]] == [["steps/s", "60.0"], ["loss", "4.6"], ["norm", "1"]]
    assert "every gradient accounted for" in lines[4]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("looks", [0, 60])
def test_the_panel_fits(width: int, looks: int) -> None:
    found = ("long/path/" * 20 + "train.py:1:1: ZG001 \u6f22\u5b57\nnext",) if looks else ()
    text = panel(past(looks), steps=10**9, backwards=10**9, processes=64, findings=found, seconds=1e6, width=width)
    lines = plain(text).split("\n")
    assert len(lines) == 6
    assert max(map(len, lines)) < width


def test_a_sparkline() -> None:
    from collections import deque

    assert sparkline(deque([0.0, 1.0, 2.0])) == "\u2581\u2585\u2588"
    assert sparkline(deque([3.0, 3.0])) == "\u2581\u2581"
    assert sparkline(deque()) == ""
