"""Counters and the questions asked of them: `if (i + 1) % N == 0:`.

A guard is true in one micro-batch of every window of N. Which one follows from the counter's origin (enumerate from 0
or 1, incremented before or behind the test) and from the test itself: `phase` 0 is the window's first, -1 its last.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.source.nodes import Nodes, written
from zerograd.source.scopes import path_of

_LAST = re.compile(r"\blen\(|\bn_?batch|num_batch|total_steps|last|is_final|n_iter")
ACCUMULATION = re.compile(
    r"accum|grad_acc|\bacc_?(steps?|iters?)|iter_?size|update_?(freq|every|interval|period)|sub_?div|micro|virtual"
    r"|aggregat|batch_?(split|multipl)|optimize_every|steps?_per_update|backward_passes"
)


_COUNTS = (ast.Mod, ast.Add)
_HOLDERS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try)


class Guard(NamedTuple):
    loop: ast.AST | None  # the loop that drives the counter; None: a counter we cannot place
    phase: int | None  # 0: true at the first micro-batch of a window, -1: at the last; None: unknown
    size: str  # N as it is written
    negated: bool = False  # the test is true everywhere else
    tail: bool = False  # `or i + 1 == len(loader)`: also true at the end
    conjoined: bool = False  # `and something else`
    asks: int = 0  # of a counter that began nobody knows where: its value modulo N when the guard is true

    @property
    def key(self) -> str:
        """The question, so that two guards over one window ask the same one."""
        return f"{'first' if self.phase == 0 else 'last'}@{id(self.loop)}%{self.size}"

    @property
    def accumulates(self) -> bool:
        """Whether N is named for what it is."""
        return bool(ACCUMULATION.search(self.size.lower()))


class Origin(NamedTuple):
    """A counter of one loop: its value in the first iteration, before and behind its increment."""

    loop: ast.AST
    first: int | None  # None: carried over from elsewhere
    increased: int = 0  # the line of `i += 1`; 0: the loop itself counts

    def seen_at(self, line: int) -> int | None:
        """Its value in the first iteration, for a test on this line."""
        if self.first is None or not self.increased:
            return self.first
        return self.first + 1 if line > self.increased else self.first


class Origins:
    """The counters of a function. One name may count in several loops."""

    def __init__(self, nodes: Nodes, function: ast.AST | None = None) -> None:
        self._found: dict[str, list[Origin]] = {}
        self._function = function
        self._loops: list[ast.AST] = [*nodes.of(ast.For), *nodes.of(ast.AsyncFor), *nodes.of(ast.While)]
        self.flags: dict[str, ast.expr] = {}  # tests that are kept in a variable: is_last = (i + 1) % N == 0
        self.resets: set[str | None] = set()  # counters that are set back to where they began
        self.moved = [node.lineno for node in nodes.of(ast.AugAssign)]
        counting: list[ast.BinOp | ast.AugAssign] = [*nodes.of(ast.BinOp), *nodes.of(ast.AugAssign)]
        self.asked = any(isinstance(node.op, _COUNTS) for node in counting)
        if not self.asked:
            return  # no test asks a counter
        self.flags = _flags(nodes)
        loops: list[ast.For | ast.AsyncFor] = [*nodes.of(ast.For), *nodes.of(ast.AsyncFor)]
        for loop in loops:
            for name, origin in _enumerated(loop).items():
                self._found.setdefault(name, []).append(origin)
        for name, origin, starts in _incremented(nodes):
            if name not in self._found:
                self._found[name] = [origin]
                if starts > 1:
                    self.resets.add(name)

    def add(self, name: str, origin: Origin) -> None:
        self._found.setdefault(name, []).append(origin)

    def around(self, line: int) -> ast.AST | None:
        """The loop that someone else's counter must be counting: the innermost one, or every call of a function."""
        loops = [loop for loop in self._loops if _spans(loop, line)]
        return max(loops, key=lambda loop: loop.lineno, default=self._function)

    def at(self, name: str, line: int) -> Origin | None:
        """The counter that a test on this line asks: that of the innermost loop around it."""
        around = [origin for origin in self._found.get(name, ()) if _spans(origin.loop, line)]
        return max(around, key=lambda origin: getattr(origin.loop, "lineno", 0), default=None)


def _flags(nodes: Nodes) -> dict[str, ast.expr]:
    made: dict[str, list[ast.expr]] = {}
    for node in nodes.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made.setdefault(name, []).append(value)
    asks = (ast.Compare, ast.BoolOp, ast.UnaryOp)
    return {name: values[0] for name, values in made.items() if len(values) == 1 and isinstance(values[0], asks)}


def _spans(loop: ast.AST, line: int) -> bool:
    return getattr(loop, "lineno", 0) <= line <= getattr(loop, "end_lineno", 0)


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
        case ast.Compare(left=left, ops=[ast.Eq() | ast.GtE()], comparators=[size]) if path_of(left) in origins.resets:
            return _reset(left, size, origins)
        # Made further up: `flag = flag and ...` leads no further.
        case ast.Name(id=name) if name in origins.flags and origins.flags[name].lineno < test.lineno:
            return read_guard(origins.flags[name], origins)
        case ast.BinOp(op=ast.Mod()):  # `if i % N:` is `!= 0`
            found = _modulo(test, ast.Constant(0), origins)
            return None if found is None else found._replace(negated=True)
    return None


def _combined(op: ast.boolop, values: list[ast.expr], origins: Origins) -> Guard | None:
    guards = [(value, read_guard(value, origins)) for value in values]
    found = [guard for _, guard in guards if guard is not None]
    if len(found) != 1:
        return None
    others = [written(value) for value, guard in guards if guard is None]
    if isinstance(op, ast.Or):
        tail = not found[0].negated and all(_LAST.search(other) or "==" in other or ">=" in other for other in others)
        return found[0]._replace(tail=True) if tail else None
    return found[0]._replace(conjoined=True)


def _modulo(modulo: ast.BinOp, residue: ast.expr, origins: Origins) -> Guard | None:
    size = written(modulo.right)
    counter, offset = _counter(modulo.left)
    if counter is None or size == "1":
        return None
    wanted = _residue(residue, modulo.right)
    if wanted is None:
        return None
    origin = origins.at(counter, modulo.lineno)
    first = origin.seen_at(modulo.lineno) if origin is not None else None
    if origin is None and ACCUMULATION.search(size.lower()):
        return Guard(origins.around(modulo.lineno), None, size, asks=wanted - offset)
    if origin is None or first is None:
        return Guard(origin.loop if origin else None, None, size, asks=wanted - offset)
    # True when (i + offset) % N == wanted, and i is `first` in the first iteration: so many iterations later.
    return Guard(origin.loop, wanted - offset - first, size)


def _reset(counter: ast.expr, size: ast.expr, origins: Origins) -> Guard | None:
    """`if n == N: ...; n = 0`, with n counted up in every iteration."""
    origin = origins.at(path_of(counter) or "", counter.lineno)
    if origin is None or (isinstance(size, ast.Constant) and size.value in (0, 1)):
        return None
    counted = origin.seen_at(counter.lineno) == 1
    return Guard(origin.loop, -1 if counted else None, written(size))


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


def _enumerated(loop: ast.For | ast.AsyncFor) -> dict[str, Origin]:
    """for i, batch in enumerate(loader, start); for i in range(n)."""
    over, target = loop.iter, loop.target
    while isinstance(over, ast.Call) and (path_of(over.func) or "").rpartition(".")[2] in ("tqdm", "trange", "track"):
        if (path_of(over.func) or "").endswith("trange"):
            break
        over = over.args[0] if over.args else over.keywords[0].value if over.keywords else ast.Constant(None)
    if not isinstance(over, ast.Call):
        return {}
    match path_of(over.func), target:
        case "enumerate", ast.Tuple(elts=[first, *_]):
            start = (
                over.args[1] if len(over.args) > 1 else next((k.value for k in over.keywords if k.arg == "start"), None)
            )
            name = path_of(first)
            return {name: Origin(loop, _int(start, 0))} if name else {}
        case (("range" | "trange"), ast.Name(id=name)):
            return {name: Origin(loop, 0 if len(over.args) < 2 else _int(over.args[0], None))}
    return {}


def _int(node: ast.expr | None, default: int | None) -> int | None:
    if node is None:
        return default
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _incremented(nodes: Nodes) -> Iterator[tuple[str, Origin, int]]:
    """step = 0 ... step += 1; and how often it is set to where it begins."""
    name: str | None
    starts: dict[str, list[int | None]] = {}
    steps: dict[str, list[ast.AugAssign]] = {}
    for node in nodes.of(ast.AugAssign):
        match node:
            case ast.AugAssign(target=target, op=ast.Add(), value=ast.Constant(value=1)):
                name = path_of(target)
                if name:
                    steps.setdefault(name, []).append(node)
    if not steps:
        return
    for made in nodes.of(ast.Assign):
        for one in made.targets:
            for name, its in _pairs(one, made.value):
                starts.setdefault(name, []).append(_int(its, None) if its is not None else None)
    holders = [node for node in nodes if isinstance(node, _HOLDERS)]
    for name, increments in steps.items():
        # The innermost statement around the increment must be the loop itself: no branch can skip it.
        around = [node for node in holders if _spans(node, increments[0].lineno)]
        loop = max(around, key=lambda node: node.lineno, default=None)
        if len(increments) != 1 or not isinstance(loop, ast.For | ast.AsyncFor | ast.While):
            continue
        begin = starts.get(name, [])
        first = begin[0] if len(set(begin)) == 1 else None
        yield name, Origin(loop, first, increments[0].lineno), len(begin)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for one, its in zip(target.elts, value.elts, strict=True) for pair in _pairs(one, its)]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return [(path, None if isinstance(target, ast.Tuple) else value) for name in names if (path := path_of(name))]
