"""The slots of one optimizer, and what lies in them at one moment.

[Note: looking] Nothing is attached to parameters or gradients, and nothing of them is kept alive. At each moment that
matters we read every `.grad`: is it None, which object is it, which version has it. An object is told by its weak
reference: torch hands out the address of a dead gradient to the next one, but a reference made for one object is never
made for another, and making it twice gives the same reference.
"""

import contextlib
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, count, repeat
from typing import NamedTuple, cast
from weakref import ref

from torch import Tensor
from torch.optim import Optimizer

from zerograd.run.values import largest, nonzero

_gradient = operator.attrgetter("grad")
_version: Callable[[Tensor], int] = operator.attrgetter("_version")
_in_group = operator.itemgetter("params")


class Change(NamedTuple):
    """The slots in which something is different, by what it is."""

    vanished: set[int]  # there was a gradient, now it is None
    replaced: set[int]  # there is another object, or there was None
    written: set[int]  # it is the same object, with another version


class Look(NamedTuple):
    """What lay in the slots at one moment: the reference and the version of each `.grad`."""

    references: Sequence[ref[Tensor] | None]
    versions: Sequence[int]
    held: int  # how many of the slots held something
    turnover: int  # which set of parameters was looked at: slots have other numbers in another set

    def same(self, before: "Look") -> bool:
        if not self.held and not before.held:
            return len(self.versions) == len(before.versions)
        return self.versions == before.versions and all(map(operator.is_, self.references, before.references))

    def since(self, before: "Look") -> Change:
        size = len(self.references)
        if size == len(before.references) and self.held == size and not before.held:
            return Change(set(), set(range(size)), set())
        if size == before.held and not self.held:
            return Change(set(range(size)), set(), set())
        other = set(compress(count(), map(operator.is_not, self.references, before.references)))
        empty = set(compress(count(), map(operator.is_, self.references, repeat(None))))
        written = set(compress(count(), map(operator.ne, self.versions, before.versions)))
        return Change(other & empty, other - empty, written - other)


class Slots:
    """An optimizer's parameters in the order in which it holds them now; a slot is told by its number there."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = ref(optimizer)
        self._known: list[ref[Tensor]] = []
        self._deaths: list[object] = []  # a parameter that died may give its id to another
        self._plain = True  # no DTensor among them
        self.ids: list[int] = []
        self.turnover = 0

    def parameters(self) -> list[Tensor]:
        optimizer = self._optimizer()
        return [] if optimizer is None else list(chain.from_iterable(map(_in_group, optimizer.param_groups)))

    def renumbered(self, parameters: list[Tensor]) -> list[int | None] | None:
        """None if no parameter came or went; else for each slot the number it had before, None for a new one."""
        ids = list(map(id, parameters))
        if not self._deaths and ids == self.ids:
            return None
        before = {id(parameter): i for i, known in enumerate(self._known) if (parameter := known()) is not None}
        self._deaths.clear()
        self._known = [ref(parameter, self._deaths.append) for parameter in parameters]
        self._plain = not any(map(hasattr, parameters, repeat("_local_tensor")))
        self.ids = ids
        self.turnover += 1
        return [before.get(identity) for identity in ids]

    def forget(self) -> None:
        """Every slot is new at the next look. Until then no parameter has a reference of ours."""
        self._known, self.ids = [], []
        self._deaths.clear()

    def look(self, parameters: list[Tensor]) -> Look:
        gradients: list[Tensor | None] = list(map(_gradient, parameters))
        missing = sum(map(operator.is_, gradients, repeat(None)))
        if missing == len(gradients):
            return self.nothing(missing)
        if self._plain and not missing:
            held = cast("list[Tensor]", gradients)
            with contextlib.suppress(RuntimeError):  # inference tensors count no versions
                return Look(list(map(ref, held)), list(map(_version, held)), len(held), self.turnover)
        references = [None if gradient is None else ref(gradient) for gradient in gradients]
        versions = [-1 if gradient is None else version(gradient) for gradient in gradients]
        return Look(references, versions, len(gradients) - missing, self.turnover)

    def nothing(self, size: int) -> Look:
        """What a look finds where every `.grad` is None."""
        return Look([None] * size, [-1] * size, 0, self.turnover)

    def sizes(self, slots: Iterable[int]) -> dict[int, Tensor | None]:
        """The largest number in each of these slots that holds a gradient, unread."""
        parameters = self.parameters()
        held = {i: gradient for i in slots if (gradient := parameters[i].grad) is not None}
        return dict(zip(held, largest(held.values()), strict=True))

    def zeros(self, slots: Iterable[int]) -> set[int]:
        """Those of these slots that hold a gradient of nothing but zeros."""
        sizes = self.sizes(slots)
        return {i for i, holds in zip(sizes, nonzero(list(sizes.values())), strict=True) if not holds}


def version(tensor: Tensor) -> int:
    # FSDP2's DTensors keep version 0 for ever; the shard they hold does count.
    try:
        return int(getattr(tensor, "_local_tensor", tensor)._version)
    except RuntimeError:
        return 0
