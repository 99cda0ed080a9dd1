"""Loss functions that are objects without weights of their own: what they return has the graphs of what they are given.

criterion = SupConLoss(temperature=0.1)      # its class keeps numbers, and nothing else

Followed to where an object is made: here, in its class, or by whoever calls this function and hands it in.
"""

import ast
from collections.abc import Iterator

from zerograd.source.names.literals import default_of
from zerograd.source.names.opaque import is_familiar
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_term
from zerograd.source.values.callers import handed_in, maker_of, values_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_NAMED = pattern(r"criteri|loss|crit$")
_LEARNS = frozenset({"Parameter", "ParameterList", "register_parameter", "requires_grad", "requires_grad_"})
_FEW = 4  # calls of a function that hand one in


def is_weightless(path: str, function: Reading) -> bool:
    """Whether all that a path may stand for is such a loss function."""
    if _NAMED.search(path.lower()) is None:
        return False
    makers = list(_makers(path, function))
    return 0 < len(makers) <= _FEW and all(maker is not None and _keeps_numbers(*maker) for maker in makers)


def _makers(path: str, function: Reading) -> Iterator[tuple[str, Reading] | None]:
    """The classes that make it, by their names, and where."""
    if path not in function.scope.parameters:
        for value in values_of(path, function):
            maker = maker_of(value)
            yield (maker, function) if maker is not None else None
        return
    if definitions_of(function).every(path) or not isinstance(function.node, ast.FunctionDef):
        yield None
        return
    for where, given in handed_in(function, path):
        handed = path_of(given) if given is not None else None
        made = values_of(handed, where) if handed is not None else [given] if isinstance(given, ast.Call) else []
        makers = {maker_of(value) for value in made}
        maker = makers.pop() if len(makers) == 1 else None
        yield (maker, where) if maker is not None else None


def _keeps_numbers(maker: str, where: Reading) -> bool:
    dotted = where.scope.dotted(maker)
    if dotted.startswith("torch.nn."):
        return dotted.endswith("Loss") and "Adaptive" not in dotted
    cls = where.scope.class_scope(dotted) or _opened(dotted, where.scope) if is_term(maker.lower()) else None
    if cls is None or "__init__" not in cls.functions or not is_familiar(cls) or len(cls.lineage()) > 1:
        return False
    begin = cls.functions["__init__"]
    methods = [part for one in cls.functions.values() for part in below(one.node)]
    stored = [part for part in methods if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)]
    own = [part for part in below(begin.node) if isinstance(part, ast.Assign)]
    numbers = len(own) == len(stored) and all(_is_number(one.value, begin) for one in own)
    learns = any(isinstance(part, ast.Attribute | ast.Name) and _last(part) in _LEARNS for part in methods)
    return numbers and not learns


def _is_number(value: ast.expr, begin: Function) -> bool:
    """def __init__(self, temperature=0.07, mode="all"): and self.temperature = temperature"""
    default = default_of(begin.node, value.id) if isinstance(value, ast.Name) else value
    return isinstance(default, ast.Constant) and default.value is not None


def _last(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _opened(dotted: str, scope: Scope) -> Scope | None:
    found = scope.module.elsewhere(dotted, False, cutting=True) if scope.module.elsewhere is not None else None
    return found if isinstance(found, Scope) else None
