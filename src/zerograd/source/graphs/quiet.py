"""Where autograd is told to look away: surely, or perhaps. (`Reading.without_grad` asks for more, and silences.)"""

import ast
from collections.abc import Callable, Iterator

from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import looks_away
from zerograd.source.values.reading import Reading

_PLAIN = frozenset({"torch", "tqdm", "warnings", "time", "functools", "abc", "typing", "tempfile", "rich", "click"})
_HARMLESS = pattern(
    r"^(staticmethod|classmethod|property|abstractmethod|open|suppress|autocast|device|override)$"
    r"|tqdm|bar|progress|time|prof|log|lock|print|record|writer|pool|seed|main"
)
_SURE = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"})


def quiet_parts(function: Reading) -> Iterator[ast.AST]:
    """The function itself, or blocks of it, where nothing tells autograd to look on again."""
    yield from (part for part in _parts(function, _is_quiet) if not any(map(_is_switch, below(part))))


def perhaps_quiet_parts(function: Reading) -> Iterator[ast.AST]:
    """The same with those that a setting makes so: with nullcontext() if train else torch.no_grad()."""
    yield from _parts(function, lambda expression, _: looks_away(written(expression)))


def opaque_parts(function: Reading) -> Iterator[ast.AST]:
    """Those under what cannot be read, and may look away: with evaluating(model), @evaluation."""
    yield from _parts(function, _is_opaque)


def _is_opaque(expression: ast.expr, function: Reading) -> bool:
    path = path_of(expression.func if isinstance(expression, ast.Call) else expression) or "?"
    root, _, last = function.scope.dotted(path).rpartition(".")
    return root.partition(".")[0] not in _PLAIN and _HARMLESS.search(last.lower()) is None


def _parts(function: Reading, looks: Callable[[ast.expr, Reading], bool]) -> Iterator[ast.AST]:
    if any(looks(decorator, function) for decorator in getattr(function.node, "decorator_list", ())):
        yield function.node
    for block in function.of(ast.With):
        if any(looks(item.context_expr, function) for item in block.items):
            yield block


def _is_quiet(expression: ast.expr, function: Reading) -> bool:
    """torch.no_grad(), and nothing that depends on anything."""
    call = expression if isinstance(expression, ast.Call) else None
    if call is not None and (call.args or call.keywords):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return written(call.func).endswith("inference_mode") and [written(one) for one in given] == ["True"]
    path = path_of(call.func if call is not None else expression)
    return path is not None and function.scope.dotted(path) in _SURE


def _is_switch(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (path_of(node.func) or "").endswith(("set_grad_enabled", "enable_grad"))
