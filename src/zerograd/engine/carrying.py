"""State that is carried from block to block: the hidden state of truncated back-propagation through time."""

from typing import Any, TypeVar

from torch import Tensor

S = TypeVar("S")
_NOTHING: Any = object()


class Carried:
    """Detached on its way in. What a block that did not commit has made of it is replaced by what it started from."""

    def __init__(self) -> None:
        self._start: Any = _NOTHING  # what the open block was given first
        self._lost: Any = _NOTHING  # what the last block started from, if it did not commit

    def carry(self, state: S) -> S:
        if self._lost is not _NOTHING and has_history(state):
            # A state without history was not made by the block that failed: somebody begins afresh.
            state = self._lost
        self._lost = _NOTHING
        detached = detach(state)
        if self._start is _NOTHING:
            self._start = detached
        return detached

    def keep(self) -> None:
        """The block has committed."""
        self._start = _NOTHING

    def lose(self) -> None:
        """It has not."""
        if self._start is not _NOTHING:
            self._lost, self._start = self._start, _NOTHING


def detach(state: S) -> S:
    """The tensors in tuples, lists and dicts, without their graphs; everything else as it is."""
    match state:
        case Tensor():
            return state.detach()  # type: ignore[return-value]
        case tuple() if hasattr(state, "_fields"):
            return type(state)(*map(detach, state))
        case tuple() | list():
            return type(state)(map(detach, state))
        case dict():
            return type(state)((key, detach(value)) for key, value in state.items())
        case _:
            return state


def has_history(state: object) -> bool:
    match state:
        case Tensor():
            return state.grad_fn is not None
        case tuple() | list():
            return any(map(has_history, state))
        case dict():
            return any(map(has_history, state.values()))
        case _:
            return False
