"""Wherever a loop over a Cursor is left, another one goes on with the next batch."""

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset, RandomSampler, TensorDataset

from zerograd import Cursor

DATA = TensorDataset(torch.arange(23))


class Stream(IterableDataset):
    def __iter__(self):
        yield from torch.randperm(11)


def _loaders():
    seeded = torch.Generator().manual_seed(5)
    return {
        "in order": DataLoader(DATA, batch_size=4),
        "shuffled": DataLoader(DATA, batch_size=4, shuffle=True),
        "with a generator": DataLoader(DATA, batch_size=4, shuffle=True, generator=seeded),
        "drop_last": DataLoader(DATA, batch_size=4, shuffle=True, drop_last=True),
        "one by one": DataLoader(DATA, batch_size=None, shuffle=True),
        "of a rank": DataLoader(DATA, batch_size=3, sampler=DistributedSampler(DATA, 2, 1)),
        "batches of its own": DataLoader(DATA, batch_sampler=_Batches(RandomSampler(DATA), 4, False)),
        "a stream": DataLoader(Stream(), batch_size=2),
    }


class _Batches(BatchSampler):
    pass


def _taken(cursor: Cursor, count: int) -> list[list[int]]:
    taken: list[list[int]] = []
    while len(taken) < count:
        for batch in cursor:
            taken.append((batch[0] if isinstance(batch, list | tuple) else batch).flatten().tolist())
            if len(taken) == count:
                break
    return taken


@pytest.mark.parametrize("name", _loaders())
@pytest.mark.parametrize("left_after", [0, 1, 3, 5, 8])
def test_it_goes_on_with_the_next_batch(name: str, left_after: int) -> None:
    torch.manual_seed(0)
    whole = _taken(Cursor(_loaders()[name]), 20)
    torch.manual_seed(0)
    cursor = Cursor(_loaders()[name])
    first = _taken(cursor, left_after)
    state, chance = cursor.state_dict(), torch.get_rng_state()
    torch.manual_seed(99)  # another process
    resumed = Cursor(_loaders()[name])
    resumed.load_state_dict(state)
    torch.set_rng_state(chance)
    assert first + _taken(resumed, 20 - left_after) == whole


def test_what_is_not_used_yet_is_handed_out_again() -> None:
    cursor = Cursor(DataLoader(DATA, batch_size=5))
    last = [batch[0].tolist() for batch in cursor][-2:]
    again = Cursor(DataLoader(DATA, batch_size=5))
    again.load_state_dict(cursor.state_dict(pending=2, inside=True))
    assert [batch[0].tolist() for batch in again] == last
    assert again.epoch == 1


def test_fewer_ranks_leave_out_what_all_have_taken() -> None:
    cursors = [Cursor(DataLoader(DATA, batch_size=2, sampler=DistributedSampler(DATA, 2, rank))) for rank in range(2)]
    seen = [value for cursor in cursors for batch in _taken(cursor, 3) for value in batch]
    alone = Cursor(DataLoader(DATA, batch_size=2, sampler=DistributedSampler(DATA, 1, 0)))
    states = [cursor.state_dict() for cursor in cursors]
    alone.load_state_dict(states[0], taken=sum(state["taken"] for state in states))
    rest = [int(value) for batch in alone for value in batch[0]]
    assert sorted(seen + rest) == list(range(23))
