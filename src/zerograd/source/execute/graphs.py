"""The graphs of values: whether one is recorded, whose parameters it goes through, and what was cut from it.

One evaluator for all: whatever computes a tensor from other values asks here. `made_of` and `sure` are its two bounds;
`cut_from` remembers the networks whose graph was lost on the way, by detach(), item(), no_grad() or a copy.
"""

import ast
from collections.abc import Iterable

from zerograd.source.execute import factors, gradients, passing, updates
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Mode, Obj, ObjectKind
from zerograd.source.heap.values import (
    NO_GRAPHS,
    NO_IDLE_TERMS,
    NO_OBJECTS,
    NO_PASSES,
    NO_SLOPES,
    NOT_KEPT,
    NOTHING_APPLIED,
    Applied,
    Graph,
    IdleTerm,
    Pass,
    Regions,
    Slope,
    Value,
)


def mark(ex: Execution, identity: int, values: Iterable[Value]) -> None:
    """What is computed from something with a graph: a test of it looks at the loss."""
    if any(value.graph is Graph.LIVE or value.id in ex.tensor_ids for value in values):
        ex.tensor_ids.add(identity)


def tensor(
    ex: Execution,
    values: Iterable[Value],
    identity: int,
    *,
    live: bool = False,
    made_of: Regions = NO_OBJECTS,
    sure: Regions = NO_OBJECTS,
) -> Value:
    """A tensor that is computed from these values. `live`: a network computes it, which records a graph."""
    given = list(values)
    if live:
        ex.tensor_ids.add(identity)
    else:
        mark(ex, identity, given)
    by_hand = frozenset(
        region for value in given for one in value.objects if one.kind is ObjectKind.GRADIENT for region in one.regions
    )
    if by_hand and ex.path is not None:
        gradients.read_by_hand(ex, by_hand)
    if ex.grad_mode is Mode.OFF:
        return Value(identity, graph=Graph.CUT, cut_from=made_of | origins(given), slopes=slopes(given))
    graph = Graph.CUT
    if live:
        graph = Graph.LIVE if ex.grad_mode is Mode.ON else Graph.ANY
    whose, surely = set(made_of), set(sure)
    cut_from: set[Obj] = set()
    applied: frozenset[Applied] = NOTHING_APPLIED
    scaled, begins, of_unknown = False, live, False
    passes: frozenset[Pass] = NO_PASSES
    for value in given:
        leaves_of = {region for one in value.objects for region in _own_regions(one)}
        if leaves_of:
            graph = Graph.LIVE if ex.grad_mode is Mode.ON else max(graph, Graph.ANY)
            begins = True
            whose |= leaves_of
            surely |= leaves_of
        of_unknown = of_unknown or (value.graph >= Graph.LIVE and not value.through)
        if value.graph is Graph.LIVE:
            graph = Graph.LIVE
        elif value.graph is Graph.ANY and graph is not Graph.LIVE:
            graph = Graph.ANY
        if value.graph >= Graph.LIVE:
            whose |= value.made_of
            surely |= value.sure
            applied |= value.applied
            passes |= value.passes
            scaled = scaled or value.scaled
        cut_from |= value.cut_from
    through = NO_GRAPHS
    if graph >= Graph.LIVE:
        ex.graphed.add(identity)
        through = passing.meet(given) | (passing.begin(ex, identity) if begins or of_unknown else NO_GRAPHS)
        if not begins:
            ex.may_begin.add(identity)
    return Value(
        identity,
        graph=graph,
        made_of=frozenset(whose),
        sure=frozenset(surely),
        divisors=factors.common(given),
        scaled=scaled,
        cut_from=frozenset(cut_from),
        applied=applied,
        slopes=slopes(given),
        kept=NOT_KEPT.union(*(value.kept for value in given)) if graph >= Graph.LIVE else NOT_KEPT,
        passes=passes,
        through=through,
    )


def leaf_value(identity: int, leaf: Obj) -> Value:
    mine = frozenset({leaf})
    return Value(identity, mine, graph=Graph.LIVE, made_of=mine, sure=mine)


def may_be_leaf(value: Value) -> bool:
    """Whether a tensor has no graph, as far as it is not a leaf already."""
    if any(one.kind is not ObjectKind.LEAF for one in value.objects):
        return False
    return value.graph is Graph.CUT or (value.graph is Graph.ANY and value.made_of == value.objects != NO_OBJECTS)


def as_leaf(ex: Execution, value: Value) -> Value:
    """A tensor is told to take a gradient. One that was told so before has the gradient that it had."""
    if len(value.objects) == 1:
        (leaf,) = value.objects
    else:
        leaf = ex.heap.of("leaf", value.id, kind=ObjectKind.LEAF)
        ex.tables.leaves[value.id] = leaf
        if any(ex.changing(part) for part in ex.identities.parts(value.id)):
            updates.begin(ex, leaf)  # another tensor than in the iteration before
    return leaf_value(value.id, leaf)._replace(cut_from=value.cut_from)


def _own_regions(one: Obj) -> frozenset[Obj]:
    if one.kind is ObjectKind.LEAF:
        return frozenset({one})
    return one.regions if one.kind is ObjectKind.PARAMETER else NO_OBJECTS


def origins(values: Iterable[Value]) -> frozenset[Obj]:
    """The networks that values were computed by, whether their graph is still there or not."""
    known = list(values)
    weights = frozenset(region for value in known for one in value.objects for region in _own_regions(one))
    return weights.union(*(value.made_of | value.cut_from for value in known))


def slopes(values: Iterable[Value]) -> frozenset[Slope]:
    """The gradients that values were computed from."""
    return NO_SLOPES.union(*(value.slopes for value in values))


def overwrite(ex: Execution, changed: Value, others: Iterable[Value], node: ast.AST) -> None:
    """A tensor is changed in place: whatever name it has holds what was written into it."""
    parts = ex.identities.parts(changed.id)
    new = tensor(ex, others, ex.fresh(node, "written"))
    for key, value in ex.store.fields(ex.frame.id):
        if value.graph and value.id in parts and not value.objects:
            graph = value.graph if new.graph is Graph.CUT else max(value.graph, Graph.ANY)
            graph = Graph.LIVE if new.graph is Graph.LIVE else graph
            made_of, sure = value.made_of | new.made_of, value.sure | new.sure
            told = value.slopes | new.slopes
            cut_from = value.cut_from if new.graph is Graph.CUT else NO_OBJECTS
            through = value.through | new.through
            now = value._replace(graph=graph, made_of=made_of, sure=sure, cut_from=cut_from, slopes=told)
            ex.store.put(key, now._replace(through=through))


def idle_terms(ex: Execution, node: ast.AST, one: Value, other: Value) -> frozenset[IdleTerm]:
    """A sum of something with a graph and something that has lost its own."""
    live, term = (one, other) if one.graph >= other.graph else (other, one)
    recorded = live.graph is Graph.LIVE or (live.graph is Graph.ANY and live.made_of - {ex.heap.anything})
    if not recorded or ex.grad_mode is not Mode.ON:
        return NO_IDLE_TERMS
    if term.graph > Graph.CUT or not term.cut_from:
        return NO_IDLE_TERMS
    if live.id in ex.identities.parts(term.id):  # x + (y - x).detach(): the value of one, the gradient of the other
        return NO_IDLE_TERMS
    return frozenset({(ex.site(node), term.cut_from)})
