"""The statements of a function, by its bytecode: a line may hold several of them, `if k == need: optimizer.step()`.

A statement begins where the one before it has left nothing on the stack. A test is one as well: all of `a and b`, if it
stands on one line. The head of a `for` and what it writes is one.
"""

import dis
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from types import CodeType
from typing import NamedTuple

Positions = tuple[int, int, int, int]  # line, column, last line and last column; lines and columns count from 1
RETURNS = ("RETURN_VALUE", "RETURN_CONST")
_WRITES = ("STORE_", "POP_TOP", "DELETE_")
# Nothing falls through these: jumps without a condition, returns, raises.
_FINAL = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RAISE_VARARGS", "RERAISE", *RETURNS)


class Statement(NamedTuple):
    """`offsets`: of its instructions. What it reads of an object is among the names that it reads: `self.loss`."""

    offsets: tuple[int, ...]
    read: frozenset[str]
    written: frozenset[str]


@functools.lru_cache(maxsize=256)
def statement_at(code: CodeType) -> Mapping[int, Statement]:
    """Each offset with the statement that it belongs to."""
    return {one.offset: told for part in _parts(code) for told in [_read(part)] for one in part}


@functools.lru_cache(maxsize=256)
def crowded_lines(code: CodeType) -> frozenset[int]:
    """The lines of this code that hold several statements."""
    where = positions(code)
    starts = {where[part[0].offset][:2] for part in _parts(code) if any(map(_names, part))}
    counted = Counter(line for line, _ in starts)
    return frozenset(line for line, count in counted.items() if count > 1)


@functools.lru_cache(maxsize=256)
def positions(code: CodeType) -> Mapping[int, Positions]:
    """Where each instruction stands. Where Python has kept no columns, its offset has to do for one."""
    lines = {offset: line or 0 for start, end, line in code.co_lines() for offset in range(start, end, 2)}
    told = enumerate(code.co_positions())
    return {
        2 * number: (first, start + 1, last, end + 1)
        if first is not None and last is not None and start is not None and end is not None
        else (first or lines.get(2 * number, 0), 2 * number + 1, 0, 0)
        for number, (first, last, start, end) in told
    }


@functools.lru_cache(maxsize=256)
def _parts(code: CodeType) -> tuple[tuple[dis.Instruction, ...], ...]:
    return tuple(map(tuple, _joined_tests(list(_cut(list(dis.get_instructions(code)))))))


def _cut(instructions: list[dis.Instruction]) -> Iterator[list[dis.Instruction]]:
    depths = _stack_depths(instructions)
    part: list[dis.Instruction] = []
    base = 0  # what lay on the stack when the statement began
    for number, (one, after) in enumerate(zip_longest(instructions, instructions[1:])):
        base = base if part else depths[one.offset]
        part.append(one)
        left = depths[one.offset] + _effect(one, jump=False)
        if one.opname == "EXTENDED_ARG":
            continue  # the first part of the next one: its jump is a long one
        loops = one.opname == "GET_ITER" and _next(instructions, number) == "FOR_ITER"
        base += loops or one.opname == "BEFORE_WITH"  # the iterator, the exit: they lie there for the whole block
        ended = left <= base or (one.opname.startswith(_WRITES) and after is not None and _line(one) != _line(after))
        if after is None or (ended and not loops):
            yield part
            part = []


def _next(instructions: list[dis.Instruction], number: int) -> str:
    """The name of the instruction behind this one."""
    return next((one.opname for one in instructions[number + 1 : number + 4] if one.opname != "EXTENDED_ARG"), "")


def _stack_depths(instructions: list[dis.Instruction]) -> dict[int, int]:
    """How much lies on the stack before each instruction. Handlers, which nothing leads to, are counted from zero."""
    onward = ways(instructions)
    by_offset = {one.offset: one for one in instructions}
    depths: dict[int, int] = {}
    for start in instructions:
        waiting = [(start.offset, 0)] if start.offset not in depths else []
        while waiting:
            offset, depth = waiting.pop()
            if offset not in depths:
                depths[offset] = depth
                one = by_offset[offset]
                waiting += [(way, depth + _effect(one, jump=way == _target(one))) for way in onward[offset]]
    return depths


def _effect(one: dis.Instruction, *, jump: bool) -> int:
    return dis.stack_effect(one.opcode, one.arg, jump=jump)


def _target(one: dis.Instruction) -> int | None:
    return one.argval if one.opcode in (*dis.hasjrel, *dis.hasjabs) else None


def ways(instructions: Sequence[dis.Instruction]) -> dict[int, list[int]]:
    """Where it may go on from each instruction, if nothing is raised."""
    following = {one.offset: after.offset for one, after in pairwise(instructions)}
    onward: dict[int, list[int]] = {}
    for one in instructions:
        target, after = _target(one), following.get(one.offset) if one.opname not in _FINAL else None
        onward[one.offset] = [way for way in (target, after) if way is not None]
    return onward


def _joined_tests(parts: list[list[dis.Instruction]]) -> Iterator[list[dis.Instruction]]:
    """`a and b` is two tests to Python, and one to whoever wrote it."""
    waiting: list[dis.Instruction] = []
    for part in parts:
        if waiting and not (_is_test(waiting) and _is_test(part) and _line(waiting[0]) == _line(part[0])):
            yield waiting
            waiting = []
        waiting = waiting + part
    if waiting:
        yield waiting


def _is_test(part: list[dis.Instruction]) -> bool:
    return "JUMP" in part[-1].opname and "_IF_" in part[-1].opname


def _line(one: dis.Instruction) -> int | None:
    return one.positions.lineno if one.positions is not None else None


def _read(part: tuple[dis.Instruction, ...]) -> Statement:
    told = list(map(_names, part))
    read, written = (frozenset().union(*(names[i] for names in told if names)) for i in (0, 1))
    return Statement(tuple(one.offset for one in part), read, written)


def _names(one: dis.Instruction) -> tuple[frozenset[str], frozenset[str]] | None:
    """What an instruction reads and what it writes, by name. None: nothing of the kind."""
    told = one.argval if isinstance(one.argval, tuple) else (one.argval,)
    names = frozenset(name for name in told if isinstance(name, str))
    if one.opname.startswith("STORE_") and names:
        return frozenset(), names
    if one.opname.startswith("LOAD_") and not one.opname.startswith("LOAD_CONST") and names:
        return names, frozenset()
    return None
