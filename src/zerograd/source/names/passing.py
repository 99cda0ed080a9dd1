"""Functions of the project that give back what they are given, with its graph: loss functions, mostly.

def d_logistic_loss(real, fake):
    return F.softplus(-real).mean() + F.softplus(fake).mean()
"""

import ast
import re
from collections.abc import Sequence

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import INTEGER, SAME, SMOOTH

_MOST = 200  # nodes: what is longer does more than to compute a loss
_NO_GRAPH = frozenset({"data", "grad", "requires_grad", "no_grad", "set_grad_enabled", "inference_mode", "detach"})
_SIZES = frozenset({"shape", "size", "device", "dtype", "ndim", "dim", "numel"})
_LIKE = frozenset({"type_as", "expand_as", "view_as"})  # of the other only what it looks like
_KEEPS = (SMOOTH | SAME | {"square", "softplus", "relu", "norm", "sub", "add", "mul", "div"}) - {"stack"}
_PLAIN = pattern(r"^torch\.nn\.functional\.(?!one_hot|gumbel|multi_head)\w+$|^torch\.\w+_like$")
_JUDGES = pattern(r"loss|crit|bce|mse|l1", re.IGNORECASE)
_SEVERAL = (ast.Tuple, ast.List, ast.Dict)
# Now this is used and now that, or one of several.
_CHOOSES = (ast.If, ast.IfExp, ast.Compare, ast.Try, ast.Lambda, ast.Yield, ast.Subscript, ast.NamedExpr)


def passed_on(function: Function) -> frozenset[str]:
    """The parameters that the value which it returns is made of; none where anything in it may cut a graph off."""
    node, scope = function
    nodes = below(node)
    if len(nodes) > _MOST or node.decorator_list or any(_may_cut(part, scope) for part in nodes):
        return frozenset()
    made = _made(nodes)
    returned = [part.value for part in nodes if isinstance(part, ast.Return)]
    if made is None or len(returned) != 1 or returned[0] is None or isinstance(returned[0], _SEVERAL):
        return frozenset()
    return frozenset(scope.parameters) & _followed(_names(returned[0]), made)


def _made(nodes: Sequence[ast.AST]) -> dict[str, set[str]] | None:
    """What each name is made of; None where one is made anew, and of something else than before."""
    made: dict[str, set[str]] = {}
    arguments = {part.arg for part in nodes if isinstance(part, ast.arg)}
    for part in nodes:
        if not isinstance(part, ast.Assign | ast.AugAssign | ast.AnnAssign) or part.value is None:
            continue
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        used = _names(part.value)
        for name in set().union(*map(_names, targets)):
            if (name in made or name in arguments) and name not in used and not isinstance(part, ast.AugAssign):
                return None
            made.setdefault(name, set()).update(used)
    return made


def _may_cut(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, _CHOOSES):
        return True
    if isinstance(node, ast.Call):
        return not _is_known(node, scope)
    named = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return named in _NO_GRAPH


def _is_known(call: ast.Call, scope: Scope) -> bool:
    """fake.mean(), torch.log(fake), F.softplus(fake), criterion(fake, real)"""
    path = path_of(call.func)  # of what is computed, x.pow(2).mean(), there is none
    dotted = scope.dotted(path or "")
    if path in ("len", "sum") or (path is not None and _JUDGES.search(path)) or _PLAIN.search(dotted):
        return True
    last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    root = (path or "").partition(".")[0]
    ours = root in scope.parameters or root in scope.assigned
    tensors = path is None or dotted.startswith("torch.") or (ours and root not in ("self", "cls"))
    makes = dotted in ("torch.ones", "torch.zeros", "torch.full")
    counts = any(INTEGER.search(written(one)) for one in call.args) if last == "to" else False
    return tensors and not counts and (last in _KEEPS | _SIZES | _LIKE or makes)


def _names(value: ast.AST) -> set[str]:
    """The names that are computed with: not what is called, asked for its size, or only made to look like another."""
    found, pending = set[str](), [value]
    for part in pending:  # it grows on the way
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Call):
            pending += _used(part)
        elif not (isinstance(part, ast.Attribute) and part.attr in _SIZES):
            pending += ast.iter_child_nodes(part)
    return found


def _used(call: ast.Call) -> list[ast.expr]:
    given = [*call.args, *(one.value for one in call.keywords)]
    if not isinstance(call.func, ast.Attribute):
        return given if path_of(call.func) != "len" else []
    if call.func.attr in _LIKE:
        return [call.func.value]
    made = call.func.attr.endswith("_like") or call.func.attr in _SIZES | {"ones", "zeros", "full"}
    return [] if made else [call.func.value, *given]


def _followed(names: set[str], made: dict[str, set[str]]) -> set[str]:
    found, pending = set(names), list(names)
    for name in pending:  # it grows on the way
        new = made.get(name, set()) - found
        found |= new
        pending += new
    return found
