"""What is said is what is heard, and it is short."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.engine.ranks.voting import Share, Vote


def test_a_vote_is_forty_eight_bytes() -> None:
    """An overlapping step votes twice: 96."""
    assert len(Vote(ended=1, shares=(Share(mean=1, weight=7.0),)).numbers()) * 8 == 48


def test_votes_add_up() -> None:
    of_each = [Vote(1, i % 2, 1, 1, i % 2, (Share(1, 0, 0, 1, 0, 1, 0.5), Share(sum=1))) for i in range(10_000)]
    added = [sum(column) for column in zip(*(vote.numbers() for vote in of_each), strict=True)]
    shares = (Share(10_000, 0, 0, 10_000, 0, 10_000, 5_000.0), Share(sum=10_000))
    assert Vote.of(added) == Vote(10_000, 5_000, 10_000, 10_000, 5_000, shares)


@given(st.lists(st.integers(-58, 58), min_size=1), st.integers(1, 1000))
def test_the_largest_unit_is_heard_in_a_sum(exponents: list[int], times: int) -> None:
    """However many ranks have it, and whatever the others have."""
    of_each = [Vote(shares=(Share(unit=2.0**exponent),)).numbers() for exponent in exponents] * times
    added = [sum(column) for column in zip(*of_each, Vote(shares=(Share(),)).numbers(), strict=True)]
    assert Vote.of(added).shares[0].unit == 2.0 ** max(exponents)
