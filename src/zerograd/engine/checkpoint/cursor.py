"""Where a run is in its data: a cursor over a DataLoader, that can be put back to where it was.

An epoch is its beginning and a number. The beginning is the random state in which the sampler was asked for its order;
with it the order can be asked for again, and what was handed out already is left out by index, without being read. Only
what has no indices (an IterableDataset) is read and dropped.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset

from zerograd.engine.checkpoint import chance

_CPU = torch.device("cpu")
_KEPT = (
    "num_workers",
    "collate_fn",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
    "prefetch_factor",
    "persistent_workers",
    "pin_memory_device",
)


class Cursor:
    """`for batch in Cursor(loader)` is `for batch in loader`; it knows how far it is, and calls `set_epoch` itself.

    epoch    how many times all of it was handed out
    """

    def __init__(self, loader: "DataLoader[Any]") -> None:
        self._loader = loader
        self.epoch = 0
        self._batches = 0  # handed out in this epoch
        self._begun: dict[str, Any] | None = None  # the random state at its beginning
        self._ended: dict[str, Any] | None = None  # the epoch before, until this one begins
        self._skip: int | None = None  # batches, or samples if they can be counted, that were handed out before

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        batches = self._beginning() if self._skip is None else self._middle(self._skip)
        self._skip = None
        for batch in batches:
            self._batches += 1
            yield batch
        self._ended = self._state(0)
        self.epoch, self._batches, self._begun = self.epoch + 1, 0, None

    def _beginning(self) -> Iterator[Any]:
        self._batches, self._ended = 0, None
        self._begun = self._chance()
        return self._from(0)

    def _middle(self, skip: int) -> Iterator[Any]:
        """In the order that was begun then; the random numbers go on from now."""
        now = chance.read(_CPU)
        assert self._begun is not None
        chance.write(self._begun["process"], _CPU)
        for generator, state in zip(self._generators(), self._begun["generators"], strict=True):
            generator.set_state(state)
        rest = self._from(skip)
        chance.write(now, _CPU)
        return rest

    def _from(self, skip: int) -> Iterator[Any]:
        loader = self._loader
        if isinstance(loader.dataset, IterableDataset):
            batches = iter(loader)
            for _ in islice(batches, skip):
                pass
            return batches
        with suppress(AttributeError):
            loader.sampler.set_epoch(self.epoch)  # type: ignore[attr-defined]
        with suppress(AttributeError):
            loader.batch_sampler.set_epoch(self.epoch)  # type: ignore[union-attr]
        options = {name: getattr(loader, name) for name in _KEPT}
        order = _eager(iter(self._order()))
        next(islice(order, skip, skip), None)
        if type(loader.batch_sampler) is BatchSampler:
            rest: Any = BatchSampler(_Rest(order), loader.batch_sampler.batch_size, loader.batch_sampler.drop_last)
            return iter(DataLoader(loader.dataset, batch_sampler=rest, **options))
        if loader.batch_sampler is not None:
            return iter(DataLoader(loader.dataset, batch_sampler=_Rest(order), **options))
        return iter(DataLoader(loader.dataset, batch_size=None, sampler=_Rest(order), **options))

    def _order(self) -> Any:
        """Samples where they can be counted, else batches."""
        batched = self._loader.batch_sampler
        return self._loader.sampler if batched is None or type(batched) is BatchSampler else batched

    def _generators(self) -> list[torch.Generator]:
        owners = (self._loader, self._loader.sampler, self._loader.batch_sampler)
        found = [getattr(owner, "generator", None) for owner in owners]
        return list({id(one): one for one in found if isinstance(one, torch.Generator)}.values())

    def _chance(self) -> dict[str, Any]:
        return {"process": chance.read(_CPU), "generators": [one.get_state() for one in self._generators()]}

    def _size(self) -> int:
        """What one batch takes out of the order."""
        batched = self._loader.batch_sampler
        return int(batched.batch_size) if type(batched) is BatchSampler and not self._is_stream() else 1

    def _is_stream(self) -> bool:
        return isinstance(self._loader.dataset, IterableDataset)

    def state_dict(self, *, pending: int = 0, inside: bool = False) -> dict[str, Any]:
        """`pending`: batches that were handed out last and are not used yet: they will be handed out again.

        `inside`: a group is under way. If it is the last of its epoch, that epoch is not over.
        """
        if inside and self._ended is not None:
            return {**self._ended, "taken": self._ended["taken"] - pending * self._size()}
        return self._state(pending)

    def _state(self, pending: int) -> dict[str, Any]:
        taken = (self._batches - pending) * self._size()
        return {"epoch": self.epoch, "taken": taken, "begun": self._begun if self._batches else None}

    def load_state_dict(self, state: dict[str, Any], *, taken: int | None = None) -> None:
        """`taken`: what this rank shall leave out, where there are more or fewer ranks than there were."""
        self.epoch, self._begun, self._ended = state["epoch"], state["begun"], None
        taken = state["taken"] if taken is None else taken
        self._skip = None if self._begun is None else taken
        self._batches = -(-taken // self._size())


class _Rest:
    """What is left of an order, to be asked for once."""

    def __init__(self, order: Iterator[Any]) -> None:
        self._order = order

    def __iter__(self) -> Iterator[Any]:
        return self._order


def _eager(order: Iterator[Any]) -> Iterator[Any]:
    """A sampler draws when it is first asked: it shall draw before anything else does, then and now."""
    first = list(islice(order, 1))
    return chain(first, order)
