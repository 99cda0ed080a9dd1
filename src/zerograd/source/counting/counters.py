"""Counters and the questions asked of them: `if (i + 1) % N == 0:`.

A guard is true in one micro-batch of every window of N. Which one follows from the counter's origin (enumerate from 0
or 1, incremented before or behind the test) and from the test itself: `phase` 0 is the window's first, -1 its last.
"""

import ast
from typing import NamedTuple

from zerograd.source.counting.origins import Origins, enumerated, spans
from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_LAST = pattern(r"\blen\(|\bn_?batch|num_batch|total_steps|last|is_final|n_iter")
_TRAINING = pattern(r"^(self\.)?(phase|mode|split) == ['\"]tr|^(self\.)?(is_)?train(ing)?$|^(self\.)?\w+\.training$")
ACCUMULATION = pattern(
    r"accum|grad_acc|\bacc_?(steps?|iters?)|iter_?size|upd(ate)?_?(freq|every|interval|period)|sub_?div|micro|virtual"
    r"|\baccu_?(steps?|iters?|grad)|grad_?cum|\bcum(ul)?_?(grads?|steps?|iters?)\b|batch(es)?_per_(update|optim)"
    r"|aggregat|batch_?(split|multipl)|optimize_every|steps?_(per_update|every|interval)|backward_passes"
)


class Guard(NamedTuple):
    loop: ast.AST | None  # the loop that drives the counter; None: a counter we cannot place
    phase: int | None  # 0: true at the first micro-batch of a window, -1: at the last; None: unknown
    size: str  # N as it is written
    negated: bool = False  # the test is true everywhere else
    tail: bool = False  # `or i + 1 == len(loader)`: also true at the end
    conjoined: bool = False  # `and something else` than whether this is training at all
    late: bool = False  # `and i > 0`: not true at the first micro-batch, so that its group has one more
    asks: int = 0  # of a counter that began nobody knows where: its value modulo N when the guard is true
    begun: int | None = None  # of one that goes on over the epochs: the phase of the very first window
    over: bool = False  # `n > N`: true only at the one behind the last

    @property
    def key(self) -> str:
        """The question, so that two guards over one window ask the same one."""
        return f"{'first' if self.phase == 0 else 'last'}@{id(self.loop)}%{self.size}"

    @property
    def accumulates(self) -> bool:
        """Whether N is named for what it is."""
        return bool(ACCUMULATION.search(self.size.lower()))


def read_guard(test: ast.expr, origins: Origins) -> Guard | None:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = read_guard(operand, origins)
            return None if inner is None else inner._replace(negated=not inner.negated)
        case ast.BoolOp(op=op, values=values):
            return _combined(op, values, origins)
        case ast.Compare(
            left=ast.BinOp(op=ast.Mod()) as modulo, ops=[ast.Eq() | ast.NotEq() as op], comparators=[residue]
        ):
            found = _modulo(modulo, residue, origins)
            return None if found is None else found._replace(negated=isinstance(op, ast.NotEq))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.GtE() | ast.Gt() as op], comparators=[size]) if (
            path_of(left) in origins.resets
        ):
            return _reset(left, size, origins, over=isinstance(op, ast.Gt))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=0)]) if (
            path_of(left) in origins.wraps
        ):
            inner = _wrapped(left, origins)
            return None if inner is None else inner._replace(negated=isinstance(op, ast.NotEq))
        case ast.Name() | ast.Attribute() if path_of(test) in origins.wraps:
            inner = _wrapped(test, origins)
            return None if inner is None else inner._replace(negated=True)
        # Made further up: `flag = flag and ...` leads no further.
        case ast.Name(id=name) if name in origins.flags and origins.flags[name].lineno < test.lineno:
            return read_guard(origins.flags[name], origins)
        case ast.BinOp(op=ast.Mod()):  # `if i % N:` is `!= 0`
            found = _modulo(test, ast.Constant(0), origins)
            return None if found is None else found._replace(negated=True)
    return None


def settled(test: ast.expr, origins: Origins) -> bool | None:
    """The answer of a guard over groups of one: every micro-batch is the last of its own."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = settled(operand, origins)
            return None if inner is None else not inner
        case ast.BoolOp(op=ast.Or(), values=values):
            return True if any(settled(value, origins) for value in values) else None
        case ast.Compare(left=ast.BinOp(op=ast.Mod()) as modulo, ops=[ast.Eq() | ast.NotEq() as op]):
            return isinstance(op, ast.Eq) if origins.is_one(written(modulo.right)) else None
        case ast.Name(id=name) if name in origins.flags and origins.flags[name].lineno < test.lineno:
            return settled(origins.flags[name], origins)
        case ast.BinOp(op=ast.Mod()):
            return False if origins.is_one(written(test.right)) else None
    return None


def start_key(loop: ast.AST) -> str:
    """The question whether this is a loop's first iteration."""
    return f"start@{id(loop)}"


def read_start(test: ast.expr, loops: list[ast.For | ast.AsyncFor]) -> tuple[ast.AST, bool] | None:
    """A loop whose first iteration is asked for, and whether that is where the test is true."""
    match test:
        case ast.Name(id=name):
            op, value = ast.NotEq(), 0
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=int() as value)]):
            pass
        case _:
            return None
    around = [loop for loop in loops if spans(loop, test.lineno)]
    for loop in sorted(around, key=lambda loop: loop.lineno, reverse=True):
        origin = enumerated(loop).get(name)
        if origin is not None:
            return _is_start(loop, op, value, origin.first)
    return None


def _is_start(loop: ast.AST, op: ast.cmpop, value: int, begins: int | None) -> tuple[ast.AST, bool] | None:
    first = 0 if begins is None else begins  # a loop that goes on where it was left has begun at 0 all the same
    match op:
        case ast.Eq() | ast.LtE() if value == first:
            return loop, True
        case ast.Lt() if value == first + 1:
            return loop, True
        case ast.NotEq() | ast.Gt() if value == first:
            return loop, False
        case ast.GtE() if value == first + 1:
            return loop, False
    return None


def _combined(op: ast.boolop, values: list[ast.expr], origins: Origins) -> Guard | None:
    guards = [(value, read_guard(value, origins)) for value in values]
    found = [guard for _, guard in guards if guard is not None]
    if len(found) != 1:
        return None
    others = [written(value) for value, guard in guards if guard is None]
    if isinstance(op, ast.Or):
        tail = not found[0].negated and all(_LAST.search(other) or "==" in other or ">=" in other for other in others)
        late = found[0].late and all(map(_LAST.search, others))
        return found[0]._replace(tail=True, late=late) if tail else None
    asked = next(value for value, guard in guards if guard is not None)
    late = found[0].phase == 0 and not found[0].negated and all(other in _not_first(asked) for other in others)
    return found[0]._replace(conjoined=not all(map(_TRAINING.search, others)), late=late)


def _not_first(asked: ast.expr) -> tuple[str, ...]:
    """How one says of a counter that it is not 0 any more."""
    match asked:
        case ast.Compare(left=ast.BinOp(left=left)):
            name = path_of(left)
            return (f"{name} > 0", f"{name} != 0", f"{name} >= 1", f"0 < {name}", f"{name}") if name else ()
    return ()


def _modulo(modulo: ast.BinOp, residue: ast.expr, origins: Origins) -> Guard | None:
    size = written(modulo.right)
    counter, offset = _counter(modulo.left)
    wanted = _residue(residue, modulo.right) if counter is not None and size != "1" else None
    if counter is None or wanted is None or origins.is_one(size):
        return None
    origin = origins.at(counter, modulo.lineno)
    first = origin.seen_at(modulo.lineno) if origin is not None else None
    if origin is None and ACCUMULATION.search(size.lower()):
        return Guard(origins.around(modulo.lineno), None, size, asks=wanted - offset)
    if origin is None or first is None:
        at = origin.begun_at(modulo.lineno) if origin is not None else None
        begun = None if at is None else wanted - offset - at
        return Guard(origin.loop if origin else None, None, size, asks=wanted - offset, begun=begun)
    # True when (i + offset) % N == wanted, and i is `first` in the first iteration: so many iterations later.
    return Guard(origin.loop, wanted - offset - first, size)


def _wrapped(counter: ast.expr, origins: Origins) -> Guard | None:
    """`n = (n + 1) % N` in every iteration: n is 0 in one of N."""
    asked = ast.copy_location(ast.BinOp(counter, ast.Mod(), origins.wraps[path_of(counter)]), counter)
    return _modulo(asked, ast.Constant(0), origins)


def _reset(counter: ast.expr, size: ast.expr, origins: Origins, *, over: bool) -> Guard | None:
    """`if n == N: ...; n = 0`, with n counted up in every iteration."""
    origin = origins.at(path_of(counter) or "", counter.lineno)
    if origin is None or (isinstance(size, ast.Constant) and size.value in (0, 1)) or origins.is_one(written(size)):
        return None
    seen = origin.seen_at(counter.lineno)
    guard = Guard(origin.loop, -1 if seen == 1 else None, written(size), late=seen == 0, over=over)
    # Of another number of them nothing is known but that name.
    return None if over and not (seen == 1 and guard.accumulates and path_of(size)) else guard


def _counter(node: ast.expr) -> tuple[str | None, int]:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int() as plus)):
            return path_of(left), plus
        case ast.BinOp(left=ast.Constant(value=int() as plus), op=ast.Add(), right=right):
            return path_of(right), plus
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int() as minus)):
            return path_of(left), -minus
    return path_of(node), 0


def _residue(node: ast.expr, size: ast.expr) -> int | None:
    """0 for `== 0`, -1 for `== N - 1`, k for `== k`."""
    match node:
        case ast.Constant(value=int() as value):
            if isinstance(size, ast.Constant) and isinstance(size.value, int) and value == size.value - 1:
                return -1
            return value
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int() as minus)) if _same(left, size):
            return -minus
    return None


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)
