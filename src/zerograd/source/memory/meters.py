"""Meters that are handed live losses: an object of the project's own that adds up, or lists, what it is given.

The class is found through what the meter is bound to, here or in the calls that hand it in, and its method is read.
Only what keeps the parameter itself, in every call and for good, is a fault; of a class that cannot be read none is.
"""

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.living import Graphs
from zerograd.source.graphs.terms import summands_of
from zerograd.source.memory.dictionaries import dictionaries, is_live
from zerograd.source.memory.keeping import kept_by
from zerograd.source.memory.kept import live_losses, retains
from zerograd.source.names.freezing import freezes
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import Nodes, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.automatic import is_known, is_training_step
from zerograd.source.values.callers import called, calls_of, runs
from zerograd.source.values.definitions import definitions_of, loops_around
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.instances import class_of
from zerograd.source.values.owned import READERS
from zerograd.source.values.reading import Reading
from zerograd.source.values.rebound import is_rebound
from zerograd.source.values.sums import weighed, weighs

_FEW = 24  # meters that are looked at in one function


class Given(NamedTuple):
    """`meter.update(loss, n)`"""

    node: ast.Call
    meter: str
    method: str


def detect(function: Reading) -> Iterator[Finding]:
    losses = live_losses(function)
    more = _others(function, losses) if losses else {}
    known, asked = losses | more, 0
    for call in _calls_near(known, function) if losses else ():
        loss = _loss_of(call, known) if call.args or call.keywords else None
        deposit = known.get(loss or "")
        if loss is None or deposit is None or holds(deposit, call):  # scaler.scale(loss).backward()
            continue
        given = _own(call, function) or read(call)
        if given is None or asked >= _FEW or retains(deposit) or function.without_grad(given.node):
            continue
        asked += 1
        cls = function.scope.owner if given.meter == "self" else class_of(function, given.meter)
        emptied = kept_by(cls, given.method, given.node, loss, function.file) if cls is not None else None
        if emptied is None or not _is_live(function, loss, deposit, call, more):
            continue
        rounds = [one for one in _rounds(function, given, deposit) if not starts_anew(*one, given, emptied)]
        if rounds:
            certain = function.arms(given.node) <= function.arms(deposit) and _reads_all(function, given)
            certain = certain and not any(_is_emptied_elsewhere(*one, given, emptied) for one in rounds)
            unless = "the meter may be emptied elsewhere, or backward() may not run on this loss"
            what = f"{written(given.node)} keeps the graphs of all iterations"
            yield note(REGISTRY["ZG402"], function.site(given.node), certain=certain, unless=unless, what=what)


def _calls_near(names: Iterable[str], function: Reading) -> Iterator[ast.Call]:
    """The calls on whose lines one of these is named: few, where every call has a look at all that it is given."""
    roots = {name.partition("[")[0].partition(".")[0] for name in names}
    named = {one.lineno for one in function.of(ast.Name) if one.id in roots}
    lines = sorted(named)
    for call in function.of(ast.Call):
        if call.lineno in named:
            yield call
        elif call.end_lineno != call.lineno:  # few
            first = bisect_left(lines, call.lineno)
            if first < len(lines) and lines[first] <= (call.end_lineno or call.lineno):
                yield call


def _others(function: Reading, losses: dict[str, ast.Call]) -> dict[str, ast.Call]:
    """The dictionaries of losses, and the terms of a loss that are not named for one."""
    found = {name: items.deposit for name, items in dictionaries(function).items() if items.freed}
    for act in function.having(Kind.DEPOSIT):
        loss = loss_of(act.node) if isinstance(act.node, ast.Call) else None
        for name in summands_of(function.nodes, loss) if loss is not None else ():
            assert isinstance(act.node, ast.Call)
            found.setdefault(name, act.node)
    return {name: deposit for name, deposit in found.items() if name not in losses}


def _is_live(function: Reading, loss: str, deposit: ast.Call, call: ast.Call, more: dict[str, ast.Call]) -> bool:
    """Whether what is handed over still has the graph that backward() goes through."""
    if loss in more:
        items = dictionaries(function).get(loss)
        if items is not None:
            return is_live(function, loss, items, call) and not function.file.says(".detach_(")
        graphs = Graphs(function)
        handed = [one for one in _all_given(call) if weighs(one, loss)]
        return (
            all(map(graphs.has, handed))
            and not freezes(function.file.text)
            and not is_rebound(function, loss, deposit, call)
        )
    return not is_rebound(function, loss, deposit, call)


def _rounds(function: Reading, given: Given, deposit: ast.Call) -> Iterator[tuple[Reading, ast.AST]]:
    """The loop over the data that goes backward and updates the meter; or those that call the function which does, of
    which Lightning's is never seen."""
    loop = function.loop_around(given.node)
    if loop is not None:
        if holds(loop, deposit) and not counts_to_few(loop, function):
            yield function, loop
        return
    root = given.meter.partition("[")[0].partition(".")[0]
    if root == "self" and is_training_step(function):
        yield function, function.node
    for where, call in calls_of(function) if root == "self" or not function.scope.owns(root) else ():
        inner = where.loop_around(call) if runs(call, where, function) else None
        if inner is not None and not counts_to_few(inner, where) and inner in loops_around(where, call):
            yield where, inner


def _reads_all(function: Reading, given: Given) -> bool:
    """Whether nobody but the classes that are read has hold of an attribute."""
    owner = function.scope.owner if given.meter.startswith("self.") else None
    return owner is None or is_known(owner)


def read(call: ast.Call) -> Given | None:
    """meter.update(loss), or meter(loss)"""
    path = path_of(call.func) or ""
    meter, _, method = path.rpartition(".")
    if not meter or meter == "self":
        return Given(call, path, "__call__") if path else None
    return Given(call, meter, method) if method != "append" else None


def _own(call: ast.Call, function: Reading) -> Given | None:
    """self.log("loss", loss): the object is its own meter."""
    on, _, method = (path_of(call.func) or "").rpartition(".")
    owner = function.scope.owner if on == "self" else None
    return Given(call, on, method) if owner is not None and owner.method(method) else None


def _loss_of(call: ast.Call, losses: dict[str, ast.Call]) -> str | None:
    """The first of these that a call is given."""
    for given in _all_given(call):
        if isinstance(given, ast.Name):  # most of them
            if given.id in losses:
                return given.id
        elif (loss := weighed(given, losses)) is not None:
            return loss
    return None


def _all_given(call: ast.Call) -> list[ast.expr]:
    if not call.keywords:
        return call.args
    return [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]


# Whether it begins anew


def starts_anew(function: Reading, loop: ast.AST, given: Given, emptied: frozenset[str]) -> bool:
    """Whether the meter, or what it is an item of, is made in the loop, or something in the loop is emptied."""
    names, paths = definitions_of(function), {given.meter, *_owners(given)}
    made = [one for path in paths for one in names.every(path) if isinstance(one.node, ast.Assign)]
    calls = [call for call in function.of(ast.Call) if isinstance(call.func, ast.Attribute) and holds(loop, call)]
    named = {getattr(call.func, "attr", "") for call in calls}
    if any(holds(loop, one.node) for one in made) or not (emptied | {"reset"}).isdisjoint(named):
        return True
    return any(_empties(function, owner, calls, emptied) for owner in _owners(given)[1:])


def _owners(given: Given) -> list[str]:
    """The meter, but for its key, and what it is an attribute of: run.meters, run"""
    parts = given.meter.partition("[")[0].split(".")
    paths = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return [path for path in paths if path != "self"]


def _empties(function: Reading, owner: str, calls: list[ast.Call], emptied: frozenset[str]) -> bool:
    """metrics.next_batch(), of an object that holds the meter, and may begin it anew."""
    cls = class_of(function, owner)
    ways = {way for call in calls for on, _, way in [(path_of(call.func) or "").rpartition(".")] if on == owner}
    methods = [cls.method(way) if cls is not None else None for way in ways]
    return any(one is None or _resets(one, emptied | {"reset"}) or _sets(one) for one in methods)


def _sets(one: Function) -> bool:
    return any(isinstance(part.ctx, ast.Store) for part in Nodes(one.node).of(ast.Attribute))


def _is_emptied_elsewhere(function: Reading, loop: ast.AST, given: Given, emptied: frozenset[str]) -> bool:
    """Whether someone who is handed the meter, or whom the loop calls, may empty it."""
    resets, program = emptied | {"reset"}, function.file.program
    root, held = given.meter.partition("[")[0], (given.meter, *_owners(given))
    for call in function.of(ast.Call):
        path = path_of(call.func) or "?"
        if any(_is_handed(one, held) for one in _all_given(call)) and not _only_reads(call, function):
            seen = _bodies(function, path)
            if not seen or any(_resets(one, resets) for one in seen):
                return True
    if function.scope.owns(root):
        return False
    called_here = {(path_of(call.func) or "").rpartition(".")[2] for call in function.of(ast.Call) if holds(loop, call)}
    return any(
        one.node.name in called_here and _resets(one, resets)
        for one in program.roots.functions
        if one.node is not function.node
    )


def _is_handed(given: ast.expr, meters: tuple[str, ...]) -> bool:
    match given:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Dict(values=items):
            return any(_is_handed(item, meters) for item in items)
        case ast.Starred(value=item):
            return _is_handed(item, meters)
    return path_of(given) in meters


def _only_reads(call: ast.Call, function: Reading) -> bool:
    """print(meter), "{0.avg}".format(meter)."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant):
        return True
    return function.scope.dotted(path_of(call.func) or "?").partition(".")[0] in READERS


def _bodies(function: Reading, path: str) -> list[Function]:
    """What a call runs: a function, or any method of a class."""
    cls = function.scope.class_scope(function.scope.dotted(path), derived=True)
    if cls is not None:
        return [one for base in cls.lineage() for one in base.functions.values()]
    one = called(path, function.scope)
    return [one] if one is not None else []


def _resets(one: Function, resets: frozenset[str]) -> bool:
    calls = Nodes(one.node).of(ast.Call)
    return any(isinstance(call.func, ast.Attribute) and call.func.attr in resets for call in calls)
