"""Where one slot stands, and the one function that moves it."""

from enum import Enum
from typing import NamedTuple

from zerograd.core.events import Event, Kind


class Content(Enum):
    """What lies in `.grad`, told by its past. Each comment says when one enters."""

    NEW = "new"  # the start: nothing deposited, nothing consumed. A first step here is a warm-up, not a fault
    EMPTY = "empty"  # what was there had been consumed and is cleared; or a step has found nothing
    FRESH = "fresh"  # deposited into a slot that held nothing; no step has read it
    SPENT = "spent"  # a step read it and it still lies there
    MIXED = "mixed"  # deposited on top of SPENT: old and new can no longer be told apart
    LOST = "lost"  # cleared while it held something no step had read; nothing deposited since

    __hash__ = object.__hash__


class Scale(Enum):
    """Whether the loss scale is still multiplied into the content."""

    PLAIN = "plain"  # no loss scale is involved, or a scaler's step has divided it out
    SCALED = "scaled"  # a scaled loss was deposited
    UNSCALED = "unscaled"  # unscale_() divided it out ahead of the step

    __hash__ = object.__hash__


class State(NamedTuple):
    content: Content = Content.NEW
    scale: Scale = Scale.PLAIN


START = State()
# The contents that hold nothing: `.grad` is None, or zeros.
HOLLOW = frozenset({Content.NEW, Content.EMPTY, Content.LOST})

_DEPOSITED = {
    Content.NEW: Content.FRESH,
    Content.EMPTY: Content.FRESH,
    Content.FRESH: Content.FRESH,
    Content.SPENT: Content.MIXED,
    Content.MIXED: Content.MIXED,
    Content.LOST: Content.FRESH,
}
_CONSUMED = {
    Content.NEW: Content.EMPTY,
    Content.EMPTY: Content.EMPTY,
    Content.FRESH: Content.SPENT,
    Content.SPENT: Content.SPENT,
    Content.MIXED: Content.SPENT,
    Content.LOST: Content.LOST,
}
_CLEARED = {
    Content.NEW: Content.NEW,
    Content.EMPTY: Content.EMPTY,
    Content.FRESH: Content.LOST,
    Content.SPENT: Content.EMPTY,
    Content.MIXED: Content.LOST,
    Content.LOST: Content.LOST,
}


def _move(state: State, kind: Kind, scaled: bool) -> State:
    content, scale = state
    match kind:
        case Kind.DEPOSIT:
            return State(_DEPOSITED[content], Scale.SCALED if scaled else scale)
        case Kind.CONSUME:
            # A scaler's step divides what it reads; a plain step leaves it as it is.
            return State(_CONSUMED[content], Scale.PLAIN if scaled else scale)
        case Kind.CLEAR:
            return State(_CLEARED[content])
        case Kind.UNSCALE:
            return State(content, Scale.UNSCALED if scale is Scale.SCALED else scale)
        case Kind.CLIP | Kind.REDUCE:
            return state


# Eighteen states, twelve events: small enough to write out once, so that `advance` is a look-up.
_TABLE = {
    (state, kind, scaled): _move(state, kind, scaled)
    for state in (State(content, scale) for content in Content for scale in Scale)
    for kind in Kind
    for scaled in (False, True)
}


def advance(state: State, event: Event) -> State:
    """Where one slot stands after `event`. Total: defined for every state and event. Knows no rules."""
    return _TABLE[state, event.kind, event.scaled]
