"""SIGTERM is what it was once nobody waits for it, in whichever order they leave."""

import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from zerograd.engine.checkpoint.stopping import Request

THREE = list(itertools.permutations(range(3)))


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """What reaches a handler of the user's."""
    numbers: list[int] = []
    usual = signal.signal(signal.SIGTERM, lambda number, frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, usual)


def _nothing() -> None:
    pass


@pytest.mark.parametrize("order", THREE)
def test_withdrawn_in_any_order(heard: list[int], order: tuple[int, ...]) -> None:
    mine = signal.getsignal(signal.SIGTERM)
    requests = [Request(_nothing) for _ in range(3)]
    for place in order:
        requests[place].withdraw()
    assert signal.getsignal(signal.SIGTERM) is mine


def test_the_one_that_is_left_is_asked(heard: list[int]) -> None:
    first, second, third = (Request(_nothing) for _ in range(3))
    second.withdraw()
    third.withdraw()
    signal.raise_signal(signal.SIGTERM)
    assert (first.made, second.made, third.made, heard) == (True, False, False, [])
    first.withdraw()


def test_a_handler_that_somebody_kept_hands_the_signal_on(heard: list[int]) -> None:
    one, other = Request(_nothing), Request(_nothing)
    kept = signal.getsignal(signal.SIGTERM)
    one.withdraw()
    other.withdraw()
    signal.signal(signal.SIGTERM, kept)
    signal.raise_signal(signal.SIGTERM)
    assert (heard, one.made, other.made) == ([signal.SIGTERM], False, False)


@pytest.mark.parametrize("kept", [False, True])
def test_without_a_handler_before_the_process_ends(kept: bool) -> None:
    program = f"""
import signal
from zerograd.engine.checkpoint.stopping import Request
one, other = Request(print), Request(print)
handler = signal.getsignal(signal.SIGTERM)
one.withdraw()
other.withdraw()
if {kept}:
    signal.signal(signal.SIGTERM, handler)
signal.raise_signal(signal.SIGTERM)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGTERM
