"""What is said is what is heard, and it is short."""

from zerograd.engine.ranks.voting import Share, Vote


def test_a_vote_is_thirty_two_bytes() -> None:
    """An overlapping step votes twice: 64."""
    assert len(Vote(1, 0, 0, (Share(mean=1, weight=7.0),)).numbers()) * 8 == 32


def test_votes_add_up() -> None:
    of_each = [Vote(1, number % 2, 1, (Share(1, 0, 0, 1, 0, 1, 0.5), Share(sum=1))) for number in range(10_000)]
    added = [sum(column) for column in zip(*(vote.numbers() for vote in of_each), strict=True)]
    shares = (Share(10_000, 0, 0, 10_000, 0, 10_000, 5_000.0), Share(sum=10_000))
    assert Vote.of(added) == Vote(10_000, 5_000, 10_000, shares)
