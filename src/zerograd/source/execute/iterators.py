"""Iterators: what can be read once. Whoever comes second finds nothing.

[Note: iterators] An iterator is a slot of its own: making it is a deposit, reading it to the end consumes it, and a
path on which it is spent gives nothing to the next reader. One that is made of others, as `filter(f, params)` is, reads
those when it is read. Followed are only those that are read at two places, or in a loop that they were not made in.
"""

import ast
from collections.abc import Iterable

from zerograd.core.events import Kind
from zerograd.core.facts import Fact
from zerograd.core.machine import START, Content
from zerograd.core.world import Exhausted
from zerograd.source.effects import spelling
from zerograd.source.execute import branches, containers, gradients
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import PATH, Slot
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.values import Iterators, Regions, Value

_UNSURE = frozenset({Kind.DEPOSIT, Kind.CONSUME})


def new(ex: Execution, node: ast.AST, inner: Iterable[Value] = (), regions: Regions = frozenset()) -> Iterators:
    """An iterator that this expression makes, and those that it reads when it is read."""
    obj = ex.heap.of("iterator", node, ex.context, kind=ObjectKind.ITERATOR)
    obj.born = (*ex.loops, *((node,) if ex.comprehending else ()))  # in a comprehension, one of many
    obj.regions |= regions
    slot = _slot(ex, obj)
    if ex.path is not None and slot in ex.path.facts:
        gradients.emit(ex, slot, Kind.CLEAR, node, judged=False)
        gradients.emit(ex, slot, Kind.DEPOSIT, node, judged=False)
    return frozenset({(obj, True)}).union(*(value.iterators for value in inner))


def read(
    ex: Execution, value: Value, node: ast.AST, *, by: str, surely: bool = True, regions: Regions = frozenset()
) -> None:
    """A value is read to the end; where that is not sure, perhaps. `regions`: the parameters that it gives."""
    if not value.iterators or ex.path is None:
        return
    inner = sorted({one for one, _ in value.iterators})
    known = regions or frozenset().union(*(one.regions for one in inner))
    for obj in inner:
        obj.regions |= known
        surely_this = surely and (obj, True) in value.iterators and set(obj.born) <= set(ex.loops)
        _consume(ex, obj, node, by, surely=surely_this, tells=bool(known))


def _consume(ex: Execution, obj: Obj, node: ast.AST, by: str, *, surely: bool, tells: bool) -> None:
    slot = _slot(ex, obj)
    places = ex.tables.reads.setdefault(obj, {})
    places.setdefault((node, ex.context), f"{by} on line {ex.site(node).line}")
    if tells and (len(places) > 1 or tuple(ex.loops) != obj.born[: len(ex.loops)]):
        gradients.know(ex, slot)
    facts = ex.here.facts.get(slot)
    if facts is None:
        return
    spent = [fact for fact in facts if fact.state.content is Content.SPENT]
    if spent and tells:
        site = ex.site(node)
        others = [(where, ex.site(at)) for (at, _), where in places.items() if at is not node]
        consumer, read_at = others[0] if others else (f"{by} one iteration earlier", None)
        certain = surely and any(not fact.doubts & _UNSURE for fact in spent)
        known = ex.exhausted.get(site)
        if known is None or (certain and not known.certain):
            ex.exhausted[site] = Exhausted(site, _name(node), consumer, certain, read_at)
    gradients.emit(ex, slot, Kind.CONSUME, node, weak=not surely or _is_now_and_then(ex, obj), judged=False)


def _is_now_and_then(ex: Execution, obj: Obj) -> bool:
    """Whether a test decides in which iteration it is read: that may be one alone."""
    return any(guard.inside > len(obj.born) and branches.varies(ex, guard.test) for guard in ex.guards)


def _slot(ex: Execution, obj: Obj) -> Slot:
    region = ex.heap.of("unread", obj, kind=ObjectKind.STAGE)
    slot: Slot = (obj, region)
    if slot in ex.tables.slots and ex.path is not None and slot not in ex.path.facts:
        ex.path.facts[slot] = frozenset(Fact(START, assumed=fact.assumed) for fact in ex.path.facts[PATH])
    return slot


def _name(node: ast.AST) -> str:
    """What is read, as the program writes it."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else node
    plain = isinstance(first, (ast.Name, ast.Attribute, ast.Subscript))
    return ast.unparse(first) if plain else "what is handed over"


def listed(ex: Execution, value: Value, depth: int = 0) -> list[Value]:
    """A value and, of lists and of groups of an optimizer, the iterators in them."""
    found = [value]
    for obj in value.objects if depth < 3 else ():
        if obj.kind is ObjectKind.CONTAINER and not value.iterators:
            group = ex.store.get((obj, containers.at(spelling.PARAMS))) if obj.shape is Shape.DICT else None
            fields = ex.store.fields(obj) if group is None else []
            placed = [one for (_, name), one in fields if name != containers.ELEMENT]
            for one in [group] if group is not None else placed or [one for _, one in fields]:
                found += listed(ex, one, depth + 1)
    return found
