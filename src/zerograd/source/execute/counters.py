"""Counters: where a loop's number stands in a window of N is an answer that every fact carries.

[Note: a counter stands for now] Before paths meet, a counter that one path has moved and the other has not is brought
to its value now: what was added to it moves its place in the windows. So counters that are moved in a branch, counted
over epochs or set back to 0 are all one case.

[Note: whole counters] `len(loader) * epoch + i` counts the iterations of the inner loop over all those of the outer
one: a counter of the outer loop that the inner one moves. A break leaves some out, and then nobody knows its place.
"""

from collections.abc import Hashable, Iterable

from zerograd.core.facts import Facts
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Path, Slot
from zerograd.source.execute.tables import UNSTEADY, Count
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import (
    FIRST,
    LAST,
    MIDDLE,
    Asked,
    At,
    Counter,
    First,
    Last,
    Linear,
    Place,
    Remainder,
    Test,
    leaves,
    places_of,
)
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Value, linear
from zerograd.source.project.index import Function

Differing = list[tuple[Key, Value | None, Value | None]]


def counter_of(ex: Execution, base: int | None) -> Counter | None:
    """The counter that a number counts from."""
    return ex.counter_ids.get(base) if base is not None else None


def wraps(ex: Execution, value: Value) -> bool:
    """Whether a value is a counter that begins again by itself."""
    counter = counter_of(ex, value.number.base) if isinstance(value.number, Linear) else None
    return counter is not None and counter in ex.tables.wraps


def counter_value(ex: Execution, counter: Counter) -> Value:
    identity = ex.identities.of("counter", counter)
    ex.counter_ids[identity] = counter
    return Value(identity, number=Linear(identity, 0))


WHOLE = "over all iterations of"


def whole_counter(ex: Execution, one: Value, other: Value) -> Linear | None:
    """The number that a sum of `length * outer counter` and `inner counter` is. See [Note: whole counters]."""
    for product, rest in ((one, other), (other, one)):
        inner = linear(rest)
        counter = counter_of(ex, inner.base)
        factors = ex.products.get(product.id)
        if counter is None or counter.key is not None or factors is None:
            continue
        length = count_of(ex, counter).length
        for number, factor in (factors, factors[::-1]):
            outer = counter_of(ex, number.base)
            if outer is None or factor != length or not _is_inside(ex, counter, outer):
                continue
            if outer.key is not None and not count_of(ex, outer).counts_by_one():
                continue
            begins = count_of(ex, outer).start
            first = ex.unless_told.get(begins.base) if begins.base is not None else 0
            whole = Counter(outer.loop, (WHOLE, counter.loop))
            known = first is not None and first + begins.offset + number.offset == 0
            count = count_of(ex, whole)
            count.start = count_of(ex, counter).start if known else Linear(ex.identities.of("start", whole), 0)
            count.increment = 1
            return linear(counter_value(ex, whole))._replace(offset=inner.offset)
    return None


def is_whole(counter: Counter) -> bool:
    return isinstance(counter.key, tuple) and counter.key[0] == WHOLE


def _is_inside(ex: Execution, inner: Counter, outer: Counter) -> bool:
    loops = ex.loops
    return inner.loop in loops and outer.loop in loops and loops.index(outer.loop) < loops.index(inner.loop)


def _wholes(ex: Execution, loop: Hashable, *, moved_by: bool) -> list[Counter]:
    """The whole counters that a loop starts, or moves."""
    return [
        one
        for one in ex.tables.windows
        if isinstance(one.key, tuple) and is_whole(one) and (one.key[1] if moved_by else one.loop) == loop
    ]


def count_of(ex: Execution, counter: Counter) -> Count:
    return ex.tables.counts.setdefault(counter, Count())


def start(ex: Execution, counters: list[Counter], loop: Hashable) -> None:
    """A loop begins: each of its counters stands at its start."""
    tables = ex.tables
    for counter in _wholes(ex, loop, moved_by=True) if loop in tables.broken else ():
        for place in tables.windows[counter]:
            ex.each_fact(answers.with_answer, place, None)
    for counter in [*counters, *_wholes(ex, loop, moved_by=False)]:
        begins = count_of(ex, counter).start
        for place in tables.windows.get(counter, ()):
            if place in tables.weighty:
                ex.each_fact(answers.placed, place, start_places(ex, begins, place))
        for at in tables.firsts.get(counter, ()):
            first = First(counter, at)
            if first in tables.weighty:
                now = begins.offset == at if begins.base is None else None
                ex.each_fact(answers.with_answer, first, now)
    if Last(loop) in tables.weighty:
        ex.each_fact(answers.with_answer, Last(loop), None)


def start_places(ex: Execution, begins: Linear, place: Place) -> tuple[str, ...] | None:
    """The places of a window at which a counter may start."""
    offset, of = begins.offset - place.shift, place.of
    if begins.base is not None:
        plain = ex.unless_told.get(begins.base)
        if plain is None:
            return None
        offset += plain
    if of.base is None:
        rest = offset % of.offset if of.offset else 0
        return (FIRST,) if rest == 0 else (LAST,) if rest == of.offset - 1 else (MIDDLE,)
    return {0: (FIRST,), -1: (LAST,)}.get(offset, (MIDDLE, LAST))


def next_iteration(ex: Execution, loop: Hashable, path: Path) -> Path:
    """The same path at the head of the loop again, its own counter moved by one."""
    tables, counter = ex.tables, Counter(loop, None)
    facts = dict(path.facts)
    if Last(loop) in tables.weighty:
        facts = {slot: _unless(known, Last(loop), True) for slot, known in facts.items()}
    facts = _move(ex, [counter, *_wholes(ex, loop, moved_by=True)], facts)
    for at in tables.firsts.get(counter, ()):
        first = First(counter, at)
        if first in tables.weighty:
            count = count_of(ex, counter)
            later = False if count.counts_by_one() and count.start == Linear(None, at) else None
            facts = {slot: answers.with_answer(known, first, later) for slot, known in facts.items()}
    return path.with_facts(facts)


def _move(ex: Execution, counters: list[Counter], facts: dict[Slot, Facts]) -> dict[Slot, Facts]:
    for counter in counters:
        for place in ex.tables.windows.get(counter, ()):
            if place in ex.tables.weighty:
                facts = {slot: _moved_by_one(ex, counter, known, place) for slot, known in facts.items()}
    return facts


def _moved_by_one(ex: Execution, counter: Counter, facts: Facts, place: Place) -> Facts:
    if count_of(ex, counter).counts_by_one():
        return answers.moved(facts, place)
    return answers.placed(facts, place, places_of(place.of))


def last_iteration(ex: Execution, loop: Hashable, path: Path) -> Path:
    """The same path behind the loop, which has run to its end."""
    facts = _move(ex, _wholes(ex, loop, moved_by=True), path.facts)
    if Last(loop) in ex.tables.weighty:
        facts = {slot: _unless(known, Last(loop), False) for slot, known in facts.items()}
    return path.with_facts(facts) if facts is not path.facts else path


def _unless(facts: Facts, question: Last, told: bool) -> Facts:
    rest = frozenset(fact for fact in facts if answers.answer(fact, question) is not told)
    return answers.with_answer(rest, question, None)


def left(ex: Execution, loop: Hashable) -> None:
    """Behind a loop, nobody asks any more which iteration it was."""
    own = Counter(loop, None)

    def is_over(question: object) -> bool:
        return (isinstance(question, First) and question.counter == own) or question == Last(loop)

    if Last(loop) in ex.tables.weighty or own in ex.tables.firsts:
        ex.each_fact(answers.forgetting(is_over))


def learn(ex: Execution, loop: Hashable, key: Key, back: Value | None) -> None:
    """What an iteration adds to a counter of this loop."""
    counter = Counter(loop, key)
    count = ex.tables.counts.get(counter)
    if count is None or back is None:
        return
    number = back.number
    increment = UNSTEADY
    if isinstance(number, Remainder) and counter_of(ex, number.base) == counter:
        increment = number.offset
        if ex.tables.wraps.setdefault(counter, number.of) != number.of:
            increment = UNSTEADY
        elif count.increment is None:
            ex.tables.grown = True
    elif isinstance(number, Linear):
        if counter_of(ex, number.base) == counter:
            increment = number.offset
        elif number.base is None:
            increment = 0
    if count.increment is None or count.increment not in (increment, UNSTEADY):
        count.increment = increment if count.increment is None else UNSTEADY
        ex.tables.grown = ex.tables.grown or (count.is_asked and ex.tables.has_events(loop))


def normalised(ex: Execution, key: Key, value: Value | None, path: Path) -> tuple[Value | None, Path]:
    """A counter as its value now, and the path with its windows moved. See [Note: a counter stands for now]."""
    if value is None or value.number is None:
        return value, path
    if isinstance(value.number, Remainder):
        counter = counter_of(ex, value.number.base)
        if counter is None or counter.key != key or ex.tables.wraps.get(counter) != value.number.of:
            return value, path
        value = value._replace(number=Linear(value.number.base, value.number.offset))
    assert isinstance(value.number, Linear)
    counter, added = counter_of(ex, value.number.base), value.number.offset
    if value.number.base is None:
        return _set_back(ex, key, value, path)
    if counter is None or counter.key != key or added == 0:
        return value, path
    facts = dict(path.facts)
    for place in ex.tables.windows.get(counter, ()):
        if place in ex.tables.weighty:
            for slot, known in facts.items():
                facts[slot] = answers.moved(known, place) if added == 1 else answers.with_answer(known, place, None)
    for at in ex.tables.firsts.get(counter, ()):
        first = First(counter, at)
        if first in ex.tables.weighty:
            later = False if added == 1 and count_of(ex, counter).start == Linear(None, at) else None
            for slot, known in facts.items():
                facts[slot] = answers.with_answer(known, first, later)
    return counter_value(ex, counter), path.with_facts(facts)


def _set_back(ex: Execution, key: Key, value: Value, path: Path) -> tuple[Value, Path]:
    """A counter that is a constant again: it starts anew, if its loop goes on."""
    counter = next((one for one in ex.tables.counts if one.key == key and one.loop in ex.loops), None)
    if counter is None:
        return value, path
    ex.tables.add(ex.tables.resets, counter)
    facts: dict[Slot, Facts] = dict(path.facts)
    for place in ex.tables.windows.get(counter, ()):
        for slot, known in facts.items():
            facts[slot] = answers.placed(known, place, start_places(ex, linear(value), place))
    return counter_value(ex, counter), path.with_facts(facts)


def brought_together(ex: Execution, differing: Differing, one: Path, other: Path) -> tuple[Differing, Path, Path]:
    """Counters that two paths have counted differently, as their values now."""
    out: Differing = []
    for key, first, second in differing:
        assert first is not None
        assert second is not None
        if isinstance(first.number, Linear) and isinstance(second.number, Linear) and first.number != second.number:
            bases = {first.number.base, second.number.base} - {None}
            counter = counter_of(ex, bases.pop()) if len(bases) == 1 else None
            if counter is not None and counter.key == key:
                _compare(ex, counter, first.number, second.number, one, other)
                now_first, one = normalised(ex, key, first, one)
                now_second, other = normalised(ex, key, second, other)
                one, other = one.copy(), other.copy()
                one.brought, other.brought = one.brought | {counter}, other.brought | {counter}
                out.append((key, now_first, now_second))
                continue
        out.append((key, first, second))
    return out, one, other


def _compare(ex: Execution, counter: Counter, first: Linear, second: Linear, one: Path, other: Path) -> None:
    """A path that has counted less than the other, and gone backward all the same: it counts no micro-batches."""
    if first.base == second.base:
        less = one if first.offset < second.offset else other
        if less.since and counter not in less.brought:
            ex.tables.add(ex.tables.unsteady, counter)


# --- tests of counters


def note_asked(ex: Execution, operands: Iterable[Value], test: Test) -> None:
    """A loop that asks which iteration it is does other things in some. Which one is the last, all may ask."""
    for operand in operands:
        counter = counter_of(ex, linear(operand).base)
        if counter is not None and counter.key is None and not all(isinstance(one, Last) for one in leaves(test)):
            ex.tables.add(ex.tables.told_apart, counter.loop)


def window_test(ex: Execution, number: Remainder, other: Value) -> Test | None:
    """(counter + k) % n == other"""
    counter = counter_of(ex, number.base) or _told_counter(ex, number.base)
    if counter is None:
        return None
    of, wanted = number.of, linear(other)
    if of == Linear(None, 1):  # nobody asks for a remainder of 1 but by a setting
        of = setting(ex)
    if wanted.base is None:
        rest = wanted.offset - number.offset
    elif of.base is not None and wanted.base == of.base:
        rest = wanted.offset - of.offset - number.offset
    else:
        return None
    if of.base is None and of.offset:
        rest %= of.offset
        rest = -1 if rest == of.offset - 1 else rest
    want, shift = {0: (FIRST, 0), -1: (LAST, 0)}.get(rest, (LAST, rest + 1))
    place = Place(counter, of, shift)
    ex.tables.add(ex.tables.windows.setdefault(counter, set()), place)
    ex.tables.asking.setdefault(place, set()).add(ex.frame.function)
    if of.base is not None:
        ex.tables.lengths.add(of.base)
    return At(place, want)


def setting(ex: Execution) -> Linear:
    """The length of a window that is 1 as the program stands. What it does where it is more was not executed."""
    return Linear(ex.identities.of("setting"), 0)


def _told_counter(ex: Execution, base: int) -> Counter | None:
    """A number that somebody else keeps, and that a function asks at each call: it counts the calls."""
    function = ex.frames[1].function if len(ex.frames) > 1 else None
    if not ex.symbolic or ex.loops or not ex.identities.field(base) or function is None:
        return None
    counter = Counter(whole_of(function), None)
    if counter not in ex.tables.told:
        ex.tables.told[counter] = base
        ex.tables.grown = True
    return counter if ex.tables.told[counter] == base else None


def whole_of(function: Function) -> Hashable:
    """What stands for all calls of a root."""
    return ("root", function)


def told(ex: Execution, function: Function) -> list[Counter]:
    """The counter of a root's calls that it is told of. Nobody knows where it begins."""
    counter = Counter(whole_of(function), None)
    base = ex.tables.told.get(counter)
    if base is None:
        return []
    ex.counter_ids[base] = counter
    count = count_of(ex, counter)
    count.start, count.increment = Linear(base, 0), 1
    return [counter]


def first_test(ex: Execution, counter: Counter, at: int) -> Test:
    """counter == at"""
    known = sorted((one for one in ex.tables.windows.get(counter, ()) if not one.shift), key=repr)
    if counter in ex.tables.resets and count_of(ex, counter).start == Linear(None, at) and known:
        return At(known[0], FIRST)
    ex.tables.add(ex.tables.firsts.setdefault(counter, set()), at)
    count = count_of(ex, counter)
    if count.counts_by_one() and count.start == Linear(None, at):
        return First(counter, at)
    return Asked("==", (ex.identities.of("counter", counter), ("k", at)))


def last_test(ex: Execution, one: Value, other: Value) -> Test | None:
    """counter == length - 1: is it the last iteration of the loop that counts?"""
    for value, limit in ((one, other), (other, one)):
        mine, theirs = linear(value), linear(limit)
        counter = counter_of(ex, mine.base)
        if counter is None or not count_of(ex, counter).counts_by_one():
            continue
        length, begins = count_of(ex, Counter(counter.loop, None)).length, count_of(ex, counter).start
        if length is None or begins.base is not None or theirs.base != length.base:
            continue
        if theirs.offset - mine.offset == length.offset + begins.offset - 1:
            return Last(counter.loop)
    return None
