"""What an iteration leaves behind with its graph: sums that go on, and lists that grow.

[Note: kept graphs] Whatever is added to a sum of all iterations, or put into a list that is older than the loop, stays
alive with its graph. The place where that happens travels with the value: a backward of the sum, or of what is made of
the list, says that the graph was wanted.
"""

import ast
from collections.abc import Hashable, Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.execute import containers
from zerograd.source.execute.execution import Execution, Frame
from zerograd.source.heap.conditions import Counter
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.values import Graph, Value

_MANY = 10  # iterations


class Kept(NamedTuple):
    loop: Hashable
    what: str  # as the user wrote it
    around: tuple[Hashable, ...]  # the loops around that one
    graphs: set[int]  # the values that were put there
    through: set[int]  # where the graphs begin that were put there
    whose: set[Obj]  # the networks that they surely go through
    live: bool  # they have a graph, for all one knows without a backward that goes through them
    holder: Obj | None = None  # the list


def add(ex: Execution, node: ast.AST, values: Sequence[Value], total: Value) -> Value:
    """A sum of these, or all side by side: if one is what the last iteration has left, it goes on from there."""
    for goes_on in values if ex.loops else ():
        new = [value for value in values if value is not goes_on and value.graph >= Graph.LIVE]
        loop = _going_on(ex, goes_on) if new else None
        if loop is not None and not _is_short(ex, loop):
            return _marked(ex, node, loop, new, total)
    return total


def _going_on(ex: Execution, value: Value) -> Hashable | None:
    """The loop at whose head a value stands for what the last iteration has left: of several, the outermost."""
    for part in ex.identities.parts(value.id):
        counter = ex.counter_ids.get(part)
        loop = ex.heads.get(part) if counter is None or counter.key is None else counter.loop
        if loop is not None and loop in ex.loops:
            todo, found = [part], {part}
            while todo:  # a loop may begin with what an outer one has left
                for before in ex.before_loop.get(todo.pop(), frozenset()) - found:
                    found.add(before)
                    todo.append(before)
            return min(
                (ex.heads[one] for one in found if ex.heads.get(one) in ex.loops), key=ex.loops.index, default=loop
            )
    return None


def write(ex: Execution, node: ast.AST, base: Value, value: Value, filled: Value) -> Value:
    """base[index] = value: a tensor that is older than the loop keeps what is written into it."""
    loop = ex.loops[-1] if ex.loops else None
    if loop is None or loop in ex.born.get(base.id, ()) or value.graph < Graph.LIVE:
        return filled
    return _marked(ex, node, loop, [value], filled)


def _is_short(ex: Execution, loop: Hashable) -> bool:
    """Whether a loop inside another repeats something a few times, for all one sees: it goes through no data."""
    count = ex.tables.counts.get(Counter(loop, None))
    known = count is not None and count.length is not None and count.length.base is None
    long = known and count is not None and count.length is not None and count.length.offset >= _MANY
    base = count.length.base if count is not None and count.length is not None else None
    long = long or (base is not None and ex.identities.is_length(base))  # as many as there are data
    return loop in ex.ranges and ex.loops[0] != loop and not long


def put(ex: Execution, obj: Obj, value: Value, node: ast.AST) -> Value:
    """Put something into a list. One that is older than the loop keeps it."""
    loop = ex.loops[-1] if ex.loops else None
    # What another list keeps already is told there.
    graphs = [held for held in containers.deep(ex, value) if held.graph >= Graph.LIVE and not held.kept]
    if loop is None or loop in obj.born or not graphs:
        return value
    kept = _marked(ex, node, loop, graphs, value, holder=obj)
    if _outlives_root(ex, obj):
        lose(ex, [kept])
    return _carried(ex, loop, kept)


def _outlives_root(ex: Execution, obj: Hashable) -> bool:
    """Whether the object whose method is executed holds something: its other methods may use it."""
    me = ex.frames[1].receiver if ex.symbolic and len(ex.frames) > 1 else None
    if me is None:
        return False
    held = [inner for one in me.objects for _, value in ex.store.fields(one) for inner in containers.deep(ex, value)]
    return obj in me.objects or any(obj in value.objects for value in held)


def empty(ex: Execution, obj: Obj) -> None:
    """Something is taken out of a list: it does not grow for ever."""
    ex.emptied.add(obj)


def _marked(
    ex: Execution, node: ast.AST, loop: Hashable, new: list[Value], value: Value, *, holder: Obj | None = None
) -> Value:
    live = any(one.graph is Graph.LIVE for one in new)
    site = _site(ex, loop, node)
    around = tuple(takewhile(lambda one: one != loop, ex.loops))
    known = ex.added.setdefault(site, Kept(loop, ast.unparse(node), around, set(), set(), set(), live, holder))
    if loop in known.around:
        known = ex.added[site] = known._replace(loop=loop, around=around)
    for one in new:
        known.graphs.add(one.id)
        known.through.update(one.through)
        known.whose.update(one.sure)
    return value._replace(kept=value.kept | {site})


def _site(ex: Execution, loop: Hashable, node: ast.AST) -> Site:
    """Where a graph is kept; of a function that is handed something with a graph, where it is called."""
    assert isinstance(loop, tuple)
    there, depth = ex.frames, len(ex.frames) - 1
    while depth > 0 and there[depth].context != loop[1] and _is_handed_graph(ex, there[depth]):
        called_at = there[depth].called_at
        if not isinstance(called_at, ast.Call):
            break
        node, depth = called_at, depth - 1
    ex.frames = there[: depth + 1]
    site = ex.site(node)
    ex.frames = there
    return site


def _is_handed_graph(ex: Execution, frame: Frame) -> bool:
    if frame.function is None:
        return False
    names = [one.arg for one in ast.walk(frame.function.node.args) if isinstance(one, ast.arg)]
    handed = [value for name in names if (value := ex.store.get((frame.id, name))) is not None]
    new = [one for value in handed for one in value.objects if not set(ex.loops).isdisjoint(one.born)]
    inside = [held for one in new for _, value in ex.store.fields(one) for held in containers.deep(ex, value)]
    return any(value.graph >= Graph.LIVE and value.id in ex.graphed for value in (*handed, *inside))


def _carried(ex: Execution, loop: Hashable, value: Value) -> Value:
    """A value is still there when the iteration is over."""
    for site in value.kept:
        met = ex.added.get(site)
        if met is not None and met.loop == loop:
            ex.kept[site] = met
    return value


def carry(ex: Execution, loop: Hashable, value: Value, owner: Hashable) -> None:
    """A name or a field holds a value when the iteration is over."""
    if value.kept and value.graph >= Graph.LIVE:
        _carried(ex, loop, value)
        if _outlives_root(ex, owner):
            lose(ex, [value])


def use(ex: Execution, values: Iterable[Value]) -> None:
    """A backward goes through these: their graphs were wanted."""
    for value in values:
        ex.wanted |= value.kept


def lose(ex: Execution, values: Iterable[Value]) -> None:
    """Somebody who cannot be read gets these, and may go backward through them."""
    for value in values:
        ex.given_away |= value.kept
        if ex.loops:  # and may take something out
            ex.maybe_emptied |= {one for one in value.objects if one.kind is ObjectKind.CONTAINER}
