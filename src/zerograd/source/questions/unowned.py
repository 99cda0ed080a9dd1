"""Does every network that losses go through belong to an optimizer that steps it?

What losses surely reach, less what is frozen, written or read by hand, less what optimizers hold: of networks that were
made in sight, and that nobody out of sight can have got hold of.
"""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.world import Neglect, Unowned
from zerograd.source.execute import calls
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.tables import Deposit
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.regions import Covers, is_fresh, reach
from zerograd.source.heap.values import NO_OBJECTS

_BY_HAND = (ObjectKind.HAND, ObjectKind.ITERATOR)


def unowned(ex: Execution) -> Iterator[Unowned]:
    """Networks that nobody steps, at the backward that fills them; or at the optimizer that holds them, and never
    steps."""
    yield from ex.left_out.values()
    yield from _never_stepped(ex)
    told = {*ex.made_in_forward} | {new for one, _, new in ex.orphaned.values() if new is not None and one.certain}
    for site, deposit in ex.deposits.items():
        trainer = _trainer(ex, deposit)
        if trainer is None:
            continue
        for region in _whole(ex.filled.get(site, NO_OBJECTS)):
            if region in told or not _runs_in(ex, region, deposit) or not _has_its_own(ex, region):
                continue
            if _is_left_alone(ex, region) and not _holders(ex, region) and _is_nobodys(ex, region):
                told.add(region)
                name = f"the parameters of {ex.named.get(region, _class_name(region))}"
                sure = not ex.tables.examined
                yield Unowned(site, Neglect.UNHELD, name, beside=trainer.site, certain=sure)


def _never_stepped(ex: Execution) -> Iterator[Unowned]:
    """Optimizers that never step, where losses go through what they hold while others learn from those."""
    for one in sorted({slot[0] for slot in ex.tables.slots if slot[0] is not None and _is_idle(ex, slot[0])}):
        for site, deposit in ex.deposits.items():
            filled = ex.filled.get(site, NO_OBJECTS)
            mine = [region for region in sorted(one.wholly) if _is_filled(ex, region, filled)]
            mine = [region for region in mine if _runs_in(ex, region, deposit) and _is_left_alone(ex, region)]
            mine = [region for region in mine if _holders(ex, region) == {one}]
            if mine and one.site is not None and _trainer(ex, deposit) is not None:
                names = " and ".join(ex.named.get(region, _class_name(region)) for region in mine)
                name = one.name or "the optimizer"
                sure = not ex.tables.examined
                yield Unowned(one.site, Neglect.NEVER_STEPPED, names, name, site, sure)
                break


def _is_filled(ex: Execution, region: Obj, filled: frozenset[Obj]) -> bool:
    return any(region in reach(whole) for whole in filled)


def made_each_time(ex: Execution) -> Iterator[tuple[Obj, bool]]:
    """Layers that a forward pass makes anew whenever it runs, and that losses go through."""
    told: set[Obj] = set()
    for site, deposit in ex.deposits.items():
        if _trainer(ex, deposit) is None:
            continue
        for layer in sorted(ex.filled.get(site, NO_OBJECTS) & ex.made_in_forward.keys()):
            others = {part for one in ex.made_in_forward[layer] for part in reach(one)} - ex.made_in_forward.keys()
            alone = not any(layer in one.children for one in ex.heap.all() if one is not layer)
            if layer in told or not layer.learns or not alone or not any(map(_learns, others)):
                continue
            if not _has_its_own(ex, layer) or not _is_left_alone(ex, layer) or _is_shown(layer):
                continue
            if not _holders(ex, layer):
                told.add(layer)
                yield layer, not ex.tables.examined


def _trainer(ex: Execution, deposit: Deposit) -> Obj | None:
    """An optimizer of networks that steps where this backward stands: the program is in training there."""
    for other_site, other in ex.deposits.items():
        if set(other.loops) != set(deposit.loops):
            continue
        for one in sorted(ex.tables.owners.get(other_site, ())):
            through = other.value.made_of - {ex.heap.anything}
            networks = [region for region in one.held if region.kind is ObjectKind.MODULE]
            if not one.hinted and any(_meets_surely(ex, region, through) for region in networks):
                return one
    return None


def _meets_surely(ex: Execution, region: Obj, others: frozenset[Obj]) -> bool:
    return ex.overlap.of(region, others) is Covers.YES


def _runs_in(ex: Execution, region: Obj, deposit: Deposit) -> bool:
    """Whether a network is run in the loop that goes backward: what was computed before is given once and for all."""
    whole = {one for one in ex.tables.ran if region in reach(one)} | reach(region)
    loops = set().union(*(ex.tables.ran.get(part, ()) for part in whole))
    return not deposit.loops or not loops.isdisjoint(deposit.loops)


def _whole(regions: Iterable[Obj]) -> list[Obj]:
    """The largest of these networks: what lies in another one is a part of that."""
    known = sorted(regions)
    inside = {part for one in known for part in reach(one) if part is not one}
    return [one for one in known if one.kind is ObjectKind.MODULE and one not in inside]


def _is_left_alone(ex: Execution, region: Obj) -> bool:
    """Whether nobody freezes it, or looks at its gradients, or uses it as it is."""
    tables, parts = ex.tables, reach(region)
    touched = tables.frozen_once | tables.graded | tables.slopes_read
    touched |= {part for one in ex.heap.all() if one.kind is ObjectKind.GRADIENT for part in one.regions}
    if any(ex.overlap.of(region, {one}) is not Covers.NO for one in touched):
        return False
    if any(slot[0] is not None and slot[0].kind in _BY_HAND and _meets(ex, slot[1], region) for slot in tables.slots):
        return False
    uses = set().union(*(part.uses for part in parts))
    return "eval()" not in uses or bool(uses & {"train()", "train(x)"})


def _has_its_own(ex: Execution, region: Obj) -> bool:
    """Whether it has weights of its own to learn, which the program does not write itself."""
    known = [reach(one) for one in ex.tables.written]
    if region.copied_from or any(region in one for one in known):
        return False
    written = ex.tables.written.union(*known)
    return any(_learns(part) and reach(part).isdisjoint(written) for part in reach(region))


def _class_name(region: Obj) -> str:
    return region.name or (region.cls.node.name if region.cls is not None else "the network")


def _learns(part: Obj) -> bool:
    return part.learns or (part.kind is ObjectKind.LEAF and not part.given)


def _meets(ex: Execution, one: Obj | None, region: Obj) -> bool:
    return one is not None and ex.overlap.of(region, {one}) is not Covers.NO


def _holders(ex: Execution, region: Obj) -> set[Obj]:
    """The optimizers that hold some of it, or may."""
    return {
        slot[0]
        for slot in ex.tables.slots
        if slot[0] is not None and slot[0].kind not in _BY_HAND and _meets(ex, slot[1], region)
    }


def _is_nobodys(ex: Execution, region: Obj) -> bool:
    """Whether nobody out of sight can have given it to an optimizer."""
    if not is_fresh(region) or region.given or _is_shown(region) or _is_root(region):
        return False
    if any(region in reach(one) for one in ex.heap.all() if one is not region and one.kind is ObjectKind.MODULE):
        return False
    holding = {slot[0] for slot in ex.tables.slots if slot[0] is not None and slot[0].kind is ObjectKind.OPTIMIZER}
    return all(one.complete for one in holding) and _is_private(ex, {region}, {region})


def _is_shown(region: Obj) -> bool:
    return any(part.shown for part in reach(region))


def _is_root(region: Obj) -> bool:
    """Whether it is the object whose methods are executed: whoever makes one knows it."""
    return region.key[:1] == ("instance",) and region.key[1] is region.key[2]  # not a name: of an object


def _is_idle(ex: Execution, one: Obj) -> bool:
    """Whether it is an optimizer that was made in sight, and that nobody can step."""
    if one.kind is not ObjectKind.OPTIMIZER or one in ex.tables.active or not one.wholly or one.site is None:
        return False
    if one.given or one.hinted or one.shown or one.many:
        return False
    return _is_private(ex, {one}, {one, *one.wholly})


def _is_private(ex: Execution, in_fields: set[Obj], in_names: set[Obj]) -> bool:
    """Whether nobody who was not executed here, and does something to gradients, names what keeps these."""
    fields: set[str] = set()
    names: set[str] = set()
    for obj in ex.heap.all():
        for (_, name), value in ex.store.fields(obj):
            if isinstance(name, str) and not value.objects.isdisjoint(in_fields):
                fields.add(name)
    for (_, name), value in ex.store.fields(ex.main):
        if isinstance(name, str) and not value.objects.isdisjoint(in_names):
            names.add(name)
    acting = calls.acting_functions(ex.project, ex.main)
    for function in acting:
        if function not in ex.entered and (not fields.isdisjoint(function.attributes) or names & set(function.names)):
            return False
    outside = [one for one in ex.main.tree.body if not isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    named = {node.attr for one in outside for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    if ex.symbolic and not fields.isdisjoint(named):  # else the body of the file is what was executed
        return False
    return not any(ex.project.is_named(name, ex.main) for name in fields | names)
