"""Networks that take the place of others when an optimizer holds those already.

[Note: replaced] What is put in the place of a network that an optimizer holds is a slot of its own: putting it there
fills the slot, whatever gives its parameters to an optimizer clears it. A step of the old optimizer that finds it full,
behind a loss that goes through the new network, trains what nobody uses any more. So the branches that lead there, and
what may have been done in between, are remembered as for any gradient.
"""

import ast
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import NO_DOUBT, Fact
from zerograd.core.machine import START, Content
from zerograd.core.world import Orphaned, Orphaning
from zerograd.source.effects import python, spelling
from zerograd.source.execute import gradients
from zerograd.source.execute.execution import Execution, Frame
from zerograd.source.execute.paths import PATH, Slot
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers, above_of, is_fresh, is_imported, is_result, reach
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Value, is_none

_NETWORKS = (ObjectKind.MODULE, ObjectKind.GIVEN, ObjectKind.LEAF)


class Replaced(NamedTuple):
    """What stands in the place of a network, as it was put there."""

    key: Key
    new: Obj
    old: frozenset[Obj]
    site: Site
    what: str
    model: str
    rounds: frozenset[Hashable]  # loops around it that ask for what they change: nobody knows whether they come round


# --- what is put where


def bound(ex: Execution, key: Key, value: Value, node: ast.AST, target: ast.expr | None) -> None:
    """A name or a field is about to get this value."""
    if ex.path is None or not ex.tables.slots or not isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        return
    _put_back(ex, key, value, node)
    old = ex.store.get(key)
    new = _network(ex, value)
    if old is not None and new is not None:
        _bring(ex, key, old, new, node, target)
    leaf = ex.moved.get(value.id)
    if old is not None and leaf is not None and old.objects == {leaf}:
        for optimizer in gradients.optimizers(ex):
            if leaf in optimizer.held:
                _fill(ex, optimizer, key, leaf, old.objects, node, target)
    if old is None or new is None or not old.objects or old.objects == {new}:
        return
    before = frozenset(one for one in old.objects if one.kind in _NETWORKS and one is not new)
    if not before or not _is_another(ex, new, value, before):
        return
    for optimizer in gradients.optimizers(ex):
        if _holds(ex, optimizer, before) and ex.overlap.of(new, gradients.held_by(optimizer)) is not Covers.YES:
            _fill(ex, optimizer, key, new, before, node, target)


def adopted(ex: Execution, module: Obj, key: Key, value: Value, node: ast.AST, target: ast.expr | None) -> None:
    """A module is about to get a part, or another one in the place of what it has."""
    if ex.path is None or not ex.tables.slots:
        return
    _put_back(ex, key, value, node)
    new = _network(ex, value)
    if new is None or new.given or not _learns(ex, new) or _known_before(ex, key) == {new}:
        return
    if any(_is_made_by(frame, module) for frame in ex.frames):
        return  # it is being made: nobody holds it yet
    for optimizer in gradients.optimizers(ex):
        holder = next((one for one in gradients.held_by(optimizer) if module in reach(one)), None)
        if holder is not None and holder.kind is not ObjectKind.GIVEN and new not in optimizer.held:
            _fill(ex, optimizer, key, new, frozenset({holder}), node, target)


def _is_made_by(frame: Frame, module: Obj) -> bool:
    """Whether this is the call that makes it."""
    makes = frame.function is not None and frame.function.name == python.INIT
    return makes and frame.receiver is not None and frame.receiver.objects == {module}


def _known_before(ex: Execution, key: Key) -> frozenset[Obj]:
    old = ex.store.get(key)
    return old.objects if old is not None else frozenset()


def _network(ex: Execution, value: Value) -> Obj | None:
    """The one network, or tensor, that a value is."""
    if len(value.objects) != 1:
        return None
    (obj,) = value.objects
    return obj if obj.kind in _NETWORKS and not obj.off else None


def _learns(ex: Execution, obj: Obj) -> bool:
    """Whether it has parameters that are seen: those of layers, or a tensor that takes a gradient."""
    if obj.kind is ObjectKind.LEAF:
        return True
    return any(part.learns or part.kind is ObjectKind.LEAF for part in reach(obj))


def _is_another(ex: Execution, new: Obj, value: Value, before: frozenset[Obj]) -> bool:
    """Whether what is put there has none of the parameters of what was there."""
    if any(ex.overlap.of(one, {new}) is not Covers.NO for one in before if not _is_from_elsewhere(new, before)):
        return False
    if not value.made_of.isdisjoint(before) and new not in value.made_of:
        return False
    if new.kind is ObjectKind.GIVEN or (new.given and not new.constructed):
        known = all(is_fresh(one) and not one.shown for one in before)
        return _is_from_elsewhere(new, before) or (known and is_result(new))
    return True


def _is_from_elsewhere(obj: Obj, before: frozenset[Obj]) -> bool:
    """Whether a thing comes out of a file, or out of what a class makes: it was not there before."""
    whole = _root(obj)
    return whole.brought or (whole.constructed and whole.regions.isdisjoint(before))


def _holds(ex: Execution, optimizer: Obj, before: frozenset[Obj]) -> bool:
    """Whether an optimizer holds what was there; of one that was given, with what was given, nobody knows better."""
    if not optimizer.held:
        return optimizer.given and not is_result(_root(optimizer)) and all(one.given for one in before)
    if any(_is_of(region, one) for region in optimizer.held for one in before):
        return True
    return any(ex.overlap.of(one, optimizer.held) is Covers.YES for one in before)


def _fill(
    ex: Execution,
    optimizer: Obj,
    key: Key,
    new: Obj,
    before: frozenset[Obj],
    node: ast.AST,
    target: ast.expr | None,
) -> None:
    others = [one for one in gradients.optimizers(ex) if one is not optimizer and one.held]
    if any(ex.overlap.of(new, one.held) is Covers.YES for one in others):
        return  # it comes with an optimizer of its own
    site, what, model = _told_at(ex, optimizer, node, target)
    region = ex.heap.of("replaced", key, new, site, kind=ObjectKind.STAGE)
    region.shape, region.told = Shape.REPLACED, Replaced(key, new, before, site, what, model, _rounds(ex))
    slot: Slot = (optimizer, region)
    ex.tables.replaced[slot] = region.told
    gradients.know(ex, slot)
    if slot not in ex.here.facts:
        ex.here.facts[slot] = frozenset(Fact(START, NO_DOUBT, fact.assumed) for fact in ex.here.facts[PATH])
    ex.results.clear()  # what networks have returned before, they may return otherwise
    for kind in (Kind.CLEAR, Kind.DEPOSIT):  # whatever may have been made good before, this comes behind it
        gradients.emit(ex, slot, kind, node, judged=False)


def _rounds(ex: Execution) -> frozenset[Hashable]:
    return frozenset(
        loop
        for loop in ex.loops
        if isinstance(loop, tuple) and isinstance(loop[0], ast.While) and not isinstance(loop[0].test, ast.Constant)
    )


def _told_at(ex: Execution, optimizer: Obj, node: ast.AST, target: ast.expr | None) -> tuple[Site, str, str]:
    """Where it is told: in the function that made the optimizer, where that has called what changes the network."""
    for depth, frame in enumerate(ex.frames[:-1]):
        called_at = ex.frames[depth + 1].called_at
        if frame.context is optimizer.context and frame.function is not None and isinstance(called_at, ast.Call):
            inner, ex.frames = ex.frames, ex.frames[: depth + 1]
            site = ex.site(called_at)
            ex.frames = inner
            func = called_at.func
            model = ast.unparse(func.value) if isinstance(func, ast.Attribute) else "the model"
            return site, ast.unparse(called_at), model
    whole = target
    if isinstance(whole, ast.Attribute) and not _is_receiver(ex, whole.value):
        whole = whole.value  # of a part: the network that has it
    return ex.site(node), ast.unparse(node), ast.unparse(whole) if whole is not None else "the model"


def _is_receiver(ex: Execution, node: ast.expr) -> bool:
    """Whether it is `self` of a class that is no network."""
    held = ex.frame.receiver
    name = node.id if isinstance(node, ast.Name) else None
    known = ex.store.get((ex.frame.id, name)) if name is not None else None
    return held is not None and known is not None and known.objects == held.objects


# --- what makes it good


def slots(ex: Execution) -> list[tuple[Slot, Replaced]]:
    return [(slot, told) for slot, told in ex.tables.replaced.items() if slot in ex.here.facts]


def _put_back(ex: Execution, key: Key, value: Value, node: ast.AST) -> None:
    """Something else is put there: what was there before is not used from there any more."""
    for slot, one in slots(ex):
        if one.key == key and value.objects != {one.new} and not is_none(value):
            gradients.emit(ex, slot, Kind.CLEAR, node, judged=False)


def renewed(ex: Execution, optimizer: Obj, node: ast.AST) -> None:
    """An optimizer is made: it holds what it is given, and nobody holds what it had before."""
    if ex.path is None:
        return
    for slot, _ in slots(ex):
        if slot[0] is optimizer:
            gradients.emit(ex, slot, Kind.CLEAR, node, judged=False)
    given(ex, optimizer, gradients.held_by(optimizer), node)


def given(ex: Execution, optimizer: Obj, regions: Iterable[Obj], node: ast.AST) -> None:
    """An optimizer is given these parameters."""
    held = frozenset(regions)
    for slot, one in slots(ex):
        if slot[0] is not optimizer or not optimizer.held:
            covers = ex.overlap.of(one.new, held)
        else:
            covers = Covers.YES if any(one.new in reach(region) for region in held) else Covers.NO
        if covers is not Covers.NO:
            gradients.emit(ex, slot, Kind.CLEAR, node, judged=False, weak=covers is Covers.MAYBE)


# --- who steps all the same


def stepped(ex: Execution, optimizer: Obj, node: ast.AST) -> None:
    """An optimizer steps: it may hold what nobody uses any more."""
    if optimizer.source is not None and not optimizer.given:
        _copy_stepped(ex, optimizer, optimizer.source)
    for slot, one in slots(ex):
        if slot[0] is not optimizer:
            continue
        full = [fact for fact in ex.here.facts[slot] if fact.state.content is Content.FRESH]
        if not full or not _is_reached(ex, optimizer, one):
            continue
        certain = any(Kind.CLEAR not in fact.doubts for fact in full) and _is_sure(ex, optimizer)
        certain = certain and not (one.rounds and ex.site(node) < one.site)
        known = ex.orphaned.get(one.site)
        if known is None or (certain and not known[0].certain):
            told = Orphaned(
                one.site, Orphaning.REPLACED, one.what, one.model, _name(optimizer), optimizer.site, certain
            )
            ex.orphaned[one.site] = told, optimizer, one.new


def _copy_stepped(ex: Execution, optimizer: Obj, original: Obj) -> None:
    """A copy of an optimizer steps: the losses go through what it was copied from."""
    waiting = [waits.site for waits in ex.here.pending if waits.optimizer is optimizer]
    met = [ex.deposits[site].value for site in waiting if site in ex.deposits]
    reached = [one for value in met for one in original.held if ex.overlap.of(one, value.sure) is Covers.YES]
    own = any(ex.overlap.of(one, value.made_of) is Covers.YES for value in met for one in optimizer.held)
    if reached and not own and optimizer.site is not None:
        model = ex.named.get(reached[0], "the model")
        told = Orphaned(optimizer.site, Orphaning.COPIED, "deepcopy()", model, _name(optimizer), original.site, True)
        ex.orphaned[optimizer.site] = told, optimizer, None


def _name(optimizer: Obj) -> str:
    return optimizer.name or "the optimizer"


def _is_sure(ex: Execution, optimizer: Obj) -> bool:
    if optimizer.hinted or optimizer.many:
        return False
    return bool(optimizer.held) or all(one is optimizer for one in ex.tables.active)


def _is_reached(ex: Execution, optimizer: Obj, one: Replaced) -> bool:
    """Whether the losses that wait for a step go through what was put there, and past what was there before."""
    waiting = [waits.site for waits in ex.here.pending if waits.optimizer is optimizer]
    met = [ex.deposits[site].value for site in waiting if site in ex.deposits]
    through = [value for value in met if _goes_through(ex, value, one)]
    if not through:
        return False
    is_part = any(one.new in reach(old) for old in one.old)
    return is_part or not any(
        ex.overlap.of(region, value.sure) is Covers.YES for value in met for region in (*one.old, *optimizer.held)
    )


def _goes_through(ex: Execution, value: Value, one: Replaced) -> bool:
    if any(_is_of(region, one.new) for region in value.made_of):
        return True
    # A network that cannot be read, or that runs its parts one after the other, runs this one too.
    return any(one.new in reach(whole) and whole.cls is None for whole in value.made_of)


def _bring(ex: Execution, key: Key, old: Value, new: Obj, node: ast.AST, target: ast.expr | None) -> None:
    """An optimizer that was made here makes room for one that comes out of a file, with the parameters it had there."""
    if not _root(new).brought or len(old.objects) != 1 or not old.exact:
        return
    (optimizer,) = old.objects
    if optimizer.kind is ObjectKind.OPTIMIZER and optimizer.wholly and not optimizer.given:
        is_used = isinstance(key[0], Obj) or (new.kind is ObjectKind.OPTIMIZER and new in ex.tables.active)
        if is_used and target is not None:
            model = next((ex.named[one] for one in sorted(optimizer.held) if one in ex.named), "the model")
            site, name = ex.site(node), ast.unparse(target)
            told = Orphaned(site, Orphaning.BROUGHT, ast.unparse(node), model, name, optimizer.site, True)
            ex.brought[site] = told, optimizer
            ex.noted += 1


def _root(obj: Obj) -> Obj:
    """What something was read from, and that from."""
    while obj.source is not None:
        obj = obj.source
    return obj


def is_brought(stage: Obj | None) -> bool:
    """Whether it is the slot of a network that comes out of a file."""
    if stage is None or stage.kind is not ObjectKind.STAGE or stage.shape is not Shape.REPLACED:
        return False
    return _root(stage.told.new).brought


def _is_of(region: Obj, whole: Obj) -> bool:
    """Whether it is that, or was read from it."""
    above: Obj | None = region
    while above is not None and above is not whole:
        above = above_of(above)
    return above is not None


# --- optimizers that bring parameters of their own


def copied(ex: Execution, optimizer: Obj, node: ast.AST) -> Value:
    """A copy of an optimizer holds copies of its parameters."""
    copy = ex.heap.of("copied optimizer", node, ex.context, kind=ObjectKind.OPTIMIZER)
    copy.source, copy.name, copy.site, copy.context = optimizer, optimizer.name, ex.site(node), ex.context
    held: set[Obj] = set()
    for region in optimizer.held:
        mine = ex.heap.of("copy", region, node, ex.context, kind=ObjectKind.MODULE)
        mine.copied_from = frozenset({region})
        held.add(mine)
    copy.held = frozenset(held)
    gradients.renew(ex, copy)
    renewed(ex, copy, node)
    return Value(ex.fresh(node), frozenset({copy}))


def is_class_like(obj: Obj | None) -> bool:
    """Whether what is called is a method of a class: what it makes was not there before."""
    if obj is None:
        return False
    if obj.kind is ObjectKind.EXTERNAL:
        return spelling.is_class(obj.name.rpartition(".")[0])
    return is_imported(obj) and spelling.is_class(obj.name)
