"""Where a run is in its data: a cursor over a DataLoader, that can be put back to where it was.

An epoch is its beginning and a number. The beginning is the random state in which the loader was asked for its epoch;
with it the same epoch can be asked for again, and what was handed out already is left out: by index, without being
read, where the loader draws from a sampler as torch's own does. What has no indices (an IterableDataset), and what a
subclass with an `__iter__` of its own makes of its batches, is read and dropped.

[Note: workers that wait] A loader draws one number when it starts its workers. Persistent ones are started once: an
epoch that finds them waiting has no such draw before its order, and none when it is asked for again.

[Note: two kinds of streams] A stream that a sampler holds makes the order, and is put back to where the epoch began.
One that the data holds makes what is read: it goes on where it was when the next batch had not been read yet. Where
batches are read again to be dropped, they bring it there themselves.
"""

import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from types import ModuleType
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset

from zerograd.engine.checkpoint import chance, refusals
from zerograd.engine.supply import supply

_CPU = torch.device("cpu")
_DEPTH, _SHORT = 4, 32  # how deep the data is searched for random streams, and through which lists
_STATE = ("epoch", "taken", "begun", "generators")


class Cursor:
    """`for batch in Cursor(loader)` is `for batch in loader`; it knows how far it is, and calls `set_epoch` itself.

    epoch    how many times all of it was handed out
    """

    def __init__(self, loader: "DataLoader[Any]") -> None:
        if not isinstance(loader, DataLoader):
            raise refusals.no_loader(loader)
        self._loader = loader
        self.epoch = 0
        self._batches = 0  # handed out in this epoch,
        self._left_out = 0  # after so much of it that was handed out before: batches, or samples if they can be counted
        self._begun: dict[str, Any] | None = None  # the random state at its beginning
        self._ended: dict[str, Any] | None = None  # the epoch before, until this one begins
        self._of_data: dict[str, Any] = {}  # streams, in this epoch,
        self._drawn: deque[tuple[int, dict[str, Any]]] = deque()  # and their states after so many batches
        self._waited = False  # workers, when it began. See [Note: workers that wait]
        self._loaded = False  # and not gone on from yet

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        self._tell_epoch()
        if self._loaded:
            self._renew_workers()
        batches = self._middle() if self._loaded and self._begun is not None else self._beginning()
        self._loaded = False
        return self._counted(batches)

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            self._batches += 1
            supply.hand_out(self, batch)
            self._note_drawn()
            yield batch
        self._ended = self._state(0)
        self.epoch, self._batches, self._left_out, self._begun = self.epoch + 1, 0, 0, None

    def _beginning(self) -> Iterator[Any]:
        if self._begun is not None:
            supply.give_up(self)
        self._batches, self._left_out, self._ended = 0, 0, None
        self._begun, self._waited = self._chance(), self._workers_wait()
        self._begin_drawing()
        return iter(self._loader)

    def _middle(self) -> Iterator[Any]:
        """In the order that was begun then; the random numbers go on from now."""
        assert self._begun is not None
        skip = self._left_out
        now = chance.read(_CPU)
        chance.write(self._begun["process"], _CPU)
        self._set_generators(self._begun["generators"])
        try:
            if not self._is_counted_by_index():
                return self._rest_by_reading(skip)
            batches = self._rest_by_index(skip)
            self._set_generators(self._drawn[0][1] if self._drawn else {})
            return batches
        finally:
            chance.write(now, _CPU)
            self._begin_drawing()

    def _rest_by_index(self, skip: int) -> Iterator[Any]:
        """As torch makes an epoch, but for the sampler, which leaves out what it has given before."""
        loader, batched = self._loader, self._loader.batch_sampler
        replaced = "sampler" if batched is None else "batch_sampler"
        usual = getattr(loader, replaced)
        order: Any = _Rest(batched.sampler if type(batched) is BatchSampler else usual, skip)
        drawn = BatchSampler(order, batched.batch_size, batched.drop_last) if type(batched) is BatchSampler else order
        loader.__dict__[replaced] = drawn  # torch forbids to set it, because an epoch under way would not notice
        if loader._iterator is not None:
            loader._iterator._index_sampler = drawn
        try:
            batches = iter(loader)
        finally:
            loader.__dict__[replaced] = usual
        order.begin()
        return batches

    def _rest_by_reading(self, skip: int) -> Iterator[Any]:
        batches = iter(self._loader)
        if skip:
            next(islice(batches, skip, skip), None)
            return batches
        return chain(list(islice(batches, 1)), batches)  # it draws its order when it is first asked for a batch

    def _is_counted_by_index(self) -> bool:
        """Whether every batch is one draw from the sampler."""
        kind = type(self._loader)
        own = any(
            getattr(kind, name) is not getattr(DataLoader, name)
            for name in ("__iter__", "_get_iterator", "_index_sampler")
        )
        return not own and not isinstance(self._loader.dataset, IterableDataset)

    def _size(self) -> int:
        """What one batch takes out of the order."""
        batched = self._loader.batch_sampler
        return int(batched.batch_size) if type(batched) is BatchSampler and self._is_counted_by_index() else 1

    # Persistent workers. See [Note: workers that wait]

    def _workers_wait(self) -> bool:
        return self._loader._iterator is not None

    def _renew_workers(self) -> None:
        """They are as they were when the epoch began: waiting, or not started yet. Nothing is drawn or read for it."""
        loader = self._loader
        loader._iterator = None
        if not (self._waited and loader.persistent_workers):
            return
        replaced = "sampler" if loader.batch_sampler is None else "batch_sampler"
        usual, now = getattr(loader, replaced), self._chance()
        loader.__dict__[replaced] = ()
        try:
            loader._iterator = loader._get_iterator()
        finally:
            loader.__dict__[replaced] = usual
            chance.write(now["process"], _CPU)
            self._set_generators(now["generators"])
        loader._iterator._index_sampler = loader._index_sampler

    # What the order depends on

    def _tell_epoch(self) -> None:
        for owner in self._samplers():
            if hasattr(owner, "set_epoch"):
                owner.set_epoch(self.epoch)

    def _samplers(self) -> list[Any]:
        """Of samples and of batches, and what they draw from."""
        found: list[Any] = []
        waiting = [self._loader.sampler, self._loader.batch_sampler]
        while waiting:
            one = waiting.pop(0)
            if one is not None and not any(one is other for other in found):
                found.append(one)
                waiting += [getattr(one, "sampler", None), getattr(one, "batch_sampler", None)]
        return found

    def _generators(self) -> dict[str, Any]:
        """Random streams of their own that the loader, its samplers and its data hold, by where they hold them."""
        owners: dict[str, Any] = {"loader": self._loader}
        owners |= {f"sampler {place}": one for place, one in enumerate(self._samplers())}
        of_order = {
            f"{name}.{key}": value
            for name, owner in owners.items()
            for key, value in getattr(owner, "__dict__", {}).items()
            if _is_stream(value)
        }
        return of_order | self._streams_of_data()

    def _streams_of_data(self) -> dict[str, Any]:
        """See [Note: two kinds of streams]."""
        return _streams_in({"dataset": self._loader.dataset, "collate_fn": self._loader.collate_fn})

    def _begin_drawing(self) -> None:
        self._of_data = self._streams_of_data()
        self._drawn = deque([(self._batches, _states_of(self._of_data))])

    def _note_drawn(self) -> None:
        """As far back as a save inside a block may go."""
        if self._of_data:
            self._drawn.append((self._batches, _states_of(self._of_data)))
            while len(self._drawn) > len(supply.owners) + 1:
                self._drawn.popleft()

    def _drawn_before(self, pending: int) -> dict[str, Any]:
        """The states of the data's streams when the last `pending` batches had not been read."""
        if not self._drawn:
            return {}
        place = self._drawn[-1][0] - pending
        return next((states for batches, states in self._drawn if batches == place), {})

    def _chance(self) -> dict[str, Any]:
        return {"process": chance.read(_CPU), "generators": self._generator_states()}

    def _generator_states(self) -> dict[str, Any]:
        return _states_of(self._generators())

    def _set_generators(self, states: dict[str, Any]) -> None:
        for name, stream in self._generators().items():
            if name in states:
                _set_state(stream, states[name])

    # State

    def state_dict(self, *, pending: int = 0, inside: bool = False) -> dict[str, Any]:
        """`pending`: batches that were handed out last and are not used yet: they will be handed out again.

        `inside`: a group is under way. If it is the last of its epoch, that epoch is not over.
        """
        if inside and self._ended is not None:
            taken = self._ended["taken"] - pending * self._size()
            return {**self._ended, "taken": taken, "drawn": self._drawn_before(pending)}
        if pending > self._batches:
            raise refusals.two_epochs()
        return self._state(pending)

    def _state(self, pending: int) -> dict[str, Any]:
        taken = self._left_out + (self._batches - pending) * self._size()
        between = {} if self._begun is not None else self._generator_states()
        waited = self._waited if self._begun is not None or self._loaded else self._workers_wait()
        return {
            "epoch": self.epoch,
            "taken": taken,
            "begun": self._begun,
            "generators": between,
            "workers_waited": waited,
            "drawn": {} if self._begun is None else self._drawn_before(pending),
        }

    def load_state_dict(self, state: dict[str, Any], *, taken: int | None = None) -> None:
        """`taken`: what this rank shall leave out, where there are more or fewer ranks than there were."""
        self._require(state)
        self.epoch, self._begun, self._ended = state["epoch"], state["begun"], None
        self._left_out, self._batches, self._loaded = state["taken"] if taken is None else taken, 0, True
        self._waited = state.get("workers_waited", False)
        supply.clear()
        self._set_generators(state["generators"])
        self._drawn = deque([(0, state.get("drawn", {}))])

    def _require(self, state: object) -> None:
        """Refuse what is not the place of a Cursor over such a loader."""
        if not isinstance(state, dict) or not set(_STATE) <= state.keys():
            raise refusals.other_model("its place in the data is not that of a zerograd.Cursor")
        saved = state["generators"] if state["begun"] is None else state["begun"]["generators"]
        if saved.keys() != self._generators().keys():
            differs = ", ".join(sorted(saved.keys() ^ self._generators().keys()))
            raise refusals.other_model(f"the loader's random streams differ in {differs}")

    def _remembered(self) -> Callable[[], None]:
        """Brings back what is here now."""
        before, streams = dict(self.__dict__), self._generator_states()

        def undo() -> None:
            self.__dict__.update(before)
            self._set_generators(streams)

        return undo


class _Rest:
    """A sampler that leaves out the beginning of its first order, and nothing of any other."""

    def __init__(self, sampler: Any, skip: int) -> None:
        self._sampler, self._skip, self._handed_out = sampler, skip, False
        self._order: Iterator[Any] | None = None

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        if self._handed_out:
            return iter(self._sampler)
        self._handed_out = True
        return self._first()

    def _first(self) -> Iterator[Any]:
        self.begin()
        assert self._order is not None
        yield from self._order

    def begin(self) -> None:
        """A sampler draws when it is first asked: it shall do so in the random state that the order was begun in."""
        if self._order is None:
            order = iter(self._sampler)
            next(islice(order, self._skip, self._skip), None)
            self._order = chain(list(islice(order, 1)), order)


def _streams_in(owners: Mapping[str, object]) -> dict[str, Any]:
    """Random streams by where they are held: by an owner, or what that is made of (a transform, a Subset's dataset)."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    level = dict(owners)
    for _ in range(_DEPTH):
        inner = {f"{name}.{key}": one for name, thing in level.items() for key, one in _held_by(thing).items()}
        fresh = {name: one for name, one in inner.items() if id(one) not in seen}
        seen.update(map(id, fresh.values()))
        found |= {name: one for name, one in fresh.items() if _is_stream(one)}
        level = fresh
    return found


def _held_by(thing: object) -> dict[str, object]:
    """Its attributes; the parts of a short list. Not the samples of a dataset: there may be millions."""
    if _is_stream(thing) or isinstance(thing, torch.Tensor | type | ModuleType):
        return {}
    if isinstance(thing, Mapping):
        return {str(key): one for key, one in thing.items()} if len(thing) <= _SHORT else {}
    if isinstance(thing, list | tuple):
        return {str(place): one for place, one in enumerate(thing)} if len(thing) <= _SHORT else {}
    return dict(getattr(thing, "__dict__", {}))


def _is_stream(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    kinds: tuple[type, ...] = (torch.Generator, random.Random)
    if numpy is not None:
        kinds += (numpy.random.Generator, numpy.random.RandomState)
    return isinstance(value, kinds)


def _states_of(streams: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _state_of(stream) for name, stream in streams.items()}


def _state_of(stream: Any) -> Any:
    if isinstance(stream, torch.Generator):
        return stream.get_state()
    if isinstance(stream, random.Random):
        return stream.getstate()
    return stream.bit_generator.state if hasattr(stream, "bit_generator") else stream.get_state()


def _set_state(stream: Any, state: Any) -> None:
    if isinstance(stream, random.Random):
        stream.setstate(state)
    elif hasattr(stream, "bit_generator"):
        stream.bit_generator.state = state
    else:
        stream.set_state(state)
