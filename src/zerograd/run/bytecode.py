"""What the bytecode of the frames that run says about them: which places share a loop, and what must come next."""

import dis
import functools
import sys
from collections.abc import Mapping, Sequence, Set
from types import CodeType, FrameType

from torch import Tensor

from zerograd.core.events import Site
from zerograd.run.sites import is_machinery, names_in, shown, site_at, theirs
from zerograd.run.statements import RETURNS, Statement, statement_at, ways


def in_one_body(frame: FrameType | None, deposit: Site) -> bool:
    """Whether the place of the backward and the one that runs in `frame` stand in the body of the same loop."""
    if frame is None:
        return False
    here = min(_backwards(frame.f_code, deposit), default=frame.f_lasti)
    if here >= frame.f_lasti:
        return False
    jumps = [(one.offset, one.argval) for one in dis.get_instructions(frame.f_code) if "BACKWARD" in one.opname]
    # A loop around the backward that is over before the step: its head is never jumped to from behind the step.
    around = {target for offset, target in jumps if target <= here < offset < frame.f_lasti}
    return around <= {target for offset, target in jumps if offset > frame.f_lasti}


def always_steps(deposit: Site) -> bool:
    """Whether a backward of this place is followed by the step that runs now, unless an exception comes between."""
    return _turnings(deposit)[1] == frozenset()


def turned_by_its_loss(deposit: Site) -> bool:
    """Whether a backward of this place is followed by the step that runs now, unless a test of its loss says no.

    Of the loss, of what was worked out of it, or of a gradient: `if loss.item() > 50: continue`.
    """
    frame, turnings = _turnings(deposit)
    if frame is None or not turnings:
        return False
    tensors = frozenset(names_in(frame, lambda value: issubclass(type(value), Tensor)))
    statements = statement_at(frame.f_code)
    known = tensors.intersection(*(statements[here].read for here in _backwards(frame.f_code, deposit)))
    told = 0
    while len(known) > told:
        told = len(known)
        hot = (one for one in statements.values() if known & one.read or "grad" in one.read)
        known = known.union(*(one.written for one in hot))
    return all(known & one.read for one in turnings)


def _turnings(deposit: Site) -> tuple[FrameType | None, frozenset[Statement] | None]:
    """The frame that has this place, and the statements in which it may turn away from the step that runs now.

    Asked of the program's own frames, from the step outwards to the one that has the place. A wrapper that does not
    always step, or one of an installed package, which cannot be asked here: then nobody can say.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if theirs(code.co_filename):
            if _backwards(code, deposit):
                return frame, _ways_around(code, deposit, frame.f_lasti)
            if _ways_around(code, None, frame.f_lasti) != frozenset():
                return None, None
        elif not is_machinery(code.co_filename):
            return None, None
        frame = frame.f_back
    return None, None


@functools.lru_cache(maxsize=256)
def _ways_around(code: CodeType, deposit: Site | None, gate: int) -> frozenset[Statement] | None:
    """The statements from which, on the way from a backward there, or from the beginning, `gate` is missed for good.

    Missed: the way leads to the end, or to that backward again. None if nobody can say. Handlers are on no way: since
    Python 3.11 they stand in a table of their own, and only an exception leads there.
    """
    instructions = list(dis.get_instructions(code))
    statements, onward = statement_at(code), ways(instructions)
    starts = frozenset({instructions[0].offset}) if deposit is None else _backwards(code, deposit)
    # While a call runs, the frame stands somewhere in the cache behind its instruction.
    gate = max(one.offset for one in instructions if one.offset <= gate)
    back = starts if deposit is not None else frozenset()
    leading = _leading_to({gate}, onward, without=starts)
    ending = _leading_to({one.offset for one in instructions if one.opname in RETURNS} | back, onward, without={gate})
    if not starts or not starts <= leading:
        return None
    waiting, seen, missed = list(starts), {gate}, set()
    while waiting:
        here = waiting.pop()
        lost = {way for way in onward[here] if way in back or (way in ending and way not in leading)}
        if lost:
            missed.add(statements[here])
        waiting += [way for way in onward[here] if way not in seen and way not in lost]
        seen.update(onward[here])
    return frozenset(missed)


def _leading_to(targets: set[int], onward: Mapping[int, Sequence[int]], *, without: Set[int]) -> set[int]:
    """From where a target can be reached, without coming by one of the others on the way."""
    before: dict[int, list[int]] = {}
    for here, there in onward.items():
        for way in there:
            before.setdefault(way, []).append(here)
    leading, waiting = set(targets), list(targets)
    while waiting:
        new = {here for here in before.get(waiting.pop(), ()) if here not in leading}
        leading |= new
        waiting += new - without
    return leading


@functools.lru_cache(maxsize=256)
def _backwards(code: CodeType, deposit: Site) -> frozenset[int]:
    """Where in this code a backward at this place begins: where it is looked up, else where the place begins."""
    if shown(code.co_filename) != deposit.path:
        return frozenset()
    there = [one for one in dis.get_instructions(code) if site_at(code, one.offset) == deposit]
    looked_up = frozenset(one.offset for one in there if one.argval == "backward")
    return looked_up or frozenset(one.offset for one in there[:1])
