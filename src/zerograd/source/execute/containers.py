"""Lists, tuples, dicts and whatever can be iterated: what they hold, at which place."""

import ast
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from zerograd.source.effects import python
from zerograd.source.execute import calls, counters, gradients, graphs
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.conditions import Counter, Linear
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import is_result
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Graph, Value, join, linear

ELEMENT = "[]"  # the field for an element that nobody knows the place of
LENGTH = "len"
START = "start"
JOINED = "joined"
_UNROLLED = 6  # a list of at most so many things in sight is executed once for each
_THINGS = frozenset(
    {
        ObjectKind.OPTIMIZER,
        ObjectKind.MODULE,
        ObjectKind.SCHEDULER,
        ObjectKind.PARAMETERS,
        ObjectKind.SCALER,
        ObjectKind.LEAF,
    }
)
COUNTING = (Shape.RANGE, Shape.ENUMERATE)
NO_LISTS = (Shape.DICT, Shape.RANGE, Shape.ENUMERATE, Shape.ZIP)
_WORTH_UNROLLING = _THINGS | {ObjectKind.INSTANCE, ObjectKind.CONTAINER, ObjectKind.GIVEN}


def at(index: Hashable) -> tuple[str, Hashable]:
    """The field of a known place."""
    return ("i", index)


def new(ex: Execution, node: ast.AST, *tag: Hashable, shape: Shape = Shape.PLAIN) -> Obj:
    """A container that this expression makes; what the last one held is gone."""
    obj = ex.heap.of("container", node, ex.context, *tag, kind=ObjectKind.CONTAINER)
    obj.shape, obj.born, obj.context = shape, tuple(ex.loops), ex.context
    for key, _ in ex.store.fields(obj):
        ex.store.drop(key)
    return obj


def fill(ex: Execution, obj: Obj, values: Sequence[Value], *, exactly: bool = True) -> None:
    for key, _ in ex.store.fields(obj):
        ex.store.drop(key)
    whole: Value | None = None
    for index, value in enumerate(values):
        if exactly:
            ex.store.put((obj, at(index)), value)
        whole = value if whole is None else join(whole, value, ex.identities.of("filled", obj))
    if whole is not None:
        ex.store.put((obj, ELEMENT), whole)
    if exactly:
        ex.store.put((obj, LENGTH), ex.constant(len(values)))


def grow(ex: Execution, obj: Obj, value: Value) -> None:
    """One more element, at an unknown place."""
    if obj.kind is not ObjectKind.CONTAINER:
        return
    _show_in(ex, obj, value)
    old = ex.store.get((obj, ELEMENT))
    ex.store.drop((obj, LENGTH))
    ex.store.put((obj, ELEMENT), value if old is None else join(old, value, ex.identities.of("grown", obj)))


def append(ex: Execution, obj: Obj, value: Value) -> None:
    """One more element at the end: of a list whose length is known and that no loop grows, its place is known."""
    _show_in(ex, obj, value)
    length = ex.store.get((obj, LENGTH))
    fixed = length is not None and length.constant is not None and obj.born == tuple(ex.loops)
    old = ex.store.get((obj, ELEMENT))
    ex.store.put((obj, ELEMENT), value if old is None else join(old, value, ex.identities.of("grown", obj)))
    if fixed and length is not None and length.constant is not None and isinstance(length.constant.value, int):
        ex.store.put((obj, at(length.constant.value)), value)
        ex.store.put((obj, LENGTH), ex.constant(length.constant.value + 1))
    else:
        # Not dropped: where paths meet, what one of them lacks is what the other has.
        ex.store.put((obj, LENGTH), Value(ex.identities.of("length", obj), exact=False))


def _show_in(ex: Execution, obj: Obj, value: Value) -> None:
    """What is put where somebody who cannot be read may look."""
    if obj.shown:
        gradients.show(ex, [value])


def put_item(ex: Execution, obj: Obj, index: Value, value: Value) -> None:
    _show_in(ex, obj, value)
    if index.constant is not None:
        ex.store.put((obj, at(index.constant.value)), value)
    length = ex.store.get((obj, LENGTH))
    old = ex.store.get((obj, ELEMENT))
    if obj.kind is ObjectKind.CONTAINER:
        ex.store.put((obj, ELEMENT), value if old is None else join(old, value, ex.identities.of("grown", obj)))
        if length is not None and obj.shape is Shape.DICT:
            ex.store.drop((obj, LENGTH))


def merge(ex: Execution, obj: Obj, other: Value, node: ast.AST) -> None:
    """dict.update: every place of the other one."""
    for one in sorted(other.objects):
        if one.kind is ObjectKind.CONTAINER:
            for (_, name), value in ex.store.fields(one):
                if isinstance(name, tuple):
                    ex.store.put((obj, name), value)
                elif name == ELEMENT:
                    grow(ex, obj, value)
    if not any(one.kind is ObjectKind.CONTAINER for one in other.objects):
        grow(ex, obj, element(ex, other, node))


def concatenated(ex: Execution, parts: Sequence[Value], node: ast.AST) -> Value:
    obj = new(ex, node)
    values: list[Value] | None = []
    for part in parts:
        known = places(ex, part)
        if known is None or values is None:
            values = None
            grow(ex, obj, element(ex, part, node))
        else:
            values += known
    if values is not None:
        fill(ex, obj, values)
    else:
        for part in parts:
            for one in places(ex, part) or []:
                grow(ex, obj, one)
        join_parts(ex, obj, parts)
    return Value(ex.fresh(node), frozenset({obj}))


def repeated(ex: Execution, value: Value, node: ast.AST) -> Value:
    """`[x] * n`: the elements of a list again and again, nobody knows how often."""
    known = places(ex, value)
    if known is None:
        return value
    obj = new(ex, node)
    fill(ex, obj, known, exactly=False)
    return value._replace(objects=frozenset({obj}))


def join_parts(ex: Execution, obj: Obj, parts: Sequence[Value]) -> None:
    """A list is made of these lists, one behind the other."""
    for index, part in enumerate(parts):
        ex.store.put((obj, (JOINED, index)), part)


def joined(ex: Execution, obj: Obj) -> list[Value]:
    """The lists that a list is made of."""
    fields = ex.store.fields(obj)
    return [value for (_, name), value in fields if isinstance(name, tuple) and name[0] == JOINED]  # not a name: a tag


def places(ex: Execution, value: Value) -> list[Value] | None:
    """The elements of a list whose length is known."""
    if len(value.objects) != 1 or not value.exact:
        return None
    (obj,) = value.objects
    if obj.kind is not ObjectKind.CONTAINER or obj.shape in NO_LISTS:
        return None
    length = ex.store.get((obj, LENGTH))
    if length is None or length.constant is None or not isinstance(length.constant.value, int):
        return None
    found = [ex.store.get((obj, at(index))) for index in range(length.constant.value)]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


class Unrolled(NamedTuple):
    """A loop that is executed once for each of these parts, and so for each of these objects."""

    parts: list[Value]
    each: frozenset[Obj]


def unrolled(ex: Execution, iterated: Value) -> Unrolled | None:
    """The elements of a short list of things or losses in sight; of a list that a loop has filled, one for all."""
    if len(iterated.objects) != 1:
        return None
    (obj,) = iterated.objects
    if obj.kind is ObjectKind.GIVEN:
        # What was given, and holds optimizers: once for all of them.
        held = ex.heap.known("given", obj, ELEMENT)
        if held is None or held.kind not in (ObjectKind.OPTIMIZER, ObjectKind.SCHEDULER):
            return None
        return Unrolled([ex.given(obj, ELEMENT, of=obj)], frozenset({held}))
    if obj.kind is not ObjectKind.CONTAINER or obj.shape in NO_LISTS or not iterated.exact:
        return None
    one = ex.store.get((obj, ELEMENT))
    if one is None:
        return None
    length = ex.store.get((obj, LENGTH))
    if length is None or not length.exact:
        # A list of which only a summary is known: once for all that it stands for.
        all_held = frozenset(part for value in deep(ex, one) for part in value.objects)
        is_worth = {part.kind for part in all_held} & (
            _THINGS - {ObjectKind.PARAMETERS, ObjectKind.SCALER, ObjectKind.LEAF}
        )
        return Unrolled([one], all_held) if one.exact and is_worth else None
    values = places(ex, iterated)
    if not values or len(values) > _UNROLLED or not _are_worth_unrolling(ex, values):
        return None
    parts: list[Value] = []
    each: set[Obj] = set()
    for value in values:
        if any(part.many for part in value.objects) and any(value.objects == other.objects for other in parts):
            each |= value.objects  # as many as they stand for
        else:
            parts.append(value)
            each |= {part for part in _surely_held(ex, value) if not part.many}
    return Unrolled(parts, frozenset(each))


def _are_worth_unrolling(ex: Execution, values: list[Value]) -> bool:
    if len(values) == 1 and values[0].constant is None:
        return True  # a loop that runs once is none
    if all(value.constant is not None and isinstance(value.constant.value, str) for value in values):
        return True  # the phases of an epoch, which come in this order
    held = [inner for value in values for inner in deep(ex, value)]
    if not any({part.kind for part in inner.objects} & (_THINGS | {ObjectKind.INSTANCE}) for inner in held):
        return False
    return all({part.kind for part in value.objects} & _WORTH_UNROLLING for value in values)


def _surely_held(ex: Execution, value: Value) -> set[Obj]:
    """What a value is, and what its places hold, where that is one object and no choice of several."""
    if len(value.objects) != 1:
        return set()
    found = set(value.objects)
    for inner in places(ex, value) or ():
        found |= _surely_held(ex, inner)
    return found


def deep(ex: Execution, value: Value, depth: int = 0) -> list[Value]:
    """A value, and what it holds."""
    found = [value]
    if depth < 3:
        for obj in value.objects:
            if obj.kind is ObjectKind.CONTAINER:
                inner = ex.store.get((obj, ELEMENT))
                if inner is not None:
                    found += deep(ex, inner, depth + 1)
    return found


def length_of(ex: Execution, value: Value) -> Linear | None:
    if value.length is not None:
        return value.length
    if len(value.objects) == 1:
        (obj,) = value.objects
        length = ex.store.get((obj, LENGTH))
        if length is not None and isinstance(length.number, Linear):
            return length.number
    return Linear(ex.identities.of("length", made_of=(value.id,)), 0)


def start_of(ex: Execution, value: Value) -> Linear:
    """What a loop's own counter starts from: that of enumerate() and range()."""
    for obj in value.objects:
        if obj.kind is ObjectKind.CONTAINER and obj.shape in COUNTING:
            start = ex.store.get((obj, START))
            if start is not None:
                return linear(start)
        if obj.kind is ObjectKind.CONTAINER and obj.shape is Shape.ZIP:
            return next(start_of(ex, part) for part in _zipped(ex, obj) if counts(part))
    return Linear(None, 0)


def counts(value: Value) -> bool:
    """Whether iterating gives numbers that go up by one."""
    return value.exact and len(value.objects) == 1 and all(one.shape is Shape.RANGE for one in value.objects)


def is_batch_in_parts(value: Value) -> bool:
    return bool(value.objects) and all(one.shape is Shape.PARTS for one in value.objects)


def _zipped(ex: Execution, obj: Obj) -> list[Value]:
    """What a zip() goes through side by side."""
    return [value for (_, name), value in ex.store.fields(obj) if isinstance(name, tuple)]


def is_never_empty(ex: Execution, value: Value | None) -> bool:
    if value is None:
        return False
    if value.length is not None and value.length.base is None and value.length.offset > 0:
        return True
    if not value.objects or not value.exact:
        return False
    return all(
        one.kind is ObjectKind.PARAMETERS
        or (one.kind is ObjectKind.CONTAINER and (one.shape is Shape.GROUPS or _has_length(ex, one)))
        for one in value.objects
    )


def _has_length(ex: Execution, obj: Obj) -> bool:
    length = ex.store.get((obj, LENGTH))
    return length is not None and length.constant is not None and bool(length.constant.value)


def element(ex: Execution, value: Value, node: ast.AST, loop: Hashable | None = None) -> Value:
    """What iterating gives."""
    identity = ex.identities.of("element", loop) if loop is not None else ex.fresh(node, "element")
    found: Value | None = None
    for obj in sorted(value.objects):
        one = _element_of(ex, obj, value, node, loop, identity)
        if one is not None:
            found = one if found is None else join(found, one, identity)
    if found is not None:
        return found
    graphs.mark(ex, identity, [value])
    graph = value.graph if value.graph is not Graph.NONE else Graph.CUT
    return value._replace(
        id=identity, objects=frozenset(), exact=False, graph=graph, length=None, number=None, constant=None, test=None
    )


def _element_of(
    ex: Execution, obj: Obj, value: Value, node: ast.AST, loop: Hashable | None, identity: int
) -> Value | None:
    if obj.kind is ObjectKind.CONTAINER:
        return _element_of_container(ex, obj, node, loop, identity)
    if obj.kind is ObjectKind.GENERATOR:
        return calls.run_generator(ex, obj)
    if obj.kind is ObjectKind.INSTANCE and obj.cls is not None:
        method = ex.classes.of(obj.cls).methods.get(python.ITER)
        if method is not None and calls.names_events(ex, method):
            made = calls.call_method(ex, ex.thing(obj), python.ITER, [], {}, node)
            return element(ex, made, node)
    if obj.kind is ObjectKind.PARAMETERS:
        one = ex.heap.of("parameter", obj, kind=ObjectKind.PARAMETER)
        one.regions, one.given = obj.regions, obj.given
        parameter = Value(ex.identities.of("object", one), frozenset({one}), graph=Graph.CUT)
        if obj.shape is not Shape.NAMED:
            return parameter
        return _pair(ex, ("named", obj), Value(identity), parameter, identity)
    if obj.kind in (ObjectKind.GIVEN, ObjectKind.LOADER, ObjectKind.INSTANCE, ObjectKind.EXTERNAL):
        obj.uses.add(python.ITER)
        made = ex.given(obj, ELEMENT, of=obj)
        if obj.kind is ObjectKind.GIVEN and is_result(obj) and value.graph:
            return made._replace(id=identity, graph=value.graph, made_of=value.made_of, through=value.through)
        return made._replace(id=identity, graph=Graph.CUT, made_of=frozenset())
    if obj.kind is ObjectKind.MODULE:
        return Value(identity, frozenset({part(ex, obj, ELEMENT)}))
    return None


def _element_of_container(ex: Execution, obj: Obj, node: ast.AST, loop: Hashable | None, identity: int) -> Value | None:
    if obj.shape is Shape.ZIP:
        row = ex.heap.of("zipped", node, ex.context, kind=ObjectKind.CONTAINER)
        fill(ex, row, [element(ex, part, node, loop if counts(part) else None) for part in _zipped(ex, obj)])
        return Value(identity, frozenset({row}))
    inner = ex.store.get((obj, ELEMENT))
    if obj.shape in (Shape.ENUMERATE, Shape.RANGE):
        number = counters.counter_value(ex, Counter(loop, None)) if loop is not None else Value(identity)
        if obj.shape is Shape.RANGE:
            return number
        if inner is not None and not inner.exact:  # another one in each iteration
            inner = inner._replace(id=ex.identities.of("enumerated", made_of=(identity,)))
        return _pair(ex, ("enumerated", node, ex.context), number, inner or Value(identity, exact=False), identity)
    return inner if inner is not None else Value(identity, exact=False)


def _pair(ex: Execution, key: Hashable, one: Value, other: Value, identity: int) -> Value:
    pair = ex.heap.of("pair", key, kind=ObjectKind.CONTAINER)
    ex.store.put((pair, at(0)), one)
    ex.store.put((pair, at(1)), other)
    return Value(identity, frozenset({pair}))


def part(ex: Execution, module: Obj, name: Hashable) -> Obj:
    """A part of a module that is known by its name or place alone."""
    child = ex.heap.of("part", module, name, kind=ObjectKind.MODULE)
    child.given = module.given
    module.children.add(child)
    return child


def is_item(obj: Obj) -> bool:
    """Whether something was read from a place of something that was handed in, and not computed here."""
    whole = obj
    while whole.source is not None:
        whole = whole.source
    at_a_place = any(isinstance(part, tuple) and part[:1] == at(None)[:1] for part in obj.key)
    return at_a_place and whole is not obj and not is_result(whole)


def is_part(obj: Obj) -> bool:
    """Whether it is known as a part of something alone."""
    return isinstance(obj.key, tuple) and obj.key[0] == "part"  # not a name: of an object


def item(ex: Execution, value: Value, index: int | None, node: ast.AST) -> Value:
    """value[index] of an unpacking."""
    place = ex.constant(index) if index is not None else Value(ex.fresh(node, "place"))
    return read(ex, value, place, node)


def rest(ex: Execution, value: Value, start: int, node: ast.AST) -> Value:
    """What a starred target takes."""
    known = places(ex, value)
    obj = new(ex, node)
    if known is not None:
        fill(ex, obj, known[start:])
    else:
        grow(ex, obj, element(ex, value, node))
    return Value(ex.fresh(node), frozenset({obj}))


def _went_backward(ex: Execution, value: Value) -> bool:
    """Whether a value is a loss that goes backward, without its graph."""
    parts = ex.identities.parts(value.id)
    return any(met.value.id in parts for met in ex.tables.deposits.values() if met.value.reduction)


def read(ex: Execution, value: Value, index: Value, node: ast.AST) -> Value:
    """value[index]"""
    found: Value | None = None
    for obj in sorted(value.objects):
        one = _read_from(ex, obj, value, index, node)
        if one is not None:
            found = one if found is None else join(found, one, ex.identities.of("met", node, ex.context))
    if found is not None:
        return found
    if value.graph is Graph.CUT and index.constant is not None and not ex.tables.legacy and _went_backward(ex, value):
        ex.tables.legacy = ex.tables.grown = True  # a loss has no elements since torch 0.4
    if index.constant is not None:
        identity = ex.identities.of("item", index.constant.value, made_of=(value.id,))
    else:
        identity = ex.fresh(node)
    graphs.mark(ex, identity, [value])
    return value._replace(
        id=identity,
        objects=frozenset(),
        exact=False,
        length=None,
        number=None,
        constant=None,
        test=None,
        none_test=None,
    )


def _read_from(ex: Execution, obj: Obj, value: Value, index: Value, node: ast.AST) -> Value | None:
    known = index.constant.value if index.constant is not None else None
    if obj.kind is ObjectKind.CONTAINER:
        found: Value | None = None
        if index.constant is not None:
            place = known
            if isinstance(known, int) and known < 0:
                length = ex.store.get((obj, LENGTH))
                if length is not None and length.constant is not None and isinstance(length.constant.value, int):
                    place = length.constant.value + known
            found = ex.store.get((obj, at(place)))
        if found is None:
            found = ex.store.get((obj, ELEMENT))
            if found is not None and index.constant is None:
                _take_in_turn(ex, obj, index, found)
        return found if found is not None or obj.shape not in COUNTING else Value(ex.fresh(node))
    if obj.kind is ObjectKind.MODULE:
        held = ex.store.get((obj, at(known))) if index.constant is not None else None
        if held is not None:
            return held
        name = known if index.constant is not None else ELEMENT
        return Value(ex.identities.of("part", obj, name), frozenset({part(ex, obj, name)}))
    if obj.kind in (ObjectKind.GIVEN, ObjectKind.LOADER):
        place = at(known if index.constant is not None else ("of", index.id))
        held = ex.store.get((obj, place))
        if held is not None:
            return held
        name = known if isinstance(known, str) else ""
        made = ex.given(obj, place, name=name, of=obj, made_of=(value.id, index.id))
        for one in made.objects:
            one.many = one.many or ex.changing(index.id)  # another one in each iteration
        return made._replace(graph=value.graph, made_of=value.made_of, through=value.through)
    if obj.kind is ObjectKind.INSTANCE and obj.cls is not None:
        held = ex.store.get((obj, at(known))) if index.constant is not None else None
        if held is not None:
            return held
        if python.GETITEM in ex.classes.of(obj.cls).methods:
            return calls.call_method(ex, ex.thing(obj), python.GETITEM, [index], {}, node)
        return ex.given(obj, at(known), of=obj)
    if obj.kind is ObjectKind.PARAMETERS:
        return element(ex, value, node)
    return None


def _take_in_turn(ex: Execution, obj: Obj, index: Value, found: Value) -> None:
    """items[i], where a loop counts i: one after the other. What one thing stands for is another in each iteration."""
    number = linear(index)
    counter = counters.counter_of(ex, number.base)
    if counter is None or number.offset or counter.key is not None or counter.loop not in ex.loops:
        return
    length = ex.store.get((obj, LENGTH))
    if length is None or length.constant is None:  # else its things are told apart
        take_in_turn(ex, found, counter.loop)


def take_in_turn(ex: Execution, found: Value, loop: Hashable) -> None:
    """Each iteration takes another of these."""
    things = {one for one in found.objects if one.kind is ObjectKind.OPTIMIZER}
    ex.each |= things
    for one in things:
        ex.tables.add(ex.tables.in_turn.setdefault(loop, set()), one)


def write(ex: Execution, base: Value, index: Value, value: Value, node: ast.AST) -> None:
    """base[index] = value"""
    for obj in sorted(base.objects):
        if obj.optimizers:  # a group of an optimizer is given other parameters, or another rate
            held = gradients.regions_of(ex, value)
            for one in obj.optimizers if held else ():
                one.held, one.hinted = one.held | held, True
        if obj.kind in (ObjectKind.CONTAINER, ObjectKind.INSTANCE, ObjectKind.GIVEN, ObjectKind.MODULE):
            place: Key = (obj, at(index.constant.value)) if index.constant is not None else (obj, ELEMENT)
            if len(base.objects) == 1 and index.constant is not None:
                put_item(ex, obj, index, value)
                continue
            old = ex.store.get(place)
            ex.store.put(place, value if old is None else join(old, value, ex.identities.of("grown", obj)))
            if index.constant is None and obj.kind is ObjectKind.CONTAINER:  # it may be any of them
                for key, kept in ex.store.fields(obj):
                    if isinstance(key[1], tuple):
                        ex.store.put(key, join(kept, value, ex.identities.of("written", obj, key[1])))
            if obj.kind is ObjectKind.MODULE:
                obj.children |= {one for one in value.objects if one.kind is ObjectKind.MODULE and one is not obj}
