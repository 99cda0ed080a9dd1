"""What the bytecode of the frames that run says about them: which lines share a loop, and what must come next."""

import dis
import functools
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import CodeType, FrameType

from torch import Tensor

from zerograd.core.events import Site
from zerograd.run.sites import is_machinery, names_in, shown, theirs

_ONWARD = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")  # no condition: nothing falls through
_RETURNS = ("RETURN_VALUE", "RETURN_CONST")
_RAISES = ("RAISE_VARARGS", "RERAISE")


def in_one_body(frame: FrameType | None, deposit: Site) -> bool:
    """Whether the line of the backward and the line that runs in `frame` stand in the body of the same loop."""
    if frame is None:
        return False
    here = [start for start, _, line in frame.f_code.co_lines() if line == deposit.line]
    if not here or here[0] >= frame.f_lasti:
        return False
    jumps = [(one.offset, one.argval) for one in dis.get_instructions(frame.f_code) if "BACKWARD" in one.opname]
    # A loop around the backward that is over before the step: its head is never jumped to from behind the step.
    around = {target for offset, target in jumps if target <= here[0] < offset < frame.f_lasti}
    return around <= {target for offset, target in jumps if offset > frame.f_lasti}


def always_steps(deposit: Site) -> bool:
    """Whether a backward of this line is followed by the step that runs now, unless an exception comes between."""
    return _turnings(deposit)[1] == frozenset()


def turned_by_its_loss(deposit: Site) -> bool:
    """Whether a backward of this line is followed by the step that runs now, unless a test of its loss says no.

    Of the loss, of what was worked out of it, or of a gradient: `if loss.item() > 50: continue`.
    """
    frame, lines = _turnings(deposit)
    if frame is None or not lines:
        return False
    tensors = frozenset(names_in(frame, lambda value: issubclass(type(value), Tensor)))
    used = _names(frame.f_code)
    known = tensors & used[deposit.line].read
    told = 0
    while len(known) > told:
        told = len(known)
        known |= {name for line in used.values() if known & line.read or "grad" in line.read for name in line.written}
    return all(known & used[line].read for line in lines)


def _turnings(deposit: Site) -> tuple[FrameType | None, frozenset[int] | None]:
    """The frame that has this line, and the lines on which it may turn away from the step that runs now.

    Asked of the program's own frames, from the step outwards to the one that has the line. A wrapper that does not
    always step, or one of an installed package, which cannot be asked here: then nobody can say.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if theirs(code.co_filename):
            lines = {line for _, _, line in code.co_lines()}
            if shown(code.co_filename) == deposit.path and deposit.line in lines:
                return frame, _ways_around(code, deposit.line, frame.f_lasti)
            if _ways_around(code, None, frame.f_lasti) != frozenset():
                return None, None
        elif not is_machinery(code.co_filename):
            return None, None
        frame = frame.f_back
    return None, None


@functools.lru_cache(maxsize=256)
def _ways_around(code: CodeType, line: int | None, gate: int) -> frozenset[int] | None:
    """The lines from which, on the way from a backward on `line`, or from the beginning, `gate` is missed for good.

    Missed: the way leads to the end, or to that backward again. None if nobody can say. Handlers are on no way: since
    Python 3.11 they stand in a table of their own, and only an exception leads there.
    """
    instructions = list(dis.get_instructions(code))
    following = {one.offset: after.offset for one, after in pairwise(instructions)}
    lines = _lines(code)
    starts = {instructions[0].offset} if line is None else _backwards(instructions, code, line)
    # While a call runs, the frame stands somewhere in the cache behind its instruction.
    gate = max(one.offset for one in instructions if one.offset <= gate)
    ways = {one.offset: _onward(one, following) for one in instructions}
    back = starts if line is not None else set()
    leading = _leading_to({gate}, ways, without=starts)
    ending = _leading_to({one.offset for one in instructions if one.opname in _RETURNS} | back, ways, without={gate})
    if not starts or not starts <= leading:
        return None
    waiting, seen, missed = list(starts), {gate}, set()
    while waiting:
        here = waiting.pop()
        lost = {way for way in ways[here] if way in back or (way in ending and way not in leading)}
        if lost:
            missed.add(lines[here])
        waiting += [way for way in ways[here] if way not in seen and way not in lost]
        seen.update(ways[here])
    return frozenset(missed)


def _onward(one: dis.Instruction, following: Mapping[int, int]) -> list[int]:
    """Where it may go on from here, if nothing is raised."""
    ways = [one.argval] if one.opcode in (*dis.hasjrel, *dis.hasjabs) else []
    if one.opname not in (*_ONWARD, *_RAISES, *_RETURNS) and one.offset in following:
        ways.append(following[one.offset])
    return ways


def _leading_to(targets: set[int], ways: Mapping[int, Sequence[int]], *, without: set[int]) -> set[int]:
    """From where a target can be reached, without coming by one of the others on the way."""
    before: dict[int, list[int]] = {}
    for here, onward in ways.items():
        for way in onward:
            before.setdefault(way, []).append(here)
    leading, waiting = set(targets), list(targets)
    while waiting:
        there = waiting.pop()
        new = {here for here in before.get(there, ()) if here not in leading}
        leading |= new
        waiting += new - without
    return leading


def _lines(code: CodeType) -> dict[int, int]:
    """Each offset with its line; 0 where nobody wrote one."""
    return {offset: line or 0 for start, end, line in code.co_lines() for offset in range(start, end, 2)}


class _Line:
    """The names that a line reads and writes; what it reads of an object as well: `self.loss`."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.written: set[str] = set()


@functools.lru_cache(maxsize=256)
def _names(code: CodeType) -> Mapping[int, _Line]:
    lines = _lines(code)
    used: defaultdict[int, _Line] = defaultdict(_Line)
    for one in dis.get_instructions(code):
        told = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        names = {name for name in told if isinstance(name, str)}
        line = used[lines[one.offset]]
        if one.opname.startswith("STORE_"):
            line.written |= names
        elif one.opname.startswith("LOAD_") and not one.opname.startswith("LOAD_CONST"):
            line.read |= names
    return used


def _backwards(instructions: Iterable[dis.Instruction], code: CodeType, line: int) -> set[int]:
    """Where a backward on this line begins: where it is looked up, else anywhere in the line."""
    spans = [(start, end) for start, end, at in code.co_lines() if at == line]
    there = [one for one in instructions if any(start <= one.offset < end for start, end in spans)]
    return {one.offset for one in there if one.argval == "backward"} or {one.offset for one in there[:1]}
