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


class Mark(Enum):
    """What else has happened to a slot, as far as some rule asks."""

    CLIPPED = "clipped"  # clipped since the last deposit
    BLIND = "blind"  # clipped while nobody here had seen a deposit: its scale is unknown
    RESCALED = "rescaled"  # multiplied by hand since the last deposit
    UNEVEN = "uneven"  # a scaled loss and a plain one were deposited together: no one number divides both
    SPILLED = "spilled"  # another objective's gradient lies in the content
    LEFT = "left"  # an iteration that was given up has left its gradient in the content
    STEPPED = "stepped"  # some step has consumed, or found nothing: the optimizer is under way

    __hash__ = object.__hash__


Marks = frozenset[Mark]
_UNMARKED: Marks = frozenset()
_FLEETING: Marks = frozenset({Mark.CLIPPED, Mark.BLIND, Mark.RESCALED})
_ENDING: Marks = _FLEETING | {Mark.SPILLED, Mark.LEFT, Mark.UNEVEN}


class State(NamedTuple):
    content: Content = Content.NEW
    scale: Scale = Scale.PLAIN
    marks: Marks = _UNMARKED


START = State()
# The contents that hold nothing: `.grad` is None, or zeros.
HOLLOW = frozenset({Content.NEW, Content.EMPTY, Content.LOST})
_UNREAD = frozenset({Content.FRESH, Content.MIXED})

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


def is_just_deposited(state: State) -> bool:
    """Whether a backward() has filled an empty slot and nothing was done with it yet."""
    return state.content is Content.FRESH and state.scale is not Scale.UNSCALED and not state.marks & _FLEETING


def _move(state: State, kind: Kind, scaled: bool) -> State:
    content, scale, marks = state
    match kind:
        case Kind.DEPOSIT:
            # A scaler remembers that it has unscaled until it steps, whatever is deposited on top.
            now = Scale.SCALED if scaled and scale is not Scale.UNSCALED else scale
            beside = Scale.PLAIN if scaled else Scale.SCALED
            uneven = {Mark.UNEVEN} if content is Content.FRESH and scale is beside else _UNMARKED
            return State(_DEPOSITED[content], now, (marks - _FLEETING) | uneven)
        case Kind.SPILL:
            now = Scale.SCALED if scaled and scale is not Scale.UNSCALED else scale
            return State(_DEPOSITED[content], now, (marks - _FLEETING) | {Mark.SPILLED})
        case Kind.CONSUME:
            # A scaler's step divides what it reads. A plain one leaves it as it is, and is done with what was unscaled.
            now = Scale.PLAIN if scaled or scale is Scale.UNSCALED else scale
            return State(_CONSUMED[content], now, (marks - _ENDING) | {Mark.STEPPED})
        case Kind.CLEAR:
            return State(_CLEARED[content], Scale.PLAIN, marks - _ENDING)
        case Kind.UNSCALE:
            return State(content, Scale.UNSCALED, marks)
        case Kind.CLIP if scaled:  # a clip that divides the loss scale out first
            return State(content, Scale.UNSCALED, marks | {Mark.CLIPPED})
        case Kind.CLIP:
            blind = {Mark.BLIND} if content in HOLLOW and scale is not Scale.UNSCALED else _UNMARKED
            return State(content, scale, marks | {Mark.CLIPPED} | blind)
        case Kind.ABANDON:
            return State(content, scale, marks | {Mark.LEFT}) if content in _UNREAD else state
        case Kind.RESCALE:
            return State(content, scale, marks | {Mark.RESCALED})
        case Kind.REDUCE | Kind.SCHEDULE:
            return state


# Few of the states there could be are ever reached: each transition is worked out once, when it is first asked for.
_KNOWN: dict[tuple[State, Kind, bool], State] = {}


def advance(state: State, event: Event) -> State:
    """Where one slot stands after `event`. Total: defined for every state and event. Knows no rules."""
    key = (state, event.kind, event.scaled)
    after = _KNOWN.get(key)
    if after is None:
        after = _KNOWN[key] = _move(*key)
    return after
