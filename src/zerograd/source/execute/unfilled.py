"""Gradients that are used where there is none.

[Note: readers] Whoever uses a `.grad` is a slot of its own: backwards fill it, and a clear empties it that clears by
None. Of what was given, nobody knows that it has none; nor of what was made in another call. A tensor that is computed
keeps no gradient at all, unless somebody tells it to.
"""

import ast

from zerograd.core.events import Kind
from zerograd.core.facts import Fact
from zerograd.core.machine import HOLLOW, Content, State
from zerograd.core.world import Missing, WhyNone
from zerograd.source.execute import gradients, updates
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.conditions import is_followed
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers
from zerograd.source.heap.values import Graph, Value


def begin(ex: Execution) -> None:
    """The start of a pass: what was given may have a gradient."""
    facts = ex.here.facts
    for slot in facts:
        hand, region = slot
        if hand is not None and hand.shape is Shape.READING and region is not None and region.given:
            facts[slot] = frozenset({Fact(State(Content.FRESH))})


def enter_function(ex: Execution) -> None:
    """Whoever calls this function may have gone backward before."""
    slots = [slot for slot in updates.hands(ex) if slot[0] is not None and slot[0].shape is Shape.READING]
    gradients.doubt_slots(ex, slots, frozenset({Kind.DEPOSIT}))


def read_of_tensor(ex: Execution, base: Value, node: ast.AST, gradient: Value) -> None:
    """`.grad` of a tensor that is computed of leaves. What a network returns may be any object."""
    of_leaves = base.sure and all(one.kind is ObjectKind.LEAF for one in base.sure)
    if base.graph is Graph.LIVE and base.exact and not base.objects and of_leaves:
        ex.no_leaves[gradient.id] = base.id, ast.unparse(node)


def use(ex: Execution, value: Value, node: ast.AST) -> None:
    """Something is done with a value that cannot be done with None."""
    if value.id in ex.no_leaves and ex.path is not None:
        base, what = ex.no_leaves[value.id]
        if base not in ex.tables.keep_gradient:
            _note(ex, what, WhyNone.COMPUTED, node)
    elif len(value.objects) == 1:
        (gradient,) = value.objects
        if gradient.kind is ObjectKind.GRADIENT and value.id == ex.identities.of("object", gradient):
            _use_gradient(ex, value, node)


def asked(ex: Execution, value: Value) -> None:
    """Somebody asks whether there is a gradient."""
    if value.id in ex.no_leaves:
        ex.tables.keep_gradient.add(ex.no_leaves[value.id][0])


def _use_gradient(ex: Execution, value: Value, node: ast.AST) -> None:
    (gradient,) = value.objects
    if ex.path is None or gradient.shape is not Shape.PLAIN or not value.exact:
        return
    missing: list[set[Content]] = []
    for region in sorted(gradient.regions):
        known = len(ex.here.facts)
        slot = updates.slot_of(ex, region, Shape.READING)
        facts = ex.here.facts[slot]
        none = {one.state.content for one in facts if one.state.content in HOLLOW and Kind.DEPOSIT not in one.doubts}
        told = len(ex.here.facts) == known and _is_ever_reached(ex, region)
        missing.append(none if told else set())
        if none:  # whoever comes past here had one
            gradients.doubt_slots(ex, [slot], frozenset({Kind.DEPOSIT}))
    if missing and all(missing):
        why = WhyNone.NEVER if Content.NEW in missing[0] else WhyNone.CLEARED
        _note(ex, _written(ex, value), why, node)


def _is_ever_reached(ex: Execution, region: Obj) -> bool:
    """Whether some backward fills a region, if there are any: else it is not known how what is used here is filled."""
    met = ex.tables.deposits.values()
    return not met or any(ex.overlap.of(region, one.value.made_of) is not Covers.NO for one in met)


def _written(ex: Execution, gradient: Value) -> str:
    """A gradient, as the program writes it where it was read."""
    nodes = [ex.identities.described(where)[1] for _, where in gradient.slopes]
    return ast.unparse(nodes[0]) if nodes and isinstance(nodes[0], ast.AST) else "the gradient"


def _note(ex: Execution, what: str, why: WhyNone, node: ast.AST) -> None:
    """Where a test is asked that nobody can answer here, it may say whether there is a gradient."""
    asked = any(not is_followed(guard.test) for guard in ex.guards) or any(map(_is_choice, ex.records))
    if not asked and not ex.handlers and not ex.failing and not ex.unread_blocks:
        site = ex.site(node)
        ex.noted += 1
        ex.missing.setdefault((site.path, site.line, what), Missing(site, what, why))


def _is_choice(record: object) -> bool:
    """Whether one of the arms of an expression was taken."""
    return isinstance(record, tuple) and isinstance(record[0], ast.expr) and isinstance(record[-1], int)
