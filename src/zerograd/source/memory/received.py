"""Who gets what a function returns, and whether any of them may go through its graph again.

All calls must be seen: in its own file, each of this very function, and in the files beside it. Then each of them
lets go of it if it does not read it, or if nothing that it goes through, keeps or hands on is made of it; what it
returns itself, its own callers must let go of.
"""

import ast

from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.incoming import KEPT
from zerograd.source.graphs.outsiders import calls_beside
from zerograd.source.memory.escapes import is_handed_on, is_kept, is_stored, returned
from zerograd.source.memory.passes import gone_through, others
from zerograd.source.names.opaque import FAMILIAR_BASES
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below, parents_of, place
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called, calls_of, runs
from zerograd.source.values.definitions import Item
from zerograd.source.values.reading import Reading

_DEEP = 3  # callers of callers
_FEW = 8  # calls of one function


def is_let_go(function: Reading, items: set[Item], deep: int = _DEEP) -> bool:
    """Whether nobody has a use for the graph of these results of a function."""
    name = getattr(function.node, "name", "")
    if not deep or function.of(ast.Yield) or _is_called_unseen(function, name) or _is_named_otherwise(function, name):
        return False
    seen = list(calls_of(function))
    mine = [(where, call) for where, call in seen if runs(call, where, function)]
    others_of_its_name = (called(path_of(call.func) or "", where.scope) for where, call in seen)
    if len(seen) > _FEW or any(one is None for one in others_of_its_name):
        return False
    beside = calls_beside(function)
    if beside is None or not (mine or beside):
        return False
    # What those beside return themselves, nobody follows.
    return all(_lets_go(where, call, items, deep) for where, call in mine) and all(
        _lets_go(where, call, items, 1) for where, call in beside
    )


def _is_called_unseen(function: Reading, name: str) -> bool:
    """Whether a call need not name it: a module's forward pass, or what a framework's class asks of its heirs."""
    owner = function.scope.owner
    return name in ("", "forward") or name.startswith("__") or not {*(owner.bases if owner else ())} <= FAMILIAR_BASES


def _is_named_otherwise(function: Reading, name: str) -> bool:
    """Whether it is handed on as a function, or calls itself."""
    tree = function.file.program.tree
    funcs = {id(node.func) for node in below(tree) if isinstance(node, ast.Call)}
    named = [
        node
        for node in below(tree)
        if (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Attribute) and node.attr == name and path_of(node.value) is not None)
    ]
    inside = {id(node) for node in below(function.node)}
    return any(id(node) not in funcs or id(node) in inside for node in named)


def _lets_go(where: Reading, call: ast.Call, items: set[Item], deep: int) -> bool:
    if _is_unread(where, call, items):
        return True
    program = where.file.program
    module = where.node is program.tree
    block = program.module if module else program.function(Function(where.node, where.scope))  # type: ignore[arg-type]
    caller = Reading(where.node, block, where.scope, where.file)
    ancestry = Ancestry(caller)
    mine = frozenset(one for one in ancestry.of(call) if isinstance(one, ast.AST) and place(one) == place(call))
    stored = is_stored(caller, ancestry, mine)
    for other in others(caller):
        theirs = gone_through(ancestry, other)
        if theirs is None or theirs & mine or (KEPT in theirs and stored):
            return False
    if not mine or is_kept(caller, ancestry, mine, [caller.node]):
        return False
    if is_handed_on(caller, ancestry, mine, call, returned=True):
        return False
    back = returned(caller, ancestry, mine, None)
    return not back or is_let_go(caller, back, deep - 1)


def _is_unread(where: Reading, call: ast.Call, items: set[Item]) -> bool:
    """step(x), loss, _ = step(x): what nobody has a name for, or nobody reads."""
    parent = parents_of(where.node).get(call)
    if isinstance(parent, ast.Expr):
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    each = target.elts if isinstance(target, ast.Tuple) else []
    if not each or any(isinstance(one, ast.Starred) for one in each):
        names = [target]
    else:
        names = [each[item] for item in items if isinstance(item, int) and item < len(each)]
        names = names if len(names) == len(items) else each
    read = {node.id for node in below(where.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return all(isinstance(name, ast.Name) and name.id not in read for name in names)
