"""What a function that does nothing to gradients has done once is not executed again where it is called the same way.

[Note: summaries] Loggers, meters, tokenizers and the like are called from everywhere, and nothing that they do decides
over a gradient. The first call is executed; what it gave and wrote is kept, if none of it can tell one call from
another: no graph, no counter, no network that it made. The next call that is handed the same kinds of things, and reads
the same kinds of things, gets the same under identities of its own.
"""

import ast
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from zerograd.core.facts import Facts
from zerograd.source.execute import calls, gradients
from zerograd.source.execute.containers import LENGTH
from zerograd.source.execute.execution import Context, Execution, Names
from zerograd.source.execute.paths import Slot
from zerograd.source.execute.replaying import note_again
from zerograd.source.heap.answers import answers_of
from zerograd.source.heap.conditions import Asked, Both, Known, Linear, Not, Remainder, Test, leaves
from zerograd.source.heap.identity import Identity
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.store import COUNT, Changes, Key, Reads
from zerograd.source.heap.values import NO_GRAPHS, Beginnings, Graph, Value, join
from zerograd.source.project.index import File, Function

_KEPT = 4  # summaries of one function that is called in one way
_TRIED = 2  # calls of one way that had none, before nobody tries again
_DEEPEST = 2  # containers in containers that are handed in
_WIDEST = 24  # fields of one of them
_LOOSE = (ObjectKind.CONTAINER, ObjectKind.GIVEN, ObjectKind.INSTANCE)  # told by their fields, and by what is done
_VAGUE = (ObjectKind.NONE, ObjectKind.CONTAINER, ObjectKind.GIVEN)
_READ_ONCE = (ObjectKind.GENERATOR, ObjectKind.ITERATOR, ObjectKind.CONTEXT, ObjectKind.REPLAY)

Where = tuple[Hashable, ...]
Used = tuple[frozenset[str], bool]  # how a thing was used; whether it was shown to somebody who cannot be read


class Telling(Exception):
    """This can tell one call from another: there is no summary."""


class Summary(NamedTuple):
    context: Context  # of the call that was executed
    loose: tuple[Obj, ...]  # the containers and given things that it was handed: those of another call stand for them
    ids: tuple[int, ...]  # of the values that it was handed
    reads: dict[Key, int | Value | None]  # of what was there before the call
    writes: dict[Key, Value | None]
    result: Value
    made: tuple[Obj, ...]  # what it hands out of what it has made: each call gets its own
    inner: frozenset[int]  # the identities of what each call has anew
    uses: tuple[Used, ...]  # what was done with each of the loose things
    noticed: tuple[bool, bool]  # a loss was computed; somebody may have looked at gradients
    is_vague: bool  # it hands out and writes nothing but plain values, whatever it reads


def once(
    ex: Execution,
    function: Function,
    closure: Hashable,
    handed: Sequence[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    run: Callable[[], Value],
    *,
    may_act: bool,
) -> Value:
    """What a function gives that does nothing to gradients: from its summary, or by executing it.

    `may_act`: by its names alone it might do something to them; then a summary serves for one pass.
    """
    try:
        given = _Handed(ex, [*handed, *keywords.values()])
    except Telling:
        return run()
    where = (function, closure, tuple(keywords), given.shape, *_mode(ex), ex.passes if may_act else 0)
    for summary in ex.summaries.get(where, ()):
        again = _Again(ex, summary, given)
        if again.fits():
            return again.put_down(node)
    if len(ex.summaries.get(where, ())) >= _KEPT or ex.telling.get(where, 0) >= _TRIED:
        return run()
    return _recorded(ex, where, given, node, run)


def _mode(ex: Execution) -> Where:
    here = ex.here
    modes = (ex.exploring, ex.grad_mode, ex.accumulating, ex.each, here.frozen, here.wrapped)
    return (*modes, tuple(ex.quiet), bool(ex.handlers))


# --- what a call is handed


class _Handed:
    """`shape` is equal for calls that are alike."""

    def __init__(self, ex: Execution, values: Sequence[Value]) -> None:
        self._ex = ex
        self.loose: dict[Obj, int] = {}
        self.ids: list[int] = []
        self.through: Beginnings = NO_GRAPHS
        self.shape = tuple([self._of(value, 0) for value in values])

    def _of(self, value: Value, depth: int) -> Hashable:
        self.ids.append(value.id)
        if value.graph >= Graph.LIVE:
            self.through |= value.through
        if not value.objects:
            return outline(value)
        return outline(value), tuple([self._object(one, depth) for one in sorted(value.objects)])

    def _object(self, obj: Obj, depth: int) -> Hashable:
        if obj.kind in _READ_ONCE or calls.may_act(self._ex, obj):
            raise Telling
        number = self.loose.get(obj)
        if number is not None:
            return number
        if obj.kind not in _LOOSE or obj.optimizers or obj.held:
            return obj
        if obj.kind is not ObjectKind.CONTAINER:
            self.loose[obj] = len(self.loose)
            return _kind(obj)
        self.loose[obj] = len(self.loose)
        fields = self._ex.store.fields(obj)
        if depth > _DEEPEST or len(fields) > _WIDEST:
            raise Telling
        return obj.shape, tuple([(name, self._of(held, depth + 1)) for (_, name), held in fields])


def _kind(obj: Obj) -> Hashable:
    """What is known of a thing beside its fields: as much as tells one instance of a class from another."""
    return obj.kind, obj.cls, obj.shape, obj.shown, obj.constructed, obj.given, obj.many, obj.off


def outline(value: Value) -> Hashable:
    """What is known of a value beside its identity, its objects, and the values that it is told from."""
    if value.iterators:
        raise Telling
    counts = value.number is not None and value.constant is None
    told_from = (counts, value.test is not None, value.none_test is not None)
    rare = (value.sure, value.divisors, value.idle, value.applied, value.slopes, value.kept, value.passes)
    known = (value.constant, value.exact, value.graph, value.made_of, value.cut_from, *told_from)
    if not any(rare) and not value.scaled and not value.reduction and value.output_of is None and value.picked is None:
        return known  # as nearly all are
    return (*known, *rare, value.scaled, value.reduction, value.output_of, value.coat, value.picked)


# --- what it did


def _recorded(ex: Execution, where: Where, given: _Handed, node: ast.AST, run: Callable[[], Value]) -> Value:
    """Execute it, and keep what it did if there is a summary of that."""
    store = ex.store
    before, facts, notes, happened = ex.effects(), dict(ex.here.facts), ex.notes(), ex.happened
    shapes = [(one, one.shown, set(one.uses), _parts(one)) for one in _things(given)]
    outer_frames = {frame.id for frame in ex.frames}
    outer, store.reads = store.reads, {}
    level = store.open()
    try:
        value = run()
        if ex.path is not None:
            try:
                if (
                    ex.happened != happened
                    or ex.notes() != notes
                    or any(_parts(one) != parts for one, _, _, parts in shapes)
                ):
                    raise Telling
                done = _Done(ex, given, ex.context.then(node), outer_frames)
                noticed = done.noticed(before, facts)
                uses = {one: (frozenset(one.uses - used), one.shown and not shown) for one, shown, used, _ in shapes}
                summary = done.summary(store.reads, store.changes(level), value, uses, noticed)
                ex.summaries.setdefault(where, []).append(summary)
            except Telling:
                ex.telling[where] = ex.telling.get(where, 0) + 1
    finally:
        reads, store.reads = store.reads, outer
        store.commit(level)
        if outer is not None and reads is not None:
            for key, read in reads.items():
                outer.setdefault(key, read)
    return value


def _things(given: _Handed) -> list[Obj]:
    return list(given.loose)


def _parts(obj: Obj) -> tuple[int, int, int, int]:
    """What is noted on an object that is handed in, and in no field of it."""
    return (len(obj.children), len(obj.taken), len(obj.loose), len(obj.optimizers))


class _Done:
    """What one execution has done, told so that it can be put down elsewhere."""

    def __init__(self, ex: Execution, given: _Handed, context: Context, outer_frames: set[Hashable]) -> None:
        self._ex, self._given, self._context, self._outer = ex, given, context, outer_frames
        self._inner: dict[Hashable, bool] = {}
        self._made: dict[Obj, None] = {}

    def noticed(self, before: tuple[Hashable, ...], facts: dict[Slot, Facts]) -> tuple[bool, bool]:
        """Whether a loss was computed, and whether somebody may have looked at gradients; Telling for all else."""
        now, after = self._ex.here.facts, self._ex.effects()
        if after[:-2] != before[:-2] or now.keys() != facts.keys():
            raise Telling
        known: dict[tuple[int, int], bool] = {}  # most slots have the very same facts
        for slot, then in facts.items():
            pair = id(then), id(now[slot])
            if then is not now[slot] and pair not in known:
                known[pair] = self._outer_facts(then) == self._outer_facts(now[slot])
                if not known[pair]:
                    raise Telling
        return after[-2] != before[-2], after[-1] != before[-1]

    def _outer_facts(self, facts: Facts) -> set[tuple[Hashable, ...]]:
        """Facts, without how tests were answered that ask what was made in this call."""
        return {
            (fact.state, fact.doubts, frozenset([pair for pair in answers_of(fact) if not self._asks_inner(pair[0])]))
            for fact in facts
        }

    def _asks_inner(self, question: Hashable) -> bool:
        if not isinstance(question, Asked):
            return self._is_from_here(question)
        asked = [one.base if isinstance(one, Linear) else one for one in question.of]
        bases = [one for one in asked if isinstance(one, int)]
        return bool(bases) and all(self._is_inner(base) for base in bases)

    def summary(
        self,
        reads: Reads,
        changes: Changes,
        result: Value,
        uses: dict[Obj, Used],
        noticed: tuple[bool, bool],
    ) -> Summary:
        fields: dict[Obj, dict[Key, Value | None]] = {}
        kept: dict[Key, Value | None] = {}
        for key, value in changes.items():
            owner = key[0]
            if isinstance(owner, Obj) and self._is_inner(owner):
                fields.setdefault(owner, {})[key] = value
            elif isinstance(owner, (Obj, File)) or owner in self._outer:
                kept[key] = value
        for value in list(kept.values()):
            if value is not None:
                self._keep(value, fields, kept)
        self._keep(result, fields, kept)
        read: dict[Key, int | Value | None] = {}
        for key, then in reads.items():
            owner = key[0]
            if isinstance(owner, Obj):
                if self._is_inner(owner):
                    continue
            elif not isinstance(owner, File) and owner not in self._outer:
                continue
            if isinstance(then, Value):
                outline(then)
                if any(calls.may_act(self._ex, one) for one in then.objects):
                    raise Telling
            read[key] = then
        loose = tuple(self._given.loose)
        told = tuple([uses[one] for one in loose])
        inner = frozenset([one for one, is_inner in self._inner.items() if is_inner and isinstance(one, int)])
        ids, made = tuple(self._given.ids), tuple(self._made)
        values = [result, *[value for value in kept.values() if value is not None]]
        is_vague = not any(self._is_of_interest(one) for value in values for one in value.objects)
        return Summary(self._context, loose, ids, read, kept, result, made, inner, told, noticed, is_vague)

    def _is_of_interest(self, obj: Obj) -> bool:
        """Whether it makes a difference which object this is."""
        if obj in self._made or obj in self._given.loose:
            return False
        return obj.kind not in _VAGUE

    def _keep(self, value: Value, fields: dict[Obj, dict[Key, Value | None]], kept: dict[Key, Value | None]) -> None:
        """What is put down elsewhere, with all that can be reached from it, tells nothing of this call."""
        outline(value)
        if value.graph is Graph.LIVE or value.passes or value.slopes:
            raise Telling
        if value.picked is not None:
            self._of_test(value.picked.test)
        if value.constant is None:
            self._told_from(value.id)
            self._of_number(value.number)
            self._of_number(value.length)
            for test in (value.test, value.none_test):
                if test is not None:
                    self._of_test(test)
        for one in value.objects:
            if one in self._made or not self._is_inner(one):
                continue
            if not _is_plain(one):
                raise Telling
            self._made[one] = None
            for key, held in fields.get(one, {}).items():
                kept[key] = held
                if held is not None:
                    self._keep(held, fields, kept)

    def _of_number(self, number: Linear | Remainder | None) -> None:
        if isinstance(number, Remainder):
            raise Telling
        if number is not None and number.base is not None:
            self._told_from(number.base)

    def _of_test(self, test: Test) -> None:
        for question in leaves(test):
            if isinstance(question, Known):
                continue
            if not isinstance(question, Asked) or question.what == "flag":  # not a name: of a question
                raise Telling
            for one in question.of:
                if isinstance(one, (Linear, int)):
                    self._of_number(one if isinstance(one, Linear) else Linear(one, 0))

    def _told_from(self, identity: int) -> None:
        """The identity of something that each call has anew, or of what was there before."""
        ex = self._ex
        if identity in ex.counter_ids and self._is_inner(identity) and identity not in self._given.ids:
            raise Telling

    def _is_inner(self, thing: Obj | int) -> bool:
        """Whether an object, or the identity of a value, was made in this call."""
        known = self._inner.get(thing)
        if known is None:
            self._inner[thing] = False
            parts = thing.key if isinstance(thing, Obj) else self._ex.identities.described(thing)
            known = self._inner[thing] = self._is_from_here(parts)
        return known

    def _is_from_here(self, part: Hashable) -> bool:
        if isinstance(part, Context):
            return part.is_in(self._context)
        if isinstance(part, Names):
            return part.context.is_in(self._context)
        if isinstance(part, tuple):
            return any(self._is_from_here(one) for one in part)
        return isinstance(part, (Obj, Identity)) and self._is_inner(part if isinstance(part, Obj) else part.id)


def _is_plain(obj: Obj) -> bool:
    """Whether an object is nothing but its fields, and what is done with it."""
    return obj.kind in _LOOSE and not (obj.optimizers or obj.held or obj.children or obj.taken)


# --- the same again


class _Again:
    """A summary, at another call."""

    def __init__(self, ex: Execution, summary: Summary, given: _Handed) -> None:
        self._ex, self._summary = ex, summary
        self._things: dict[Obj, Obj] = dict(zip(summary.loose, given.loose, strict=True))
        self._images = set(given.loose)
        self._through = given.through  # where the graphs begin of what it is handed here
        self._ids: dict[int, int] = dict(zip(summary.ids, given.ids, strict=True))
        self._is_vague = False  # it reads something else than it did
        self._context: Any = None  # of the call here, where it is put down

    def fits(self) -> bool:
        """Whether it would read what it read then: of a vague one, whether it would read nothing of interest."""
        store, summary = self._ex.store, self._summary
        for (owner, name), then in summary.reads.items():
            key = (self._thing(owner), name)
            if name is COUNT:  # each of the fields that there were then is among the reads
                reads = summary.reads
                if not summary.is_vague and any((owner, one) not in reads for (_, one), _ in store.fields(key[0])):
                    return False
                continue
            now = store.get(key)
            if now is then and not (isinstance(then, Value) and then.objects):
                continue
            known = isinstance(then, Value) and now is not None and self._is_like(then, now)
            if not known and not (summary.is_vague and self._is_nothing(now, key) and self._is_nothing(then, key)):
                return False
            self._is_vague = self._is_vague or not known
        return True

    def _is_nothing(self, value: int | Value | None, key: Key) -> bool:
        """Whether it makes no difference what is read there."""
        if not isinstance(value, Value):
            return value is None and not isinstance(key[1], str)
        if value.graph is Graph.LIVE or value.test is not None or value.none_test is not None or value.iterators:
            return False
        if value.constant is not None and not isinstance(value.constant.value, str) and key[1] != LENGTH:
            return False
        return all(one.kind in _VAGUE for one in value.objects)

    def _is_like(self, then: Value, now: Value) -> bool:
        if then is not now:
            try:
                if outline(then) != outline(now):
                    return False
            except Telling:
                return False
        if (then.objects or now.objects) and not self._are_like(then.objects, now.objects):
            return False
        return self._ids.setdefault(then.id, now.id) == now.id

    def _are_like(self, then: frozenset[Obj], now: frozenset[Obj]) -> bool:
        """Whether what is read now stands, or may stand from here on, for what was read there then."""
        known = [self._things[one] for one in then if one in self._things]
        new = [one for one in then if one not in self._things]
        left = now.difference(known)
        if len(new) != len(left) or len(known) + len(left) != len(now):
            return False
        same = [one for one in new if one in left]
        others = zip(sorted(left.intersection(new) ^ set(new)), sorted(left.difference(same)), strict=True)
        return all(self._binds(one, other) for one, other in [*zip(same, same, strict=True), *others])

    def _binds(self, one: Obj, other: Obj) -> bool:
        """Whether a thing can stand for another from here on, in all that is read and written of it."""
        if one.kind not in _LOOSE:
            return one is other
        if other in self._images:
            return False  # what were two then would be one now
        if one is not other and not (_is_plain(one) and _is_plain(other) and _kind(one) == _kind(other)):
            return False
        if not one.uses <= other.uses:
            return False
        self._things[one] = other
        self._images.add(other)
        return True

    def put_down(self, node: ast.AST) -> Value:
        ex, summary = self._ex, self._summary
        self._context = ex.context.then(node)
        for one in summary.made:
            made = self._thing(one)
            if one.kind is not ObjectKind.GIVEN:
                for key, _ in ex.store.fields(made):
                    ex.store.drop(key)
        for (owner, name), value in summary.writes.items():
            key = (self._thing(owner), name)
            now = ex.store.get(key) if self._is_vague else None
            if value is None:
                ex.store.drop(key)
            elif now is None:
                ex.store.put(key, self._value(value))
            else:
                ex.store.put(key, join(now, self._value(value), ex.identities.of("written again", *key)))
        note_again(ex, summary.noticed)
        for one, (used, shown) in zip(summary.loose, summary.uses, strict=True):
            self._things[one].uses |= used
            if shown:
                gradients.show(ex, [ex.thing(self._things[one])])
        result = self._value(summary.result)
        if self._is_vague and result.constant is not None and node is not ex.dropped:
            return Value(ex.fresh(node, "again"), exact=False)
        return result

    # --- what was made there, as it is made here

    def _moved(self, part: Hashable, bases: tuple[int, ...] = ()) -> Any:
        """A part of a description. `bases`: the identities that stand in it as plain numbers."""
        if isinstance(part, Context):
            return part.moved(self._summary.context, self._context)
        if isinstance(part, Names):
            context = part.context.moved(self._summary.context, self._context)
            return part if context is part.context else context.frame(part.function)
        if isinstance(part, Obj):
            return self._thing(part)
        if isinstance(part, Identity):
            return Identity(self._id(part.id))
        if type(part) is int:
            return self._id(part) if part in bases else part
        if isinstance(part, Linear):
            return Linear(self._id(part.base), part.offset) if part.base in bases else part
        if isinstance(part, tuple):
            moved = [self._moved(one, bases) for one in part]
            if all(one is other for one, other in zip(moved, part, strict=True)):
                return part
            return part._make(moved) if hasattr(part, "_make") else tuple(moved)
        return part

    def _thing(self, owner: Hashable) -> Hashable:
        if not isinstance(owner, Obj):
            return owner
        known = self._things.get(owner)
        if known is None:
            known = owner
            key = self._moved(owner.key) if owner.kind in _LOOSE and self._context is not None else owner.key
            if key != owner.key:
                known = self._made_anew(owner, key)
            if self._context is not None:
                self._things[owner] = known
        return known

    def _made_anew(self, obj: Obj, key: tuple[Hashable, ...]) -> Obj:
        made = self._ex.heap.of(*key, kind=obj.kind)
        made.shape, made.cls, made.many, made.constructed = obj.shape, obj.cls, obj.many, obj.constructed
        made.born, made.context = tuple(self._ex.loops), self._moved(obj.context)
        if not made.given and obj.given:
            made.given, made.name, made.source = True, obj.name, self._moved(obj.source)
        if obj.regions:
            made.regions = self._things_of(obj.regions)
        return made

    def _things_of(self, objects: frozenset[Obj]) -> frozenset[Obj]:
        return frozenset([self._moved(one) for one in objects]) if objects else objects

    def _id(self, identity: int) -> int:
        known = self._ids.get(identity)
        if known is None:
            known = self._ids[identity] = self._ex.identities.moved(identity, self._moved)
            if known != identity:
                self._ex.known_as(identity, known)
            if identity in self._summary.inner:
                self._ex.computed_anew(known)
        return known

    def _value(self, value: Value) -> Value:
        if value.constant is not None:
            return value
        told = value._replace(id=self._id(value.id), objects=self._things_of(value.objects))
        if value.through:
            told = told._replace(through=self._through.union([self._id(one) for one in value.through]))
        if value.made_of or value.cut_from:
            made_of, cut_from = self._things_of(value.made_of), self._things_of(value.cut_from)
            told = told._replace(made_of=made_of, cut_from=cut_from, sure=self._things_of(value.sure))
        if value.picked is not None:
            yes, no = self._things_of(value.picked.yes), self._things_of(value.picked.no)
            told = told._replace(picked=value.picked._replace(test=self._test(value.picked.test), yes=yes, no=no))
        if value.number is None and value.length is None and value.test is None and value.none_test is None:
            return told
        return told._replace(
            number=self._number(value.number),
            length=self._number(value.length),
            test=self._test(value.test) if value.test is not None else None,
            none_test=self._test(value.none_test) if value.none_test is not None else None,
        )

    def _number(self, number: Any) -> Any:
        if not isinstance(number, Linear) or number.base is None:
            return number
        return Linear(self._id(number.base), number.offset)

    def _test(self, test: Test) -> Test:
        if isinstance(test, Not):
            return Not(self._test(test.test))
        if isinstance(test, Both):
            return Both(self._test(test.one), self._test(test.other))
        if not isinstance(test, Asked):
            return test
        return Asked(test.what, tuple([self._id(one) if type(one) is int else self._number(one) for one in test.of]))
