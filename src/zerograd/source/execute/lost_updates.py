"""Updates by hand that change no parameter.

A name that stands for a parameter is given another tensor; a method that returns another tensor is called as if it
changed its own; or autograd is watching, and raises. A loop variable that somebody reads again is no such update: fast
weights are made so.
"""

import ast
from typing import NamedTuple

from zerograd.core.world import HowLost, LostUpdate
from zerograd.source.effects import torch
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Mode, Obj, ObjectKind
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Graph, Value

_WEIGHTS = (ObjectKind.LEAF, ObjectKind.PARAMETER)


class Renamed(NamedTuple):
    """A name that stood for a parameter, and stands for another tensor now."""

    lost: LostUpdate
    value: int  # the identity of that tensor


def bound(ex: Execution, key: Key, target: ast.Name, value: Value, node: ast.AST) -> None:
    """A name is bound."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        if value.objects:
            ex.loop_variables.add(key)
            ex.unread.pop(key, None)
        return
    if not value.graph or value.objects:
        return
    old = ex.store.get(key)
    if old is None or len(old.objects) != 1 or not old.exact:
        return
    (weight,) = old.objects
    if weight.kind not in _WEIGHTS:
        return
    site, text = ex.site(node), ast.unparse(node)
    slopes = {region for region, _ in value.slopes}
    if ex.updated != ex.frame.updated:
        return  # the tensor was changed on the way
    if key in ex.loop_variables:
        others = value.cut_from - (weight.regions or {weight})
        if value.graph >= Graph.LIVE or slopes or others:
            ex.unread.setdefault(key, set()).add(site)
            lost = LostUpdate(site, HowLost.LOOP_VARIABLE, text, target.id)
            ex.tables.renamed[site] = Renamed(lost, value.id)
    elif weight in slopes and not ex.tables.training.isdisjoint(ex.loops):
        ex.tables.renamed[site] = Renamed(LostUpdate(site, HowLost.NEW_TENSOR, text, target.id), value.id)


def carry(ex: Execution, value: Value, head: Value) -> None:
    """A name or a field holds a value when the iteration is over, and this in the next one."""
    if value.slopes:
        ex.tables.carried_on.setdefault(value.id, set()).update((value.id, head.id))


def captured(ex: Execution, key: Key) -> None:
    """A function is made that sees a name: it may read it at any time."""
    ex.loop_variables.discard(key)


def read(ex: Execution, key: Key) -> None:
    """A name is read: what it was given was wanted."""
    ex.tables.read_again |= ex.unread.pop(key)


def watched(ex: Execution, weight: Obj, changed: Value, node: ast.AST, target: ast.expr | None) -> None:
    """A parameter is changed in place with its own gradient: autograd raises where it is watching."""
    alone = len(changed.objects) == 1 and changed.exact and changed.id not in ex.unwatched
    if not alone or ex.grad_mode is not Mode.ON or ex.unread_blocks or target is None:
        return
    if weight.kind is ObjectKind.LEAF and changed.graph is not Graph.LIVE:
        return
    site, sure = ex.site(node), 0 in ex.tables.training
    ex.noted += 1
    lost = LostUpdate(site, HowLost.WATCHED, ast.unparse(node), ast.unparse(target), certain=sure)
    ex.lost_updates[site] = lost


def dropped(ex: Execution, subject: Value, name: str, node: ast.AST, *, is_told: bool) -> None:
    """Nobody takes what an operation computes that has a twin which changes its tensor. `is_told`: where to put it."""
    if is_told or len(subject.objects) != 1 or not subject.exact:
        return
    (obj,) = subject.objects
    if not torch.has_twin(name) or (obj.kind is ObjectKind.GRADIENT and torch.clips(name)):
        return  # what a clip makes of a gradient is told there
    if obj.kind in (*_WEIGHTS, ObjectKind.GRADIENT) and (ex.loops or len(ex.frames) > 1):
        site = ex.site(node)
        ex.noted += 1
        what = "gradient" if obj.kind is ObjectKind.GRADIENT else "parameter"
        ex.lost_updates[site] = LostUpdate(site, HowLost.DROPPED, ast.unparse(node), name, what)


def renamed(ex: Execution) -> list[LostUpdate]:
    """The names that were given another tensor for good: nobody makes a leaf of it, or reads it again."""
    lost = []
    for site, one in ex.tables.renamed.items():
        if one.lost.how is HowLost.LOOP_VARIABLE:
            if site not in ex.tables.read_again:
                lost.append(one.lost)
        else:
            later = ex.tables.carried_on.get(one.value)
            if later and later.isdisjoint(ex.tables.keep_gradient):
                lost.append(one.lost)
    return lost
