"""Methods of a model that give it new layers: model.grow(10), where grow() sets self.fc = nn.Linear(...) in any case.

Whoever calls one behind the making of an optimizer has parameters that the optimizer does not hold (ZG010).
"""

import ast

from zerograd.source.names.roles import dotted_as
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import maker_of, values_of
from zerograd.source.values.reading import Reading

# The layers of torch.nn that have parameters; an activation or Identity() has none to be held.
LAYERS = pattern(
    r"(Lazy)?Linear|Bilinear|Conv(Transpose)?[123]d|Embedding(Bag)?|BatchNorm[12]d|LayerNorm|RNN|LSTM|GRU|Parameter"
)
_MOVED = frozenset({"to", "cuda", "half", "float", "double", "type_as"})
_FIXES = frozenset({"requires_grad", "requires_grad_", "add_param_group", "param_groups"})


def regrows(node: ast.Expr, model: str, optimizer: str, function: Reading) -> bool:
    """Whether a statement calls such a method, and the optimizer is not handed to it."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or path_of(call.func.value) != model:
        return False
    given = [*call.args, *(one.value for one in call.keywords)]
    if any(path_of(part) == optimizer for one in given for part in below(one)):
        return False
    cls = _class_of(model, function)
    method = cls.method(call.func.attr) if cls is not None else None
    forward = cls.method("forward") if cls is not None else None
    return method is not None and forward is not None and _sets_layer(method, forward)


def makes_layer(value: ast.expr, scope: Scope) -> bool:
    """nn.Linear(8, 10).to(device)"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVED:
        value = value.func.value
    dotted = dotted_as(path_of(value.func) or "", "nn", scope) if isinstance(value, ast.Call) else ""
    return dotted.startswith("torch.nn.") and LAYERS.fullmatch(dotted.rpartition(".")[2]) is not None


def _class_of(model: str, function: Reading) -> Scope | None:
    """The one class of this project that the model is an object of."""
    makers = {maker_of(one) for one in values_of(model, function)} - {f"{model}.{moved}" for moved in _MOVED}
    maker = makers.pop() if len(makers) == 1 else None
    cls = function.scope.class_scope(function.scope.dotted(maker), derived=True) if maker is not None else None
    return cls if cls is not None and any(base == "torch.nn.Module" for base in cls.bases) else None


def _sets_layer(method: Function, forward: Function) -> bool:
    """self.fc = nn.Linear(...), or by a name for it, whatever happens; and the forward pass goes through it."""
    parts = below(method.node)
    if any(isinstance(one, ast.Attribute) and one.attr in _FIXES for one in parts):
        return False
    named: dict[str, list[ast.expr]] = {}
    for one in parts:
        for target in one.targets if isinstance(one, ast.Assign) else ():
            if isinstance(target, ast.Name) and isinstance(one, ast.Assign):
                named.setdefault(target.id, []).append(one.value)
    used = {path_of(one) for one in below(forward.node) if isinstance(one, ast.Attribute)}
    for one in method.node.body:
        if isinstance(one, ast.Return | ast.Raise) or any(isinstance(part, ast.Return) for part in below(one)):
            return False  # it may end before
        path = path_of(one.targets[0]) if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        if path is None or not path.startswith("self.") or path not in used or not isinstance(one, ast.Assign):
            continue
        several = named.get(one.value.id, []) if isinstance(one.value, ast.Name) else [one.value]
        if len(several) == 1 and makes_layer(several[0], method.scope):
            return True
    return False
