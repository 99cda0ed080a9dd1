"""What ranks say to each other: a few numbers, added up, that every rank gets to the last bit alike.

[Note: the vote] A rank votes when its block ends, well or badly, and before a backward that may synchronise. Every vote
has the same shape, so that any two can meet: one rank's end is what tells another, which is about to synchronise, that
it must not. So a rank that fails alone never leaves the others waiting in a reduction it will not join.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist

_DIGIT = 1 << 17  # three counts share a number: 2**51 is exact in a float64, for up to 131,071 ranks
_TEXT = 512  # bytes of a cause; more is cut off


class Share(NamedTuple):
    """What was said of one block. Each field counts ranks, but for the weight."""

    bare: int = 0  # deposited without weights
    mean: int = 0  # deposited weighted micro-batches
    sum: int = 0  # deposited micro-batches to be added
    dirty: int = 0  # hold deposits that no reduction has reached
    stopping: int = 0  # were asked to stop
    empty: int = 0  # had micro-batches that weighed nothing
    weight: float = 0.0


class Vote(NamedTuple):
    """Of one rank, or of all of them added up."""

    ended: int = 0  # its block has ended
    failed: int = 0  # and shall not be committed
    more: int = 0  # it has another micro-batch
    shares: tuple[Share, ...] = ()  # one for each block of a join

    def numbers(self) -> list[float]:
        numbers = [_packed(self.ended, self.failed, self.more)]
        for share in self.shares:
            numbers += [_packed(*share[:3]), _packed(*share[3:6]), share.weight]
        return numbers

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Vote":
        shares = [
            Share(*_unpacked(numbers[at]), *_unpacked(numbers[at + 1]), numbers[at + 2])
            for at in range(1, len(numbers), 3)
        ]
        return cls(*_unpacked(numbers[0]), tuple(shares))


class Voters:
    """The ranks of a step, with a channel of their own: what waits in a vote is never taken for a gradient.

    On the CPU, so that no vote waits for a device. A vote may have to wait until the others' reduction has run out of
    time, so it has twice as long as they have.
    """

    def __init__(self, ranks: Sequence[int], timeout: timedelta) -> None:
        self.limit = timeout * 2
        self.group = dist.new_group(
            list(ranks), backend="gloo", timeout=self.limit, use_local_synchronization=True, group_desc="zerograd"
        )
        self.size, self.rank = self.group.size(), self.group.rank()

    def count(self, vote: Vote) -> Vote:
        """All votes, added up. It returns when every rank has voted."""
        numbers = torch.tensor(vote.numbers(), dtype=torch.float64)
        dist.all_reduce(numbers, group=self.group)
        return Vote.of(numbers.tolist())

    def hear(self, priority: int | None, text: str) -> tuple[int, int, str]:
        """Rank, priority and text of the one who speaks: the lowest priority, then the lowest rank. None: not me."""
        silent = (1 << 20) * self.size
        mine = silent if priority is None else priority * self.size + self.rank
        lowest = torch.tensor([mine])
        dist.all_reduce(lowest, op=dist.ReduceOp.MIN, group=self.group)
        spoken, speaker = divmod(int(lowest), self.size)
        cause = torch.zeros(_TEXT, dtype=torch.uint8)
        if speaker == self.rank:
            encoded = text.encode("utf-8", "replace")[:_TEXT]
            cause[: len(encoded)] = torch.tensor(list(encoded), dtype=torch.uint8)
        dist.broadcast(cause, group_src=speaker, group=self.group)
        return speaker, spoken, bytes(cause.tolist()).rstrip(b"\0").decode("utf-8", "ignore")


def _packed(first: int, second: int, third: int) -> float:
    return float((first * _DIGIT + second) * _DIGIT + third)


def _unpacked(number: float) -> tuple[int, int, int]:
    rest, third = divmod(int(number), _DIGIT)
    first, second = divmod(rest, _DIGIT)
    return first, second, third
