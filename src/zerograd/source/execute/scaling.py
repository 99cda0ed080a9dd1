"""Loss scales: what a scaler divides out of the gradients, and what it remembers of an optimizer.

[Note: stages] A scaler remembers that it has unscaled an optimizer until it steps or is updated, whatever is cleared
in between: that is a slot of its own.

[Note: settled] It remembers a step until it is updated; a second one before that raises. So each place that steps is a
slot: the step fills it and uses it up, update() clears it. A step that finds it full comes too early.
"""

import ast
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import NO_DOUBT, Fact
from zerograd.core.machine import START, Content, Scale
from zerograd.source.effects.lookup import UPDATING
from zerograd.source.execute import gradients
from zerograd.source.execute.execution import Context, Execution
from zerograd.source.execute.paths import PATH, Slot
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import Counter, is_followed
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers, reach
from zerograd.source.heap.values import Value

_FEW = 3  # a loop that is known to run at most so often is no training


class Unsettled(NamedTuple):
    """A step that the scaler is not told about before the next one; or an update that has no step to judge by."""

    what: str
    scaler: str
    certain: bool
    early: bool = False  # an update in the middle of a window


class Made(NamedTuple):
    """Where a scaler is made."""

    site: Site
    what: str
    loops: tuple[object, ...]
    anew: bool  # in no branch, and with nothing of its own to begin with


# --- the scale of gradients


def unscale_one(ex: Execution, scaler: Obj, value: Value, node: ast.AST) -> None:
    """unscale_(): the gradients are divided, and the scaler remembers it. See [Note: stages]."""
    chosen = gradients.stepped_by_scaler(value)
    renewed = _is_renewed(ex, value, ex.loops)
    with gradients.alternatives(ex, chosen) as alternative:
        for optimizer in chosen:
            weak = not alternative(optimizer) and len(chosen) > 1
            _unscale(ex, optimizer, node, weak=weak)
            slot = _slot(ex, optimizer, scaler, Shape.PLAIN)
            gradients.tell(ex, gradients.emit(ex, slot, Kind.UNSCALE, node, weak=weak or renewed), [slot])


def unscale(ex: Execution, known: Iterable[Obj], node: ast.AST) -> None:
    """The loss scale is divided out of what these hold."""
    chosen = sorted(known)
    for optimizer in chosen:
        _unscale(ex, optimizer, node, weak=len(chosen) > 1)


def _unscale(ex: Execution, optimizer: Obj, node: ast.AST, *, weak: bool) -> None:
    for slot in gradients.slots_of(ex, optimizer):
        gradients.emit(ex, slot, Kind.UNSCALE, node, weak=weak, judged=False)
    divided(ex, optimizer, node, weak=weak)


def divided(ex: Execution, optimizer: Obj, node: ast.AST, *, weak: bool = False, loosely: bool = False) -> None:
    """The gradients that an optimizer holds are divided, whoever holds them too. `loosely`: whoever may hold them."""
    held = gradients.held_by(optimizer)
    for slot in ex.slots():
        region = slot[1]
        if slot[0] is optimizer or region is None or region.kind is ObjectKind.STAGE:
            continue
        if not any(fact.state.scale is Scale.SCALED for fact in ex.here.facts[slot]):
            continue
        if any(region in reach(one) for one in held):
            gradients.emit(ex, slot, Kind.UNSCALE, node, weak=weak, judged=False)
        elif ex.overlap.of(region, held) is Covers.YES or (loosely and ex.overlap.of(region, held) is Covers.MAYBE):
            gradients.emit(ex, slot, Kind.UNSCALE, node, weak=True, judged=False)


# --- what a scaler remembers


def _slot(ex: Execution, optimizer: Obj, scaler: Obj, shape: Shape, site: Site | None = None) -> Slot:
    """A slot for what a scaler remembers of an optimizer: no clear of gradients reaches it."""
    region = ex.heap.of("stage", shape, scaler, site, kind=ObjectKind.STAGE)
    region.source, region.shape = scaler, shape
    slot: Slot = (optimizer, region)
    gradients.know(ex, slot)
    if slot not in ex.here.facts:
        ex.here.facts[slot] = frozenset(Fact(START, NO_DOUBT, fact.assumed) for fact in ex.here.facts[PATH])
    return slot


def _slots(ex: Execution, scaler: Obj, shape: Shape, of: Obj | None = None) -> list[Slot]:
    return [
        slot
        for slot in ex.slots()
        if slot[1] is not None
        and slot[1].kind is ObjectKind.STAGE
        and slot[1].source is scaler
        and slot[1].shape is shape
        and of in (None, slot[0])
    ]


def stepped(ex: Execution, scaler: Obj, optimizer: Obj, value: Value, node: ast.AST, *, weak: bool) -> None:
    """The scaler steps this optimizer: it may unscale again, and waits to be updated."""
    site = ex.site(node)
    for slot in _slots(ex, scaler, Shape.PLAIN, optimizer):
        gradients.emit(ex, slot, Kind.CONSUME, node, judged=False)
    if scaler.off:
        return
    weak = weak or _is_renewed(ex, value, ex.loops)
    any_step, mine = _slot(ex, optimizer, scaler, Shape.SETTLED), _slot(ex, optimizer, scaler, Shape.SETTLED, site)
    for slot in _slots(ex, scaler, Shape.SETTLED, optimizer):
        if slot != any_step:
            _judge_again(ex, slot, scaler, weak=weak)
        if slot not in (any_step, mine):
            gradients.emit(ex, slot, Kind.CLEAR, node, judged=False, weak=weak)
    for slot in (any_step, mine):
        gradients.emit(ex, slot, Kind.DEPOSIT, node, judged=False, weak=weak)
        gradients.emit(ex, slot, Kind.CONSUME, node, judged=False, weak=weak)
    ex.steps_of_scalers.setdefault(scaler, {})[site] = gradients.wording(node)
    _note_lifetime(ex, scaler, optimizer, value)


def _judge_again(ex: Execution, slot: Slot, scaler: Obj, *, weak: bool) -> None:
    """Whether the step of this slot was not followed by an update, now that the next one comes."""
    optimizer, region = slot
    assert optimizer is not None
    assert region is not None
    site = region.key[-1]
    assert isinstance(site, Site)
    left = [fact for fact in ex.here.facts[slot] if fact.state.content is Content.SPENT]
    if left:
        certain = not weak and not optimizer.hinted and any(Kind.CLEAR not in fact.doubts for fact in left)
        certain = certain and not _is_updated_by_others(ex, scaler)
        what = ex.steps_of_scalers.get(scaler, {}).get(site, "")
        known = ex.unsettled.get(site)
        if known is None or (certain and not known.certain):
            ex.unsettled[site] = Unsettled(what, _name(what), certain)


def _is_updated_by_others(ex: Execution, scaler: Obj) -> bool:
    """Whether another file calls update() on the field in which the object of a method keeps its scaler."""
    me = ex.frames[1].receiver if len(ex.frames) > 1 else None
    fields = [one for obj in (me.objects if me is not None else ()) for one in ex.store.fields(obj)]
    names = {name for (_, name), held in fields if isinstance(name, str) and scaler in held.objects}
    return any(ex.project.is_named(f"{name}.{call}", ex.main) for name in names for call in UPDATING)


def _name(step: str) -> str:
    """`scaler` of `scaler.step()`."""
    return step.rpartition(".")[0] or "scaler"


def updated(ex: Execution, scaler: Obj, node: ast.AST, *, told: bool) -> None:
    """update(): the steps so far are settled. Without any, there is nothing to judge the scale by."""
    waiting = _slots(ex, scaler, Shape.SETTLED)
    if waiting and not told and not scaler.off:
        _judge_early(ex, scaler, waiting, node)
    for slot in waiting:
        gradients.emit(ex, slot, Kind.CLEAR, node, judged=False)
    for slot in _slots(ex, scaler, Shape.PLAIN):
        gradients.emit(ex, slot, Kind.CONSUME, node, judged=False)
    ex.updated_scalers.add(scaler)


def _judge_early(ex: Execution, scaler: Obj, waiting: list[Slot], node: ast.AST) -> None:
    """Whether a window's step is still to come, for every optimizer of the scaler."""
    paths: list[answers.Answers] | None = None
    for slot in [*waiting, *_slots(ex, scaler, Shape.PLAIN)]:
        assert slot[1] is not None
        if slot[1].shape is Shape.SETTLED:
            if slot[1].key[-1] is not None:
                continue  # one step of several
            if not any(Kind.CONSUME in ex.tables.does(loop, slot) for loop in ex.loops):
                return  # it is stepped elsewhere
        idle = [answers.answers_of(fact) for fact in ex.here.facts[slot] if _is_idle(fact)]
        paths = idle if paths is None else answers.on_one_path(paths, idle)
    if paths and all(is_followed(guard.test) for guard in ex.guards):
        step = min(ex.steps_of_scalers.get(scaler, {}).values(), default="")
        ex.unsettled[ex.site(node)] = Unsettled(step, gradients.wording(node), True, early=True)


def _is_idle(fact: Fact) -> bool:
    """Whether nothing was stepped or unscaled since the last update, on a path that skipped nothing unseen."""
    idle = fact.state.content is not Content.SPENT and fact.state.scale is not Scale.UNSCALED
    return idle and not fact.doubts & {Kind.CONSUME, Kind.DEPOSIT, Kind.UNSCALE}


# --- how long a scaler lives


def made(ex: Execution, scaler: Obj, node: ast.AST, *, anew: bool) -> None:
    """A scaler is made. `anew`: with nothing of its own to begin with."""
    ex.noted += 1
    unconditionally = not any(guard.inside == len(ex.loops) for guard in ex.guards)
    what = ast.unparse(node) if isinstance(node, ast.Call) else ""
    ex.scalers[scaler] = Made(ex.site(node), what, tuple(ex.loops), anew and unconditionally)
    for slot in (*_slots(ex, scaler, Shape.SETTLED), *_slots(ex, scaler, Shape.PLAIN)):
        facts = ex.here.facts[slot]
        ex.here.facts[slot] = frozenset(Fact(START, NO_DOUBT, fact.assumed) for fact in facts)  # it remembers nothing


def _note_lifetime(ex: Execution, scaler: Obj, optimizer: Obj, value: Value) -> None:
    """Whether a scaler is made again and again while its optimizer goes on: then its scale is forgotten."""
    origin = ex.scalers.get(scaler)
    if origin is None or not origin.anew or optimizer.many or optimizer in ex.each:
        return
    if not origin.loops:
        if not ex.loops and _is_made_by_each_call(ex, scaler, optimizer):
            ex.forgetful.add(scaler)
        return
    loop = origin.loops[-1]
    inner = len(ex.loops) - len(origin.loops)  # epochs and batches: then it is one training of several
    lives_on = loop not in optimizer.born and not _is_renewed(ex, value, [loop])
    once = inner == 0 or (inner == 1 and not _is_short_or_of_elements(ex, loop))
    if lives_on and loop in ex.loops and once:
        ex.forgetful.add(scaler)


def _is_made_by_each_call(ex: Execution, scaler: Obj, optimizer: Obj) -> bool:
    """Whether an object is told to step, with a batch, and makes a scaler for it each time; its optimizer it keeps."""
    if len(ex.frames) < 2 or not ex.symbolic:
        return False
    root = ex.frames[1]
    me, function = root.receiver, root.function
    if me is None or function is None or len(function.node.args.args) < 2 or scaler.context is ex.outermost:
        return False
    by_method = isinstance(scaler.context, Context) and not isinstance(scaler.context.first, ast.ClassDef)
    kept = optimizer.source in me.objects or any(
        optimizer in held.objects for obj in me.objects for _, held in ex.store.fields(obj)
    )
    return by_method and kept


def _is_renewed(ex: Execution, value: Value, loops: Iterable[Hashable]) -> bool:
    """Whether a value is another one in each iteration: an element, or chosen by a counter."""
    inside = set(loops)
    for part in ex.identities.parts(value.id):
        counter = ex.counter_ids.get(part)
        if not ex.born.get(part, frozenset()).isdisjoint(inside) or (counter is not None and counter.loop in inside):
            return True
    return False


def _is_short_or_of_elements(ex: Execution, loop: Hashable) -> bool:
    """Whether a loop runs once for each of some things, or a few times: that may be several trainings."""
    count = ex.tables.counts.get(Counter(loop, None))
    length = count.length if count is not None else None
    if length is None:
        bound = ex.bounds.get(loop)
        return isinstance(bound, int) and ex.identities.is_length(bound)
    return length.offset <= _FEW if length.base is None else ex.identities.is_length(length.base)


def handed_on(ex: Execution, scaler: Obj) -> None:
    """Somebody out of sight may update it."""
    gradients.doubt_slots(ex, _slots(ex, scaler, Shape.SETTLED), frozenset({Kind.CLEAR, Kind.CONSUME}))
    ex.forgetful.discard(scaler)
    ex.scalers.pop(scaler, None)
