"""Counters that go on where a run broke off, and those that begin again by themselves.

def train(loader, start_step=0):
    for step, batch in enumerate(loader, start=start_step + 1):     # 1, unless it was resumed

n = (n + 1) % N         # 0 at the last of every N
"""

import ast
from collections.abc import Iterator

from zerograd.source.names.literals import default_of
from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_RESUMED = pattern(r"start|resume|begin|skip|init|done|first|offset")


def start_of(over: ast.expr) -> ast.expr | None:
    """The expression that an enumeration begins with: of enumerate(loader, start), range(start, n), in a bar or not."""
    match over:
        case ast.Call(func=func, args=[first, *others], keywords=keywords):
            match (path_of(func) or "").rpartition(".")[2]:
                case "enumerate":
                    named = (keyword.value for keyword in keywords if keyword.arg == "start")
                    return others[0] if others else next(named, None)
                case "range" | "trange":
                    return first if others else None
                case "tqdm" | "track":
                    return start_of(first)
    return None


def begins_at(start: ast.expr | None, function: ast.AST | None, nodes: Nodes) -> int | None:
    """Where a counter begins if nothing is resumed: of a parameter or a variable that is 0 then, by its name."""
    match start:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int() as more)):
            begin = begins_at(left, function, nodes)
            return None if begin is None else begin + more
        case ast.Name(id=name) if _RESUMED.search(name.lower()):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                return None
            stored = any(one.id == name and isinstance(one.ctx, ast.Store) for one in nodes.of(ast.Name))
            match default_of(function, name):
                case ast.Constant(value=int() as begin) if not stored:
                    return begin
    return None


def wrapped(node: ast.AST) -> tuple[str, ast.expr] | None:
    """n and N, of `n = n % N` and `n %= N`."""
    match node:
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Mod(), right=size)):
            path = path_of(target)
            return (path, size) if path is not None and path == path_of(left) else None
        case ast.AugAssign(target=target, op=ast.Mod(), value=size):
            path = path_of(target)
            return (path, size) if path is not None else None
    return None


def wrapping(nodes: Nodes) -> Iterator[tuple[str, ast.expr, int]]:
    """Each such counter, its N and the line; n = (n + 1) % N too."""
    for node in (*nodes.of(ast.Assign), *nodes.of(ast.AugAssign)):
        found = wrapped(node)
        if found is not None:
            yield *found, node.lineno
        match node:
            case ast.Assign(
                targets=[target],
                value=ast.BinOp(
                    left=ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)), op=ast.Mod(), right=size
                ),
            ) if (path := path_of(target)) is not None and path == path_of(left):
                yield path, size, node.lineno
