"""Losses that are listed with their graphs in a list that outlives the function: an attribute, a global, a parameter.

backward() has freed the graph of each, so nobody can go through the list again: it only grows. What is left to ask is
whether somebody empties it, makes it anew, or gets hold of it unseen; and whether a loop appends, here or further out.
"""

import ast
import os
import re
from collections.abc import Collection, Iterator
from enum import IntEnum
from typing import NamedTuple

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.differentiated import feeds_a_loss
from zerograd.source.memory.kept import live_losses
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, FunctionNode
from zerograd.source.text.nodes import Nodes, below, holds, parents_of, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called, calls_of, runs
from zerograd.source.values.definitions import Definition, assigned_by, definitions_of, loops_around
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.owned import READERS, begins_empty, hands_itself_on, is_handed_on
from zerograd.source.values.reading import LoopNode, Reading
from zerograd.source.values.rebound import is_rebound
from zerograd.source.values.sums import weighed

_MANY = 12  # lists that are looked at in one function
_FEW = 2  # calls from the function outwards, and from the list inwards
_READS = frozenset({"append", "extend", "copy", "index", "count"})
_HANDS_OUT = frozenset({"items", "values", "get", "copy"})
_PASSES_ON = (ast.List, ast.Tuple, ast.Dict, ast.Starred, ast.keyword)
_UNSEEN = (ast.Return, ast.Yield, ast.For, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Lambda, ast.Await)


class Fate(IntEnum):
    """What becomes of a list, as far as the text shows it: the worst that one mention of it says."""

    GROWS = 0
    UNSEEN = 1
    EMPTIED = 2


class _Home(NamedTuple):
    """Where a list was made empty: its name there, the key if it is one of a dictionary, and the call that hands it to
    the one who appends."""

    function: Reading
    name: str
    key: str | None
    call: ast.Call | None = None


def detect(function: Reading) -> Iterator[Finding]:
    appended = [node for node in function.of(ast.Expr) if _keeper_of(node)]
    losses = live_losses(function) if appended else {}
    for node in appended[:_MANY] if losses else ():
        assert isinstance(node.value, ast.Call)
        keeper, loss = _keeper_of(node) or "", _loss_of(node.value.args[0], losses.keys())
        if loss is None or function.without_grad(node) or feeds_a_loss(function, keeper, losses.keys()):
            continue
        if keeper.startswith("self.") and hands_itself_on(function):
            continue
        deposit = losses[loss]
        fate = min((_fate_at(function, node, deposit, home) for home in _homes(function, keeper)), default=Fate.EMPTIED)
        if fate is Fate.EMPTIED or is_rebound(function, loss, losses[loss], node):
            continue
        kept, gone = function.arms(node), function.arms(losses[loss])
        alone = not losses[loss].keywords and (kept <= gone or gone <= kept)
        unless = "the list may be emptied elsewhere, or backward() may not run on this loss"
        what = f"{written(node)} keeps the graphs of all iterations"
        certain = alone and fate is Fate.GROWS
        yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _loss_of(given: ast.expr, losses: Collection[str]) -> str | None:
    """The loss that is appended, alone or beside others: [step, loss]."""
    return weighed(given, losses)


def _keeper_of(node: ast.Expr) -> str | None:
    """`losses`, `self.losses`, `history['loss']` of losses.append(loss)."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
        return None
    path = path_of(call.func.value) or "" if len(call.args) == 1 and not call.keywords else ""
    return path if _split(path)[0].removeprefix("self.").isidentifier() and "[*]" not in path else None


def _split(keeper: str) -> tuple[str, str | None]:
    root, _, key = keeper.partition("[")
    return root, key[:-1] if key else None


# Where the list is made


def _homes(function: Reading, keeper: str) -> Iterator[_Home]:
    scope, program, (root, key) = function.scope, function.file.program, _split(keeper)
    if root.startswith("self."):
        made = [one for one, _ in assigned_by(scope.owner, root, function.file)] if scope.owner is not None else []
        if len(made) == 1 and made[0].node.name == "__init__" and made[0].scope.module is scope.module:
            yield _Home(Reading(made[0].node, (), made[0].scope, function.file), root, key)
    elif root in scope.parameters:
        for where, call in calls_of(function):
            given = dict(arguments(call, _as_function(function))).get(root)
            if isinstance(given, ast.Name) and runs(call, where, function):
                yield _Home(where, given.id, key, call)
    elif scope.owns(root) or function.node is program.tree:
        if is_handed_on(function, root):  # nobody else can empty the others
            yield _Home(function, root, key)
    elif (around := _around(function)) is not None and around.scope.owns(root):
        yield _Home(around, root, key)
    elif scope.parent is program.roots.module or scope.owner is not None:
        yield _Home(Reading(program.tree, (), program.roots.module, function.file), root, key)


def _around(function: Reading) -> Reading | None:
    """The function that a closure stands in."""
    program, scope = function.file.program, function.scope
    found = (one for one in program.roots.functions if one.scope is scope.parent)
    return next((Reading(one.node, (), one.scope, function.file) for one in found), None)


def _as_function(function: Reading) -> Function:
    assert isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef)
    return Function(function.node, function.scope)


# What becomes of it


def _fate_at(function: Reading, node: ast.Expr, deposit: ast.Call, home: _Home) -> Fate:
    made = [one for one in definitions_of(home.function).every(home.name) if not one.adds]
    if not made or not all(_is_empty(one, home.key) for one in made) or home.name in home.function.scope.parameters:
        return Fate.EMPTIED
    seen = _fate_of_all(home.function, home.name, home.key)
    if home.call is not None:
        seen = max(seen, _fate_of_all(function, *_split(_keeper_of(node) or "")))
    if home.call is None and home.function is not function:
        seen = max(seen, fate_beside(function, home.name))
    if home.function is function:
        return max(seen, _recurs_here(function, node, deposit, made))
    return max(seen, _recurs(function, node, home, [one.node for one in made]))


def _is_empty(made: Definition, key: str | None) -> bool:
    return made.at is None and not made.each and _is_fresh(made.value, key)


def _is_fresh(value: ast.expr | None, key: str | None) -> bool:
    """[]; {"loss": [], "score": []} or defaultdict(list), if the list is one of a dictionary."""
    return value is not None and begins_empty(value, "" if key is None else f"[{key}]")


def _fate_of_all(function: Reading, name: str, key: str | None) -> Fate:
    """Of every mention: of an attribute anywhere in the file, of a global in whoever has no such name of its own."""
    program = function.file.program
    if name.startswith("self."):
        parts = [(part, function) for part in below(program.tree) if getattr(part, "attr", None) == name[5:]]
        begins = [one.node for one in program.roots.functions if one.node.name == "__init__"]
        if any(isinstance(part.ctx, ast.Store) and not _begins(part, begins) for part, _ in parts):
            return Fate.EMPTIED
    else:
        places = [function]
        if function.node is program.tree:
            if any(_binds_global(program.nodes(one.node), name) for one in program.roots.functions):
                return Fate.EMPTIED
            others = [one for one in program.roots.functions if not one.scope.owns(name)]
        else:
            others = [one for one in program.roots.functions if one.scope.parent is function.scope]
            if any(name in said.names for one in others for said in program.nodes(one.node).of(ast.Nonlocal)):
                return Fate.EMPTIED
            others = [one for one in others if not one.scope.owns(name)]
        places += [Reading(one.node, (), one.scope, function.file) for one in others]
        parts = [(part, each) for each in places for part in each.of(ast.Name) if part.id == name]
    parents = parents_of(program.tree)
    return max((_fate_of(part, parents, each, key, _FEW) for part, each in parts), default=Fate.GROWS)


def _begins(part: ast.Attribute, begins: list[FunctionNode]) -> bool:
    """Whether an attribute is assigned by an object that is being made: of this class, or of another."""
    return path_of(part.value) == "self" and any(holds(begin, part) for begin in begins)


def _binds_global(nodes: Nodes, name: str) -> bool:
    declared = any(name in said.names for said in nodes.of(ast.Global))
    return declared and any(one.id == name and isinstance(one.ctx, ast.Store) for one in nodes.of(ast.Name))


def _fate_of(part: ast.AST, parents: dict[ast.AST, ast.AST], function: Reading, key: str | None, deep: int) -> Fate:
    context, around = getattr(part, "ctx", None), parents.get(part)
    if isinstance(context, ast.Store):
        value = around.value if isinstance(around, ast.Assign | ast.AnnAssign) else _beside(part, around, parents)
        return Fate.GROWS if _is_fresh(value, key) else Fate.EMPTIED
    inner = part
    while isinstance(around, _PASSES_ON):
        inner, around = around, parents.get(around)
    match around:
        case ast.Attribute(attr=attr) if around.value is part:
            unseen = Fate.UNSEEN if key is not None and attr in _HANDS_OUT else Fate.EMPTIED
            return Fate.GROWS if attr in (_READS if key is None else ("keys",)) else unseen
        case ast.Subscript(slice=ast.Constant() as item) if key not in (None, written(item)):
            return Fate.GROWS  # another list
        case ast.Subscript(ctx=ast.Load()):
            return Fate.GROWS if key is None else _fate_of(around, parents, function, None, deep)
        case ast.Subscript() | ast.Delete() | ast.AugAssign():
            return Fate.EMPTIED
        case ast.Call() if around.func is not inner:
            return _fate_in(around, part, function, key, deep)
        case ast.Assign() if isinstance(inner, ast.Dict):
            return Fate.GROWS  # a checkpoint, which holds it beside the rest
    return Fate.UNSEEN if isinstance(around, _UNSEEN) else Fate.GROWS


def _beside(part: ast.AST, around: ast.AST | None, parents: dict[ast.AST, ast.AST]) -> ast.expr | None:
    """What one of several names is assigned: losses, scores = [], []."""
    match around, parents.get(around) if around is not None else None:
        case ast.Tuple(elts=names), ast.Assign(value=ast.Tuple(elts=values)) if len(names) == len(values):
            return next(value for name, value in zip(names, values, strict=True) if name is part)
    return None


def _fate_in(call: ast.Call, part: ast.AST, function: Reading, key: str | None, deep: int) -> Fate:
    """What a call makes of a list that it is handed."""
    path = path_of(call.func) or "?"
    if function.scope.dotted(path).partition(".")[0] in READERS | {"pickle", "json", "seaborn"}:
        return Fate.GROWS
    callee = called(path, function.scope) if deep else None
    names = [name for name, its in arguments(call, callee) if its is part] if callee is not None else []
    if callee is None or len(names) != 1:
        return Fate.UNSEEN
    inside, parents = Reading(callee.node, (), callee.scope, function.file), parents_of(callee.node)
    mentions = (one for one in inside.of(ast.Name) if one.id == names[0])
    return max((_fate_of(one, parents, inside, key, deep - 1) for one in mentions), default=Fate.GROWS)


def fate_beside(function: Reading, name: str) -> Fate:
    """Whether a file beside this one changes what may be this very list: of another object, or in a class of its own
    or a global only if it knows this file."""
    texts = function.file.beside
    if texts is None:
        return Fate.UNSEEN
    stem, last = os.path.splitext(os.path.basename(function.file.path))[0], re.escape(name.removeprefix("self."))
    changes = re.compile(rf"(\w*)\.{last}\b(?: *=[^=]|\[.*\] *=[^=]|\.(?:clear|pop|remove)\b)|\bdel .*{last}\b")
    for text in texts:
        knows = re.search(rf"\b{re.escape(stem)}\b", text) is not None
        strange = {found[1] for found in changes.finditer(text)} - {"self"} if name != last else set()
        if strange or (knows and re.search(rf"\b{last}\b", text) and changes.search(text)):
            return Fate.UNSEEN
    return Fate.GROWS


# Whether a loop appends


def _recurs_here(function: Reading, node: ast.AST, deposit: ast.Call, made: list[Definition]) -> Fate:
    """In a loop over the data that goes backward in every iteration, and does not make the list."""
    loop = function.loop_around(node)
    if loop is None or counts_to_few(loop, function) or not holds(loop, deposit):
        return Fate.EMPTIED
    return Fate.EMPTIED if any(holds(loop, one.node) for one in made) else Fate.GROWS


def _recurs(function: Reading, node: ast.AST, home: _Home, made: list[ast.AST]) -> Fate:
    """Often enough in a loop over the data, or in two loops, none of which makes the list anew."""
    ways = list(_ways(function, _FEW)) if home.call is None else [loops_around(home.function, home.call)]
    around = [[*loops_around(function, node), *way] for way in ways or [[]]]
    lasting = [[loop for loop in way if not any(holds(loop, one) for one in made)] for way in around]
    if any(len(way) > 1 or not all(counts_to_few(loop, function) for loop in way) for way in lasting):
        return Fate.GROWS
    return Fate.UNSEEN if home.call is None and lasting == around else Fate.EMPTIED


def _ways(function: Reading, deep: int) -> Iterator[list[LoopNode]]:
    """The loops around each call of a function, and around the calls of those who call it."""
    yield from (loops_around(where, step) for where, step in _steps(function))
    for where, call in calls_of(function) if deep else ():
        if runs(call, where, function):
            around = loops_around(where, call)
            yield around
            yield from ([*around, *further] for further in _ways(where, deep - 1))


def _steps(function: Reading) -> Iterator[tuple[Reading, ast.Call]]:
    """optimizer.step(closure), where the closure stands."""
    name, program = getattr(function.node, "name", None), function.file.program
    where = _around(function) or Reading(program.tree, (), program.roots.module, function.file)
    for call in where.of(ast.Call) if name and function.file.says(f".step({name}") else ():
        match call:
            case ast.Call(func=ast.Attribute(attr="step"), args=[ast.Name(id=given), *_]) if given == name:
                yield where, call
