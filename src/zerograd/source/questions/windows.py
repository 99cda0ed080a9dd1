"""How is each step fed? What it waits for, which losses it gets, and whether they know how many they are."""

from collections.abc import Hashable, Iterable, Iterator

from zerograd.core.events import Event, Kind, Site
from zerograd.core.world import Fit, Loss, Test, Unsynced, Window
from zerograd.source.execute import acts
from zerograd.source.execute.counters import is_whole, setting
from zerograd.source.execute.execution import ONE, Execution
from zerograd.source.execute.gradients import held_by
from zerograd.source.execute.ranks import of_region
from zerograd.source.execute.tables import Deposit
from zerograd.source.execute.windows import Taken, waits
from zerograd.source.heap.answers import following
from zerograd.source.heap.conditions import FIRST, LAST, At, Counter, Last, Linear, Place, is_never, leaves, places_of
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.values import MEAN, SCALE_MARKS, SUM, Literal, Multiplied, Times, Value, linear, plain


def windows(ex: Execution) -> Iterator[Window]:
    for (optimizer, site, _), taken in ex.taken.items():
        found = [place for place in taken.places if waits(taken, place) and _ends(ex, optimizer, place)]
        step = Event(Kind.CONSUME, str(optimizer.number), site, what=taken.what)
        waiting = len(found) == 1
        window = _waiting(ex, optimizer, step, taken, found[0]) if waiting else _at_once(ex, optimizer, step, taken)
        yield window._replace(unsynced=_unsynced(optimizer, taken))


def _unsynced(optimizer: Obj, taken: Taken) -> tuple[Unsynced, ...]:
    found: dict[tuple[Site, str, bool], bool] = {}
    for one, sure in taken.unheard.items():
        key = (one.site, one.text, one.is_past)
        found[key] = found.get(key, False) or (sure and not optimizer.hinted)
    return tuple(Unsynced(*key, sure) for key, sure in sorted(found.items()))


def _at_once(ex: Execution, optimizer: Obj, step: Event, taken: Taken) -> Window:
    """A step that waits for no place of a window: it comes with each backward, or behind a loop of them."""
    feeding = {site: one for site, one in ex.deposits.items() if optimizer in ex.tables.owners.get(site, ())}
    loops = {one.loops[len(taken.loops) :][:1] for one in feeding.values()}
    (inner,) = loops.pop() or (None,) if len(loops) == 1 else (None,)
    of = ex.tables.counts[Counter(inner, None)].length if inner is not None else None
    if of is not None and _are_micro_batches(ex, inner, of, feeding):
        return _behind(ex, optimizer, step, taken, of, feeding)
    losses = tuple(_loss(ex, optimizer, site, deposit, None) for site, deposit in feeding.items())
    meant, sure = _meant(ex, optimizer, taken, feeding)
    sure = sure and not optimizer.hinted and taken.decided == {False} and _is_untouched(ex, optimizer, taken)
    return Window(step, losses, meant=meant, certain=sure)


def _meant(ex: Execution, optimizer: Obj, taken: Taken, feeding: dict[Site, Deposit]) -> tuple[str, bool]:
    """What tells that a step was to wait for several micro-batches, and whether that is sure.

    That a loss is divided by some number may be a matter of taste. It is a number of micro-batches if it divides the
    number of batches too, or the counter of the loop, or if an accelerator was told it.
    """
    if taken.accumulating or not taken.loops or not feeding:
        return "", False
    if any(deposit.loops != taken.loops for deposit in feeding.values()):
        return "", False
    steps = [other for (one, _, _), other in ex.taken.items() if one is optimizer and other is not taken]
    waited = [place for other in steps for place in other.places if waits(other, place)]
    if waited:
        # One that waits for losses of its own is another matter: a penalty that is due now and then.
        fed = [ex.fed.get((site, optimizer)) for site in feeding]
        alike = all(one is not None and len(one.begins.get(waited[0], ())) > 1 for one in fed)
        if alike and taken.branched == {False}:
            return f"another step waits for {_name(ex, waited[0])}", True
        return "", False
    clipped = _clips_at(ex, optimizer, taken)
    if clipped is not None:
        return f"clipping waits for {_name_of(ex, clipped)}", True
    for deposit in feeding.values():
        told = acts.told_size(ex, deposit.by) if deposit.by is not None else None
        if deposit.by is not None and told is not None and told.constant != ONE:
            return f"the accelerator accumulates over {_name_of(ex, linear(told))}", not deposit.by.given
    divisors = [set(_numbers(ex, map(plain, deposit.value.divisors))) for deposit in feeding.values()]
    for one in sorted(frozenset.intersection(*map(frozenset, divisors)), key=repr):
        of = one if isinstance(one, Linear) else Linear(one, 0)
        steady = not any(ex.changing_in(part, taken.loops) for part in ex.identities.parts(of.base or 0))
        refused = of.base in ex.tables.refused or of.base in ex.tables.refused_with
        if refused or of.base in ex.counter_ids or not steady:
            continue
        sums = any(deposit.value.reduction == SUM for deposit in feeding.values())
        counted = _counts_micro_batches(ex, taken, of)
        if counted or not sums:
            always = all(one in _numbers(ex, deposit.value.divisors) for deposit in feeding.values())
            return f"the loss is divided by {_name_of(ex, of)}", counted and always
    return "", False


def _numbers(ex: Execution, divisors: Iterable[Hashable]) -> Iterator[int | Linear]:
    """The numbers among what divides a loss. A constant is one where the very same is asked for a remainder."""
    for one in divisors:
        if isinstance(one, Literal) and one.id in ex.tables.moduli:
            yield ex.tables.moduli[one.id]
        elif isinstance(one, (int, Linear)):
            yield one


def _clips_at(ex: Execution, optimizer: Obj, taken: Taken) -> Linear | None:
    """The length of the window at whose end its gradients are clipped, of a loop around the step."""
    for (test, yes), slots in ex.tables.under.items():
        kinds = {kind for slot, done in slots.items() if slot[0] is optimizer for kind in done}
        places = [one.place for one in leaves(test) if isinstance(one, At) and one.want == LAST]
        if yes and Kind.CLIP in kinds and Kind.CONSUME not in kinds and isinstance(test, At):
            for place in places:
                if place.counter.loop in taken.loops:
                    return place.of
    return None


def _counts_micro_batches(ex: Execution, taken: Taken, of: Linear) -> bool:
    """Whether a number divides the counter of a loop around the step, or how often that loop runs."""
    for loop in taken.loops:
        if any(
            place.of == of for counter, places in ex.tables.windows.items() if counter.loop == loop for place in places
        ):
            return True
        count = ex.tables.counts.get(Counter(loop, None))
        length = count.length if count is not None else None
        if length is not None and any(
            number == length and divisor in (of, of.base) for number, divisor in ex.tables.shares
        ):
            return True
    return False


def _behind(
    ex: Execution, optimizer: Obj, step: Event, taken: Taken, of: Linear, feeding: dict[Site, Deposit]
) -> Window:
    """A step behind a loop of micro-batches."""
    adding = {site: one for site, one in feeding.items() if _adds(ex, site, optimizer)}
    losses = tuple(_loss(ex, optimizer, site, deposit, of) for site, deposit in adding.items())
    owners = {one for site in feeding for one in ex.tables.owners.get(site, ())}
    sure = not optimizer.hinted and owners == {optimizer} and _is_untouched(ex, optimizer, taken)
    return Window(step, losses, _name_of(ex, of), certain=sure and not ex.is_refused(of.base))


def _are_micro_batches(ex: Execution, loop: Hashable, of: Linear, feeding: dict[Site, Deposit]) -> bool:
    """Whether the iterations of a loop are for parts of one batch, or the program tells the mean of their losses."""
    if any(one.kind is ObjectKind.LEAF for deposit in feeding.values() for one in deposit.value.made_of):
        return False  # it looks for an input, or for weights of its own
    if loop in ex.tables.parted - ex.tables.told_apart:
        return True
    parts = ex.identities.parts
    losses = {deposit.value.id for deposit in feeding.values()}
    return any(
        not losses.isdisjoint(parts(told)) and _is_length(ex, divisor, of) for told, divisor in ex.tables.divided
    )


def _waiting(ex: Execution, optimizer: Obj, step: Event, taken: Taken, place: Place) -> Window:
    """A step that is taken at some places of a window alone."""
    feeding = _feeding(ex, optimizer, place)
    adding = {site: deposit for site, deposit in feeding.items() if _adds(ex, site, optimizer)}
    return Window(
        step,
        tuple(_loss(ex, optimizer, site, deposit, place.of) for site, deposit in adding.items()),
        _name(ex, place),
        _ends(ex, optimizer, place),
        _fit(ex, optimizer, taken, place, feeding) if adding else Fit.UNKNOWN,
        _drops_tail(ex, optimizer, place) if adding else None,
        certain=_is_settled(ex, optimizer, place, feeding),
    )


def _is_settled(ex: Execution, optimizer: Obj, place: Place, feeding: dict[Site, Deposit]) -> bool:
    """Whether nothing but this window decides when the optimizer steps, and for whom its losses are."""
    loop, tables = place.counter.loop, ex.tables
    if optimizer.hinted or place.counter in tables.unsteady or _may_be_one(ex, place):
        return False
    if place.of.base is not None and any(loop in ex.born.get(part, ()) for part in ex.identities.parts(place.of.base)):
        return False  # the length of the window changes as the loop goes on
    steps = [(site, taken) for (one, site, _), taken in ex.taken.items() if one is optimizer and loop in taken.loops]
    if not all(waits(taken, place) and _is_untouched(ex, optimizer, taken, place) for _, taken in steps):
        return False
    owners = {one for site in feeding for one in tables.owners.get(site, ())}
    if owners != {optimizer} and any(len(_sites(ex, one, loop)) > 1 for one in owners):
        return False
    others = [taken for (one, _, _), taken in ex.taken.items() if one in owners and loop in taken.loops]
    return all(taken.places.get(place) == steps[0][1].places[place] for taken in others)


def _sites(ex: Execution, optimizer: Obj, loop: Hashable) -> set[Site]:
    """Where an optimizer steps in a loop."""
    return {site for (one, site, _), taken in ex.taken.items() if one is optimizer and loop in taken.loops}


def _may_be_one(ex: Execution, place: Place) -> bool:
    """Whether the program refuses windows of more than one micro-batch."""
    return ex.is_refused(place.of.base)


def _feeding(ex: Execution, optimizer: Obj, place: Place) -> dict[Site, Deposit]:
    """The backwards of a window that are for this optimizer."""
    return {
        site: deposit
        for site, deposit in ex.deposits.items()
        if optimizer in ex.tables.owners.get(site, ()) and place.counter.loop in deposit.loops
    }


def _adds(ex: Execution, site: Site, optimizer: Obj) -> bool:
    """Whether a backward adds to what earlier micro-batches have left."""
    fed = ex.fed.get((site, optimizer))
    return fed is not None and (fed.adds or (fed.may_add and not fed.finds_lost))


def _is_untouched(ex: Execution, optimizer: Obj, taken: Taken, place: Place | None = None) -> bool:
    """Whether nobody who cannot be read was handed gradients before a step reads them, in each window.

    What stands in a branch that other windows do not take does not divide the gradients of them all.
    """
    if True not in taken.untouched:
        return False
    around = {place.counter.loop} if place is not None else set(taken.loops)
    for handed in ex.handed.get(optimizer, ()):
        asked = [one for test in handed.tests for one in leaves(test) if not isinstance(one, Last)]
        in_each = all(isinstance(one, At) and one.place == place for one in asked)
        if in_each and around <= set(handed.loops):
            return False
    return True


def _fit(ex: Execution, optimizer: Obj, taken: Taken, place: Place, feeding: dict[Site, Deposit]) -> Fit:
    """How the groups lie to the window. See [Note: groups]."""
    fed = [ex.fed[(site, optimizer)] for site in feeding if (site, optimizer) in ex.fed]
    # Behind a step and a clear a group begins, whoever may have deposited before.
    behind = {later for one in taken.places[place] if one is not None for later in following(place.of, one)}
    begun = [each.begins.get(place, set()) | (each.may_begin.get(place, set()) & behind) for each in fed]
    begins = set().union(*begun)
    if not begins or _is_rescaled(ex, optimizer) or _is_erased(ex, optimizer):
        return Fit.UNKNOWN
    meant = place._replace(of=place.of._replace(offset=0))
    if place.of.base is not None and place.of.offset and _are_divided(ex, feeding, meant):
        return Fit.LONGER
    if len(taken.places[place]) > 1:
        all_but_one = len(taken.places[place]) == len(places_of(place.of)) - 1
        return Fit.INVERTED if all_but_one else Fit.UNKNOWN
    # Behind the first place of a window whose length nobody knows comes one in the middle, or the last.
    if len(begins) == 1 or (place.of.base is not None and FIRST not in begins):
        return Fit.WHOLE
    # Where no backward begins groups at two places, what comes behind the step is another loss, not another window.
    return Fit.SHIFTED if any(len(each) > 1 for each in begun) else Fit.UNKNOWN


def _is_erased(ex: Execution, optimizer: Obj) -> bool:
    """Whether something clears inside a window: then that is what is wrong with its groups."""
    told = [met for met in ex.met.values() if met.slot[0] is optimizer and met.certain]
    return any(met.verdict.event.kind is Kind.CLEAR and met.verdict.event.midway for met in told)


def _are_divided(ex: Execution, feeding: dict[Site, Deposit], place: Place) -> bool:
    return all(_is_divided(ex, deposit.value, place.of) for deposit in feeding.values())


def _is_rescaled(ex: Execution, optimizer: Obj) -> bool:
    """Whether somebody multiplies the gradients by hand."""
    return any(
        slot[0] is optimizer and Kind.RESCALE in kinds
        for slots in ex.tables.emitted.values()
        for slot, kinds in slots.items()
    )


def _loss(ex: Execution, optimizer: Obj, site: Site, deposit: Deposit, of: Linear | None) -> Loss:
    value = deposit.value
    known = {MEAN: True, SUM: False}.get(value.reduction)
    event = Event(Kind.DEPOSIT, str(optimizer.number), site, value.scaled, deposit.what)
    unsure = of is None or of == setting(ex) or _is_rescaled(ex, optimizer)
    divided = None if unsure or of is None else _is_divided(ex, value, of)
    return Loss(event, known, divided, _is_synced(ex, optimizer, value), deposit.divided_again)


def _is_synced(ex: Execution, optimizer: Obj, value: Value) -> bool:
    """Whether each pass of a loss is one that a wrapper hears of, always."""
    passes = [one for region in held_by(optimizer) for one in of_region(ex, value, region)]
    return bool(passes) and all(is_never(one.unsynced) for one in passes)


def _is_divided(ex: Execution, value: Value, of: Linear) -> bool | None:
    """Whether the length of the window has divided a loss."""
    known = {plain(one) for one in value.divisors - SCALE_MARKS if not isinstance(plain(one), (Literal, Times))}
    divisors = [one for one in known if not _is_harmless(ex, one, of)]
    if any(_is_length(ex, one, of) for one in divisors):
        return True
    return None if divisors else False


def _is_length(ex: Execution, divisor: Hashable, of: Linear) -> bool:
    if isinstance(divisor, Multiplied):
        return not _is_itself(divisor.factor, of) and _is_length(ex, divisor.factor, of)
    if of.base is None:
        return divisor == ("k", of.offset)
    base = divisor.base if isinstance(divisor, Linear) else divisor
    return isinstance(base, int) and of.base in ex.identities.parts(base)


def _is_itself(factor: Hashable, of: Linear) -> bool:
    """Whether a factor is the length of the window, not its inverse."""
    return factor in (of, ("k", of.offset)) if of.base is None else factor in (of, of.base)


def _is_harmless(ex: Execution, divisor: Hashable, of: Linear) -> bool:
    """Whether a divisor is not the length of the window, whatever that is: a weight, or the counter itself."""
    if isinstance(divisor, Multiplied):
        return _is_itself(divisor.factor, of) or _is_harmless(ex, divisor.factor, of)
    if isinstance(divisor, Linear):
        return divisor.base in ex.counter_ids
    # A constant of at most 1 is what it was multiplied by.
    return isinstance(divisor, tuple) and isinstance(divisor[-1], (int, float)) and divisor[-1] <= 1


def _drops_tail(ex: Execution, optimizer: Obj, place: Place) -> bool | None:
    """Whether nobody steps on what is left when the loop ends."""
    loop = place.counter.loop
    if loop not in ex.tables.iterating:
        return None  # nobody here knows where it ends
    steps = [taken for (one, _, _), taken in ex.taken.items() if one is optimizer]
    if any(loop not in taken.loops or taken.forced or not waits(taken, place) for taken in steps):
        return None
    count = ex.tables.counts.get(place.counter._replace(key=None))
    length = count.length if count is not None and not is_whole(place.counter) else None
    known = length is not None and length.base is None and place.of.base is None
    return not (known and length is not None and length.offset % place.of.offset == 0)


def _ends(ex: Execution, optimizer: Obj, place: Place) -> tuple[Test, ...]:
    """The tests that ask for this place, and decide whether the optimizer steps."""
    decided = ex.tables.decided.get(place, {})
    stepping = {
        branch[0]
        for branch, slots in ex.tables.emitted.items()
        if isinstance(branch, tuple)
        for slot, kinds in slots.items()
        if slot[0] is optimizer and Kind.CONSUME in kinds
    }
    return tuple(sorted(Test(one.site, one.text) for node, one in decided.items() if node in stepping))


def _name(ex: Execution, place: Place) -> str:
    """What the program calls the length of a window."""
    return _name_of(ex, place.of)


def _name_of(ex: Execution, of: Linear) -> str:
    return ex.tables.named.get(of, str(of.offset) if of.base is None else "N")
