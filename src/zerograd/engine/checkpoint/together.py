"""The ranks that save and resume together: what fails on one of them fails on all, at once and with that cause.

Every rank does its part, well or badly, and then says so. Nobody goes on to something that waits for the others before
all have said it; so no rank is waited for that will not come, and the run can go on after a save that failed.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import torch.distributed as dist
from torch.distributed.checkpoint.api import CheckpointException

from zerograd.engine.checkpoint import refusals
from zerograd.engine.ranks.party import Party
from zerograd.errors import CheckpointError, ZerogradError

T = TypeVar("T")


class Together(NamedTuple):
    """`failed`: what to raise on all ranks, given the cause."""

    group: "dist.ProcessGroup | None"
    rank: int
    size: int
    failed: Callable[[str], CheckpointError]

    def all(self, do: Callable[[], T]) -> T:
        """What `do` returns here, once it has returned on every rank."""
        result, error = self._tried(do)
        self._agree(error, None)
        return result  # type: ignore[return-value]

    def gathered(self, do: Callable[[], T]) -> list[T]:
        """What `do` returns on each rank."""
        result, error = self._tried(do)
        return self._agree(error, result)

    def first(self, do: Callable[[], T]) -> T:
        """What `do` returns on the first rank, the only one to call it."""
        result, error = (None, None) if self.rank else self._tried(do)
        of_all: list[T] = self._agree(error, result)
        return of_all[0]

    def _tried(self, do: Callable[[], T]) -> tuple[T | None, BaseException | None]:
        try:
            return do(), None
        except CheckpointException as error:  # torch's: no Exception, so that nobody's `except Exception` would see it
            return None, self._cause_of(error)
        except BaseException as error:
            return None, error

    def _cause_of(self, error: CheckpointException) -> BaseException:
        """What failed here; else what failed elsewhere: torch has told all ranks already."""
        if self.rank in error.failures:
            return error.failures[self.rank][0]
        for rank, (failure, _) in error.failures.items():
            told = self.failed(f"rank {rank}: {_in_words(failure)}")
            told.__cause__ = failure
            return told
        return RuntimeError(str(error))

    def _agree(self, error: BaseException | None, result: Any) -> list[Any]:
        if self.group is None:
            told = [(result, "")]
        else:
            told = [(None, "")] * self.size
            try:
                dist.all_gather_object(told, (result, "" if error is None else _in_words(error)), group=self.group)
            except RuntimeError as gone:  # a rank has died, or is not there in time
                raise self.failed(_in_words(error or gone)) from (error or gone)
        if error is not None and _is_its_own_word(error):
            raise error
        if error is not None:
            raise self.failed(_in_words(error)) from error
        for rank, (_, theirs) in enumerate(told):
            if theirs:
                raise self.failed(f"rank {rank}: {theirs}")
        return [one for one, _ in told]


def ranks_of(parties: Iterable[Party], failed: Callable[[str], CheckpointError]) -> Together:
    """Those who step together, else all there are."""
    for party in parties:
        return Together(party.voters.group or party.group, party.rank, party.size, failed)
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        return Together(dist.group.WORLD, dist.get_rank(), dist.get_world_size(), failed)
    return Together(None, 0, 1, failed)


def _is_its_own_word(error: BaseException) -> bool:
    """A refusal of ours says what it has to say; Ctrl-C and sys.exit() are nobody's failure."""
    return isinstance(error, ZerogradError) or not isinstance(error, Exception)


def _in_words(error: BaseException) -> str:
    return refusals.cause_of(error) if isinstance(error, ZerogradError) else refusals.in_words(error)
