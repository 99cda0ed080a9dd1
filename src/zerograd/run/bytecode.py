"""What the bytecode of the frames that run says about them: which lines share a loop, and what must come next."""

import dis
import functools
import sys
from collections.abc import Iterable
from itertools import pairwise
from types import CodeType, FrameType

from zerograd.core.events import Site
from zerograd.run.sites import is_machinery, shown, theirs

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
    """Whether a backward of this line is followed by the step that runs now, unless an exception comes between.

    Asked of the program's own frames, from the step outwards to the one that has the line. A wrapper that does not
    always step, or one of an installed package, which cannot be asked here: then nobody can say.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if theirs(code.co_filename):
            lines = {line for _, _, line in code.co_lines()}
            if shown(code.co_filename) == deposit.path and deposit.line in lines:
                return _must_pass(code, deposit.line, frame.f_lasti)
            if not _must_pass(code, None, frame.f_lasti):
                return False
        elif not is_machinery(code.co_filename):
            return False
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=256)
def _must_pass(code: CodeType, line: int | None, gate: int) -> bool:
    """Whether every way from a backward on `line`, or from the beginning, to the end or back leads through `gate`.

    Handlers are on no way: since Python 3.11 they stand in a table of their own, and only an exception leads there.
    """
    instructions = list(dis.get_instructions(code))
    following = {one.offset: after.offset for one, after in pairwise(instructions)}
    known = {one.offset: one for one in instructions}
    starts = {instructions[0].offset} if line is None else _backwards(instructions, code, line)
    # While a call runs, the frame stands somewhere in the cache behind its instruction.
    waiting, seen = list(starts), {max(offset for offset in known if offset <= gate)}
    if not starts:
        return False
    while waiting:
        one = known[waiting.pop()]
        if one.opname in _RETURNS:
            return False
        ways = [one.argval] if one.opcode in (*dis.hasjrel, *dis.hasjabs) else []
        if one.opname not in (*_ONWARD, *_RAISES) and one.offset in following:
            ways.append(following[one.offset])
        if line is not None and not starts.isdisjoint(ways):
            return False
        waiting += [way for way in ways if way not in seen]
        seen.update(ways)
    return True


def _backwards(instructions: Iterable[dis.Instruction], code: CodeType, line: int) -> set[int]:
    """Where a backward on this line begins: where it is looked up, else anywhere in the line."""
    spans = [(start, end) for start, end, at in code.co_lines() if at == line]
    there = [one for one in instructions if any(start <= one.offset < end for start, end in spans)]
    return {one.offset for one in there if one.argval == "backward"} or {one.offset for one in there[:1]}
