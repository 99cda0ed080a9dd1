"""Whether a name is read only as numbers: printed, compared, counted, or detached by whoever reads it.

What numpy is handed as it is has no graph, or the program would stop there: then somebody has seen to it.
"""

import ast

from zerograd.source.names.arguments import arguments
from zerograd.source.text.nodes import holds, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS, SMOOTH, tells
from zerograd.source.values.callers import called
from zerograd.source.values.reading import Reading

_CLIMBS = (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.List, ast.Tuple, ast.Dict, ast.keyword, ast.Starred)
_ENDS = (ast.Compare, ast.FormattedValue, ast.Expr, ast.If, ast.Assert, ast.Delete)
_GIVES_BACK = frozenset({"sum", "max", "min", "abs", "list", "tuple", "zip", "enumerate", "sorted", "reversed"})
_TAKES = frozenset({"print", "len", "float", "int", "str", "round", "bool", "format", "isinstance", "type", "repr"})
_CHOOSES = frozenset({"max", "min", "topk", "sort", "gather", "index_select", "split", "chunk", "size"})
_PLACES = frozenset(
    {"argmax", "argmin", "argsort", "save", "eq", "equal", "round", "sign", "allclose", "no_grad", "tensor"}
)
_DEEP = 3  # names that it goes on under


def is_only_read(function: Reading, name: str, *but: ast.AST, deep: int = _DEEP) -> bool:
    """Of every mention of a name but for those in some statements."""
    mentions = [one for one in function.of(ast.Name) if one.id == name and isinstance(one.ctx, ast.Load)]
    others = [one for one in mentions if not any(holds(node, one) for node in but)]
    return all(_is_number(function, one, but, deep) for one in others)


def becomes_number(function: Reading, node: ast.expr) -> bool:
    """The same of one mention of something."""
    return _is_number(function, node, (), _DEEP)


def _is_number(function: Reading, node: ast.AST, but: tuple[ast.AST, ...], deep: int) -> bool:
    """What becomes of a value, from the inside out."""
    parents = parents_of(function.node)
    while True:
        inner, node = node, parents.get(node, node)
        match node:
            case ast.Attribute(attr=attr):
                if attr in CUTS:
                    return attr not in ("numpy", "detach_")  # the first would fail, the second lets go of it
                if attr not in SMOOTH | _CHOOSES:
                    return False
            case ast.Call(func=ast.Attribute(value=ast.Constant())) if node.func is not inner:
                return True  # "{}".format(total)
            case ast.Call() if node.func is not inner:
                known = _is_taken(function, path_of(node.func) or "?")
                if known is not None:
                    return known or _is_read_inside(function, node, inner, deep)
                if function.without_grad(node):
                    return True
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Assign(targets=[ast.Name(id=other)], value=value) if value is inner:
                return deep > 0 and is_only_read(function, other, node, *but, deep=deep - 1)
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over) if over is inner:
                names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
                return deep > 0 and all(is_only_read(function, other, *but, deep=deep - 1) for other in names)
            case ast.Call():
                pass
            case _:
                if not isinstance(node, _CLIMBS):
                    return isinstance(node, _ENDS)


def _is_read_inside(function: Reading, call: ast.Call, given: ast.AST, deep: int) -> bool:
    """Whether a function of this project reads what it is handed as numbers."""
    callee = called(path_of(call.func) or "", function.scope) if deep > 0 else None
    if callee is None or callee.node.decorator_list or callee.scope.module is not function.scope.module:
        return False
    if any(isinstance(one, ast.Starred) for one in call.args):
        return False
    names = [name for name, its in arguments(call, callee) if its is given]
    inside = Reading(callee.node, (), callee.scope, function.file)
    return len(names) == 1 and is_only_read(inside, names[0], deep=deep - 1)


def _is_taken(function: Reading, path: str) -> bool | None:
    """Whether a call makes numbers of what it is handed; None: what it returns is made of that."""
    dotted = function.scope.dotted(path)
    root, _, last = dotted.rpartition(".")
    if root.partition(".")[0] == "torch":
        return True if last in _PLACES else None if last in SMOOTH | _CHOOSES else False
    if not root and last in _GIVES_BACK:
        return None
    return last in _TAKES if not root else tells(path)
