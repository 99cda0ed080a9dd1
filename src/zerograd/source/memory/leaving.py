"""Losses that a criterion leaves in its attributes beside the one that it returns: criterion.style_loss.

    def forward(self, out, y):                       loss = criterion(model(x), y)
        self.style_loss = style(out, y)              loss.backward()
        return self.style_loss + content(out, y)     history.append(criterion.style_loss)

Each is a term of what backward() is called on, and has a graph as that has. The class is found through what the name is
bound to, here or in its class or file; of one that cannot be read, or that makes a number of it, nothing is told.
"""

import ast

from zerograd.source.graphs.terms import names_loss, summands_of
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS
from zerograd.source.values.definitions import assigned_by, definitions_of
from zerograd.source.values.instances import class_of
from zerograd.source.values.reading import Reading


def left_by(function: Reading, deposits: dict[str, ast.Call]) -> dict[str, ast.Call]:
    """The attributes of criteria that are read here, with the backward that goes through them."""
    found: dict[str, ast.Call] = {}
    named = any(map(names_loss, {node.attr for node in function.of(ast.Attribute)}))
    for loss, deposit in deposits.items() if named else ():
        owner = _maker(function, loss, deposit)
        names = _read_of(owner, function)
        cls = class_of(function, owner) if names else None
        found |= {f"{owner}.{name}": deposit for name in names if cls is not None and _leaves(cls, name, function)}
    return found


def _maker(function: Reading, loss: str, deposit: ast.Call) -> str:
    """criterion of loss = criterion(out, y)"""
    reached = definitions_of(function).reaching(loss, deposit)
    here = reached.here if reached is not None and reached.certain else []
    made = here[0].value if len(here) == 1 and here[0].at is None else None
    return path_of(made.func) or "" if isinstance(made, ast.Call) else ""


def _read_of(owner: str, function: Reading) -> set[str]:
    """The attributes that are read of it, but for its methods: mostly none."""
    if not owner or ("[" not in owner and not function.file.says(f"{owner}.")):
        return set()
    methods = {id(call.func) for call in function.of(ast.Call)}
    asked = (node for node in function.of(ast.Attribute) if isinstance(node.ctx, ast.Load) and id(node) not in methods)
    return {node.attr for node in asked if path_of(node.value) == owner}


def _leaves(cls: Scope, name: str, function: Reading) -> bool:
    """Whether every forward pass assigns the attribute, as what it returns or as a term of that."""
    forward = cls.method("forward")
    if forward is None or forward.node.decorator_list or cls.method("__call__") or cls.method(name):
        return False
    inside, attribute = Reading(forward.node, (), forward.scope, function.file), f"self.{name}"
    made = [(home, one) for home, one in assigned_by(cls, attribute, function.file) if home.node.name != "__init__"]
    here = [one for home, one in made if home.node is forward.node and one.at is None and not inside.arms(one.node)]
    if (
        not here
        or len(here) != len(made)
        or any(_is_number(one.value) for one in here)
        or inside.loop_around(here[0].node)
    ):
        return False
    own = Nodes(forward.node)
    backs = [back.value for back in own.of(ast.Return)]
    quiet = any(inside.without_grad(one.node) for one in here)
    added = any(path_of(one.target) == attribute for one in own.of(ast.AugAssign))
    return (
        bool(backs)
        and not quiet
        and not added
        and all(_is_of(own, value, attribute, made=here[0].value) for value in backs)
    )


def _is_of(own: Nodes, back: ast.expr | None, attribute: str, made: ast.expr) -> bool:
    """return self.loss; return self.style + self.content; self.loss = loss and return loss"""
    if back is None or (path_of(back) is None and not isinstance(back, ast.BinOp)):
        return False
    terms = {path_of(back), *summands_of(own, back)}
    whole = path_of(back) is not None and path_of(back) in (attribute, path_of(made))
    return whole or (names_loss(attribute) and not terms.isdisjoint({attribute, path_of(made)} - {None}))


def _is_number(value: ast.expr) -> bool:
    """loss.item(), loss.detach(), 0.0"""
    cut = any(isinstance(part, ast.Attribute) and part.attr in CUTS for part in below(value))
    return cut or isinstance(value, ast.Constant)
