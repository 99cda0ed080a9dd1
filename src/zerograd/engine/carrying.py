"""State that is carried from block to block: the hidden state of truncated back-propagation through time.

[Note: carried] What a block that did not commit has made of a state is replaced by what the block had begun with. Which
block made a state, its graph tells: autograd numbers its nodes in the order in which they are made. Which of the states
of that block it comes from, the calls of carry() tell: the last one at the same place in the program before the node
was made; of several in one breath (`[step.carry(h) for h in states]`), the one that comes in the same order. A state
that no failed block has made, with a graph or without, begins a sequence of its own.
"""

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from torch import Tensor
from torch.autograd import _get_sequence_nr  # type: ignore[attr-defined]

from zerograd.engine import refusals

S = TypeVar("S")
_FAILURES = 16  # blocks whose states are remembered: a sequence may wait for its next turn while others have theirs


class _Call(NamedTuple):
    """One carry() of a block."""

    site: object
    mark: int  # the number of the next node
    place: int  # among the calls with the same site and mark
    start: Any  # what the block had begun this state with


class _Unclear(NamedTuple):
    """One of several states of a block, and nobody can tell which. Told only if it has to be put back."""

    states: int


class _Made(NamedTuple):
    """The nodes that a block has made since its first carry()."""

    calls: list[_Call]
    ended: int  # the number of the first node that is not of the block any more

    def made_at(self, tensor: Tensor) -> int | None:
        """The number of the tensor's node, if it is one of the block's."""
        if tensor.grad_fn is None:
            return None
        number: int = tensor.grad_fn._sequence_nr()
        return number if self.calls[0].mark <= number < self.ended else None


class Carried:
    """The states of one Step. See [Note: carried]."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []  # of the open block
        self._failed: deque[_Made] = deque(maxlen=_FAILURES)
        self._thread: int | None = None

    @property
    def used(self) -> bool:
        """Whether the open block carries a state: then it matters at once how the block ends."""
        return bool(self.calls)

    def carry(self, state: S, site: object) -> S:
        if self._thread != threading.get_ident():  # each thread numbers its own nodes
            self._thread = threading.get_ident()
            self._failed.clear()
        mark = _get_sequence_nr()
        place = sum(call.site == site and call.mark == mark for call in self.calls)
        for failed in self._failed:
            state = _replaced(state, failed, site, place)
            if isinstance(state, _Unclear):
                raise refusals.carried_from_where(state.states)
        start = _replaced(state, _Made(self.calls, mark), site, place) if self.calls else state
        self.calls.append(_Call(site, mark, place, detach(start)))
        # A copy: the block may change in place what it was handed, and begin with it again if it does not commit.
        handed: S = _mapped(state, lambda tensor: tensor.detach().clone())
        return handed

    def keep(self) -> None:
        """The block has committed."""
        self.calls = []

    def lose(self) -> None:
        """It has not."""
        if self.calls:
            self._failed.append(_Made(self.calls, _get_sequence_nr()))
            self.calls = []


def _replaced(state: S, block: _Made, site: object, place: int) -> S:
    """`state`, with what the block began it with in place of every tensor that the block has made."""
    numbers = [number for tensor in _tensors(state) if (number := block.made_at(tensor)) is not None]
    if not numbers:
        return state
    begun: S = _begun(block.calls, max(numbers), site, place)
    return begun if isinstance(begun, _Unclear) else _exchanged(state, begun, block)


def _begun(calls: list[_Call], number: int, site: object, place: int) -> Any:
    """What the block began with that which was made at `number`."""
    before = [call for call in calls if call.mark <= number]
    near = [call for call in before if call.site == site] or before
    latest = max(call.mark for call in near)
    breath = [call for call in near if call.mark == latest]
    if len(breath) == 1:
        return breath[0].start
    return breath[place].start if breath[0].site == site and place < len(breath) else _Unclear(len(breath))


def _exchanged(state: Any, begun: Any, block: _Made) -> Any:
    """Tensor by tensor where both are built alike; else as a whole (the first state of an LSTM is often None)."""
    match state, begun:
        case Tensor(), Tensor():
            return state if block.made_at(state) is None else begun
        case (tuple(), tuple()) | (list(), list()) if len(state) == len(begun):
            return _built(state, (_exchanged(*pair, block) for pair in zip(state, begun, strict=True)))
        case dict(), dict() if state.keys() == begun.keys():
            return _filled(state, ((key, _exchanged(value, begun[key], block)) for key, value in state.items()))
        case _:
            return state if all(block.made_at(tensor) is None for tensor in _tensors(state)) else begun


def detach(state: S) -> S:
    """The tensors in tuples, lists and dicts, without their graphs; everything else as it is."""
    detached: S = _mapped(state, Tensor.detach)
    return detached


def _mapped(state: Any, function: Callable[[Tensor], Tensor]) -> Any:
    match state:
        case Tensor():
            return function(state)
        case tuple() | list():
            return _built(state, (_mapped(part, function) for part in state))
        case dict():
            return _filled(state, ((key, _mapped(value, function)) for key, value in state.items()))
        case _:
            return state


def _built(like: Any, parts: Iterator[Any]) -> Any:
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


def _filled(like: dict[Any, Any], items: Iterator[tuple[Any, Any]]) -> dict[Any, Any]:
    filled = copy.copy(like)  # a defaultdict is not made of its items
    filled.update(items)
    return filled


def _tensors(state: Any) -> Iterator[Tensor]:
    match state:
        case Tensor():
            yield state
        case tuple() | list():
            for part in state:
                yield from _tensors(part)
        case dict():
            for part in state.values():
                yield from _tensors(part)
