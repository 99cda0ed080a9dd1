"""Which place of the user's own code is running now.

[Note: places] A place is a call and not a line: `a.backward(); b.backward()` is two of them, and so is the test and the
step of `if k == need: optimizer.step()`. Where a line holds one statement its number says it all; where it holds
several, the place has the columns of the call as well.
"""

import inspect
import os
import site
import sys
import sysconfig
from collections.abc import Callable
from enum import IntEnum
from types import CodeType, FrameType
from weakref import ref

import torch

from zerograd.core.events import Site
from zerograd.run.statements import crowded_lines, positions


class _Whose(IntEnum):
    USER = 0  # what the finding should point at
    PACKAGE = 1  # an installed package: the best there is when an installed trainer runs itself
    MACHINERY = 2  # torch, the standard library, and us: never


def _folder(path: str) -> str:
    return os.path.abspath(path) + os.sep


def _installed() -> list[str]:
    known = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    try:
        return [*known, *site.getsitepackages(), site.getusersitepackages()]
    except Exception:  # there is no home folder, or the interpreter has a `site` of its own
        return known


_TORCH = os.path.dirname(torch.__file__)  # built from source, it stands outside of site-packages
_MACHINERY = (_folder(os.path.dirname(os.path.dirname(__file__))), _folder(_TORCH), "<frozen", "<eval_with_key>")
_PACKAGES = tuple({_folder(path) for path in _installed()})
_STDLIB = tuple({_folder(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")})
# Frames are walked on every backward and step; files are few. By name: code objects of two files may be equal.
_known: dict[str, _Whose] = {}
_ASKING = frozenset({"locals", "vars", "exec", "eval", "f_locals"})  # what a function gets at its own variables by
# By the code's id and the offset that runs: code objects hash slowly. The reference tells a code from one of its id.
_sites: dict[tuple[int, int], tuple[ref[CodeType], Site]] = {}
_equal: dict[Site, Site] = {}  # one object for each place, however often its code is compiled


def _whose(filename: str) -> _Whose:
    if filename.startswith(_MACHINERY):
        return _Whose.MACHINERY
    if filename.startswith(_PACKAGES):  # before the standard library, in whose folder they usually stand
        return _Whose.PACKAGE
    return _Whose.MACHINERY if filename.startswith(_STDLIB) else _Whose.USER


def user_frame() -> FrameType | None:
    """The innermost frame that is the user's; if there is none, the innermost of an installed package."""
    frame: FrameType | None = sys._getframe(1)
    second: FrameType | None = None
    known, machinery = _known.get, _Whose.MACHINERY
    while frame is not None:
        whose = known(frame.f_code.co_filename)
        if whose is not machinery:  # of a dozen frames all but one are
            if whose is None:
                filename = frame.f_code.co_filename
                _known[filename] = _whose(filename)
                continue
            if whose is _Whose.USER:
                return frame
            second = frame if second is None else second
        frame = frame.f_back
    return second


def names_in(frame: FrameType | None, wanted: Callable[[object], bool]) -> dict[str, object]:
    """What this frame has names for, local or global, as far as it is wanted."""
    if frame is None:
        return {}
    found = {name: value for name, value in list(frame.f_globals.items()) if wanted(value)}
    # Before Python 3.13 a function's frame has one dictionary for all who ask, and writes it anew for each of them.
    shared = frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.version_info < (3, 13)
    if shared and not _ASKING.isdisjoint(frame.f_code.co_names):
        return found  # the function may keep it: `config = locals()`
    local = frame.f_locals
    found |= {name: value for name, value in list(local.items()) if wanted(value)}
    if shared:
        local.clear()  # else the frame keeps every tensor in it alive
    return found


def user_site() -> Site:
    """Where that frame is now. One object for each place."""
    frame = user_frame()
    if frame is None:
        return Site("<unknown>", 0)
    code, offset = frame.f_code, frame.f_lasti
    known = _sites.get((id(code), offset))
    if known is None or known[0]() is not code:
        place = site_at(code, offset)
        known = _sites[id(code), offset] = ref(code), _equal.setdefault(place, place)
    return known[1]


def site_at(code: CodeType, offset: int) -> Site:
    """The place of an instruction. See [Note: places]."""
    line, *rest = positions(code).get(offset, (0, 1, 0, 0))
    # A lambda, a comprehension, a function of one line share it with whoever makes them, and perhaps with another one.
    shared = line == code.co_firstlineno and code.co_name != "<module>"
    crowded = shared or line in crowded_lines(code)
    return Site(shown(code.co_filename), line, *rest) if crowded else Site(shown(code.co_filename), line)


class _Start:
    """The folder in which the run began. A later os.chdir must not give a second name to a line that has one."""

    def __init__(self) -> None:
        try:
            self.folder = os.getcwd()
        except OSError:  # the folder was deleted under us: then paths are shown in full
            self.folder = ""


_start = _Start()


def started_in(folder: str) -> None:
    """Show paths relative to `folder`: where `zerograd run` was typed, however late torch was imported."""
    _start.folder = folder
    _sites.clear()
    _equal.clear()


def started_where() -> str:
    return _start.folder


def shown(filename: str) -> str:
    """As the user would type it: relative to where they began, if it lies below."""
    return filename.removeprefix(_start.folder + os.sep) if _start.folder else filename


def located(path: str) -> str:
    """The file behind a shown path, wherever the program may have gone since."""
    return os.path.join(_start.folder, path)


def theirs(filename: str) -> bool:
    """Whether a file is the user's own."""
    return _whose(filename) is _Whose.USER


def is_machinery(filename: str) -> bool:
    """Whether a file is torch's, the standard library's or ours."""
    return _whose(filename) is _Whose.MACHINERY
