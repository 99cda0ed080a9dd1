"""Functions of the project that give back what they are given, with its graph: loss functions, mostly.

def d_logistic_loss(real, fake):
    return F.softplus(-real).mean() + F.softplus(fake).mean()
"""

import ast
import re

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of

_MOST = 200  # nodes: what is longer does more than to compute a loss
_CUTS = frozenset(
    {"detach", "detach_", "data", "item", "numpy", "tolist", "tensor", "no_grad", "argmax", "argmin", "from_numpy"}
    | {"grad", "set_grad_enabled", "inference_mode", "requires_grad", "requires_grad_", "long", "int", "bool", "apply"}
)
_SIZES = frozenset({"shape", "size", "device", "dtype", "ndim", "dim", "numel"})
_JUDGES = re.compile(r"loss|crit|bce|mse|l1", re.IGNORECASE)
_PLAIN = frozenset({"len", "range", "float", "sum", "print", "zip", "enumerate"})
_CHOOSES = (ast.If, ast.IfExp, ast.Compare, ast.Try, ast.Lambda, ast.Yield)  # now this is used, and now that


def passed_on(function: Function) -> frozenset[str]:
    """The parameters that every value which it returns is made of; none where anything in it may cut a graph off."""
    node, scope = function
    nodes = below(node)
    if len(nodes) > _MOST or node.decorator_list or any(_may_cut(part, scope) for part in nodes):
        return frozenset()
    made: dict[str, set[str]] = {}
    for part in nodes:
        if isinstance(part, ast.Assign | ast.AugAssign | ast.AnnAssign) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for name in set().union(*map(_names, targets)):
                made.setdefault(name, set()).update(_names(part.value))
    returned = [part.value for part in nodes if isinstance(part, ast.Return)]
    each = [_followed(_names(value), made) if value is not None else set[str]() for value in returned]
    return frozenset(scope.parameters).intersection(*each) if each else frozenset()


def _may_cut(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, _CHOOSES):
        return True
    if isinstance(node, ast.Call):
        path = path_of(node.func)  # of what is computed, x.pow(2).mean(), there is none
        root = (path or "").partition(".")[0]
        own = path is not None and root not in scope.parameters and root not in scope.assigned
        known = scope.dotted(path or "").startswith("torch.") or path in _PLAIN or _JUDGES.search(path or "")
        return own and not known
    named = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return named in _CUTS


def _names(value: ast.AST) -> set[str]:
    """The names that are computed with: not what is called, asked for its size, or only made to look like another."""
    found, pending = set[str](), [value]
    for part in pending:  # it grows on the way
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            like = part.func.attr.endswith("_like") or part.func.attr in _SIZES
            pending += [] if like else [part.func.value, *part.args, *(one.value for one in part.keywords)]
        elif isinstance(part, ast.Call):
            pending += [*part.args, *(one.value for one in part.keywords)]
        elif not (isinstance(part, ast.Attribute) and part.attr in _SIZES):
            pending += ast.iter_child_nodes(part)
    return found


def _followed(names: set[str], made: dict[str, set[str]]) -> set[str]:
    found, pending = set(names), list(names)
    for name in pending:  # it grows on the way
        new = made.get(name, set()) - found
        found |= new
        pending += new
    return found
