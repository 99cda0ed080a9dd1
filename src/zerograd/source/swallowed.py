"""Handlers that swallow the exception of a broken backward(): the loop goes on, and a part of a gradient stays.

A backward() that runs out of memory has filled the layers it has been through. Where nothing clears them the next step
consumes them, and of that a handler can be proved guilty only if all of it is read: what it takes may come from
backward(), it gives the iteration up, stays in the loop, and calls nothing but what prints, logs and frees memory.
"""

import ast

from zerograd.core.events import Kind
from zerograd.source.nodes import below, written
from zerograd.source.paths import path_of
from zerograd.source.skeleton import Act, Block, Choice, Forget, Jump, Node, leaves, walk

# What autograd raises: RuntimeError, and OutOfMemoryError, which is one.
_TAKES = frozenset({"Exception", "BaseException", "RuntimeError", "OutOfMemoryError"})
_TELLS = ("print", "str", "repr", "type", "len", "int", "float", "isinstance", "format")
_TELLERS = frozenset({"logging", "logger", "log", "traceback", "warnings", "gc", "torch", "tqdm", "time"})
_OF_TEXT = frozenset({"format", "join", "lower", "upper", "startswith", "endswith", "strip", "append", "find"})


def is_swallowed(handler: ast.ExceptHandler, block: Block, tried: Block) -> bool:
    """Whether a failing backward() of `tried` is proved to stay where it is. `block`: what the handler does."""
    if not _takes_backward(handler.type) or not all(isinstance(node, Choice | Forget | Jump) for node in walk(block)):
        return False
    if any(isinstance(node, Jump) and node.to in ("break", "return") for node in walk(block)):
        return False
    steps = any(isinstance(node, Act) and node.kind is Kind.CONSUME for node in walk(tried))
    return (steps or leaves(block)) and all(map(_only_tells, handler.body))


def giving_up(block: Block, abandon: Act) -> Block:
    """What a handler does, with the iteration given up wherever it goes on with the loop, and not where it raises."""
    changed: list[Node] = []
    for node in block:
        if isinstance(node, Choice):
            # Behind a choice the block goes on: an arm gives the iteration up only where it jumps.
            body, orelse = (giving_up(arm, abandon) if leaves(arm) else arm for arm in (node.body, node.orelse))
            node = node._replace(body=body, orelse=orelse)
        changed += (abandon, node) if node == Jump("continue") else (node,)
    return tuple(changed) if leaves(block) else (*changed, abandon)


def _takes_backward(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any((path_of(name) or "").rpartition(".")[2] in _TAKES for name in names)


def only_tell(statements: list[ast.stmt]) -> bool:
    """Whether all that is done is to tell people, or to count; and no flag is set that somebody asks later."""
    flags = (one for one in statements if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant))
    stops = any(isinstance(part, ast.Assert) or _stops(part) for one in statements for part in below(one))
    return not any(flags) and not stops and all(map(_only_tells, statements))


def _stops(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and "set_trace" in (path_of(node.func) or "")


def _only_tells(statement: ast.stmt) -> bool:
    """Whether a statement reports and counts, and asks the exception for nothing but whether memory ran out."""
    for node in below(statement):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Match) and not _asks_for_memory(node):
            return False
        if isinstance(node, ast.Call) and not _tells(node.func):
            return False
        if isinstance(node, ast.Delete | ast.Await | ast.Yield | ast.YieldFrom | ast.With | ast.For | ast.Try):
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "grad":
            return False
    return True


def _asks_for_memory(node: ast.If | ast.IfExp | ast.While | ast.Match) -> bool:
    return isinstance(node, ast.If) and ("memory" in written(node.test) or "OutOfMemory" in written(node.test))


def _tells(func: ast.expr) -> bool:
    path = path_of(func)
    if path is None:
        return isinstance(func, ast.Attribute) and func.attr in _OF_TEXT
    root, _, last = path.rpartition(".")
    if not root:
        return path in _TELLS
    if path.startswith("torch."):
        return path.startswith("torch.cuda.")
    return last in _OF_TEXT or bool(_TELLERS & set(root.lower().split(".")))
