"""Which graphs a backward goes through, and whether another one comes back to what it was told to keep.

[Note: through] A graph begins where something with parameters is computed: at a forward pass, at an operation on a
leaf, at a call that cannot be read, at a value from outside that may bring a graph along. `Value.through` names these
beginnings, as an upper bound: two values share a part of their graphs only if they share a beginning. What the last
iteration of a loop has left begins where it began there, which is another place than the one of this iteration: it is
`aged` on its way back to the head.
"""

import ast
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Path, Retained, State
from zerograd.source.execute.tables import Leaves
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import NO_GRAPHS, Beginnings, Graph, Value


class Needless(NamedTuple):
    """A backward that is told to keep its graph."""

    site: Site
    what: str
    recorded: bool  # and to record the graph of the gradients
    certain: bool


def begin(ex: Execution, identity: int) -> Beginnings:
    """A graph begins at the computation of this."""
    ex.begun_in.setdefault(identity, frozenset((*ex.loops, ex.whole)))
    return frozenset({identity})


def meet(values: Iterable[Value]) -> Beginnings:
    """What is computed from these goes through all their graphs."""
    return NO_GRAPHS.union(*(value.through for value in values if value.graph >= Graph.LIVE))


def enter(ex: Execution, values: Iterable[Value], node: ast.AST) -> None:
    """These are put into a new computation: what the last iteration has left with its graph goes on in this one."""
    for value in values:
        if value.id in ex.came_round and value.graph >= Graph.LIVE:
            for one in value.through:
                if ex.aged.get(one, ex) == ex.came_round[value.id]:  # it has left that one by itself
                    ex.entered_at.setdefault(one, (ex.site(node), ast.unparse(node)))


def _aged(ex: Execution, begun: Beginnings, loop: Hashable) -> Beginnings:
    if not any(loop in ex.begun_in.get(one, ()) for one in begun):
        return begun
    return frozenset(_older(ex, one, loop) if loop in ex.begun_in.get(one, ()) else one for one in begun)


def _older(ex: Execution, identity: int, loop: Hashable) -> int:
    older = ex.identities.of("of the last iteration", loop, made_of=(identity,))
    ex.aged[older] = loop
    ex.begun_in[older] = ex.begun_in[identity] - {loop}  # the loops around that one begin it anew
    return older


def come_round(ex: Execution, key: Key, value: Value, loop: Hashable, path: Path) -> Value:
    """What a name holds when an iteration is over, as the next one finds it."""
    if not value.through or value.graph < Graph.LIVE:
        return value
    older = _aged(ex, value.through, loop)
    if older is value.through:
        return value
    if leaves_graph(key, value):
        gone_through = value.through & path.passed
        ex.spent |= _aged(ex, gone_through, loop) - gone_through  # what began before the loop is another matter
    return value._replace(through=older)


def leaves_graph(key: Key, value: Value) -> bool:
    """Whether every path of an iteration leaves this with its graph. An update by hand is told where it happens; of a
    list nobody knows whether it still holds what it held."""
    is_listed = isinstance(key[0], Obj) and key[0].kind is ObjectKind.CONTAINER
    return not is_listed and value.graph is Graph.LIVE and not value.objects and not value.slopes


def fields_come_round(ex: Execution, receiver: Value | None, back: State, function: Hashable) -> dict[Key, Value]:
    """What a call leaves in the fields of its object with a graph, as the next call finds it.

    Another method of the program may go backward through it before.
    """
    found: dict[Key, Value] = {}
    if receiver is None or not back.path.retained:
        return found
    for key, value in back.changes.items():
        if value is None or key[0] not in receiver.objects or value.graph < Graph.LIVE:
            continue
        found[key] = value._replace(through=_aged(ex, value.through, function))
        others = [one for one in ex.main.functions if one not in ex.entered and key[1] in one.attributes]
        for one in back.path.retained if others else ():
            if not value.through.isdisjoint(one.through):
                ex.needed.add(one.site)
    return found


def path_comes_round(ex: Execution, path: Path, loop: Hashable) -> None:
    path.passed = NO_GRAPHS
    if path.retained:
        path.retained = frozenset(one._replace(through=_aged(ex, one.through, loop)) for one in path.retained)


def go(ex: Execution, values: Iterable[Value], node: ast.AST, leaves: Leaves, what: str) -> None:
    """Something goes backward through these."""
    known = [value for value in values if value.graph >= Graph.LIVE]
    if not known or ex.path is None:
        return
    path, site, mine = ex.path, ex.site(node), meet(known)
    unknown = any(not value.through for value in known)
    for one in path.retained:
        if unknown or not one.through or not mine.isdisjoint(one.through):
            ex.needed.add(one.site)
    ex.returned_to |= mine & ex.aged.keys()
    if leaves.graph is False:
        path.passed |= mine
    else:
        recorded = leaves.recorded is not False
        computed = (
            not (mine & ex.graphed) <= ex.may_begin
        )  # here: what was handed in may be one of several of one graph
        sure = leaves.graph is True and leaves.recorded is not None and not unknown and computed
        before = ex.told_to_keep.get(site)
        certain = sure and (before is None or before.certain)
        ex.told_to_keep[site] = Needless(site, what, recorded, certain)
        path.retained |= {Retained(site, mine, known[0].id)}


def escape(ex: Execution, values: Iterable[Value], *, losses_alone: bool = False) -> None:
    """Somebody who cannot be read gets these, and may go backward through them.

    `losses_alone`: whoever gets them computes something of them, which is known to hold their graphs.
    """
    if ex.path is None or not ex.path.retained:
        return
    for value in values:
        for one in ex.path.retained if value.graph >= Graph.LIVE else ():
            if value.id == one.loss or (not losses_alone and not value.through.isdisjoint(one.through)):
                ex.needed.add(one.site)
