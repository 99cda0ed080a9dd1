"""Handlers that swallow the exception of a broken backward(): the loop goes on, and a part of a gradient stays.

A backward() that runs out of memory has filled the layers it has been through. Where nothing clears them the next step
consumes them, and of that a handler can be proved guilty only if all of it is read: what it takes may come from
backward(), it gives the iteration up, stays in the loop, and calls nothing but what prints, logs and frees memory. The
backward() and the step may stand in functions that are tried.
"""

import ast

from zerograd.core.events import Kind
from zerograd.source.lowering.skeleton import Act, Block, Call, Choice, Forget, Jump, Node, leaves, walk
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

# What autograd raises: RuntimeError, and OutOfMemoryError, which is one.
_TAKES = frozenset({"Exception", "BaseException", "RuntimeError", "OutOfMemoryError"})
_TELLS = ("print", "str", "repr", "type", "len", "int", "float", "isinstance", "format")
_TELLERS = frozenset({"logging", "logger", "log", "traceback", "warnings", "gc", "torch", "tqdm", "time"})
_OF_TEXT = frozenset({"format", "join", "lower", "upper", "startswith", "endswith", "strip", "append", "find"})
_OF_LOGS = frozenset({"info", "warning", "error", "debug", "exception", "log_metric", "log_metrics", "add_scalar"})
_NAMED = {Kind.DEPOSIT: "backward", Kind.CONSUME: "step"}
_GOES_ON = (Jump("continue"), Jump("return"))  # a return that ends the training is not swallowed
_QUIET = ("torch.no_grad", "torch.inference_mode")
_PLAIN = pattern(r"^torch\.|autocast|no_grad|no_sync|enable_grad")
_MOST = 12  # functions that are looked into


def is_swallowed(handler: ast.ExceptHandler, block: Block, tried: Block, *, called: bool) -> bool:
    """Whether a failing backward() of `tried` is proved to stay where it is. `block`: what the handler does. `called`:
    whoever calls the function goes on, and is not told of what happened."""
    if not _takes_backward(handler.type) or not all(isinstance(node, Choice | Forget | Jump) for node in walk(block)):
        return False
    ways_out = ("break",) if called else ("break", "return")
    ends = any(isinstance(node, Jump) and node.to in ways_out for node in walk(_on_memory(handler, block)))
    steps = may_do(Kind.CONSUME, tried)
    if any(_tidies(node.function) for node in walk(tried) if isinstance(node, Call)):
        return False
    return not ends and (steps or leaves(block)) and all(map(_only_tells, handler.body))


def _on_memory(handler: ast.ExceptHandler, block: Block) -> Block:
    """What a handler does if memory ran out: `else: return` ends the training for every other reason."""
    match handler.body[0], block[:1]:
        case ast.If(orelse=[_, *_]) as asked, (Choice(test=None) as choice,) if _asks_for_memory(asked):
            return (*choice.body, *block[1:])
    return block


def tells_nobody(function: ast.AST, handler: ast.ExceptHandler) -> bool:
    """Whether a function hands nothing back, and its handler sets nothing, that a caller could ask for how it went."""
    nodes = below(function)
    hands = any(isinstance(node, ast.Return) and not _is_none(node.value) for node in nodes)
    sets = any(isinstance(node, ast.Assign) for node in below(handler))
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
    return isinstance(function, ast.FunctionDef) and not (hands or sets or yields)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def may_do(kind: Kind, block: Block) -> bool:
    """Whether something that is tried deposits or steps, here or in a function that it calls."""
    if any(isinstance(node, Act) and node.kind is kind for node in walk(block)):
        return True
    return _is_called(_NAMED[kind], [node.function for node in walk(block) if isinstance(node, Call)])


def _tidies(function: Function) -> bool:
    """Whether a function that is tried has a way of its own to end well: finally, except, a context."""
    nodes = below(function.node)
    contexts = [written(item.context_expr) for node in nodes if isinstance(node, ast.With) for item in node.items]
    return any(isinstance(node, ast.Try) for node in nodes) or not all(map(_PLAIN.search, contexts))


def _is_called(name: str, functions: list[Function]) -> bool:
    """Whether one of them, or of those they call, calls a method of this name: their skeletons may be in the making."""
    pending = [*functions]
    seen: list[Function] = []
    while pending and len(seen) < _MOST:
        function = pending.pop(0)
        if function in seen:
            continue
        seen.append(function)
        calls = [node for node in below(function.node) if isinstance(node, ast.Call)]
        if any(isinstance(call.func, ast.Attribute) and call.func.attr == name for call in calls):
            return True
        inner = (function.scope.function(path) for call in calls if (path := path_of(call.func)) is not None)
        pending += [one for one in inner if one is not None]
    return False


def giving_up(block: Block, abandon: Act) -> Block:
    """What a handler does, with the iteration given up wherever it goes on with the loop, and not where it raises."""
    changed: list[Node] = []
    for node in block:
        if isinstance(node, Choice):
            # Behind a choice the block goes on: an arm gives the iteration up only where it jumps.
            body, orelse = (giving_up(arm, abandon) if leaves(arm) else arm for arm in (node.body, node.orelse))
            node = node._replace(body=body, orelse=orelse)
        changed += (abandon, node) if node in _GOES_ON else (node,)
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
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.For | ast.Try):
            return False
        if isinstance(node, ast.withitem) and not isinstance(node.context_expr, ast.Call):
            return False
        if isinstance(node, ast.Delete) and not all(isinstance(target, ast.Name) for target in node.targets):
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
        return path.startswith("torch.cuda.") or path in _QUIET
    return last in _OF_TEXT or last in _OF_LOGS or bool(_TELLERS & set(root.lower().split(".")))
