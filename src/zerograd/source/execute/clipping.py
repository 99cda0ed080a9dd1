"""Clips: whose gradients they shorten, and whether a step ever uses what they have shortened.

[Note: clips] A clip waits for a step, as a backward does: it is meant for whoever steps next. So nobody pairs networks
and optimizers by name. Where several optimizers may hold what is clipped, a fault is certain if it is one with each.
"""

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, Fact
from zerograd.core.judgement import Verdict, judge
from zerograd.core.machine import START, Content, Mark, advance
from zerograd.source.execute import branches, calls, gradients
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Clip, Slot
from zerograd.source.heap.conditions import is_followed
from zerograd.source.heap.objects import Mode, Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers
from zerograd.source.heap.values import Graph, Regions, Value

_UNREAD = (Content.FRESH, Content.MIXED)


class Passed(NamedTuple):
    """A step that holds nothing of what was clipped before it, while its own gradients waited."""

    what: str
    bare: bool  # and nobody has clipped those


class Shortened:
    """What became of one clip, over all paths."""

    __slots__ = ("copied", "passed", "regions", "used", "what")

    def __init__(self, what: str, regions: Regions) -> None:
        self.what = what
        self.regions = regions
        self.used = False  # a step may have used it
        self.passed: set[Passed] = set()
        self.copied = False  # into a copy that nobody has taken


def clip(ex: Execution, regions: Regions, node: ast.AST, *, scaled: bool = False, only_prepared: bool = False) -> None:
    """Clip these parameters. `scaled`: the loss scale is divided out first, perhaps of prepared optimizers alone."""
    site = ex.site(node)
    known = {optimizer: _hit(ex, optimizer, regions) for optimizer in gradients.optimizers(ex)}
    hit = {optimizer: slots for optimizer, slots in known.items() if slots} or _out_of_sight(ex, regions)
    stepping = {optimizer: slots for optimizer, slots in hit.items() if optimizer in ex.tables.active}
    hit = stepping or hit  # who never steps uses nothing
    _wait(ex, regions, node)
    strong = _meant(ex, site, hit)
    unsteady = {slot for slots in hit.values() for slot in slots if _is_unsteady(ex, slot)}
    shared: set[Any] = set()
    if not strong and not unsteady and not scaled:
        event = Event(Kind.CLIP, site=site)
        shared = gradients.broken_by_each(ex, event, [list(slots) for slots in hit.values()])
    for optimizer, slots in hit.items():
        divides = scaled and (optimizer.mode is Mode.PREPARED or not only_prepared)
        found: list[tuple[Verdict[Any], Slot]] = []
        for slot in slots:
            if _trains_here(ex, slot):
                weak = slot in unsteady or optimizer not in strong
                found += gradients.emit(ex, slot, Kind.CLIP, node, scaled=divides, weak=weak)
        found = [(one._replace(certain=True) if one.law in shared else one, slot) for one, slot in found]
        gradients.tell(ex, found, list(slots))
        if optimizer.shape is Shape.UNSEEN:  # it may step and clear at any time from here on
            gradients.doubt_slots(ex, slots, ALL_DOUBTS - {Kind.DEPOSIT})


def _out_of_sight(ex: Execution, regions: Regions) -> dict[Obj, dict[Slot, Covers]]:
    """Where nobody steps: whoever is to step on what is clipped. It holds that, and is elsewhere."""
    if ex.tables.active or not regions or ex.exploring:
        return {}
    optimizer = ex.heap.of("unseen", regions, kind=ObjectKind.OPTIMIZER)
    optimizer.given, optimizer.held, optimizer.shape = True, regions, Shape.UNSEEN
    return {optimizer: _hit(ex, optimizer, regions)}


def _is_unsteady(ex: Execution, slot: Slot) -> bool:
    """Whether a test decides over the clip that does not decide over the step as well."""
    return any(
        not is_followed(guard.test)
        and branches.varies(ex, guard.test)
        and Kind.CONSUME not in ex.tables.under.get((guard.test, guard.yes), {}).get(slot, NO_DOUBT)
        for guard in ex.guards
    )


def _hit(ex: Execution, optimizer: Obj, regions: Regions) -> dict[Slot, Covers]:
    """The slots of an optimizer that a clip may reach."""
    found: dict[Slot, Covers] = {}
    for slot in gradients.slots_of(ex, optimizer):
        assert slot[1] is not None
        covers = ex.overlap.of(slot[1], regions) if regions else Covers.MAYBE
        if covers is not Covers.NO:
            found[slot] = covers
    return found


def _trains_here(ex: Execution, slot: Slot) -> bool:
    """Whether the loop around this deposits or steps: one that only measures is none of ours."""
    loops = [loop for loop in ex.loops if loop not in ex.over_parameters]
    return not loops or not ex.tables.does(loops[-1], slot).isdisjoint({Kind.DEPOSIT, Kind.CONSUME})


def _meant(ex: Execution, site: Site, hit: dict[Obj, dict[Slot, Covers]]) -> set[Obj]:
    """The optimizers that surely hold what is clipped. Of several that may, the only one that steps next."""
    sure = {optimizer for optimizer, slots in hit.items() if Covers.YES in slots.values()}
    if sure:
        return sure
    if len(hit) == 1 and not gradients.has_rivals(ex, *hit):
        return set(hit)
    next_ones = ex.tables.clips_used.get(site, set()) & set(hit)
    return next_ones if len(next_ones) == 1 else set()


# --- whether a step uses it


def _wait(ex: Execution, regions: Regions, node: ast.AST) -> None:
    """From here on the clip waits for a step."""
    site, path = ex.site(node), ex.here
    ex.noted += 1
    ex.clips.setdefault(site, Shortened(gradients.wording(node), regions))
    waiting = frozenset(
        slot[0]
        for slot, facts in path.facts.items()
        if slot[0] is not None and any(fact.state.content in _UNREAD for fact in facts)
    )
    path.clips = frozenset(one for one in path.clips if one.site != site) | {Clip(site, regions, waiting)}


def stepped(ex: Execution, optimizer: Obj, slots: Iterable[Slot], node: ast.AST) -> None:
    """An optimizer steps: it uses the clips of what it holds, and passes the others by."""
    path = ex.here
    held = [slot[1] for slot in slots if slot[1] is not None]
    bare = not any(Mark.CLIPPED in fact.state.marks for slot in slots for fact in path.facts[slot])
    kept: set[Clip] = set()
    for one in path.clips:
        covers = {ex.overlap.of(region, one.regions) if one.regions else Covers.MAYBE for region in held}
        if covers == {Covers.NO}:
            if optimizer in one.waiting:
                ex.clips[one.site].passed.add(Passed(gradients.wording(node), bare))
            kept.add(one)
            continue
        ex.clips[one.site].used = True
        ex.tables.add(ex.tables.clips_used.setdefault(one.site, set()), optimizer)
        if Covers.YES not in covers:
            kept.add(one)
    path.clips = frozenset(kept)


def deposited(ex: Execution) -> None:
    """Something new waits for a step: what was clipped before the last one is done with."""
    if ex.here.stepped:
        ex.here.clips = frozenset()


def cleared(ex: Execution, regions: Regions) -> None:
    """What was clipped is gone."""
    path = ex.here
    if path.clips:
        path.clips = frozenset(
            one for one in path.clips if not any(ex.overlap.of(region, one.regions) is Covers.YES for region in regions)
        )


def may_be_used(ex: Execution, regions: Iterable[Obj]) -> None:
    """Somebody out of sight may step on these."""
    known = frozenset(regions)
    for one in ex.here.clips if known else ():
        if any(ex.overlap.of(region, known) is not Covers.NO for region in one.regions):
            ex.clips[one.site].used = True


# --- copies and hooks


def clipped_copy(ex: Execution, gradient: Obj, node: ast.AST) -> Value:
    """clamp() of a gradient: another tensor, which is of use only to whoever takes it."""
    obj = ex.heap.of("clipped", gradient, node, ex.context, kind=ObjectKind.GRADIENT)
    obj.regions, obj.given, obj.shape, obj.source = gradient.regions, gradient.given, Shape.CLIPPED, gradient
    ex.noted += 1
    ex.copies[obj] = (ex.site(node), gradients.wording(node))
    identity = ex.fresh(node)
    ex.tensor_ids.add(identity)
    return Value(identity, frozenset({obj}), graph=Graph.CUT)


def is_clipped_copy(value: Value, regions: Regions) -> bool:
    """Whether a value is what a clip has made of the gradients of these parameters."""
    return bool(value.objects) and all(
        one.kind is ObjectKind.GRADIENT and one.shape is Shape.CLIPPED and one.regions == regions
        for one in value.objects
    )


def dropped(ex: Execution, value: Value) -> None:
    """Nobody takes a result: of a clip into a copy nothing is left."""
    for obj in value.objects:
        if obj in ex.copies and value.exact:
            ex.noted += 1
            site, what = ex.copies[obj]
            ex.clips.setdefault(site, Shortened(what, obj.regions)).copied = True


def hooked(ex: Execution, regions: Regions, function: Value, node: ast.AST) -> bool:
    """Register a hook on these parameters. Whether it does nothing but clip what comes in."""
    incoming = ex.heap.of("incoming", node, ex.context, kind=ObjectKind.GRADIENT)
    ex.noted += 1
    incoming.regions, incoming.shape = regions, Shape.INCOMING
    before, level = ex.here, ex.store.open()
    ex.path = before.copy()
    outer, ex.hook = ex.hook, []
    made = calls.call(ex, function, [ex.thing(incoming)], {}, node)
    clips, ex.hook = bool(ex.hook), outer
    untouched = ex.path is not None and ex.path.facts == before.facts
    ex.store.undo(level)
    ex.path = before
    clips = clips or any(one.source is incoming and one.shape is Shape.CLIPPED for one in made.objects)
    if clips and untouched and all(is_followed(guard.test) for guard in ex.guards):
        for region in regions:
            ex.hooks.setdefault(region, {})[ex.site(node)] = gradients.wording(node)
    return clips and untouched


def run_hooks(ex: Execution, slot: Slot, loss: Value) -> None:
    """A backward fills a slot: hooks clip what comes into their parameters, as it comes."""
    optimizer = slot[0]
    assert optimizer is not None
    for owner, hooks in ex.hooks.items():
        if ex.overlap.of(owner, loss.made_of) is Covers.NO:
            continue
        weak = optimizer.hinted or ex.overlap.of(owner, loss.sure) is not Covers.YES
        for site, what in hooks.items():
            filled = Event(Kind.DEPOSIT, str(optimizer.number), site, loss.scaled)
            facts = frozenset({Fact(advance(START, filled))})
            event = Event(Kind.CLIP, str(optimizer.number), site, what=what)
            gradients.tell(ex, [(one, slot) for one in judge(facts, event, ex.laws, weak=weak)], [slot])
