"""Parameters that are held twice: by one group of an optimizer, or by two optimizers that step after one backward.

Only what an optimizer holds as a whole counts, `net.parameters()` and lists of such: who picks parameters one by one
may pick different ones.
"""

import ast
from collections.abc import Iterable
from itertools import combinations

from zerograd.core.events import Kind, Site
from zerograd.core.machine import Content
from zerograd.core.world import HeldTwice, Neglect, Unowned
from zerograd.source.effects import spelling
from zerograd.source.execute import containers, gradients
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.values import Value


def made(ex: Execution, optimizer: Obj, parameters: Value | None, node: ast.AST) -> None:
    """An optimizer is made over these parameters."""
    groups = _groups(ex, parameters) if parameters is not None else []
    optimizer.wholly = frozenset(region for group in groups for region in group)
    optimizer.complete = parameters is not None and _is_seen(ex, parameters)
    optimizer.site, optimizer.made = ex.site(node), gradients.wording(node)
    if parameters is not None:
        _leave_out(ex, optimizer, given(ex, parameters))
    if any(_shared(one, other) for group in groups for one, other in combinations(group, 2)):
        ex.held_twice[optimizer.site] = HeldTwice(optimizer.site, optimizer.made)


def given(ex: Execution, value: Value) -> list[Obj]:
    """The groups that an optimizer is given."""
    groups = [obj for held in containers.deep(ex, value) for obj in held.objects if _is_group(ex, obj)]
    for one in groups:
        ex.left_out.pop(one, None)
    return groups


def _leave_out(ex: Execution, optimizer: Obj, groups: list[Obj]) -> None:
    """A group of the same parameters that was filled like those, in this function, and is not among them."""
    for (_, name), value in ex.store.fields(ex.frame.id) if groups else ():
        if not _is_one(value, ObjectKind.CONTAINER):
            continue
        (obj,) = value.objects
        if obj in groups or obj.shown or obj.context is not ex.context or not _is_group(ex, obj):
            continue
        held = gradients.regions_of(ex, ex.thing(obj))
        made = obj.key[1]
        if held and held <= optimizer.held and isinstance(made, ast.AST):
            ex.left_out[obj] = Unowned(ex.site(made), Neglect.LEFT_OUT, str(name))


def _is_group(ex: Execution, obj: Obj) -> bool:
    """Whether it is a dict of parameters that were put into it one by one."""
    if obj.kind is not ObjectKind.CONTAINER or obj.shape is not Shape.DICT:
        return False
    listed = ex.store.get((obj, containers.at(spelling.PARAMS)))
    inner = [] if listed is None else containers.deep(ex, listed)
    return any(one.kind is ObjectKind.PARAMETER for held in inner for one in held.objects)


def _groups(ex: Execution, value: Value) -> list[list[Obj]]:
    """The regions that are listed as a whole, group by group."""
    if _is_one(value, ObjectKind.CONTAINER) and containers.places(ex, value) is None:
        (obj,) = value.objects
        named = ex.store.get((obj, containers.at(spelling.PARAMS))) if obj.shape is Shape.DICT else None
        return [_listed(ex, named)] if named is not None else [_listed(ex, value)]
    parts = containers.places(ex, value) or []
    if any(obj.shape is Shape.DICT for part in parts for obj in part.objects):
        return [group for part in parts for group in _groups(ex, part)]
    return [_listed(ex, value)]


def _listed(ex: Execution, value: Value, depth: int = 0) -> list[Obj]:
    """The regions that one list names, each as often as it stands there."""
    if _is_one(value, ObjectKind.PARAMETERS):
        (obj,) = value.objects
        return sorted(obj.regions)
    if _is_one(value, ObjectKind.LEAF):
        (obj,) = value.objects
        return [] if obj.many else [obj]
    if depth > 3 or not _is_one(value, ObjectKind.CONTAINER):
        return []
    (obj,) = value.objects
    parts = containers.places(ex, value) or containers.joined(ex, obj)
    return [region for part in parts for region in _listed(ex, part, depth + 1)]


def _is_seen(ex: Execution, value: Value, depth: int = 0) -> bool:
    """Whether all that a value lists are parameters of what is known."""
    if not value.exact or not value.objects or depth > 3:
        return False
    for obj in value.objects:
        if obj.kind is ObjectKind.CONTAINER:
            named = ex.store.get((obj, containers.at(spelling.PARAMS)))
            known = [named] if named is not None else containers.places(ex, ex.thing(obj)) or containers.joined(ex, obj)
            if not known or not all(_is_seen(ex, one, depth + 1) for one in known):
                return False
        elif obj.kind is ObjectKind.GENERATOR:
            if not _is_seen(ex, containers.element(ex, value, gradients.node_of(obj)), depth + 1):
                return False
        elif obj.kind not in (ObjectKind.PARAMETERS, ObjectKind.PARAMETER, ObjectKind.LEAF):
            return False
    return True


def _is_one(value: Value, kind: ObjectKind) -> bool:
    return value.exact and len(value.objects) == 1 and all(one.kind is kind for one in value.objects)


def _shared(one: Obj, other: Obj) -> bool:
    """Whether two regions surely have parameters in common."""
    mine, theirs = registered(one), registered(other)
    if one in theirs or other in mine:
        return not one.off and not other.off
    # What is known by its name alone may be a single weight, tied to another one.
    return any(
        part.kind is ObjectKind.MODULE and not part.off and not containers.is_part(part) for part in mine & theirs
    )


def registered(module: Obj) -> set[Obj]:
    """A module and all parts whose parameters are its own: those in a plain list are not."""
    found, todo = {module}, [module]
    while todo:
        one = todo.pop()
        for child in one.children - one.loose:
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def stepped(ex: Execution, optimizer: Obj) -> None:
    """An optimizer is about to step: another one may just have stepped what it holds."""
    for other in gradients.optimizers(ex) if _is_known(optimizer) else ():
        if other is optimizer or not _is_known(other) or _are_alternatives(ex, optimizer, other):
            continue
        mine = [one for one in optimizer.wholly if any(_shared(one, their) for their in other.wholly)]
        theirs = [one for one in other.wholly if any(_shared(one, my) for my in optimizer.wholly)]
        unread = mine and _are_all(ex, optimizer, mine, Content.FRESH)
        if unread and _are_all(ex, other, theirs, Content.SPENT):
            first, second = sorted((optimizer, other), key=lambda one: one.site or Site("", 0))
            assert second.site is not None
            ex.held_twice[second.site] = HeldTwice(second.site, second.made, first.site)


def _are_alternatives(ex: Execution, one: Obj, other: Obj) -> bool:
    return any(other in group for group in ex.tables.met_with.get(one, ()))


def _is_known(optimizer: Obj) -> bool:
    return bool(optimizer.wholly) and not optimizer.hinted and not optimizer.many


def _are_all(ex: Execution, optimizer: Obj, regions: Iterable[Obj], content: Content) -> bool:
    """Whether these slots of an optimizer hold nothing else, on every path and without doubt."""
    unsure = {Kind.CLEAR, Kind.DEPOSIT, Kind.CONSUME}
    facts = [fact for region in regions for fact in ex.here.facts.get((optimizer, region), ())]
    return bool(facts) and all(fact.state.content is content and not fact.doubts & unsure for fact in facts)
