"""What the text of the program says that no event does: whether it ever looks at a gradient, or averages weights.

If it looks at gradients itself (an attack, a penalty, a log, surgery), one that no step has used may have served its
purpose. If ranks exchange anything by its own hand, replicas that drift apart may be brought together later. Asked are
the user's own files, and only when something hangs on the answer: those that are running, and those they have names
from.
"""

import linecache
import os
import re
import sys
from collections.abc import Iterator
from types import FrameType, ModuleType

from zerograd.run.sites import theirs

# `p.grad`, getattr(p, "grad"), hooks that are handed gradients, libraries that are told to watch them.
_LOOKS = re.compile(r"""\.grad\b|['"]_?grad['"]|hook|retain_grad|\.watch\(""")
_EXCHANGES = re.compile(
    r"all_?reduce|all_?gather|broadcast|\breduce\(|\bscatter\(|\bi?send\b|\bi?recv\b|\brpc\b|all_?to_?all"
    r"|averager|averag\w*_(?:param|weight|model)|(?:param|weight|model)\w*_averag|local_?sgd|diloco|gossip",
    re.IGNORECASE,
)


def nobody_looks(frame: FrameType | None) -> bool:
    """Whether no line of the user's code could have read a gradient. `frame`: where it runs now."""
    return _nowhere(_LOOKS, frame)


def nobody_averages(frame: FrameType | None) -> bool:
    """Whether no line of the user's code could exchange weights with other ranks."""
    return _nowhere(_EXCHANGES, frame)


def _nowhere(words: re.Pattern[str], frame: FrameType | None) -> bool:
    if frame is None:
        return False
    files = {running.f_code.co_filename for running in _program(frame) if theirs(running.f_code.co_filename)}
    return not any(_may_say(words, file) for file in files | _named_in(frame.f_globals))


def _program(frame: FrameType | None) -> Iterator[FrameType]:
    """From here to the first line of the program: who started that is not part of it."""
    while frame is not None:
        yield frame
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back


def _named_in(names: dict[str, object]) -> set[str]:
    """The files of the user's own modules that these names lead to."""
    found: set[str] = set()
    ahead = [names]
    while ahead:
        for value in list(ahead.pop().values()):
            module = value if isinstance(value, ModuleType) else _home(value)
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file not in found and theirs(file):
                found.add(file)
                ahead.append(vars(module))
    return found


def _home(value: object) -> ModuleType | None:
    """The module of a function, a class, or an object of one; what was made in the program itself has none."""
    name = getattr(value if callable(value) else type(value), "__module__", None)
    return sys.modules.get(name) if isinstance(name, str) and name != "__main__" else None


def _may_say(words: re.Pattern[str], file: str) -> bool:
    text = "".join(linecache.getlines(file))
    if not text:  # nobody can tell, unless the file is truly empty
        return not os.path.isfile(file) or os.path.getsize(file) > 0
    return words.search(text) is not None
