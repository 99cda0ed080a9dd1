"""Clips: whether a clip reached anybody, and whether it is meant to shorten anything.

A clip is an event of every optimizer whose parameters it was given; what is wrong with it is told by the state that it
finds. Here is what the state cannot tell: that it was given nothing, and that its limit only measures.
"""

import types

from zerograd.core.events import Site
from zerograd.core.world import Exhausted
from zerograd.run.detector import Detector
from zerograd.run.settings import entries, holders
from zerograd.run.sites import names_in, user_frame

_LIMITLESS = 1e6  # a clip with such a limit measures the norm


class Clipping(Detector):
    tells = (Exhausted,)

    def reached_nobody(self, site: Site) -> None:
        """A clip was given no parameter at all."""
        name = _exhausted(user_frame())
        if name is not None:
            self.tell(Exhausted(site, name, "the optimizer", True))


def limits(max_norm: object) -> bool:
    """Whether a clip with this limit is meant to shorten anything."""
    return isinstance(max_norm, int | float) and max_norm < _LIMITLESS


def _exhausted(frame: types.FrameType | None) -> str | None:
    """The name of an iterator in this frame, or in an object that it has a name for, that has nothing left to give."""
    named = names_in(frame, _is_exhausted)
    held = ((name, key, one) for name, value in holders(frame).items() for key, one in entries(value).items())
    return next(iter(named), None) or next((f"{name}.{key}" for name, key, one in held if _is_exhausted(one)), None)


def _is_exhausted(value: object) -> bool:
    if isinstance(value, types.GeneratorType):
        return value.gi_frame is None
    return isinstance(value, filter | map) and _reads_an_exhausted_one(value)


def _reads_an_exhausted_one(value: object) -> bool:
    """Whether a filter or a map reads from a generator that has ended. To ask it for an item would take the item."""
    try:
        source = value.__reduce__()[1][1]
    except Exception:  # what it reads from is its own affair in this Python
        return False
    return isinstance(source, types.GeneratorType) and source.gi_frame is None
