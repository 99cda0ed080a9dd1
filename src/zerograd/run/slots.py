"""The slots of one optimizer, and what lies in them at one moment.

[Note: looking] Nothing is attached to parameters or gradients, and nothing of them is kept alive. At each moment that
matters we read every `.grad`: is it None, which object is it, which version has it. An object is told by its address;
but torch hands out the address of a dead gradient to the next one. So a few slots stand guard: of these we keep weak
references, and a reference made for one object is never made for another. If a guard was relieved at its old address,
every gradient that seems to be the same may be another one. (A reference for each would be exact, and a thousand new
objects for the garbage collector at every look.)
"""

import contextlib
import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, count, repeat
from typing import NamedTuple, TypeVar, cast
from weakref import ref

from torch import Tensor
from torch.optim import Optimizer

from zerograd.run.values import dense, finite, largest, nonzero

_gradient = operator.attrgetter("grad")
_is_sparse = operator.attrgetter("is_sparse")
_version = operator.attrgetter("_version")
_in_group = operator.itemgetter("params")
_NOTHING = id(None)
T = TypeVar("T")
_GUARDS = 16


class Change(NamedTuple):
    """The slots in which something is different, by what it is."""

    vanished: set[int]  # there was a gradient, now it is None
    replaced: set[int]  # there is another object, or there was None
    written: set[int]  # it is the same object, with another version


class Look(NamedTuple):
    """What lay in the slots at one moment: the address and the version of each `.grad`."""

    addresses: Sequence[int]
    versions: Sequence[int]
    guards: list[ref[Tensor] | None]
    held: int  # how many of the slots held something
    turnover: int  # which set of parameters was looked at: slots have other numbers in another set

    def same(self, before: "Look") -> bool:
        if not self.held and not before.held:
            return len(self.versions) == len(before.versions)
        return (
            self.addresses == before.addresses and self.versions == before.versions and not self._relieved_since(before)
        )

    def clipped(self, times: int) -> "Look":
        """The same after so many clips: each writes into what it shortens, and moves its version by one."""
        return self._replace(versions=list(map(times.__add__, self.versions)))

    def moved_by(self, times: int, before: "Look", slots: set[int]) -> set[int]:
        """Those of `slots` that were written into just so many times."""
        return {slot for slot in slots if self.versions[slot] - before.versions[slot] == times}

    def since(self, before: "Look") -> Change:
        size = len(self.addresses)
        if size == len(before.addresses) and self.held == size and not before.held:
            return Change(set(), set(range(size)), set())
        if size == before.held and not self.held:
            return Change(set(range(size)), set(), set())
        other = set(compress(count(), map(operator.ne, self.addresses, before.addresses)))
        if relieved := self._relieved_since(before):
            standing = {i for i, same in zip(guards(size), self._guarded(before), strict=True) if same}
            other = set(range(size)) - standing if not relieved <= other else other
        empty = set(compress(count(), map(_NOTHING.__eq__, self.addresses)))
        empty_before = set(compress(count(), map(_NOTHING.__eq__, before.addresses)))
        written = set(compress(count(), map(operator.ne, self.versions, before.versions)))
        return Change((other & empty) - empty_before, other - empty, written - other - empty)

    def _guarded(self, before: "Look") -> Iterable[bool]:
        return map(operator.is_, self.guards, before.guards)

    def _relieved_since(self, before: "Look") -> set[int]:
        """The guards at which another object lies now, at whatever address."""
        return {i for i, same in zip(guards(len(self.addresses)), self._guarded(before), strict=False) if not same}


class Glimpse(NamedTuple):
    """What the guards hold at one moment."""

    guards: list[ref[Tensor] | None]
    versions: list[int]

    def held(self) -> list[bool]:
        return list(map(operator.is_not, self.guards, repeat(None)))

    def same(self, before: "Glimpse", *, clips: int) -> bool:
        """Whether they held it `before`, or that and so many clips have shortened it since."""
        if len(self.guards) != len(before.guards) or not all(map(operator.is_, self.guards, before.guards)):
            return False
        if self.versions == before.versions:
            return True
        # A clip leaves alone what it was not given.
        return {now - then for now, then in zip(self.versions, before.versions, strict=True)} <= {0, clips}


@functools.cache
def guards(size: int) -> tuple[int, ...]:
    """The slots that stand guard among `size`."""
    return tuple(sorted({size * i // _GUARDS for i in range(_GUARDS)})) if size else ()


@functools.cache
def _picker(size: int) -> Callable[[Sequence[T]], tuple[T, ...]]:
    """What the guards among `size` items are, taken without a loop in Python."""
    if len(guards(size)) < 2:
        return tuple
    return cast("Callable[[Sequence[T]], tuple[T, ...]]", operator.itemgetter(*guards(size)))


class Slots:
    """An optimizer's parameters in the order in which it holds them now; a slot is told by its number there."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = ref(optimizer)
        self._known: list[ref[Tensor]] = []
        self._deaths: list[object] = []  # a parameter that died may give its id to another
        self._plain = True  # no DTensor among them
        self._nothing = Look([], [], [], 0, 0)
        self.ids: list[int] = []
        self.repeated = False  # a parameter stands in a group more than once: each time it is stepped
        self.known: frozenset[int] = frozenset()
        self.turnover = 0

    @property
    def plain(self) -> bool:
        return self._plain

    def parameters(self) -> list[Tensor]:
        optimizer = self._optimizer()
        return [] if optimizer is None else list(chain.from_iterable(map(_in_group, optimizer.param_groups)))

    def filled(self) -> tuple[list[Tensor], list[Tensor]]:
        """The parameters that have a gradient, and the numbers of each gradient that this process holds."""
        parameters = self.parameters()
        gradients: list[Tensor] = list(map(_gradient, parameters))
        if any(map(operator.is_, gradients, repeat(None))):
            held = list(map(operator.is_not, gradients, repeat(None)))
            parameters, gradients = list(compress(parameters, held)), list(compress(gradients, held))
        plain = self._plain and not any(map(_is_sparse, gradients))
        return parameters, gradients if plain else list(map(dense, gradients))

    def size(self) -> int:
        """How many there are now. Asks no parameter: a thousand of them are a thousand cache misses."""
        optimizer = self._optimizer()
        return 0 if optimizer is None else sum(map(len, map(_in_group, optimizer.param_groups)))

    def frozen(self) -> bool:
        """Whether none of the parameters can get a gradient."""
        return not any(one.requires_grad for one in self.parameters())

    def with_state(self) -> set[int]:
        """The ids of the parameters that the optimizer has a momentum or a count of: they were stepped once."""
        optimizer = self._optimizer()
        return set() if optimizer is None else {id(one) for one, state in optimizer.state.items() if state}

    def repeats(self) -> list[Tensor]:
        """The parameters that the optimizer holds more than once, each once."""
        counted = Counter(self.ids)
        held = {id(one): one for one in self.parameters()}
        return [one for number, one in held.items() if counted[number] > 1]

    def some(self, slots: Iterable[int]) -> dict[int, Tensor]:
        """A few of the parameters, without going through all of them."""
        optimizer = self._optimizer()
        groups = [] if optimizer is None else optimizer.param_groups
        found: dict[int, Tensor] = {}
        for slot in slots:
            within = slot
            for group in groups:
                if within < len(group["params"]):
                    found[slot] = group["params"][within]
                    break
                within -= len(group["params"])
        return found

    def guarded(self) -> tuple[Tensor, ...]:
        """The parameters that stand guard."""
        optimizer = self._optimizer()
        groups = [] if optimizer is None else optimizer.param_groups
        if len(groups) == 1:
            return _picker(len(groups[0]["params"]))(groups[0]["params"])
        return tuple(self.some(guards(self.size())).values())

    def renumbered(self, parameters: list[Tensor]) -> list[int | None] | None:
        """None if no parameter came or went; else for each slot the number it had before, None for a new one."""
        ids = list(map(id, parameters))
        if not self._deaths and ids == self.ids:
            return None
        before = {id(parameter): i for i, known in enumerate(self._known) if (parameter := known()) is not None}
        self._deaths.clear()
        self._known = [ref(parameter, self._deaths.append) for parameter in parameters]
        self.repeated = len(ids) != len(set(ids))
        self._plain = not any(map(hasattr, parameters, repeat("_local_tensor")))
        self.ids, self.known = ids, frozenset(ids)
        self.turnover += 1
        return [before.get(identity) for identity in ids]

    def forget(self) -> None:
        """Every slot is new at the next look. Until then no parameter has a reference of ours."""
        self._known, self.ids, self.known = [], [], frozenset()
        self._deaths.clear()

    def look(self, parameters: list[Tensor]) -> Look:
        gradients: list[Tensor | None] = list(map(_gradient, parameters))
        missing = sum(map(operator.is_, gradients, repeat(None)))
        if missing == len(gradients):
            return self.nothing(missing)
        addresses = list(map(id, gradients))
        standing = _references([gradients[i] for i in guards(len(gradients))])
        held = len(gradients) - missing
        return Look(addresses, self.versions(gradients), standing, held, self.turnover)

    def nothing(self, size: int) -> Look:
        """What a look finds where every `.grad` of `size` slots is None."""
        if len(self._nothing.addresses) != size or self._nothing.turnover != self.turnover:
            self._nothing = Look([_NOTHING] * size, [-1] * size, [None] * len(guards(size)), 0, self.turnover)
        return self._nothing

    def unchanged(self, before: Look, *, clips: int) -> bool:
        """Whether the guards hold what they held `before`, or that shortened by so many clips."""
        size = self.size()
        if len(before.addresses) != size:
            return False
        then = Glimpse(before.guards, list(_picker(size)(before.versions)))
        return self.glimpse().same(then, clips=clips)

    def glimpse(self) -> Glimpse:
        gradients: list[Tensor | None] = list(map(_gradient, self.guarded()))
        return Glimpse(_references(gradients), self.versions(gradients))

    def versions(self, tensors: Sequence[Tensor | None]) -> list[int]:
        """The version of each; -1 for None."""
        if self._plain:
            try:
                return list(map(_version, tensors))
            except AttributeError:  # None is among them
                pass
            except RuntimeError:  # inference tensors count no versions
                return [-1 if tensor is None else version(tensor) for tensor in tensors]
            with contextlib.suppress(RuntimeError):
                return [-1 if tensor is None else tensor._version for tensor in tensors]
        return [-1 if tensor is None else version(tensor) for tensor in tensors]

    def sizes(self, slots: Iterable[int]) -> dict[int, Tensor | None]:
        """The largest number in each of these slots that holds a gradient, unread."""
        parameters = self.parameters()
        held = {i: gradient for i in slots if (gradient := parameters[i].grad) is not None}
        return dict(zip(held, largest(held.values()), strict=True))

    def hooked(self) -> bool:
        """Whether somebody's hooks see the gradients or the steps, and may change them."""
        kinds = ("_backward_hooks", "_post_accumulate_grad_hooks")
        if getattr(self._optimizer(), "_optimizer_step_pre_hooks", None):
            return True
        return any(getattr(one, kind, None) for one in self.parameters() for kind in kinds)

    def are_finite(self) -> bool:
        """Whether every gradient there is holds numbers alone. Waits for the answer where they lie on a device."""
        return finite(self.sizes(range(self.size())).values())

    def zeros(self, slots: Iterable[int]) -> set[int]:
        """Those of these slots that hold a gradient of nothing but zeros."""
        sizes = self.sizes(slots)
        return {i for i, holds in zip(sizes, nonzero(list(sizes.values())), strict=True) if not holds}


def _references(gradients: Sequence[Tensor | None]) -> list[ref[Tensor] | None]:
    """To each; None for None."""
    try:
        return list(map(ref, gradients))  # type: ignore[arg-type]
    except TypeError:  # None is among them
        return [None if one is None else ref(one) for one in gradients]


def version(tensor: Tensor) -> int:
    # FSDP2's DTensors keep version 0 for ever; the shard they hold does count.
    try:
        return int(getattr(tensor, "_local_tensor", tensor)._version)
    except RuntimeError:
        return 0
