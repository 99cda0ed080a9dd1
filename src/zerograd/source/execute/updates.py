"""Updates by hand: parameters that are changed in place with their own gradients, by nobody's step.

[Note: hands] Who updates a region so is a slot of its own: reading the gradient for the update consumes it, and what
clears the region clears it there too. A new tensor begins anew. For an optimizer that holds the region as well, the
gradient is spent; what is deposited on top of it may be meant to be added (an adversarial step that is taken back), so
that it is stale is possible at most.

[Note: slopes] A value knows which gradients it was computed from. It consumes one only as long as that is what lies
there: a perturbation that is taken back behind the next backward() consumes nothing.
"""

import ast
from collections.abc import Iterable

from zerograd.core.events import Kind, Site
from zerograd.core.facts import ALL_DOUBTS, Fact
from zerograd.core.machine import START, Content
from zerograd.source.effects import torch
from zerograd.source.execute import containers, gradients, lost_updates
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import PATH, Slot
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers, reach
from zerograd.source.heap.values import NO_OBJECTS, Graph, Regions, Slope, Value

_TENSORS = (ObjectKind.LEAF, ObjectKind.PARAMETER)


def read(ex: Execution, regions: Regions, node: ast.AST) -> frozenset[Slope]:
    """The gradient of these regions is read here."""
    where = ex.identities.of("slope", node, ex.context)
    told = frozenset((region, where) for region in regions)
    if ex.path is not None:
        ex.path.slopes |= told
    return told


def change(ex: Execution, regions: Regions) -> None:
    """Something is deposited into these regions, or they are cleared: what was read of them is no longer there."""
    path = ex.here
    if path.slopes:
        path.slopes = frozenset(
            (region, where) for region, where in path.slopes if ex.overlap.of(region, regions) is Covers.NO
        )


def hands(ex: Execution) -> list[Slot]:
    """The slots of those who update by hand."""
    return [slot for slot in ex.slots() if slot[0] is not None and slot[0].kind is ObjectKind.HAND]


def update(ex: Execution, changed: Value, told: Iterable[Value], node: ast.AST, target: ast.expr | None) -> None:
    """A tensor is changed in place, and this is what it is told."""
    if ex.path is None:
        return
    ex.updated += any(one.kind in _TENSORS for one in changed.objects)
    slopes = frozenset[Slope]().union(*(value.slopes for value in told))
    for obj in sorted(changed.objects):
        if obj.kind is ObjectKind.MODULE and containers.is_part(obj):
            note_written(ex, obj, node)
        for region in gradients.own_regions(obj) if obj.kind in _TENSORS else NO_OBJECTS:
            note_written(ex, region, node)
            unsure = len(changed.objects) > 1 or not changed.exact or gradients.is_partial(ex)
            unsure = unsure or (obj is region and changed.graph is not Graph.LIVE)  # it may be no leaf any more
            if any(one is region for one, _ in slopes):
                lost_updates.watched(ex, obj, changed, node, target)
            if any(one is region for one, _ in slopes & ex.here.slopes):
                _consume(ex, region, node, wording(target), weak=unsure)
            else:
                take_back(ex, region)


def note_written(ex: Execution, region: Obj, node: ast.AST) -> None:
    """The program writes weights itself: those of a layer that draws its own, or of any while it trains."""
    draws = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and torch.draws(node.func.attr)
    if not draws and (region.kind is ObjectKind.MODULE or ex.loops or ex.deposits or ex.forwards):
        ex.tables.add(ex.tables.written, region)


def wording(target: ast.expr | None) -> str:
    return f"the update of {ast.unparse(target)}" if target is not None else "the update"


def _consume(ex: Execution, region: Obj, node: ast.AST, what: str, *, weak: bool) -> None:
    stepping = {one for frame in ex.frames if frame.receiver is not None for one in frame.receiver.objects}
    if any(one.kind is ObjectKind.OPTIMIZER and region in gradients.held_by(one) for one in stepping):
        return  # an optimizer of the project is at work
    shared = False
    for optimizer in gradients.optimizers(ex):
        for slot in gradients.slots_of(ex, optimizer):
            assert slot[1] is not None
            covers = ex.overlap.of(slot[1], {region})
            if covers is Covers.NO:
                continue
            shared = shared or optimizer in ex.tables.active
            whole = slot[1] in reach(region) or (
                covers is Covers.MAYBE and gradients.is_all_there_is(ex, optimizer, frozenset({region}))
            )
            gradients.emit(ex, slot, Kind.CONSUME, node, what=what, weak=weak or not whole, judged=False, by_hand=True)
            ex.tables.add(ex.tables.used_by_hand, slot)
    slot = slot_of(ex, region)
    found = gradients.emit(ex, slot, Kind.CONSUME, node, what=what, weak=weak or shared, by_hand=True)
    stale = [
        (verdict, where) for verdict, where in found if verdict.law.lacks(verdict.state, verdict.event) is Kind.CLEAR
    ]
    gradients.tell(ex, stale, [slot])


def slot_of(ex: Execution, region: Obj, shape: Shape = Shape.PLAIN) -> Slot:
    """The slot of whoever uses the gradients of a region by hand."""
    hand = ex.heap.of("hand", shape, region, kind=ObjectKind.HAND)
    hand.shape = shape
    hand.held, hand.given = frozenset({region}), region.given
    slot: Slot = (hand, region)
    gradients.know(ex, slot)
    facts = ex.here.facts
    if slot not in facts:
        facts[slot] = frozenset(Fact(START, assumed=fact.assumed) for fact in facts[PATH])
    return slot


def begin(ex: Execution, region: Obj) -> None:
    """A region that was not there before: its gradient is empty."""
    facts = ex.here.facts
    for slot in hands(ex):
        if slot[1] is region and slot in facts:
            facts[slot] = frozenset(Fact(START, assumed=fact.assumed) for fact in facts[slot])


def take_back(ex: Execution, region: Obj) -> None:
    """Something else is written there: perhaps what was there before it was updated by hand."""
    for slot in ex.slots():
        assert slot[1] is not None
        spent = any(fact.state.content is Content.SPENT for fact in ex.here.facts[slot])
        if spent and ex.overlap.of(slot[1], {region}) is not Covers.NO:
            gradients.doubt_slots(ex, [slot], frozenset({Kind.DEPOSIT}))


def doubt(ex: Execution, regions: Regions) -> None:
    """Anything may have happened to what is updated by hand in these regions."""
    hit = [slot for slot in hands(ex) if slot[1] and ex.overlap.of(slot[1], regions) is not Covers.NO]
    gradients.doubt_slots(ex, hit, ALL_DOUBTS)


def deposit(ex: Execution, value: Value, node: ast.AST) -> None:
    """A backward fills what is updated by hand."""
    for slot in hands(ex):
        region = slot[1]
        assert region is not None
        covers = ex.overlap.of(region, value.made_of or {ex.heap.anything})
        if covers is Covers.NO or gradients.is_frozen(ex, region):
            continue
        surely = value.graph is Graph.LIVE and ex.overlap.of(region, value.sure) is Covers.YES
        meets = covers is Covers.YES or slot[0] is None or slot[0].shape is Shape.SHARING
        surely = surely or (meets and _is_the_only_one(ex, region, ex.site(node)))
        gradients.emit(ex, slot, Kind.DEPOSIT, node, weak=not surely, judged=False)


def _is_the_only_one(ex: Execution, region: Obj, site: Site) -> bool:
    """Whether no other backward reaches a region: its gradient is used, and so it comes from this one."""
    others = (met.value.made_of for other, met in ex.tables.deposits.items() if other != site)
    return all(ex.overlap.of(region, made_of) is Covers.NO for made_of in others)


def clear(ex: Execution, regions: Regions, node: ast.AST, *, weak: bool, zeros: bool | None) -> None:
    """These regions are cleared: so is what is updated by hand. `zeros`: a gradient is left there, of zeros."""
    for slot in hands(ex):
        hand, region = slot
        assert hand is not None
        assert region is not None
        if hand.shape is Shape.READING and zeros:
            continue
        if hand.shape is Shape.SHARING:  # who steps those that it is handed to does not hold it: see [Note: sharing]
            regions = regions - ex.tables.handed_to
        whole = any(region is one or region in reach(one) for one in regions)
        if whole or ex.overlap.of(region, regions) is not Covers.NO:
            unsure = weak or not whole or (hand.shape is Shape.READING and zeros is None)
            gradients.emit(ex, slot, Kind.CLEAR, node, weak=unsure, judged=False)
