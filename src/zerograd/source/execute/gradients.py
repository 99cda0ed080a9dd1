"""What happens to gradients: events go into the slots here, and nowhere else; here each is judged.

[Note: slots] A slot is an optimizer and a region that it holds. A deposit fills the slots that its loss reaches, a
clear empties those of a region, whoever holds it. How sure a region is decides between a strong, a weak and no event.

[Note: objectives] The objective of a backward is whoever steps next. Until then it waits for every optimizer; a clear
takes its own away. So nobody pairs losses and optimizers by name.
"""

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import (
    ALL_DOUBTS,
    NO_DOUBT,
    NOWHERE,
    Doubts,
    Fact,
    Facts,
    doubt,
    lift,
    lift_weak,
)
from zerograd.core.facts import join as joined
from zerograd.core.judgement import Verdict, judge
from zerograd.core.machine import HOLLOW, START, Content
from zerograd.source.effects import python, spelling
from zerograd.source.effects.protocols import STEPPED_BY_SCALER, TOLD_THINGS
from zerograd.source.execute import (
    branches,
    calls,
    clearing,
    clipping,
    containers,
    expressions,
    graphs,
    holding,
    iterators,
    keeping,
    passing,
    ranks,
    replacing,
    scaling,
    sharing,
    unfilled,
    updates,
    windows,
)
from zerograd.source.execute.execution import Execution, Frame, Guard, Unreachable
from zerograd.source.execute.paths import PATH, Pending, Slot, State
from zerograd.source.execute.tables import Branch, Deposit, Leaves
from zerograd.source.execute.walked import Answered, Events, Why
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import (
    FIRST,
    LAST,
    MIDDLE,
    Asked,
    At,
    Both,
    Linear,
    Place,
    Synced,
    Test,
    alternatives_of,
    is_followed,
    leaves,
    negate,
)
from zerograd.source.heap.objects import Mode, Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers, is_fresh, is_result, reach
from zerograd.source.heap.values import MAYBE_SCALED, NO_OBJECTS, Graph, Regions, Value, is_none, join, linear, plain
from zerograd.source.project.index import dotted_name

_UNREAD = (Content.FRESH, Content.MIXED)
PLAIN_BACKWARD = Leaves()
_NO_OPTIMIZERS = (ObjectKind.HAND, ObjectKind.ITERATOR)  # that have slots
_MOST_REGIONS = 6  # of one optimizer that are told apart


class Met(NamedTuple):
    """A law that was broken at a place, as surely as it was met."""

    verdict: Verdict[Any]
    slot: Slot
    certain: bool
    learns: bool  # a loss is computed in the loop around it
    looped: bool
    answered: Answered  # the branches that lead there


# --- who holds what


def own_regions(obj: Obj) -> Regions:
    return obj.regions if obj.kind is ObjectKind.PARAMETER else frozenset({obj})


def held_by(optimizer: Obj) -> Regions:
    """The regions that an optimizer steps; one of which nothing is known is a region of its own."""
    return optimizer.held or frozenset({optimizer})


def regions_of(ex: Execution, value: Value, seen: frozenset[Obj] = NO_OBJECTS, *, unknown: bool = False) -> Regions:
    """The parameters that a value stands for, or holds. `unknown`: beside those in sight also what nobody knows."""
    found: set[Obj] = set()
    for obj in value.objects:
        if obj in seen:
            continue
        if obj.kind in (ObjectKind.MODULE, ObjectKind.LEAF, ObjectKind.GIVEN):
            found.add(obj)
        elif obj.kind in (ObjectKind.PARAMETERS, ObjectKind.PARAMETER, ObjectKind.GRADIENT):
            found |= obj.regions
        elif obj.kind is ObjectKind.OPTIMIZER:
            found |= held_by(obj)
        elif obj.kind is ObjectKind.CONTAINER:
            named = ex.store.get((obj, containers.at(spelling.PARAMS)))
            fields = [named] if named is not None else [one for _, one in ex.store.fields(obj)]
            for one in fields:
                found |= regions_of(ex, one, seen | {obj}, unknown=unknown)
        elif obj.kind is ObjectKind.GENERATOR:
            found |= regions_of(ex, containers.element(ex, value, node_of(obj)), seen | {obj})
    known = frozenset(one for one in found if one.kind is not ObjectKind.GIVEN)
    return known if known and not unknown else frozenset(found)


def node_of(generator: Obj) -> ast.AST:
    assert isinstance(generator.context, tuple)
    node = generator.context[0]
    assert isinstance(node, ast.AST)
    return node


def slots_of(ex: Execution, optimizer: Obj) -> list[Slot]:
    found: list[Slot] = []
    facts = ex.here.facts
    for region in sorted(held_by(optimizer))[:_MOST_REGIONS]:
        slot: Slot = (optimizer, region)
        know(ex, slot)
        if slot not in facts:
            facts[slot] = frozenset(Fact(START, NO_DOUBT, fact.assumed) for fact in facts[PATH])
        found.append(slot)
    return found


def know(ex: Execution, slot: Slot) -> None:
    """A slot that was not there before: whatever did nothing so far may do something to it."""
    if slot not in ex.tables.slots:
        ex.tables.slots[slot] = None
        ex.tables.grown = True
        ex.records_of.clear()


def optimizers(ex: Execution) -> list[Obj]:
    """Those that have slots; who updates by hand is none."""
    owners = {slot[0] for slot in ex.tables.slots if slot[0] is not None}
    return sorted(one for one in owners if one.kind not in _NO_OPTIMIZERS)


def _held(ex: Execution) -> set[Obj]:
    """The regions that some optimizer holds."""
    return {
        slot[1]
        for slot in ex.tables.slots
        if slot[1] is not None and slot[0] is not None and slot[0].kind not in _NO_OPTIMIZERS
    }


def has_rivals(ex: Execution, optimizer: Obj) -> bool:
    """Whether another optimizer steps too: what may be meant for one may be meant for the other."""
    return any(one is not optimizer for one in ex.tables.active)


def renew(ex: Execution, optimizer: Obj) -> None:
    """A new optimizer: its slots begin anew."""
    for slot in slots_of(ex, optimizer):
        ex.here.facts[slot] = frozenset(Fact(START, NO_DOUBT, fact.assumed) for fact in ex.here.facts[slot])


def is_frozen(ex: Execution, region: Obj) -> bool:
    return region in ex.here.frozen


def freeze(ex: Execution, region: Obj, needs: Value) -> None:
    """requires_grad of a region was set."""
    if needs.constant is None or not needs.constant.value:
        ex.tables.add(ex.tables.frozen_once, region)
    if needs.constant is not None and not needs.constant.value:
        ex.here.frozen |= {region}
    else:
        thaw(ex, region)


def thaw(ex: Execution, region: Obj) -> None:
    """What lies in a region or around it is no longer frozen as a whole."""
    if ex.here.frozen:
        inside = reach(region)
        ex.here.frozen = frozenset(
            one for one in ex.here.frozen if not (region.given or one in inside or region in reach(one))
        )


# --- events


def emit(
    ex: Execution,
    slot: Slot,
    kind: Kind,
    node: ast.AST,
    *,
    scaled: bool = False,
    weak: bool = False,
    what: str = "",
    midway: bool = False,
    judged: bool = True,
    direct: bool = False,
    by_hand: bool = False,
) -> list[tuple[Verdict[Any], Slot]]:
    """An event of one slot: judged, and then the facts move. `by_hand`: whoever skips it gives no step up.

    `direct`: a clear of parameters, which accumulate() does not hold back.
    """
    ex.happened += 1
    facts = ex.here.facts.get(slot)
    optimizer = slot[0]
    if facts is None or optimizer is None:
        return []
    # A step through a scaler divides the scale out: whoever skips it has skipped that too.
    done = frozenset({kind, Kind.UNSCALE}) if kind is Kind.CONSUME and scaled else frozenset({kind})
    for record in ex.records:
        ex.tables.emits(record, slot, done, surely=not by_hand)
    for guard in ex.guards:
        under = ex.tables.under.setdefault((guard.test, guard.yes), {})
        if kind not in under.get(slot, NO_DOUBT):
            under[slot] = under.get(slot, NO_DOUBT) | {kind}
    if kind is Kind.CONSUME:
        asked = frozenset((guard.test, guard.yes) for guard in ex.guards)
        ex.stepped_under.setdefault(slot, set()).add(asked)
    event = Event(kind, str(optimizer.number), ex.site(node), scaled, what or wording(node), midway=midway)
    apart: Facts = NOWHERE
    if ex.accumulating is not None and not direct and kind in (Kind.CONSUME, Kind.CLEAR, Kind.SCHEDULE):
        ends = Synced(ex.accumulating)
        apart = answers.assume(facts, ends, False, ex.tables.keeps)
        facts = answers.assume(facts, ends, True, ex.tables.keeps)
    events, taken = ex.events.setdefault(slot, Events()), ex.answered()
    judged = judged and not ex.failing
    found = list(judge(facts, event, ex.laws, weak=weak or optimizer.hinted)) if judged else []
    for state in {fact.state for fact in facts}:
        events.note(state, event, taken)
    if weak:
        ex.excuses.note(ex, slot, frozenset({kind}), node, Why.OTHERS)
    changes = weak and kind is not Kind.SCHEDULE  # whether or not a schedule moves, gradients are what they were
    after = lift_weak(facts, event) if changes else lift(facts, event)
    ex.here.facts[slot] = joined(after, apart) if apart else after
    return [(verdict, slot) for verdict in found]


def wording(node: ast.AST) -> str:
    """A call as the user wrote it."""
    if not isinstance(node, ast.Call):
        return ""
    return f"{dotted_name(node.func) or ast.unparse(node.func)}()"


def tell(ex: Execution, found: list[tuple[Verdict[Any], Slot]], slots: list[Slot]) -> None:
    """The verdicts of one event over the slots of an optimizer. A step that starves does so in all of them."""
    by_law: dict[Any, list[tuple[Verdict[Any], Slot]]] = {}
    for verdict, slot in found:
        by_law.setdefault(verdict.law, []).append((verdict, slot))
    for law, met in by_law.items():
        certain = any(verdict.certain for verdict, _ in met)
        if len(slots) > 1 and all(is_starved(verdict) for verdict, _ in met):
            if len(met) < len(slots):
                continue
            certain = all(verdict.certain for verdict, _ in met)
        verdict, slot = next(((one, where) for one, where in met if one.certain), met[0])
        key = (law, verdict.event.site)
        if certain:
            ex.told.add(key)
        known = ex.met.get(key)
        if known is None or (certain and not known.certain):
            learns = ex.loops[-1] in ex.tables.losses if ex.loops else bool(ex.losses)
            ex.met[key] = Met(verdict, slot, certain, learns, bool(ex.loops), ex.answered())


def broken_by_each(ex: Execution, event: Event, candidates: list[list[Slot]]) -> set[Any]:
    """The laws that an event surely breaks, whichever of several optimizers it is meant for.

    That is so if there is a path on which it breaks them with each.
    """
    paths: dict[Any, list[answers.Answers]] = {}
    for number, slots in enumerate(candidates):
        mine: dict[Any, list[answers.Answers]] = {}
        for slot in slots:
            if slot[0] is not None and slot[0].hinted:
                continue
            for fact in ex.here.facts[slot]:
                for law, missing in ex.laws.broken(fact.state, event):
                    if missing not in fact.doubts:
                        mine.setdefault(law, []).append(answers.answers_of(fact))
        if number == 0:
            paths = mine
        else:
            paths = {law: answers.on_one_path(known, mine.get(law, [])) for law, known in paths.items()}
    return {law for law, known in paths.items() if known}


def is_starved(verdict: Verdict[Any]) -> bool:
    """Whether a step or a clip lacks a deposit."""
    event = verdict.event
    return event.kind in (Kind.CONSUME, Kind.CLIP) and verdict.law.lacks(verdict.state, event) is Kind.DEPOSIT


def note_loss(ex: Execution) -> None:
    """A loss is computed here: something is learned in these loops."""
    ex.losses += 1
    for loop in (0, *ex.loops):
        ex.tables.add(ex.tables.losses, loop)


def deposit(
    ex: Execution,
    value: Value,
    node: ast.AST,
    leaves: Leaves = PLAIN_BACKWARD,
    *,
    by: Obj | None = None,
    divided_again: str = "",
) -> None:
    """backward() of this value."""
    if ex.path is None:
        return
    if value.graph is Graph.CUT and value.exact and not any(one.kind is ObjectKind.GIVEN for one in value.objects):
        ex.here.severed |= {ex.site(node)}
        return
    tables, path, site = ex.tables, ex.here, ex.site(node)
    made_of = value.made_of or frozenset({ex.heap.anything})
    if is_severed(ex, value):
        path.severed |= _severed_at(value, site)
    note_loss(ex)
    keeping.use(ex, [value])
    passing.go(ex, [value], node, leaves, wording(node))
    for loop in (0, *ex.loops):
        tables.add(tables.training, loop)
    owners = _objective(ex, site, value)
    known = optimizers(ex)
    what = wording(node)
    now = Deposit(ex.function_at(node), value, set(), tuple(ex.loops), what, divided_again, leaves, by)
    met = _note_deposit(ex, site, now)
    waiting = frozenset(Pending(site, one) for one in known)
    clipping.deposited(ex)
    path.pending = waiting if path.stepped else path.pending | waiting
    path.stepped = False
    path.homeless |= {Pending(site, one) for one in known if any(_is_homeless(ex, part, one) for part in made_of)}
    if value.graph is Graph.LIVE:
        ex.filled[site] = ex.filled.get(site, NO_OBJECTS) | (value.sure - path.frozen)
    attacked = leaves.recorded is False and _attacks(ex, value.sure)  # else the gradient is part of an objective
    updates.change(ex, made_of)
    updates.deposit(ex, value, node)
    for optimizer in known:
        found: list[tuple[Verdict[Any], Slot]] = []
        slots = slots_of(ex, optimizer)
        for slot in slots:
            region = slot[1]
            assert region is not None
            covers = ex.overlap.of(region, made_of)
            if covers is Covers.NO or region in path.frozen:
                continue
            if owners and optimizer not in owners and any(region in held_by(one) for one in owners):
                continue  # two optimizers hold it: what lies there is for the other
            kind, weak = Kind.DEPOSIT, False
            if covers is Covers.YES:
                if owners and optimizer not in owners and value.graph is Graph.LIVE:
                    surely = ex.overlap.of(region, value.sure) is Covers.YES
                    spills = surely and _is_spilled(ex, optimizer, region, value, owners)
                    kind, weak = (Kind.SPILL, False) if spills else (Kind.DEPOSIT, True)
                elif attacked and _has_own(ex, optimizer, site, value):
                    kind = Kind.SPILL
            elif (has_rivals(ex, optimizer) and optimizer not in owners) or _is_surely_reached(ex, slots, made_of):
                weak = True  # it may reach another optimizer's parameters, or another part of this one's
            if not weak:
                met.optimizers.add(optimizer)
                if kind is Kind.DEPOSIT:
                    windows.note_deposit(ex, optimizer, site, path.facts[slot])
                ranks.deposited(ex, slot, value, node)
            found += emit(ex, slot, kind, node, scaled=value.scaled, weak=weak)
            if not weak:
                clipping.run_hooks(ex, slot, value)
            if MAYBE_SCALED in value.divisors:
                doubt_slots(ex, [slot], frozenset({Kind.UNSCALE}))
            path.since |= {slot}
        tell(ex, found, slots)
    if ex.handlers:  # it may run out of memory here, wherever the handler stands
        handler = ex.handlers[-1]
        handler.raised.append(State(ex.store.changes(handler.level), ex.here.copy()))


def gradient_of(ex: Execution, gradient: Obj) -> Value:
    """A `.grad`: computed by the networks that losses go through which fill it, and mostly without a graph of it."""
    filling = [met for met in ex.tables.deposits.values() if not gradient.regions.isdisjoint(met.value.sure)]
    through = frozenset().union(*(met.value.made_of for met in filling)) - gradient.regions - {ex.heap.anything}
    identity = ex.identities.of("object", gradient)
    ex.tensor_ids.add(identity)
    if any(met.leaves.recorded is not False for met in filling):
        kept = frozenset().union(*(met.value.through for met in filling))
        return Value(identity, frozenset({gradient}), graph=Graph.ANY, made_of=through, exact=True, through=kept)
    return Value(identity, frozenset({gradient}), graph=Graph.CUT, cut_from=through)


def is_severed(ex: Execution, value: Value) -> bool:
    """Whether the graph of a loss ends at copies of what was computed, which no optimizer holds and nobody looks at."""
    copies = value.cut_from or any(one.site is not None for one in value.made_of)
    return bool(copies) and all(is_dead_end(ex, one) for one in value.made_of)


def is_dead_end(ex: Execution, obj: Obj) -> bool:
    """Whether it is a leaf that no optimizer holds, and whose gradient nobody reads."""
    is_unread = obj.kind is ObjectKind.LEAF and obj not in ex.tables.graded
    return is_unread and not obj.shown and all(slot[1] is not obj for slot in ex.tables.slots)


def _severed_at(value: Value, site: Site) -> frozenset[Site]:
    """Where a loss lost its graph: where a list was copied, else where it goes backward, unless it is a copy itself."""
    copied = [one for one in value.made_of if one.site is not None]
    lists = [one.site for one in copied if one.many and one.site is not None]
    if lists:
        return frozenset(lists[:1])
    return frozenset() if not value.objects.isdisjoint(copied) else frozenset({site})


def _note_deposit(ex: Execution, site: Site, now: Deposit) -> Deposit:
    """A backward that was met before with another loss has the one or the other."""
    met = ex.deposits.get(site)
    if met is not None:
        value = join(met.value, now.value, met.value.id)
        again = now.divided_again if now.divided_again == met.divided_again else ""
        now = met._replace(value=value, divided_again=again)
    ex.deposits[site] = now
    return now


def _is_surely_reached(ex: Execution, slots: list[Slot], made_of: Regions) -> bool:
    """Whether a graph surely goes through one of these slots."""
    return any(slot[1] is not None and ex.overlap.of(slot[1], made_of) is Covers.YES for slot in slots)


def _is_homeless(ex: Execution, made_of: Obj, optimizer: Obj) -> bool:
    """Whether no optimizer in sight holds what a graph goes through, and nothing says that this one was meant to.

    It was, if the network was there when it was made, or is a copy of what it holds.
    """
    if made_of.kind is ObjectKind.LEAF:
        return False
    if made_of.kind is ObjectKind.ANYTHING:
        return True
    if is_fresh(made_of) and not made_of.shown and not optimizer.given and made_of.number < optimizer.number:
        return False
    if made_of.copied_from and any(_meets(ex, one, made_of.copied_from) for one in held_by(optimizer)):
        return False
    regions = _held(ex)
    return not any(ex.overlap.of(region, (made_of,)) is Covers.YES for region in regions)


def _objective(ex: Execution, site: Site, value: Value) -> set[Obj]:
    """Whom a backward is for: those who step next, but not who has a loss of its own among them.

    That is so where several losses are deposited before several steps.
    """
    tables = ex.tables
    owners = tables.owners.setdefault(site, set())
    if len(owners) < 2:
        return owners
    served: set[Obj] = set()
    for optimizer in owners:
        theirs = frozenset().union(*(held_by(other) for other in owners if other is not optimizer))
        for other_site, met in tables.deposits.items():
            own = tables.owners.get(other_site, set())
            if other_site == site or optimizer not in own:
                continue
            apart = all(_is_apart(ex, region, met.value.made_of) for region in theirs)
            if own == {optimizer} or apart:
                served.add(optimizer)
    left = owners - served
    # Who is served stays an owner unless the loss went through it last, on its way from the others.
    return left | {one for one in served if not _is_downstream(ex, one, value, left)} if left else owners


def _is_apart(ex: Execution, region: Obj, made_of: Regions) -> bool:
    """Whether a graph surely goes past a region. What the program made itself is not in what it was handed."""
    made_here = not region.given or (region.constructed and not region.shown)
    known = made_of - {ex.heap.anything} if made_here else made_of
    if not region.given:  # a package was told nothing of it when it made these, and nobody has brought them together
        known = frozenset(one for one in known if not one.alone or one.shown)
    return not known or ex.overlap.of(region, known) is Covers.NO


def _is_downstream(ex: Execution, optimizer: Obj, value: Value, others: set[Obj]) -> bool:
    """Whether a loss goes through this optimizer's network behind those of the others, or through theirs alone too."""
    theirs = frozenset().union(*(held_by(other) for other in others))
    return any(_is_behind(ex, region, theirs, value) for region in held_by(optimizer)) or any(
        _is_before(ex, region, theirs, value) for region in held_by(optimizer)
    )


def _is_behind(ex: Execution, region: Obj, theirs: Regions, value: Value) -> bool:
    """Whether this region was applied to what theirs made."""
    return any(
        first is not None and _meets(ex, region, {second}) and _meets(ex, first, theirs)
        for first, second in value.applied
    )


def _is_before(ex: Execution, region: Obj, theirs: Regions, value: Value) -> bool:
    """Whether theirs were applied to what this region made, and by themselves too: a critic of fakes and of data."""
    fed = any(
        first is not None and _meets(ex, region, {first}) and _meets(ex, second, theirs)
        for first, second in value.applied
    )
    return fed and any(first is None and _meets(ex, second, theirs) for first, second in value.applied)


def _meets(ex: Execution, region: Obj, others: Iterable[Obj]) -> bool:
    return ex.overlap.of(region, others) is Covers.YES


def _is_spilled(ex: Execution, optimizer: Obj, region: Obj, value: Value, owners: set[Obj]) -> bool:
    """Whether what a loss leaves in this region is by-catch: no objective of the optimizer that holds it."""
    theirs = frozenset().union(*(held_by(other) for other in owners))
    if value.output_of is not None and value.output_of in reach(region):
        return True  # what a network says, and nothing that it should have said: that teaches whoever is judged by it
    return _are_rivals(ex, optimizer, owners) or _is_before(ex, region, theirs, value)


def _attacks(ex: Execution, made_of: Regions) -> bool:
    """Whether a backward through these is meant for a leaf that nobody steps, and whose gradient is read by hand."""
    leaves_of = {one for one in made_of if one.kind is ObjectKind.LEAF} - _held(ex)
    return not leaves_of.isdisjoint(ex.tables.slopes_read)


def _has_own(ex: Execution, optimizer: Obj, site: Site, value: Value) -> bool:
    """Whether an optimizer has a loss that goes through none of these leaves."""
    leaves_of = {one for one in value.sure if one.kind is ObjectKind.LEAF}
    return any(
        other != site and optimizer in ex.tables.owners.get(other, ()) and leaves_of.isdisjoint(met.value.made_of)
        for other, met in ex.tables.deposits.items()
    )


def _are_rivals(ex: Execution, optimizer: Obj, others: set[Obj]) -> bool:
    """Whether this optimizer's own objectives are kept apart from the networks of the others."""
    own = [
        met.value for site, met in ex.tables.deposits.items() if optimizer in ex.tables.owners.get(site, frozenset())
    ]
    theirs = frozenset().union(*(held_by(other) for other in others))
    return bool(own) and all(_is_apart(ex, region, value.made_of) for value in own for region in theirs)


def consume(
    ex: Execution, optimizer: Obj, node: ast.AST, *, scaled: bool = False, weak: bool = False, judged: bool = True
) -> None:
    """step() of this optimizer. Half a step that only moves along the gradient is not `judged`."""
    tables, path = ex.tables, ex.here
    slots = slots_of(ex, optimizer)
    if not judged:
        for slot in slots:
            emit(ex, slot, Kind.CONSUME, node, weak=weak, judged=False)
        return
    for waits in path.pending:
        if waits.optimizer is optimizer:
            tables.add(tables.owners.setdefault(waits.site, set()), optimizer)
    homeless = any(waits.optimizer is optimizer and waits in path.homeless for waits in path.pending)
    tables.add(tables.active, optimizer)
    if ex.accumulating is not None:
        tables.stepped_over.setdefault(optimizer, set()).update(ex.accumulated)
    path.stepped = True
    sharing.stepped(ex, optimizer)
    severed, path.severed = path.severed, frozenset()
    _note_window(ex, optimizer, slots[0], ex.site(node))
    fresh = any(slot in path.since for slot in slots)
    unheard = ranks.stepped(ex, slots)
    windows.note_step(ex, slots[0], ex.site(node), wording(node), fresh=fresh, unheard=unheard)
    # Behind the loop that deposits, a step takes what may be left: that on some path nothing is left is no fault.
    behind = any(
        optimizer in met.optimizers and not set(met.loops) <= set(ex.loops) for met in tables.deposits.values()
    )
    left = behind and any(fact.state.content in _UNREAD for slot in slots for fact in path.facts[slot])
    clipping.stepped(ex, optimizer, slots, node)
    if not weak:
        holding.stepped(ex, optimizer)
        replacing.stepped(ex, optimizer, node)
    found: list[tuple[Verdict[Any], Slot]] = []
    for slot in slots:
        before = path.facts[slot]
        for verdict, where in emit(ex, slot, Kind.CONSUME, node, scaled=scaled, weak=weak):
            unsure = _may_be_empty(verdict, before) or (slot in tables.used_by_hand and not is_starved(verdict))
            found.append((verdict._replace(certain=verdict.certain and not unsure), where))
    excused = left or _is_deliberate(ex, slots)
    found = [
        (verdict._replace(certain=False), slot)
        if is_starved(verdict) and (excused or (homeless and verdict.state.content in HOLLOW))
        else (verdict, slot)
        for verdict, slot in found
    ]
    handed = _handed_cut(ex, slots) if not severed else None
    if handed is not None:
        severed = frozenset({handed})
    if len(severed) == 1:  # the step starves because of a backward that fills nothing: that is where the fault is
        (place,) = severed
        found = [
            (verdict._replace(event=verdict.event._replace(site=place)) if is_starved(verdict) else verdict, slot)
            for verdict, slot in found
        ]
    if optimizer in ex.each:
        ex.stepped_each.setdefault((ex.site(node), ex.context), {})[optimizer] = any(
            is_starved(verdict) and verdict.certain for verdict, _ in found
        )
    tell(ex, found, slots)


def _may_be_empty(verdict: Verdict[Any], before: Facts) -> bool:
    """Whether a step that repeats another may as well find nothing, where a clear was skipped."""
    spent = [fact for fact in before if fact.state.content is Content.SPENT]
    return (
        verdict.state.content is Content.SPENT
        and is_starved(verdict)
        and all(fact.doubts & {Kind.CLEAR, Kind.DEPOSIT} for fact in spent)
    )


def _handed_cut(ex: Execution, slots: list[Slot]) -> Site | None:
    """The call that has handed a function what these networks computed, without its graph: it could only starve."""
    frame, regions = ex.frame, [slot[1] for slot in slots if slot[1] is not None]
    if not isinstance(frame.called_at, ast.Call) or frame.function is None or len(ex.frames) < 2:
        return None
    written = frame.function.node.args
    names = [one.arg for one in (*written.posonlyargs, *written.args, *written.kwonlyargs)]
    handed = [value for name in names if (value := ex.store.get((frame.id, name))) is not None]
    cut = [value for value in handed if value.graph is Graph.CUT and value.cut_from]
    if not regions or not all(any(_meets(ex, region, value.cut_from) for value in cut) for region in regions):
        return None
    ex.frames.pop()
    site = ex.site(frame.called_at)
    ex.frames.append(frame)
    return site


def _is_deliberate(ex: Execution, slots: list[Slot]) -> bool:
    """Whether the loss decided that the gradients are cleared, and the step goes on without them."""
    return any(
        expressions.asks_tensor(ex, guard.test)
        and Kind.CLEAR in ex.tables.does(ex.branch(guard.node, 0 if guard.yes else 1), slot)
        for guard in ex.frame.guards
        for slot in slots
    )


def _note_window(ex: Execution, optimizer: Obj, slot: Slot, site: Site) -> None:
    """The places in windows at which every path steps here."""
    common: frozenset[tuple[Place, str]] | None = None
    placed = [
        (fact, frozenset((asked, told) for asked, told in answers.answers_of(fact) if isinstance(asked, Place)))
        for fact in ex.here.facts[slot]
    ]
    ends = _other_ends(ex)
    for fact, mine in placed:
        if any(answers.is_single(fact, place.of) for place, _ in mine):
            continue  # a window of one micro-batch has one place
        if any(windows.last_of(ex, fact, place) for place, _ in mine if place.counter.loop in ex.loops):
            continue  # what is left over is stepped on where the loop ends
        if mine.isdisjoint(ends):
            mine |= ends
        common = mine if common is None else common & mine
    if common is None:
        return  # windows of one micro-batch only
    inside = frozenset((place, told) for place, told in common if place.counter.loop in ex.loops)
    known = ex.windows.get((optimizer, site))
    ex.windows[(optimizer, site)] = inside if known is None else known & inside


def _other_ends(ex: Execution) -> frozenset[tuple[Place, str]]:
    """The one place of a window at which one steps, or where something else is right: it steps there all the same."""
    asked = [part for guard in ex.guards for part in alternatives_of(guard.test if guard.yes else negate(guard.test))]
    ends = {(part.place, part.want) for part in asked if isinstance(part, At)}
    return frozenset(ends) if len(ends) == 1 else frozenset()


def clear(
    ex: Execution,
    regions: Regions,
    node: ast.AST,
    *,
    of: Obj | None = None,
    weak: bool = False,
    by_hand: bool = False,
    zeros: bool | None = False,
) -> None:
    """Clear these parameters, whoever holds them. `of`: the optimizer that clears what it holds.

    `zeros`: they are filled with zeros, not set to None.
    """
    known = sorted({*optimizers(ex), *([of] if of is not None else [])})
    updates.change(ex, regions)
    updates.clear(ex, regions, node, weak=weak, zeros=zeros)
    if zeros is not False:
        updates.clear(ex, sharing.emptied_too(ex, regions), node, weak=weak or zeros is None, zeros=True)
    clearing.note(ex, regions, node, of=of, weak=weak, zeros=zeros is True and not by_hand)
    sure, may = ex.cleared.get(ex.site(node), (regions, NO_OBJECTS))
    ex.cleared[ex.site(node)] = (sure & regions if not weak else NO_OBJECTS, may | regions)
    if not weak:
        clipping.cleared(ex, regions)
    for optimizer in known:
        slots = slots_of(ex, optimizer)
        found: list[tuple[Verdict[Any], Slot]] = []
        for slot in slots:
            region = slot[1]
            assert region is not None
            if optimizer is of:
                _note_wasted(ex, slot, node)
                found += _clear_slot(ex, slot, node, weak=weak)
            elif any(region is one or region in reach(one) for one in regions):
                if of is None and not weak and not by_hand and len(slots) == 1:
                    _note_wasted(ex, slot, node)
                found += _clear_slot(ex, slot, node, weak=weak, judged=of is None and not by_hand, direct=of is None)
            else:
                covers = ex.overlap.of(region, regions)
                loose = covers is Covers.MAYBE and of is None
                if covers is Covers.YES or (loose and not is_all_there_is(ex, optimizer, regions)):
                    found += emit(ex, slot, Kind.CLEAR, node, weak=True)
                elif loose:
                    if not weak and not by_hand and len(slots) == 1:
                        _note_wasted(ex, slot, node)
                    found += _clear_slot(ex, slot, node, weak=weak, judged=not by_hand, direct=True)
        tell(ex, found, slots)


def is_all_there_is(ex: Execution, optimizer: Obj, regions: Regions) -> bool:
    """Whether these are all the networks that the losses of an optimizer go through: then it holds no others."""
    if has_rivals(ex, optimizer):
        return False
    cleared = set().union(*(reach(region) for region in regions)) if regions else set()
    met = [one.value for site, one in ex.tables.deposits.items() if optimizer in ex.tables.owners.get(site, ())]
    made_here = (ObjectKind.ANYTHING, ObjectKind.LEAF)  # a tensor that is made on the way is in no optimizer
    return all(one in cleared or one.kind in made_here for value in met for one in value.made_of)


def _note_wasted(ex: Execution, slot: Slot, node: ast.AST) -> None:
    """What a clear erases that no step has used, and nobody has looked at: it waits no longer."""
    unseen = any(
        fact.state.content is Content.FRESH and Kind.CONSUME not in fact.doubts for fact in ex.here.facts[slot]
    )
    for waits in ex.here.pending:
        if waits.optimizer is slot[0] and unseen and waits.site not in ex.here.looked_at:
            ex.wasted.setdefault((waits.site, waits.optimizer), (ex.site(node), wording(node), ex.function_at(node)))
    ex.here.pending = frozenset(one for one in ex.here.pending if one.optimizer is not slot[0])


def _clear_slot(
    ex: Execution, slot: Slot, node: ast.AST, *, weak: bool, judged: bool = True, direct: bool = False
) -> list[tuple[Verdict[Any], Slot]]:
    if judged and not weak:
        _tell_erased(ex, slot, _erased_midway(ex, slot, direct=direct), node)
    return emit(ex, slot, Kind.CLEAR, node, weak=weak, direct=direct)


def _tell_erased(ex: Execution, slot: Slot, fresh: Facts, node: ast.AST) -> None:
    """A clear inside a window, in these facts."""
    if fresh:
        event = Event(Kind.CLEAR, str(slot), ex.site(node), what=wording(node), midway=True)
        tell(ex, [(verdict, slot) for verdict in judge(fresh, event, ex.laws)], [slot])


def climb(ex: Execution, optimizer: Obj, node: ast.AST) -> None:
    """Half a step that moves along the gradient and clears: of a window, the other half finds one micro-batch.

    That is so if each loss is for one of them, and no loop goes through all of them once more.
    """
    known = [met for met in ex.tables.deposits.values() if optimizer in met.optimizers]
    again = any(set(met.loops) > set(ex.loops) for met in known)
    lengths = {place.of for place, _ in ex.tables.stepping.get(optimizer, ())}
    if ex.accumulating is None and not again and all(_is_part(met.value, of) for met in known for of in lengths):
        for slot in slots_of(ex, optimizer):
            _tell_erased(ex, slot, _erased_midway(ex, slot), node)


def _is_part(loss: Value, of: Linear) -> bool:
    """Whether the length of a window divides a loss."""
    names = {of, of.base} - {None} if of.base is not None else {("k", of.offset)}
    return not names.isdisjoint(map(plain, loss.divisors))


def _is_divided(ex: Execution, optimizer: Obj, place: Place) -> bool:
    """Whether a loss is divided by the length of a window: then its micro-batches are meant to be added up."""
    length = {place.of, place.of.base} - {None}
    losses = [met.value for site, met in ex.tables.deposits.items() if optimizer in ex.tables.owners.get(site, ())]
    return any(not length.isdisjoint(loss.divisors) for loss in losses)


def _erased_midway(ex: Execution, slot: Slot, *, direct: bool = False) -> Facts:
    """The facts in which a clear stands inside a window whose step comes only at its end."""
    tables, optimizer = ex.tables, slot[0]
    assert optimizer is not None
    guards = ex.guards
    facts = ex.here.facts[slot]
    if ex.accumulating is not None and all(is_followed(guard.test) for guard in guards):
        # It clears where the window ends, before the last micro-batch is deposited.
        ends = facts if direct else answers.assume(facts, Synced(ex.accumulating), True, tables.keeps)
        unsure = tables.plugins and ex.accumulating.given
        return NOWHERE if unsure else frozenset(fact for fact in ends if fact.state.content is Content.FRESH)
    stepping = tables.stepping.get(optimizer, set())
    if len(stepping) == 1 and all(_is_settled(ex, guard) for guard in guards):
        ((place, want),) = stepping
        asked = {
            question.place.counter for guard in guards for question in leaves(guard.test) if isinstance(question, At)
        }
        shared = any(
            optimizer in own and any((place, want) not in tables.stepping.get(other, ()) for other in own)
            for own in tables.owners.values()
        )
        grouped = want == LAST or (want == FIRST and _is_divided(ex, optimizer, place))
        if grouped and not shared and asked <= {place.counter} and place.counter.loop in ex.loops:
            return frozenset(
                fact for fact in facts if fact.state.content is Content.FRESH and _is_inside_window(ex, fact, place)
            )
    if ex.loops and ex.loops[-1] not in tables.retries and all(is_followed(one.test) for one in guards if one.inside):
        inner = tables.does(ex.loops[-1], slot)
        mine = any(
            optimizer in tables.owners.get(site, ())
            and ex.loops[-1] in met.loops
            and not _attacks(ex, met.value.made_of)
            for site, met in tables.deposits.items()
        )
        if Kind.DEPOSIT in inner and not _steps_in(ex, ex.loops[-1], slot) and mine:
            return frozenset(fact for fact in facts if fact.state.content is Content.FRESH)
    return NOWHERE


def _is_settled(ex: Execution, guard: Guard) -> bool:
    """Whether a branch asks for counters, and else for what every iteration answers alike."""
    return guard.steady or all(is_followed(one) or not branches.varies(ex, one) for one in leaves(guard.test))


def _is_inside_window(ex: Execution, fact: Fact, place: Place) -> bool:
    """Whether earlier micro-batches lie in the window. In the last iteration of a loop it ends, wherever it stands."""
    return answers.answer(fact, place) in (MIDDLE, LAST) and not windows.last_of(ex, fact, place)


def _steps_in(ex: Execution, loop: Hashable, slot: Slot) -> bool:
    """Whether a loop steps this slot, in this round or in another one."""
    assert isinstance(loop, tuple)
    return any(
        Kind.CONSUME in slots.get(slot, NO_DOUBT)
        for branch, slots in ex.tables.emitted.items()
        if isinstance(branch, tuple) and branch[0] is loop[0]
    )


def replaced(ex: Execution, regions: Regions, value: Value, node: ast.AST) -> None:
    """p.grad = value: None clears, anything else is the user's own deposit."""
    if is_none(value):
        clear(ex, regions, node, weak=is_partial(ex), by_hand=True)
    elif clipping.is_clipped_copy(value, regions):
        clipping.clip(ex, regions, node)
    elif value.graph or any(one.kind is ObjectKind.GRADIENT for one in value.objects):
        sharing.handed_over(ex, regions, value, node)
        deposit_by_hand(ex, regions, node)
    else:
        touch(ex, regions, node)


def deposit_by_hand(ex: Execution, regions: Regions, node: ast.AST) -> None:
    updates.change(ex, regions)
    for slot in ex.slots():
        assert slot[1] is not None
        covers = ex.overlap.of(slot[1], regions)
        if covers is not Covers.NO:
            weak = covers is Covers.MAYBE or is_partial(ex)
            emit(ex, slot, Kind.CLEAR, node, weak=weak)
            emit(ex, slot, Kind.DEPOSIT, node, weak=weak)


def touch(ex: Execution, regions: Regions, node: ast.AST) -> None:
    """A hand in the gradients: they are multiplied by something. What was consumed may be faded out on purpose."""
    for slot in ex.slots():
        assert slot[1] is not None
        if ex.overlap.of(slot[1], regions) is not Covers.NO:
            emit(ex, slot, Kind.RESCALE, node)
            if any(fact.state.content is Content.SPENT for fact in ex.here.facts[slot]):
                doubt_slots(ex, [slot], frozenset({Kind.CLEAR}))


def changed_in_place(ex: Execution, old: Value, new: Value, node: ast.AugAssign) -> None:
    """`p.grad += g`, `p -= lr * p.grad`"""
    updates.update(ex, old, [new], node, node.target)
    unfilled.use(ex, old, node)
    for obj in sorted(old.objects):
        if obj.kind is ObjectKind.GRADIENT:
            updates.change(ex, obj.regions)
            if isinstance(node.op, ast.Mult) and _is_zero(new):
                clear(ex, obj.regions, node, weak=is_partial(ex), by_hand=True)
            elif not isinstance(node.op, (ast.Mult, ast.Div)):
                add_by_hand(ex, obj.regions, node)
            else:
                touch(ex, obj.regions, node)


def written_into(ex: Execution, gradient: Obj, value: Value, node: ast.AST, *, whole: bool) -> None:
    """p.grad[...] = value"""
    if whole and _is_zero(value):
        clear(ex, gradient.regions, node, weak=is_partial(ex), by_hand=True)
    else:
        touch(ex, gradient.regions, node)


def _is_zero(value: Value) -> bool:
    return value.constant is not None and value.constant.value in (0, 0.0) and value.constant.value is not False


def add_by_hand(ex: Execution, regions: Regions, node: ast.AST) -> None:
    """Something is added to gradients: one more deposit, of nobody knows what."""
    for slot in ex.slots():
        assert slot[1] is not None
        if ex.overlap.of(slot[1], regions) is not Covers.NO:
            emit(ex, slot, Kind.DEPOSIT, node, weak=True)


def is_partial(ex: Execution) -> bool:
    """A parameter of a loop stands for all of them: under a test of that one, only some are meant."""
    depth = len(ex.frame.loops)
    for guard in ex.frame.guards:
        if depth and guard.loops == depth and not is_followed(guard.test):
            asked = [question for question in leaves(guard.test) if isinstance(question, Asked)]
            if any(question.what != "none" for question in asked):  # not a name: of a question
                return True
    return False


# --- doubts


def doubt_slots(ex: Execution, chosen: Iterable[Slot], kinds: Doubts, *, skipped: bool = True) -> None:
    """These may have happened. `skipped`: whoever goes another way may have skipped them."""
    facts = ex.here.facts
    for slot in chosen:
        if Kind.CONSUME in kinds and slot[1] is not None:
            clipping.may_be_used(ex, {slot[1]})
        if Kind.CLEAR in kinds:
            windows.note_handed(ex, slot)
        for record in ex.records if skipped else ():
            ex.tables.emits(record, slot, kinds, surely=False)
        ex.excuses.note(ex, slot, kinds, ex.calling, Why.UNREAD)
        facts[slot] = doubt(facts[slot], kinds)
        ex.happened += 1


def doubt_all(ex: Execution) -> None:
    """Anything may have happened to any slot."""
    doubt_slots(ex, ex.slots(), ALL_DOUBTS)


def doubt_optimizers(ex: Execution, chosen: Iterable[Obj], kinds: Doubts = ALL_DOUBTS) -> None:
    wanted = set(chosen)
    doubt_slots(ex, [slot for slot in ex.slots() if slot[0] in wanted], kinds)


def doubt_regions(ex: Execution, regions: Regions, kinds: Doubts, *, skipped: bool = True) -> None:
    hit = [slot for slot in ex.slots() if slot[1] is not None and ex.overlap.of(slot[1], regions) is not Covers.NO]
    doubt_slots(ex, hit, kinds, skipped=skipped)


def _is_told_things(ex: Execution, obj: Obj, handed: Iterable[Value]) -> bool:
    """Whether something from outside is handed two things, again in each iteration, that nobody else ever uses."""
    values = list(handed)
    if obj.kind is not ObjectKind.GIVEN or any(value.graph >= Graph.LIVE and not value.objects for value in values):
        return False
    things = {one for value in values for one in value.objects if one.kind is ObjectKind.GIVEN and not one.uses}
    return len([one for one in things if not is_result(one) and not _is_element(one)]) > 1


def _is_element(obj: Obj | None) -> bool:
    """Whether something was read from what is iterated, or from a part of that."""
    while obj is not None:
        if isinstance(obj.key, tuple) and containers.ELEMENT in obj.key:
            return True
        obj = obj.source
    return False


def _was_given(obj: Obj | None) -> bool:
    """Whether something from outside was made with parameters of the program's."""
    while obj is not None:
        if obj.held or obj.regions:
            return True
        obj = obj.source
    return False


def look_at(ex: Execution) -> None:
    """Somebody may read the gradients that wait for a step."""
    path = ex.here
    ex.looks += 1
    path.looked_at |= {waits.site for waits in path.pending}


def _may_be_written(ex: Execution, value: Value, node: ast.AST) -> None:
    """Who is called for what it does may write into what it is handed."""
    if value.graph is Graph.CUT and not value.objects:
        mine, anything = frozenset({value.id}), frozenset({ex.heap.anything})
        unsure = Value(value.id, exact=False, graph=Graph.ANY, made_of=anything, through=mine)
        graphs.overwrite(ex, value, [unsure], node)
    for obj in value.objects:
        if obj.kind is ObjectKind.CONTAINER and obj.shape not in (Shape.RANGE, Shape.ENUMERATE):
            containers.grow(ex, obj, ex.given("written", obj))


def read_by_hand(ex: Execution, regions: Regions) -> None:
    """A gradient is read: whoever reads it may update with it. That nobody reads it gives no step up."""
    for region in regions:
        if region.kind is ObjectKind.LEAF:
            ex.tables.add(ex.tables.slopes_read, region)
    doubt_regions(ex, regions, frozenset({Kind.CONSUME}), skipped=False)


def unknown_call(
    ex: Execution,
    obj: Obj | None,
    positional: Iterable[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    *,
    receiver: Value | None = None,
    harmless: bool = False,
) -> Value:
    """Something that cannot be read: it emits nothing, and what it is handed is doubted.

    `harmless`: it names no event, so that only what it is handed to call can do anything.
    """
    handed = [*positional, *keywords.values()]
    values = [held for value in handed for held in containers.deep(ex, value)]
    values += [receiver] if receiver is not None else []
    stepped: set[Obj] = set()
    modules: set[Obj] = set()
    show(ex, handed)
    if is_of_program(ex, handed):
        holds_more(receiver.objects if receiver is not None else [obj])
    keeping.lose(ex, values)
    if obj is None or obj.kind is not ObjectKind.EXTERNAL:
        passing.escape(ex, values, losses_alone=node is not ex.dropped)
    tensors: set[Obj] = set()
    for value in values:
        for one in value.objects:
            if one.kind is ObjectKind.OPTIMIZER:
                stepped.add(one)
            elif one.kind is ObjectKind.MODULE or _is_used_as_module(one):
                modules.add(one)
            elif one.kind in (ObjectKind.LEAF, ObjectKind.PARAMETER, ObjectKind.PARAMETERS, ObjectKind.GRADIENT):
                tensors |= own_regions(one) if one.kind is ObjectKind.LEAF else one.regions
            elif one.kind in (ObjectKind.SCHEDULER, ObjectKind.SCALER):
                stepped |= one.optimizers
                scaling.handed_on(ex, one)
            elif one.kind in (ObjectKind.INSTANCE, ObjectKind.BOUND):
                carried = _carried(ex, one)
                stepped |= {held for held in carried if held.kind is ObjectKind.OPTIMIZER}
                modules |= {held for held in carried if held.kind is ObjectKind.MODULE}
            elif one.kind is ObjectKind.FUNCTION and one.function is not None:
                stepped |= set(optimizers(ex)) if calls.names_events(ex, one.function) else set()
    if harmless and not any(one.kind is ObjectKind.FUNCTION for value in values for one in value.objects):
        stepped = set()
    result = ex.given("result", node, ex.context)
    (handed_out,) = result.objects
    if obj is None or obj.kind is not ObjectKind.GIVEN:  # who was given to us may make anything of an optimizer
        handed_out.optimizers |= {one for value in values for one in value.objects if one.kind is ObjectKind.OPTIMIZER}
    if handed_out.kind in (ObjectKind.SCHEDULER, ObjectKind.OPTIMIZER) and not ex.loops:
        stepped = set()  # it was called to make that
    is_dropped = node is ex.dropped
    if is_dropped:
        ex.tables.keep_gradient |= {value.id for value in values}
    for value in handed if is_dropped else ():
        _may_be_written(ex, value, node)
    if is_dropped and is_outside(ex, obj, node) and not any(_is_telling(ex, value) for value in values):
        # Called for what it does, and handed nothing: it works on what it keeps, and that somebody has shown it.
        stepped |= {one for one in optimizers(ex) if _may_be_kept(ex, one, obj)}
    known = {one for one in modules if one.kind is ObjectKind.MODULE}
    if is_dropped and len(known) > 1:
        ex.overlap.tied |= known
    if is_dropped and not ex.loops:
        for one in stepped & {held for value in values for held in value.objects}:
            one.hinted = True  # whoever it was handed to may do something whenever it steps
    if obj is not None and ex.loops and _is_told_things(ex, obj, handed):
        obj.uses.add(TOLD_THINGS)
        # It is handed nothing that was computed: it calls the networks itself, and may do more with them.
        unsure = [slot for slot in ex.slots() if slot[1] is not None and slot[1].kind is ObjectKind.OPTIMIZER]
        doubt_slots(ex, [] if ex.exploring else unsure, frozenset({Kind.CLEAR, Kind.DEPOSIT, Kind.CLIP}))
    if not is_dropped and ex.forwards == 0 and any(_is_computed(value) for value in values):
        note_loss(ex)
        if not harmless and not all(
            value.graph for value in handed
        ):  # told more than what a loss is computed of, it may do more
            doubt_optimizers(ex, optimizers(ex), frozenset({Kind.DEPOSIT}))
    if stepped or modules or (obj is not None and _was_given(obj)):
        look_at(ex)
    if stepped:
        doubt_optimizers(ex, stepped)
    if modules and not harmless and not ex.forwards:  # a forward pass runs its parts, and does no more with them
        clipping.may_be_used(ex, modules)
        doubt_regions(ex, frozenset(modules), frozenset({Kind.CLEAR, Kind.DEPOSIT, Kind.CLIP}))
    if tensors and is_dropped:  # it may clear what it is handed, or update with it
        updates.doubt(ex, frozenset(tensors))
    whose = frozenset(modules)
    if modules or (obj is not None and obj.kind is ObjectKind.GIVEN and (receiver is None or not is_result(obj))):
        whose |= {obj if obj is not None else ex.heap.anything}
    for value in handed:
        iterators.read(ex, value, node, by=wording(node), surely=handed_out.kind is ObjectKind.OPTIMIZER)
    identity = ex.fresh(node)
    made = graphs.tensor(ex, values, identity, live=bool(modules), made_of=whose)
    handed_out.brought = handed_out.brought or (not modules and replacing.is_class_like(obj))
    handed_out.copied_from |= frozenset().union(*(module.copied_from for module in modules))
    remember(ex, handed_out, keywords, node)
    graph = made.graph if made.graph is not Graph.CUT or ex.grad_mode is Mode.OFF else Graph.ANY
    through = made.through
    if graph >= Graph.LIVE:
        ex.graphed.add(identity)
        passing.enter(ex, values, node)
        through = through | passing.begin(ex, identity)
    anything = NO_OBJECTS if ex.grad_mode is Mode.OFF else frozenset({ex.heap.anything})
    whose = made.made_of or anything
    return made._replace(
        objects=result.objects, exact=False, graph=graph, made_of=whose, sure=NO_OBJECTS, through=through
    )


def _may_be_kept(ex: Execution, optimizer: Obj, by: Obj | None) -> bool:
    """Whether somebody outside may know an optimizer, or what it holds.

    A package does not know the names of a file that uses it; who hands us something may have made it of them.
    """
    whole = [optimizer, *(part for region in held_by(optimizer) for part in reach(region))]
    is_global = optimizer.context is ex.outermost and by is not None and by.kind is not ObjectKind.EXTERNAL
    return is_global or any(one.given or one.shown for one in whole)


def _is_computed(value: Value) -> bool:
    """Whether a network, or what may be one, has computed a value."""
    if value.graph is Graph.LIVE:
        return not any(one.kind is ObjectKind.LEAF for one in value.objects)
    return value.graph is Graph.ANY and bool(value.objects) and all(is_result(one) for one in value.objects)


def remember(ex: Execution, obj: Obj, keywords: dict[str, Value], node: ast.AST) -> None:
    """With which keywords something was made, and how the program names the numbers among them."""
    if keywords:
        ex.made_with[obj] = keywords
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        if keyword.arg in keywords and isinstance(keyword.value, (ast.Name, ast.Attribute)):
            ex.tables.named.setdefault(linear(keywords[keyword.arg]), ast.unparse(keyword.value))


def _is_used_as_module(obj: Obj) -> bool:
    if obj.kind is not ObjectKind.GIVEN or is_result(obj):
        return False
    return bool(obj.uses & {python.CALL, "parameters()", "zero_grad()"})


def show(ex: Execution, values: Iterable[Value]) -> None:
    """Somebody who cannot be read is handed these: what he hands out later may hold them."""
    for value in values:
        for held in containers.deep(ex, value):
            ex.tables.asked_for_gradient.add(held.id)
            for one in held.objects:
                tensors = [part for part in one.children if part.kind is ObjectKind.LEAF]
                for shown in (one, *_carried(ex, one), *one.regions, *one.held, *tensors):
                    if not shown.shown and shown.kind not in (ObjectKind.EXTERNAL, ObjectKind.NONE):
                        shown.shown = True
                        show(ex, _seen_by(ex, shown))


def is_of_program(ex: Execution, handed: Iterable[Value], *, results: bool = False) -> bool:
    """Whether something that is handed over was made in sight. `results`: or comes from a call that may hold that."""
    held = {one for value in handed for inside in containers.deep(ex, value) for one in inside.objects}
    made = {one for one in held if is_fresh(one) and one.kind not in (ObjectKind.NONE, ObjectKind.EXTERNAL)}
    return bool(made) or (results and any(is_result(one) for one in held))


def holds_more(called: Iterable[Obj | None]) -> None:
    """What is called was handed something of the program: it may keep that, and so may what it was read from."""
    for one in called:
        whole = one
        while whole is not None:
            whole.alone, whole = False, whole.source


def _seen_by(ex: Execution, obj: Obj) -> list[Value]:
    """What a function finds under the names that it uses, and an object in its fields."""
    if obj.kind is not ObjectKind.FUNCTION or obj.function is None:
        return [value for _, value in ex.store.fields(obj)]
    scopes: list[Hashable] = [obj.function.file]
    frame = obj.frame
    while isinstance(frame, Frame):
        scopes.append(frame.id)
        frame = frame.parent
    found = [ex.store.get((scope, name)) for scope in scopes for name in obj.function.names]
    return [value for value in found if value is not None]


def _carried(ex: Execution, obj: Obj) -> set[Obj]:
    """What an instance of the project, or the receiver of a method, has in its fields."""
    holders = list(obj.receiver.objects) if obj.kind is ObjectKind.BOUND and obj.receiver is not None else [obj]
    return {one for holder in holders for _, value in ex.store.fields(holder) for one in value.objects} | set(holders)


def _is_telling(ex: Execution, value: Value) -> bool:
    """Whether an argument says what a call is about: a tensor, a thing, a text, and no constant or counter."""
    if value.graph or value.objects - {ex.heap.none}:
        return True
    return value.constant is None and (value.id in ex.tensor_ids or value.number is None)


def is_outside(ex: Execution, obj: Obj | None, node: ast.AST) -> bool:
    """Whether what is called was there before the program began: only that can know of more than it is handed."""
    if obj is None:
        return False
    one: Obj | None = obj
    while one is not None and one.source is not None:
        one = one.source
    if one is None:
        return False
    if one.kind is ObjectKind.EXTERNAL:
        return "." in one.name
    return not is_result(one)


# --- leaving an iteration


def give_up(ex: Execution, node: ast.AST) -> None:
    """A jump that depends on the loss, or stands in a handler: the iteration is given up before its step."""
    frame = ex.frame
    depth = len(frame.loops)
    tests = [guard.test for guard in frame.guards if guard.loops == depth]
    if not ex.loops or not any(_is_raised(test) or expressions.asks_tensor(ex, test) for test in tests):
        return
    skipped: dict[Slot, Doubts] = {}
    for guard in reversed(frame.guards):
        if guard.loops != depth:
            break
        for slot, kinds in ex.tables.emitted.get(ex.branch(guard.node, "rest"), {}).items():
            skipped[slot] = skipped.get(slot, NO_DOUBT) | kinds
    for slot, kinds in skipped.items():
        waits = slot in ex.here.since or (slot[1] is not None and slot[1].kind is ObjectKind.STAGE)
        if Kind.CONSUME in kinds and waits:
            emit(ex, slot, Kind.ABANDON, node, what=_jump(node))


def _is_raised(test: Test) -> bool:
    return isinstance(test, Asked) and test.what == "raised"  # not a name: of a question


def _jump(node: ast.AST) -> str:
    return {ast.Continue: "continue", ast.Return: "return"}.get(type(node), "except")


def pass_by(ex: Execution, node: ast.AST, test: Test, mine: Branch, other: Branch) -> None:
    """The arm that does nothing, where the other one steps if the loss is right: the iteration is given up."""
    facts = ex.here.facts
    for slot, kinds in ex.tables.emitted.get(other, {}).items():
        steps = Kind.CONSUME in kinds and Kind.DEPOSIT not in kinds
        if not steps or slot not in facts or not ex.tables.does(mine, slot) <= {Kind.ABANDON}:
            continue
        if Kind.CONSUME in ex.tables.does(ex.branch(node, "rest"), slot):
            continue  # a step comes all the same
        whole = facts[slot]
        given_up = _but_for_the_loss(ex, whole, test)
        if given_up:
            facts[slot] = given_up
            emit(ex, slot, Kind.ABANDON, node, what="the skip")
            facts[slot] = joined(facts[slot], whole - given_up)


def _but_for_the_loss(ex: Execution, facts: Facts, test: Test) -> Facts:
    """Of `isfinite(loss) and (i + 1) % n == 0`: the paths on which only the loss spoke against the step."""
    if isinstance(test, Both):
        for part in (test.one, test.other):
            facts = _but_for_the_loss(ex, facts, part)
        return facts
    return answers.assume(facts, test, True, ex.tables.keeps) if is_followed(test) else facts


# --- contexts


def enter(ex: Execution, value: Value, node: ast.expr) -> Callable[[], None]:
    """Enter a `with`; what is handed back leaves it again."""
    modes = {one.mode for one in value.objects if one.kind is ObjectKind.CONTEXT}
    others = any(one.kind is not ObjectKind.CONTEXT for one in value.objects)
    mode, accumulating, accumulated = ex.grad_mode, ex.accumulating, ex.accumulated
    leave_quiet = ranks.enter(ex, value, node)
    ex.unread_blocks += others or not value.objects
    keeping_optimizers: set[Obj] = set()  # whoever was made of them may clear and step where its block begins and ends
    for obj in value.objects:
        if obj.kind is ObjectKind.GIVEN:
            obj.uses.add(python.ENTER)
            keeping_optimizers |= obj.optimizers
    doubt_optimizers(ex, keeping_optimizers)

    def leave() -> None:
        if ex.path is not None:
            doubt_optimizers(ex, keeping_optimizers)
        ex.unread_blocks -= others or not value.objects
        ex.grad_mode, ex.accumulating, ex.accumulated = mode, accumulating, accumulated
        leave_quiet()

    if Mode.MAYBE in modes or (Mode.OFF in modes and (len(modes) > 1 or others)):
        ex.grad_mode = Mode.MAYBE if mode is not Mode.OFF else Mode.OFF
    elif modes & {Mode.ON, Mode.OFF}:
        ex.grad_mode = next(iter(modes & {Mode.ON, Mode.OFF}))
    for obj in sorted(value.objects):
        if obj.kind is ObjectKind.CONTEXT and obj.mode is Mode.ACCUMULATES:
            ex.accumulating, ex.accumulated = obj.source, obj.regions
            ex.each_fact(answers.with_answer, Synced(obj.source), None)
        elif obj.kind is ObjectKind.CONTEXT and obj.mode is Mode.SCALES_LOSS:
            return lambda obj=obj: _leave_scaled(ex, obj, node)  # type: ignore[misc]
        elif obj.kind is ObjectKind.CONTEXT and obj.mode is Mode.FAILS:
            return _expect_failure(ex)
        elif obj.kind is ObjectKind.INSTANCE and obj.cls is not None:
            if python.ENTER in ex.classes.of(obj.cls).methods:
                calls.call_method(ex, ex.thing(obj), python.ENTER, [], {}, node)
                return lambda: _exit(ex, value, node)
        elif obj.kind is ObjectKind.GIVEN and not is_result(obj) and isinstance(node, (ast.Name, ast.Attribute)):
            doubt_all(ex)
    return leave


def _expect_failure(ex: Execution) -> Callable[[], None]:
    """A test of errors: what goes wrong in the block is meant to, and nobody knows how far it gets."""
    before, ex.failing = ex.failing, True

    def leave() -> None:
        ex.failing = before
        if ex.path is not None:
            doubt_all(ex)

    return leave


def _leave_scaled(ex: Execution, context: Obj, node: ast.expr) -> None:
    """apex divides the loss scale out where the block ends, unless it is told to wait."""
    if ex.path is not None and not context.off:
        scaling.unscale(ex, context.optimizers, node)
        if not context.optimizers:  # it was told one that nobody knows
            doubt_slots(ex, ex.slots(), frozenset({Kind.UNSCALE}))


def _exit(ex: Execution, value: Value, node: ast.expr) -> None:
    if ex.path is not None:
        try:
            calls.call_method(ex, value, python.EXIT, [], {}, node)
        except Unreachable:
            ex.path = None


def entered(ex: Execution, value: Value) -> Value:
    """What `with ... as name` hands out."""
    for obj in value.objects:
        if obj.kind is ObjectKind.CONTEXT and obj.receiver is not None:
            return obj.receiver
    return value


# --- alternatives


@contextmanager
def alternatives(ex: Execution, chosen: list[Obj]) -> Iterator[Callable[[Obj], bool]]:
    """A call on one of several optimizers. A verdict is certain only if it is met with each of them.

    An optimizer that is only ever met as one of the same set is the only one on its path: it gets strong events.
    """
    rounds: list[set[Any]] = []
    group = frozenset(chosen)

    def begin(optimizer: Obj) -> bool:
        ex.told = set()
        rounds.append(ex.told)
        ex.tables.add(ex.tables.met_with.setdefault(optimizer, set()), group)
        return len(ex.tables.met_with[optimizer]) == 1 and not optimizer.many

    before = ex.told
    if len(chosen) == 1:
        begin(chosen[0])
    yield begin
    if len(chosen) > 1 and rounds and not set(chosen) <= ex.each:
        for key in set().union(*rounds) - set.intersection(*rounds):
            if key in ex.met:
                ex.met[key] = ex.met[key]._replace(certain=False)
    ex.told = before.union(*rounds)


def stepped_by_scaler(value: Value) -> list[Obj]:
    """The optimizers that a scaler is told to step; a given thing is one by that."""
    for one in value.objects:
        if one.kind is ObjectKind.GIVEN:
            one.uses.add(STEPPED_BY_SCALER)
    return sorted(one for one in value.objects if one.kind is ObjectKind.OPTIMIZER)
