"""What ranks say to each other: a few numbers, added up, that every rank gets to the last bit alike.

[Note: the vote] A rank votes when its block ends, well or badly, and before a backward that may synchronise. Every vote
has the same shape, so that any two can meet: one rank's end is what tells another, which is about to synchronise, that
it must not. So a rank that fails alone never leaves the others waiting in a reduction it will not join.

Votes are added up, also where the largest of some numbers is wanted, the unit: see _peak().
"""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

_DIGIT = 1 << 17  # three counts share a number: 2**51 is exact in a float64, for up to 131,071 ranks
_UNITS = 58  # 17 bits for each of 2 * 58 + 1 units: nearly all exponents that a float64 has
_TEXT = 512  # bytes of a cause; more is cut off


class Share(NamedTuple):
    """What was said of one block. Each field counts ranks, but for the weight and the unit."""

    bare: int = 0  # deposited without weights
    mean: int = 0  # deposited weighted micro-batches
    sum: int = 0  # deposited micro-batches to be added
    dirty: int = 0  # hold deposits that no reduction has reached
    stopping: int = 0  # were asked to stop
    empty: int = 0  # had micro-batches that weighed nothing
    weight: float = 0.0
    unit: float = 0.0  # the largest of all. See [Note: the unit]


class Vote(NamedTuple):
    """Of one rank, or of all of them added up."""

    ended: int = 0  # its block has ended
    failed: int = 0  # and shall not be committed
    more: int = 0  # it has another micro-batch
    reducing: int = 0  # its next backward synchronises, if all ranks' do
    stuck: int = 0  # it has no micro-batch, and nothing to put in its place
    shares: tuple[Share, ...] = ()  # one for each block of a join

    def numbers(self) -> list[float]:
        numbers = [_packed(self.ended, self.failed, self.more), _packed(self.reducing, self.stuck, 0)]
        for share in self.shares:
            numbers += [_packed(*share[:3]), _packed(*share[3:6]), share.weight, _peak(share.unit)]
        return numbers

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Vote":
        shares = [
            Share(*_unpacked(numbers[at]), *_unpacked(numbers[at + 1]), numbers[at + 2], _highest(numbers[at + 3]))
            for at in range(2, len(numbers), 4)
        ]
        return cls(*_unpacked(numbers[0]), *_unpacked(numbers[1])[:2], tuple(shares))


class Voters:
    """The ranks of a step, with a channel of their own: what waits in a vote is never taken for a gradient.

    On the CPU, so that no vote waits for a device. A vote may have to wait until the others' reduction has run out of
    time, so it has twice as long as they have. A ring of so small a message takes as long as it has members: many ranks
    vote in rows, and the heads of the rows among themselves, which takes the square root of it.
    """

    def __init__(self, ranks: Sequence[int], timeout: timedelta, *, flat: int = 64) -> None:
        self.limit = timeout * 2
        self.size, self.rank = len(ranks), list(ranks).index(dist.get_rank())
        width = self.size if self.size <= flat else math.isqrt(self.size - 1) + 1
        row, place = divmod(self.rank, width)
        self._rows, self._leads = -(-self.size // width), not place
        self._row = self._meet(ranks[row * width : (row + 1) * width])
        if self._rows > 1:  # each has a column, and only the first is used: torch numbers groups, alike on every rank
            self._column = self._meet(ranks[place::width])

    @property
    def group(self) -> dist.ProcessGroup | None:
        """All of them in one group, if they are so few."""
        return self._row if self._rows == 1 else None

    def count(self, vote: Vote) -> Vote:
        """All votes, added up. It returns when every rank has voted."""
        return Vote.of(self._reduced(torch.tensor(vote.numbers(), dtype=torch.float64), dist.ReduceOp.SUM).tolist())

    def hear(self, priority: int | None, text: str) -> tuple[int, int, str]:
        """Rank, priority and text of the one who speaks: the lowest priority, then the lowest rank. None: not me."""
        silent = (1 << 20) * self.size
        mine = silent if priority is None else priority * self.size + self.rank
        spoken, speaker = divmod(int(self._reduced(torch.tensor([mine]), dist.ReduceOp.MIN)), self.size)
        cause = torch.zeros(_TEXT, dtype=torch.uint8)
        if speaker == self.rank:
            encoded = text.encode("utf-8", "replace")[:_TEXT]
            cause[: len(encoded)] = torch.tensor(list(encoded), dtype=torch.uint8)
        heard = self._reduced(cause, dist.ReduceOp.SUM)  # all others add nothing
        return speaker, spoken, bytes(heard.tolist()).rstrip(b"\0").decode("utf-8", "ignore")

    def agree(self, numbers: Sequence[int]) -> list[bool]:
        """Of each, whether it is the same on all ranks."""
        both = torch.tensor([*numbers, *(-number for number in numbers)])
        largest = self._reduced(both, dist.ReduceOp.MAX).tolist()
        return [high == -low for high, low in zip(largest[: len(numbers)], largest[len(numbers) :], strict=True)]

    def _reduced(self, numbers: Tensor, how: "dist.ReduceOp.RedOpType") -> Tensor:
        """Alike to the last bit: where rows are added up, one head's sum is everybody's."""
        dist.all_reduce(numbers, op=how, group=self._row)
        if self._rows > 1:
            if self._leads:
                dist.all_reduce(numbers, op=how, group=self._column)
            dist.broadcast(numbers, group_src=0, group=self._row)
        return numbers

    def _meet(self, ranks: Sequence[int]) -> dist.ProcessGroup:
        group: dist.ProcessGroup = dist.new_group(
            list(ranks), backend="gloo", timeout=self.limit, use_local_synchronization=True, group_desc="zerograd"
        )
        return group


def _packed(first: int, second: int, third: int) -> float:
    return float((first * _DIGIT + second) * _DIGIT + third)


def _unpacked(number: float) -> tuple[int, int, int]:
    rest, third = divmod(int(number), _DIGIT)
    first, second = divmod(rest, _DIGIT)
    return first, second, third


def _peak(unit: float) -> float:
    """A number by which a power of two is known in a sum: of these even 131,071 do not make the next larger one.

    Units end at 2**58 and 2**-58. Beyond, all ranks take the last, which is as exact.
    """
    if not unit:
        return 0.0
    exponent = min(max(math.frexp(unit)[1] - 1, -_UNITS), _UNITS)
    return math.ldexp(1.0, 17 * exponent)


def _highest(peaks: float) -> float:
    """The largest of the units whose peaks were added up; 0 if nobody had one."""
    return math.ldexp(1.0, (math.frexp(peaks)[1] - 1) // 17) if peaks else 0.0
