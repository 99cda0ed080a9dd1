"""Loops: executed until their head holds all that an iteration may find there."""

import ast
from collections.abc import Hashable

from zerograd.core.facts import NOWHERE, Facts, doubt
from zerograd.core.facts import join as joined
from zerograd.source.effects.lookup import row_of
from zerograd.source.effects.rows import Act
from zerograd.source.execute import (
    branches,
    calls,
    containers,
    counters,
    expressions,
    iterators,
    keeping,
    lost_updates,
    passing,
    statements,
)
from zerograd.source.execute.execution import Execution, LoopRecord, Unreachable
from zerograd.source.execute.paths import Path, Slot, State, meet
from zerograd.source.execute.walked import Why
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import Asked, Counter, Linear, Test
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import NO_ITERATORS, Value, join, linear

_ROUNDS = 14  # of one fixpoint; lattices here are low, and most take three
_MANY_FACTS = 160


def as_flag(ex: Execution, key: Key, now: bool) -> Value:
    """A name that holds yes or no: which of them is an answer that every fact carries."""
    identity = ex.identities.of("flag", key)
    question = Asked("flag", (identity,))
    if question in ex.tables.weighty and ex.path is not None:
        ex.each_fact(answers.with_answer, question, now)
    return Value(identity, test=question)


def for_loop(ex: Execution, node: ast.For | ast.AsyncFor) -> None:
    iterated = expressions.evaluate(ex, node.iter)
    if iterated.iterators:
        left = ex.frame.file.loop(node).breaks  # some are left for others to read
        iterators.read(ex, iterated, node.iter, by="the loop", surely=not left)
        iterated = iterated._replace(iterators=NO_ITERATORS)
    unrolled = containers.unrolled(ex, iterated)
    before = ex.each
    if unrolled is not None:
        ex.each = before | unrolled.each
    try:
        generator = _generator(ex, iterated)
        if generator is not None:
            _consume(ex, node, iterated, generator)
        elif unrolled is not None:
            _once_for_each(ex, node, unrolled.parts)
        else:
            _repeat(ex, node, iterated)
    finally:
        ex.each = before


def while_loop(ex: Execution, node: ast.While) -> None:
    same = _as_for(ex, node)
    if same is not None:
        for_loop(ex, same)
    else:
        _repeat(ex, node, None)


def _as_for(ex: Execution, node: ast.While) -> ast.For | None:
    """The for-loop that a while-loop is, which takes the next element first and is left where there is none.

    That is how Python defines the one by the other.
    """
    known = ex.frame.file.iterations
    if node not in known:
        known[node] = _written_as_for(ex, node)
    return known[node]


def _written_as_for(ex: Execution, node: ast.While) -> ast.For | None:
    first = node.body[0]
    if not (isinstance(first, ast.Try) and len(first.body) == 1 == len(first.handlers) and not first.finalbody):
        return None
    taken, (handler,) = first.body[0], first.handlers
    if not (isinstance(node.test, ast.Constant) and node.test.value and isinstance(taken, ast.Assign)):
        return None
    asked, (target, *others) = taken.value, taken.targets
    if others or not (isinstance(asked, ast.Call) and len(asked.args) == 1 and not asked.keywords):
        return None
    if handler.type is None or len(handler.body) > 1 or not isinstance(handler.body[0], ast.Break):
        return None
    rows = [row_of(expressions.qualified_name(ex, one)) for one in (asked.func, handler.type)]
    if [row.act if row is not None else None for row in rows] != [Act.NEXT, Act.EXHAUSTED]:
        return None
    body = [*first.orelse, *node.body[1:]] or [ast.copy_location(ast.Pass(), first)]
    return ast.copy_location(ast.For(target, asked.args[0], body, []), node)


def _generator(ex: Execution, iterated: Value) -> Obj | None:
    """The generator of the project that is iterated, if it does anything to gradients."""
    if len(iterated.objects) != 1 or not iterated.exact:
        return None
    (one,) = iterated.objects
    if one.kind is ObjectKind.CONTAINER and one.element_of is not None:
        one = one.element_of
    if one.kind is not ObjectKind.GENERATOR or one.function is None:
        return None
    return one if calls.names_events(ex, one.function) else None


def _consume(ex: Execution, node: ast.For | ast.AsyncFor, iterated: Value, generator: Obj) -> None:
    """A generator runs with the loop's body in the place of each of its yields."""
    level = ex.store.open()
    left: list[State] = []
    (outer,) = iterated.objects

    def body(value: Value) -> None:
        if outer.kind is ObjectKind.CONTAINER:  # enumerate(generator())
            pair = ex.heap.of("pair", node, ex.context, kind=ObjectKind.CONTAINER)
            number = Value(ex.fresh(node, "number"))
            if ex.loops:  # one yield an iteration: its counter is ours
                number = counters.counter_value(ex, Counter(ex.loops[-1], None))
            containers.fill(ex, pair, [number, value])
            value = ex.thing(pair)
        loop = LoopRecord(ex.store.open())
        ex.frame.loops.append(loop)
        statements.bind(ex, node.target, value, node)
        statements.execute(ex, node.body)
        ex.frame.loops.pop()
        ends = [ex.capture(loop.level)] if ex.path is not None else []
        outer_changes = ex.store.changes(level) if loop.breaks else {}
        ex.store.undo(loop.level)
        left.extend(State({**outer_changes, **one.changes}, one.path) for one in loop.breaks)
        ex.meet([*ends, *loop.continues], (node, ex.context, "c"))

    try:
        calls.consume(ex, generator, body)
    except Unreachable:
        ex.path = None
    ends = [ex.capture(level)] if ex.path is not None else []
    ex.store.undo(level)
    ex.meet([*ends, *left], (node, ex.context, "b"))
    if ex.path is None:
        raise Unreachable


def _once_for_each(ex: Execution, node: ast.For | ast.AsyncFor, parts: list[Value]) -> None:
    """A short list of things in sight: the body is executed once for each."""
    whole = ex.store.open()
    breaks: list[State] = []
    context = ex.frame.context
    for number, part in enumerate(parts):
        if ex.path is None:
            break
        if part.constant is not None:  # a round of its own, in which other things may happen
            ex.frame.context = context.then(("round", number))
        loop = LoopRecord(ex.store.open())
        ex.frame.loops.append(loop)
        statements.bind(ex, node.target, part, node)
        statements.execute(ex, node.body)
        ex.frame.loops.pop()
        ends = [ex.capture(loop.level)] if ex.path is not None else []
        before = ex.store.changes(whole) if loop.breaks else {}
        ex.store.undo(loop.level)
        breaks += [State({**before, **one.changes}, one.path) for one in loop.breaks]
        ex.meet([*ends, *loop.continues], (node, ex.context, "c"))
    ex.frame.context = context
    if ex.path is not None:
        statements.execute(ex, node.orelse)
    ends = [ex.capture(whole)] if ex.path is not None else []
    ex.store.undo(whole)
    ex.meet([*ends, *breaks], (node, ex.context, "b"))


def _repeat(ex: Execution, node: ast.For | ast.AsyncFor | ast.While, iterated: Value | None) -> None:
    loop: Hashable = (node, ex.context, "loop")
    if iterated is not None and _trains_each(ex, iterated):
        ex.tables.add(ex.tables.training, loop)
    if iterated is not None and _is_over_parameters(ex, iterated):
        ex.over_parameters.add(loop)
    if iterated is not None and not isinstance(node, ast.While) and _goes_through_a_batch(ex, node, iterated):
        ex.tables.add(ex.tables.parted, loop)
    if iterated is not None and any(one.shape is Shape.RANGE for one in iterated.objects):
        ex.ranges.add(loop)
    changed = ex.tables.changed.setdefault(loop, {})
    entry = ex.here.copy()
    skipping = State({}, entry)
    whole = ex.store.open()
    if ex.exploring and loop not in ex.tables.explored:
        ex.tables.explored.add(loop)
        _look_ahead(ex, node, iterated, loop, changed)
    ex.path = entry.copy()
    counting = _enter(ex, loop, changed, iterated)
    counters.start(ex, counting, loop)
    head = ex.here
    first = dict(head.facts)
    ends: State | None = None
    breaks: list[State] = []
    for _ in range(1 if ex.exploring else _ROUNDS):
        record, back, ends = _iterate(ex, node, iterated, loop, head)
        breaks = record.breaks
        if back is None:
            break
        grown, head_later = _grow_head(ex, loop, changed, head, back)
        if loop in ex.over_parameters:
            head_later = head  # the next one is another parameter: nothing was done to it yet
        elif loop in ex.tables.in_turn:
            head_later = _another_one(ex, loop, head, head_later)
        if not grown and head_later.same_as(head):
            break
        head = head_later
    if isinstance(node, ast.While) or containers.is_never_empty(ex, iterated):
        skipping = State({}, entry.with_facts(dict.fromkeys(entry.facts, frozenset())))
        if isinstance(node, ast.While) and ends is not None:
            _doubt_skipped(ex, node, loop, first, ends.path)
    else:
        facts = skipping.path.facts
        for slot, kinds in ex.tables.skipped(loop).items():
            if slot in facts:
                ex.excuses.note(ex, slot, kinds, node, Why.LOOP)
                facts[slot] = doubt(facts[slot], kinds)
    _leave(ex, node, loop, whole, skipping, ends, breaks)


def _look_ahead(
    ex: Execution,
    node: ast.For | ast.AsyncFor | ast.While,
    iterated: Value | None,
    loop: Hashable,
    changed: dict[Key, None],
) -> None:
    """One iteration for what it changes alone: whoever knows that can learn how the next one counts."""
    level = ex.store.open()
    ex.path = ex.here.copy()
    counters.start(ex, _enter(ex, loop, changed, iterated), loop)
    head = ex.here
    _, back, _ = _iterate(ex, node, iterated, loop, head)
    if back is not None:
        _grow_head(ex, loop, changed, head, back)
    ex.store.undo(level)


def _another_one(ex: Execution, loop: Hashable, head: Path, later: Path) -> Path:
    """At the head of a loop that takes another optimizer in each iteration: nothing was done to that one yet."""
    facts = dict(later.facts)
    for slot in facts:
        if slot[0] in ex.tables.in_turn[loop] and slot in head.facts:
            facts[slot] = head.facts[slot]
    return later.with_facts(facts)


def _doubt_skipped(ex: Execution, node: ast.While, loop: Hashable, first: dict[Slot, Facts], path: Path) -> None:
    """Behind a while-loop that may never have been entered, what it does may not have been done."""
    for slot, kinds in ex.tables.skipped(loop).items():
        early = path.facts.get(slot, NOWHERE) & first.get(slot, NOWHERE)
        if early:
            ex.excuses.note(ex, slot, kinds, node, Why.LOOP)
            path.facts[slot] = joined(path.facts[slot] - early, doubt(early, kinds))


def _leave(
    ex: Execution,
    node: ast.For | ast.AsyncFor | ast.While,
    loop: Hashable,
    whole: int,
    skipping: State,
    ends: State | None,
    breaks: list[State],
) -> None:
    """Behind the loop: where it was skipped, has ended, or was left by a break."""
    head = ex.store.changes(whole)
    ex.store.undo(whole)
    done = [State({**head, **one.changes}, one.path) for one in ([ends] if ends is not None else [])]
    level = ex.store.open()
    ex.meet([skipping, *done], (node, ex.context, "x"))
    if ex.path is not None and node.orelse:
        statements.execute(ex, node.orelse)
    out = [ex.capture(level)] if ex.path is not None else []
    ex.store.undo(level)
    ex.meet([*out, *(State({**head, **one.changes}, one.path) for one in breaks)], (node, ex.context, "b"))
    if ex.path is not None:
        ex.path = ex.path.copy()
        counters.left(ex, loop)


def _iterate(
    ex: Execution, node: ast.For | ast.AsyncFor | ast.While, iterated: Value | None, loop: Hashable, head: Path
) -> tuple[LoopRecord, State | None, State | None]:
    """One iteration from the head: its jumps, the state at its end, and the one in which the loop ends."""
    level = ex.store.open()
    record = LoopRecord(level)
    ex.path = head.copy()
    ex.path.since, ex.path.brought = frozenset(), frozenset()
    element = ex.identities.of("element", loop)
    ex.born[element] = frozenset({loop})
    ex.renew(element)
    ends: State | None = None
    if isinstance(node, ast.While):
        test = expressions.truth(ex, expressions.evaluate(ex, node.test))
        ex.bounds[loop] = _bound(test)
        yes, no = branches.split(ex, test)
        ends = State(ex.store.changes(level), no)
        ex.path = yes if not yes.is_dead else None
    ex.records.append(loop)
    ex.frame.loops.append(record)
    if ex.path is not None:
        ex.loops.append(loop)
        if iterated is not None and not isinstance(node, ast.While):
            statements.bind(ex, node.target, _next_of(ex, node, iterated, loop), node)
        statements.execute(ex, node.body)
        ex.loops.pop()
    ex.frame.loops.pop()
    ex.records.pop()
    falls = [ex.capture(level)] if ex.path is not None else []
    ex.store.undo(level)
    inner = ex.store.open()
    ex.loops.append(loop)
    ex.meet([*falls, *record.continues], (node, ex.context, "c"))
    ex.loops.pop()
    back = ex.capture(inner) if ex.path is not None else None
    ex.store.undo(inner)
    if back is not None and not isinstance(node, ast.While):
        ended = _normalised(ex, loop, ex.tables.changed[loop], back)
        ends = State(ended.changes, counters.last_iteration(ex, loop, ended.path))
    return record, back, ends


def _next_of(ex: Execution, node: ast.For | ast.AsyncFor, iterated: Value, loop: Hashable) -> Value:
    """What this iteration is for. Of a batch in parts, each is another tensor."""
    value = containers.element(ex, iterated, node, loop)
    if all(one.kind is ObjectKind.CONTAINER for one in iterated.objects):
        containers.take_in_turn(ex, value, loop)
    if containers.is_batch_in_parts(iterated):
        rows = [field for obj in value.objects for _, field in ex.store.fields(obj)]
        for part in (value, *rows):
            ex.born[part.id] = ex.born.get(part.id, frozenset()) | {loop}
    return value


def _normalised(ex: Execution, loop: Hashable, changed: dict[Key, None], state: State) -> State:
    changes, path = dict(state.changes), state.path
    ex.loops.append(loop)
    for key in list(changed):
        value = changes[key] if key in changes else ex.store.get(key)
        now, path = counters.normalised(ex, key, value, path)
        if now is not value:
            changes[key] = now
    ex.loops.pop()
    return State(changes, path)


def _enter(ex: Execution, loop: Hashable, changed: dict[Key, None], iterated: Value | None) -> list[Counter]:
    """At the head, what the loop is known to change is no longer what it was before it."""
    counting = [Counter(loop, None)] if iterated is not None else []
    for key in list(changed):
        value = ex.store.get(key) or ex.tables.unset.get(key)
        if value is None:
            continue
        if isinstance(value.number, Linear) or key in ex.tables.counting:
            begins = linear(value)
            outer = counters.counter_of(ex, begins.base)
            if outer is not None and outer.key == key:  # it goes on from an outer loop
                now, ex.path = counters.normalised(ex, key, value, ex.here)
                assert now is not None
                ex.store.put(key, now)
                continue
            counter = Counter(loop, key)
            counters.count_of(ex, counter).start = begins
            counting.append(counter)
            ex.store.put(key, counters.counter_value(ex, counter))
        elif value.constant is not None and isinstance(value.constant.value, bool):
            ex.tables.add(ex.tables.flags, key)
            ex.store.put(key, as_flag(ex, key, value.constant.value))
        elif value.constant is not None and value.constant.value is not None:
            phi = ex.identities.of("looped", loop, key)
            ex.born[phi], ex.heads[phi] = frozenset({loop}), loop
            ex.store.put(key, value._replace(id=phi, constant=None, number=None))
    own = counters.count_of(ex, Counter(loop, None))
    own.increment = 1
    if iterated is not None:
        ex.tables.iterating.add(loop)
        own.length = containers.length_of(ex, iterated)
        own.start = containers.start_of(ex, iterated)
        if any(one.shape is Shape.ENUMERATE and one.born != tuple(ex.loops) for one in iterated.objects):
            own.start = Linear(ex.identities.of("goes on", loop), 0)  # an iterator of an outer loop
    return counting


def _is_entered_otherwise(ex: Execution, key: Key, value: Value) -> bool:
    """Whether a name that holds this is something else at the head of a loop that is known to change it."""
    if isinstance(value.number, Linear) or key in ex.tables.counting:
        return True
    return value.constant is not None and value.constant.value is not None


def enter_calls(ex: Execution, whole: Hashable) -> list[Counter]:
    """A function that is called again and again, and counts its calls in the fields of its object, is a loop."""
    changed = ex.tables.changed.setdefault(whole, {})
    counting = _enter(ex, whole, changed, None)
    if counting:
        ex.path = ex.here.copy()
        counters.start(ex, counting, whole)
    return counting


def next_call(ex: Execution, whole: Hashable, back: State, fields: set[Key]) -> Path:
    """The path at the next call. What this one has counted in one of these fields, it counts again."""
    changed = ex.tables.changed.setdefault(whole, {})
    for key, later in back.changes.items():
        now = ex.store.get(key)
        if key not in fields or later is None or now is None or later == now:
            continue
        if isinstance(now.number, Linear) and later.number is not None and key not in changed:
            changed[key] = None
            ex.tables.grown = True
        counters.learn(ex, whole, key, later)
    return counters.next_iteration(ex, whole, _normalised(ex, whole, changed, back).path)


def _grow_head(ex: Execution, loop: Hashable, changed: dict[Key, None], head: Path, back: State) -> tuple[bool, Path]:
    """Join what comes round into the head, in place. Whether it has grown, and its path."""
    for key in list(changed):
        if key in back.changes:
            counters.learn(ex, loop, key, back.changes[key])
    state = _normalised(ex, loop, changed, back)
    path = counters.next_iteration(ex, loop, state.path)
    grown = False
    for key, left in state.changes.items():
        now = ex.store.get(key) or ex.tables.unset.get(key)
        later = passing.come_round(ex, key, left, loop, state.path) if left is not None else None
        if later is None or later == now:
            continue
        if now is None:  # an iteration has bound it: the next one finds it
            if later.through and not later.objects:
                phi = ex.identities.of("looped", loop, key)
                ex.born[phi], ex.heads[phi] = frozenset({loop}), loop
                ex.known_as(later.id, phi)
                keeping.carry(ex, loop, later, key[0])
                later = later._replace(id=phi)
            ex.store.put(key, later)
            grown = True
            continue
        if key not in changed:
            changed[key] = None
            ex.tables.grown = ex.tables.grown or (_is_entered_otherwise(ex, key, now) and ex.tables.has_events(loop))
        if isinstance(later.number, Linear) and later.number.base == now.id and later.number.offset:
            ex.tables.add(ex.tables.counting, key)
        phi = ex.identities.of("looped", loop, key)
        ex.born[phi], ex.heads[phi] = frozenset({loop}), loop
        keeping.carry(ex, loop, later, key[0])
        joined = join(now, later, phi)
        if joined.id != now.id and now.id != phi:
            joined = joined._replace(id=phi)
        if isinstance(now.number, Linear) and now.number == Linear(now.id, 0) and later.number != now.number:
            joined = joined._replace(number=None)
        lost_updates.carry(ex, later, joined)
        if joined.id == phi != now.id:
            ex.before_loop.setdefault(phi, set()).add(now.id)
        if joined.id == phi and passing.leaves_graph(key, later):
            ex.came_round[phi] = loop
        if joined != now:
            ex.store.put(key, joined)
            grown = True
    path = path.copy()
    passing.path_comes_round(ex, path, loop)
    path = meet(head, path)
    branches.forget_the_lightest(ex, path, list(path.facts), _MANY_FACTS)
    return grown, path


def _bound(test: Test) -> Hashable:
    """What a while-loop counts up to, if it does."""
    if not isinstance(test, Asked) or test.what != "<":
        return None
    bound = test.of[1]
    return bound.base if isinstance(bound, Linear) else bound


def _is_over_parameters(ex: Execution, iterated: Value) -> bool:
    if any(one.shape is Shape.GROUPS for one in iterated.objects):
        return True
    kinds = {one.kind for held in containers.deep(ex, iterated) for one in held.objects}
    return not kinds.isdisjoint({ObjectKind.PARAMETERS, ObjectKind.PARAMETER, ObjectKind.LEAF})


def _goes_through_a_batch(ex: Execution, node: ast.For | ast.AsyncFor, iterated: Value) -> bool:
    """Whether each iteration is for another part of a batch, or does what the others do: nobody uses its number.

    Whether somebody compares it is known behind the loop: see `counters.note_asked`.
    """
    if containers.is_batch_in_parts(iterated):
        return True
    if not containers.counts(iterated) or not isinstance(node.target, ast.Name):
        return False
    return node.target.id not in ex.frame.file.loop(node).used


def _trains_each(ex: Execution, iterated: Value) -> bool:
    kinds = (ObjectKind.SCHEDULER, ObjectKind.OPTIMIZER)
    return any(one.kind in kinds for held in containers.deep(ex, iterated) for one in held.objects)
