"""The steps that are running now, in one thread.

`super().step()` and wrappers announce one step twice, and a step that raises announces no end. So an entry is believed
only while torch's wrapper around that optimizer's step() is found on the stack. An entry keeps nothing alive: after an
out-of-memory error the frames of the failed step are what must go first.
"""

import operator
import os
import sys
from itertools import repeat
from types import CodeType, FrameType
from weakref import ref

from torch.optim import Optimizer

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Stepping:
    def __init__(self) -> None:
        self._open: list[tuple[ref[Optimizer], CodeType]] = []
        self._known: CodeType | None = None  # of the last frame that has announced a step

    def begin(self, optimizer: Optimizer) -> bool:
        """A step is announced. Whether it is a step of its own, and not a part of one that is running."""
        frame = _announcing(optimizer, self._known)
        if frame is None:
            return True
        self._forget_raised(frame.f_back)
        own = all(entry() is not optimizer for entry, _ in self._open)
        self._known = frame.f_code
        self._open.append((ref(optimizer), frame.f_code))
        return own

    def end(self, optimizer: Optimizer) -> bool:
        """The end of a step is announced. Whether that was the outermost one of this optimizer."""
        while self._open and self._open.pop()[0]() is not optimizer:
            pass
        if not self._open:
            return True
        frame = _announcing(optimizer, self._known)
        self._forget_raised(frame.f_back if frame else None)
        return all(entry() is not optimizer for entry, _ in self._open)

    def optimizers(self) -> list[Optimizer]:
        """Those whose step is running, each once."""
        if not self._open:
            return []
        self._forget_raised(sys._getframe(1))
        found = {id(optimizer): optimizer for entry, _ in self._open if (optimizer := entry()) is not None}
        return list(found.values())

    def _forget_raised(self, frame: FrameType | None) -> None:
        """Drop what is no longer on the stack: of each optimizer as many entries stay as it has running steps."""
        if not self._open:
            return
        codes = {id(code) for _, code in self._open}  # code objects hash slowly, and the stack is deep
        running: list[int] = []
        while frame is not None:
            if id(frame.f_code) in codes:
                running += set(map(id, frame.f_locals.values()))
            frame = frame.f_back
        kept: list[tuple[ref[Optimizer], CodeType]] = []
        for entry, code in self._open:
            optimizer = entry()
            if optimizer is not None and id(optimizer) in running:
                running.remove(id(optimizer))
                kept.append((entry, code))
        self._open = kept


def _announcing(optimizer: Optimizer, known: CodeType | None) -> FrameType | None:
    """The frame that called our hook: the innermost that is not ours and has the optimizer at hand.

    `known`: code that has announced a step before. Its frame is not asked again what it has at hand.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code is known:
            return frame
        ours = code.co_filename.startswith(_OURS)
        if not ours and any(map(operator.is_, frame.f_locals.values(), repeat(optimizer))):
            return frame
        frame = frame.f_back
    return None
