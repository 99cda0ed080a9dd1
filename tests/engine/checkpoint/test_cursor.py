"""A Cursor hands out what its loader does; wherever a loop over it is left, another one goes on with the next batch."""

import random
from itertools import islice

import numpy
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Subset,
    TensorDataset,
)

from zerograd import CheckpointError, Cursor

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
        "a generator inside": DataLoader(DATA, batch_sampler=_Batches(RandomSampler(DATA, generator=seeded), 4, False)),
        "drawn again and again": DataLoader(DATA, batch_size=4, sampler=RandomSampler(DATA, True, 45)),
        "a sampler with Python's random": DataLoader(DATA, batch_size=4, sampler=_Shuffled(random.Random(3))),
        "a sampler with NumPy's random": DataLoader(DATA, batch_size=4, sampler=_Shuffled(numpy.random.default_rng(3))),
        "a stream": DataLoader(Stream(), batch_size=2),
        "changed on the way": _Tenfold(DATA, batch_size=4, shuffle=True),
        "some left out": _Even(DATA, batch_size=2, shuffle=True),
        "noise of its own": DataLoader(_Noisy(torch.Generator().manual_seed(9)), batch_size=4, shuffle=True),
        "noise of a transform": DataLoader(Subset(_Noisy(_Transform()), range(23)), batch_size=4, shuffle=True),
        "noise of a stream": DataLoader(_NoisyStream(), batch_size=2),
        "one ahead": _Ahead(DATA, batch_size=4, shuffle=True, generator=seeded),
    }


class _Transform:
    def __init__(self) -> None:
        self.parts = [random.Random(3)]

    def draw(self) -> float:
        return self.parts[0].random()


class _Noisy(Dataset):
    def __init__(self, noise) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return 23

    def __getitem__(self, index: int) -> torch.Tensor:
        drawn = torch.rand((), generator=self.noise) if isinstance(self.noise, torch.Generator) else self.noise.draw()
        return torch.as_tensor(index + drawn, dtype=torch.float64)


class _NoisyStream(IterableDataset):
    def __init__(self) -> None:
        self.noise = torch.Generator().manual_seed(9)

    def __iter__(self):
        for number in range(11):
            yield number + torch.rand((), generator=self.noise)


class _Shuffled:
    """Its order goes on where it was in the epoch before."""

    def __init__(self, stream) -> None:
        self._stream = stream

    def __len__(self) -> int:
        return 23

    def __iter__(self):
        order = list(range(23))
        self._stream.shuffle(order)
        return iter(order)


class _Tenfold(DataLoader):
    def __iter__(self):
        return ([part * 10 for part in batch] for batch in super().__iter__())


class _Even(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            if batch[0].sum() % 2 == 0:
                yield batch


class _Ahead(DataLoader):
    """Knows which batch is the last, as Accelerate's loaders do."""

    def __iter__(self):
        batches = super().__iter__()
        held = next(batches)
        for batch in batches:
            yield held
            held = batch
        yield held


class _Batches(BatchSampler):
    pass


def _taken(cursor: Cursor, count: int) -> list[list[int]]:
    taken: list[list[int]] = []
    while len(taken) < count:
        for batch in cursor:
            taken.append(_numbers(batch))
            if len(taken) == count:
                break
    return taken


def _numbers(batch) -> list[int]:
    return (batch[0] if isinstance(batch, list | tuple) else batch).flatten().tolist()


@pytest.mark.parametrize("name", _loaders())
def test_it_hands_out_what_its_loader_does(name: str) -> None:
    """In the same order, and with nothing drawn from the random numbers that the loader would not draw."""

    def epochs(wrap) -> tuple[list, float]:
        torch.manual_seed(0)
        loader = _loaders()[name]
        seen = []
        for epoch in range(3):
            if hasattr(loader.sampler, "set_epoch"):
                loader.sampler.set_epoch(epoch)
            if not epoch:
                cursor = wrap(loader)
            seen += [(_numbers(batch), torch.rand(()).item()) for batch in cursor]
        return seen, torch.rand(()).item()

    assert epochs(lambda loader: loader) == epochs(Cursor)


@pytest.mark.parametrize("name", _loaders())
@pytest.mark.parametrize("left_after", [1, 2])
def test_it_goes_on_between_epochs(name: str, left_after: int) -> None:
    """The order of the next epoch depends on streams that the loader has used before."""

    def epochs(cursor: Cursor, count: int) -> list:
        return [[_numbers(batch) for batch in cursor] for _ in range(count)]

    torch.manual_seed(0)
    whole = epochs(Cursor(_loaders()[name]), 4)
    torch.manual_seed(0)
    cursor = Cursor(_loaders()[name])
    first = epochs(cursor, left_after)
    state, chance = cursor.state_dict(), torch.get_rng_state()
    torch.manual_seed(99)
    resumed = Cursor(_loaders()[name])
    resumed.load_state_dict(state)
    torch.set_rng_state(chance)
    assert first + epochs(resumed, 4 - left_after) == whole


def test_an_epoch_that_was_asked_for_and_not_begun() -> None:
    torch.manual_seed(0)
    cursor = Cursor(DataLoader(DATA, batch_size=4, shuffle=True))
    batches = iter(cursor)
    state, chance = cursor.state_dict(), torch.get_rng_state()
    whole = [_numbers(batch) for batch in batches]
    resumed = Cursor(DataLoader(DATA, batch_size=4, shuffle=True))
    resumed.load_state_dict(state)
    torch.set_rng_state(chance)
    assert [_numbers(batch) for batch in resumed] == whole


@pytest.mark.parametrize("persistent", [False, True])
def test_worker_processes(persistent: bool) -> None:
    def make() -> Cursor:
        return Cursor(DataLoader(DATA, batch_size=4, shuffle=True, num_workers=1, persistent_workers=persistent))

    torch.manual_seed(0)
    whole = _taken(make(), 10)
    torch.manual_seed(0)
    cursor = make()
    first = _taken(cursor, 3)
    state, chance = cursor.state_dict(), torch.get_rng_state()
    for resumed in (make(), cursor):  # in another process, and in this one
        resumed.load_state_dict(state)
        torch.set_rng_state(chance)
        assert first + _taken(resumed, 7) == whole


def test_what_is_not_a_place_in_this_data() -> None:
    with pytest.raises(CheckpointError, match="takes a torch DataLoader, and this is a list"):
        Cursor([1, 2])
    cursor = Cursor(DataLoader(DATA, batch_size=4))
    with pytest.raises(CheckpointError, match="its place in the data is not that of"):
        cursor.load_state_dict({"epoch": 1})
    seeded = Cursor(DataLoader(DATA, batch_size=4, generator=torch.Generator()))
    with pytest.raises(CheckpointError, match=r"random streams differ in loader\.generator"):
        cursor.load_state_dict(seeded.state_dict())
    assert (cursor.epoch, cursor.state_dict()["taken"]) == (0, 0)


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


@pytest.mark.parametrize("name", ["noise of its own", "noise of a transform", "noise of a stream"])
@pytest.mark.parametrize(("taken", "pending"), [(4, 3), (5, 1), (6, 6), (None, 2)])
def test_what_is_not_used_yet_is_drawn_again(name: str, taken: int | None, pending: int) -> None:
    """To the end of the epoch, too."""
    torch.manual_seed(0)
    whole = [_numbers(batch) for batch in Cursor(_loaders()[name])]
    torch.manual_seed(0)
    cursor = Cursor(_loaders()[name])
    used = [_numbers(batch) for batch in islice(cursor, taken)][: (taken or len(whole)) - pending]
    resumed = Cursor(_loaders()[name])
    resumed.load_state_dict(cursor.state_dict(pending=pending, inside=True))
    assert used + [_numbers(batch) for batch in resumed] == whole


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


@pytest.mark.parametrize("generator", [None, 5])
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("stop", [2, 5, 6, 8, 12])
def test_workers_that_stay_for_the_next_epoch(stop: int, replacement: bool, generator: int | None) -> None:
    """They draw a number when they are started, and in later epochs they are there."""

    def made() -> Cursor:
        stream = None if generator is None else torch.Generator().manual_seed(generator)
        sampler = RandomSampler(DATA, replacement, generator=stream)
        return Cursor(DataLoader(DATA, 4, sampler=sampler, num_workers=1, persistent_workers=True, generator=stream))

    def batches(cursor: Cursor):
        while cursor.epoch < 3:
            for (batch,) in cursor:
                yield batch.tolist()

    torch.manual_seed(1)
    whole, seen, kept = made(), [], None
    for batch in batches(whole):
        seen.append(batch)
        if len(seen) == stop:
            kept = whole.state_dict(), torch.get_rng_state()
    assert kept is not None
    between, again = made(), made()
    between.load_state_dict(kept[0])
    again.load_state_dict(between.state_dict())  # saved again before it goes on
    torch.set_rng_state(kept[1])
    assert list(batches(again)) == seen[stop:]
