"""Which line of the user's own code is running now."""

import os
import sys
import sysconfig
from types import CodeType, FrameType

from zerograd.core.events import Site

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_FOREIGN = (
    _OURS,
    *{os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    "<frozen",
)
# Frames are walked on every backward and step; code objects are few and live long.
_is_foreign: dict[CodeType, bool] = {}


def user_site() -> Site:
    """The innermost frame that is neither ours, nor the standard library's, nor an installed package's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        foreign = _is_foreign.get(code)
        if foreign is None:
            foreign = _is_foreign[code] = code.co_filename.startswith(_FOREIGN)
        if not foreign:
            return Site(_shown(code.co_filename), frame.f_lineno)
        frame = frame.f_back
    return Site("<unknown>", 0)


def _shown(filename: str) -> str:
    """As the user would type it: relative to where they are, if it lies below."""
    here = os.getcwd() + os.sep
    return filename.removeprefix(here)
