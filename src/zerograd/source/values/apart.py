"""Modules that are made by themselves, of nothing that another one may have as a part too."""

import ast

from zerograd.source.names.opaque import makes_object
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import CUTS, MODULES, SAME
from zerograd.source.values.reading import Reading

_ASKED = MODULES | SAME | CUTS | {"forward"}
_PIECE = pattern(
    r"^(self\.)?\w*(encoder|backbone|body|shared|base|feature|trunk|embed|net|model)\w*(?<!width)(?<!dim)(?<!size)$"
)


def is_made_apart(module: str, function: Reading) -> bool:
    """Whether a module is seen to be made by itself, of nothing that could be a part of another one too, and is made a
    part of none."""
    return is_made_alone(module, function) and not any(gives(one, module) for one in _assigned(module, function))


def is_made_alone(module: str, function: Reading) -> bool:
    """The same, whatever is made of it afterwards."""
    assigned = _assigned(module, function)
    made = [one.value for one in assigned if any(path_of(target) == module for target in one.targets)]
    given = [part for value in made for part in _given(value)]
    parts = [part for one in given for part in below(one) if isinstance(part, ast.Name | ast.Attribute)]
    shares = any(_PIECE.search((path_of(part) or "").lower()) for part in parts)
    return bool(made) and all(map(makes_object, made)) and not shares


def _assigned(module: str, function: Reading) -> list[ast.Assign]:
    own = function.of(ast.Assign) if module.isidentifier() else []  # the functions in it have names of their own
    homes = _homes(module, function) if not own else []
    return own or [one for node, _ in homes for one in below(node) if isinstance(one, ast.Assign)]


def _homes(path: str, function: Reading) -> list[tuple[ast.AST, Scope]]:
    """Where a path may be assigned: this function, or the methods of its class."""
    cls = function.scope.owner
    if cls is None or not path.startswith("self."):
        return [(function.node, function.scope)]
    return [(method.node, method.scope) for one in cls.lineage() for method in one.functions.values()]


def _given(made: ast.expr) -> list[ast.expr]:
    """What an object is made of: the arguments of Net(8, encoder).to(device)."""
    found: list[ast.expr] = []
    while isinstance(made, ast.Call):
        found += [*made.args, *(keyword.value for keyword in made.keywords)]
        made = made.func.value if isinstance(made.func, ast.Attribute) else made.func
    return found


def gives(node: ast.Assign, module: str) -> bool:
    """other = Sequential(module, ...), other.weight = module.weight: anything but its parameters, and its own calls."""
    nodes = below(node.value)
    asked = {id(part.value) for part in nodes if isinstance(part, ast.Attribute) and part.attr in _ASKED}
    called = [part.func for part in nodes if isinstance(part, ast.Call)]
    asked |= {id(func) for func in called} | {id(func.value) for func in called if isinstance(func, ast.Attribute)}
    return any(path_of(part) == module and id(part) not in asked for part in nodes if isinstance(part, ast.expr))


def overlap(one: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a module of the one is a module of the others, or a part of one."""
    return any(
        mine == its or mine.startswith(f"{its}.") or its.startswith(f"{mine}.") for mine in one for its in others
    )
