"""Modules that have parameters of their own which are meant to learn, by what makes them.

nn.Linear(64, 10), a loss or a head of this project that makes an nn.Parameter, or such a layer, and uses it, and what a
function of this project returns of those
"""

import ast

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import SAME

_LAYERS = frozenset(
    {"Linear", "Bilinear", "Embedding", "LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "Conv1d", "Conv2d"}
)
_LAYERS |= {"Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "MultiheadAttention"}
_BEGINS = frozenset({"randn", "rand", "zeros", "ones", "empty", "Tensor", "FloatTensor", "full"})
# What says that somebody keeps weights as they are, or brings them from elsewhere.
_FIXES = frozenset({"requires_grad", "requires_grad_", "load_state_dict", "eval", "copy_", "register_hook"})
_DEPTH = 3  # classes and functions that make one another
_FIXED = pattern(r"kernel|filter|mean|std|mask|window|target|basis|grid|center_freq|sobel|lapl|gauss|ema|queue")


def has_weights(value: ast.expr, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether an object is made here that has weights to be learned."""
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute) and value.func.attr in SAME and isinstance(value.func.value, ast.Call):
        return has_weights(value.func.value, scope, depth)  # nn.Linear(4, 2).to(device)
    path = path_of(value.func) or ""
    dotted = scope.dotted(path)
    if dotted.startswith("torch.nn."):
        last = dotted.rpartition(".")[2]
        return last in _LAYERS or (last == "Sequential" and any(has_weights(one, scope, depth) for one in value.args))
    if not dotted.rpartition(".")[2][:1].isupper() and path not in scope.module.class_scopes:
        # Of other files only for what a class is made of: a whole model may be built with the weights of others.
        function = scope.function(path) or (_imported(dotted, scope) if 0 < depth < _DEPTH else None)
        return function is not None and depth > 0 and _returns(function, depth - 1)
    cls = scope.class_scope(dotted, derived=True) if depth else None
    return cls is not None and _learns(cls, depth - 1)


def _imported(dotted: str, scope: Scope) -> Function | None:
    """A function of another file, even if nothing there touches a gradient."""
    elsewhere = scope.module.elsewhere
    found = elsewhere(dotted, True) if elsewhere is not None and "." in dotted else None
    return found if isinstance(found, Function) else None


def _returns(function: Function, depth: int) -> bool:
    """def projection(size): return nn.Sequential(nn.Linear(size, 8), nn.ReLU())"""
    returned = [one.value for one in below(function.node) if isinstance(one, ast.Return)]
    return bool(returned) and all(one is not None and has_weights(one, function.scope, depth) for one in returned)


def _learns(cls: Scope, depth: int) -> bool:
    """Whether a module of this project makes weights anew, uses them, and does nothing to keep them as they are."""
    lineage = cls.lineage()
    if not any(base == "torch.nn.Module" for one in lineage for base in one.bases):
        return False
    methods = [method for one in lineage for method in one.functions.values()]
    parts = [part for method in methods for part in below(method.node)]
    if any(map(_fixes, parts)):
        return False
    made = cls.method("__init__")
    assigned = [one for one in below(made.node) if isinstance(one, ast.Assign)] if made is not None else []
    weights = {
        path_of(one.targets[0]) or ""
        for one in assigned
        if made is not None and (_is_weight(one.value, made.scope) or has_weights(one.value, made.scope, depth))
    }
    used = {path_of(one) for method in methods if method != made for one in below(method.node)}
    return any(one.startswith("self.") and one in used and not _FIXED.search(one.lower()) for one in weights)


def _fixes(part: ast.AST) -> bool:
    """loss.requires_grad_(False), self.conv.weight = ..., self.net.weight.data = ..., Net(pretrained=True)"""
    match part:
        case ast.Attribute(value=value, ctx=ast.Store()):
            return not (isinstance(value, ast.Name) and value.id == "self")
        case ast.Attribute(attr=attr):
            return attr in _FIXES
        case ast.keyword(arg=arg):
            return arg in ("requires_grad", "pretrained", "weights")
    return False


def _is_weight(value: ast.expr, scope: Scope) -> bool:
    """nn.Parameter(torch.randn(4, 2)), nn.Parameter(-1.85 * torch.ones(1))"""
    match value:
        case ast.Call(func=func, args=[begun], keywords=[]):
            dotted = scope.dotted(path_of(func) or "")
            return dotted.startswith("torch.nn.") and dotted.endswith(".Parameter") and _begins(begun, scope)
    return False


def _begins(value: ast.expr, scope: Scope) -> bool:
    match value:
        case ast.BinOp(left=left, right=right):
            return any(_begins(one, scope) for one in (left, right))
        case ast.Call(func=func):
            return scope.dotted(path_of(func) or "").rpartition(".")[2] in _BEGINS
    return False
