"""Which expressions make a module of its own: a copy of another one, or one that is built anew, here or by a helper."""

import ast

from zerograd.source.names.opaque import makes_something
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import MODULES, is_model
from zerograd.source.values.callers import called, reading_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_MOVES = frozenset({"to", "cuda", "cpu", "double", "float", "half", "train", "eval", "requires_grad_"})
_ASKED = MODULES | _MOVES | {"load_state_dict"}
_DEPTH = 2


def deepcopied(value: ast.expr) -> str | None:
    """`model` of copy.deepcopy(model).to(device)"""
    match _unmoved(value):
        case ast.Call(func=func, args=[given, *_]) if (path_of(func) or "").rpartition(".")[2] == "deepcopy":
            return path_of(given)
    return None


def makes_module(value: ast.expr, function: Reading, depth: int = _DEPTH) -> bool:
    """deepcopy(model), Net(8).to(device), type(model)(), or a function of this project that returns nothing else. What
    is built of other modules may be made of their parameters."""
    call = _unmoved(value)
    if not isinstance(call, ast.Call):
        return False
    if deepcopied(call) is not None:
        return True
    path = path_of(call.func) or ""
    if _is_class(path, function) or _asks_type(call.func):
        return not _is_given_modules(call)
    helper = called(path, function.scope) if depth else None
    if helper is None or helper.is_abstract or helper.node.name == "forward":
        return False
    inside = reading_of(helper, function.file)
    returned = [back.value for back in inside.of(ast.Return)]
    return bool(returned) and all(
        one is not None and (makes_module(one, inside, depth - 1) or _names_module(one, inside, depth - 1))
        for one in returned
    )


def _names_module(returned: ast.expr, function: Reading, depth: int) -> bool:
    """Whether a name stands for such a module alone, of which nothing is asked but what leaves its parameters as they
    are; it is called, and loads copies of others' weights."""
    name = returned.id if isinstance(returned, ast.Name) else ""
    made = definitions_of(function).every(name)
    if not made or any(one.at is not None or one.each or one.adds for one in made):
        return False
    others = [one.value for one in made if not _moves(one.value, name)]
    uses = [node for node in function.of(ast.Name) if node.id == name and isinstance(node.ctx, ast.Load)]
    asked = {id(node.value) for node in function.of(ast.Attribute) if node.attr in _ASKED}
    asked |= {id(call.func) for call in function.of(ast.Call)} | {id(back.value) for back in function.of(ast.Return)}
    plain = all(id(node) in asked for node in uses)
    return plain and bool(others) and all(makes_module(one, function, depth) for one in others)


def _moves(value: ast.expr, name: str) -> bool:
    """net = net.to(device)"""
    inner = _unmoved(value)
    return inner is not value and path_of(inner) == name


def _unmoved(value: ast.expr) -> ast.expr:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    return value


def _is_class(path: str, function: Reading) -> bool:
    """Net, self.model.__class__, and a name for one of them."""
    made = definitions_of(function).every(path)
    if made:
        return all(_asks_type(one.value) for one in made)
    return makes_something(path) or path.endswith(".__class__")


def _asks_type(value: ast.expr) -> bool:
    """type(model), model.__class__"""
    asked = isinstance(value, ast.Call) and path_of(value.func) == "type"
    return asked or (isinstance(value, ast.Attribute) and value.attr == "__class__")


def _is_given_modules(call: ast.Call) -> bool:
    """Wrapper(model), Net(encoder=self.encoder): what it is made of may be theirs."""
    given = [*call.args, *(one.value for one in call.keywords)]
    parts = [part for one in given for part in below(one) if isinstance(part, ast.Name | ast.Attribute)]
    return any(isinstance(one, ast.Starred) for one in given) or any(is_model(path_of(part) or "") for part in parts)
