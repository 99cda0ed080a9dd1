"""A size that fits is kept, a larger one is tried again, and a limit that stays is not run into all the time."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.engine.fitted import Fitted


def run(fitted: Fitted, limit: int, rows: int) -> tuple[int, int]:
    """One batch: the size at which it fitted, and how many tries did not."""
    size, failures = fitted.next_size(rows), 0
    while size > limit:
        fitted.failed(size)
        size, failures = -(-size // 2), failures + 1
    fitted.succeeded(size, rows)
    return size, failures


@given(limit=st.integers(1, 64), rows=st.integers(1, 256))
def test_a_limit_that_stays_costs_ever_less(limit: int, rows: int) -> None:
    fitted = Fitted()
    failures = [run(fitted, limit, rows)[1] for _ in range(500)]
    assert sum(failures[1:]) <= 9


@given(limit=st.integers(1, 64), rows=st.integers(1, 256))
def test_a_limit_that_goes_away_is_forgotten(limit: int, rows: int) -> None:
    fitted = Fitted()
    run(fitted, limit, rows)
    for _ in range(200):
        size, _ = run(fitted, rows, rows)
    assert size == rows
    assert run(fitted, rows, rows) == (rows, 0)
