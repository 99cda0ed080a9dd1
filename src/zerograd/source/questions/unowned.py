"""Does every network that losses go through belong to an optimizer that steps it?

What losses surely reach, less what is frozen, written or read by hand, less what optimizers hold: of networks that were
made in sight, and that nobody out of sight can have got hold of.
"""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.world import Unowned
from zerograd.source.execute import calls
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.tables import Deposit
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.regions import Covers, is_fresh, reach

_BY_HAND = (ObjectKind.HAND, ObjectKind.ITERATOR)


def unowned(ex: Execution) -> Iterator[Unowned]:
    """Networks that nobody steps, at the backward that fills them; or at the optimizer that holds them, and never
    steps."""
    told = {*ex.made_in_forward} | {new for one, _, new in ex.orphaned.values() if new is not None and one.certain}
    for site, deposit in ex.deposits.items():
        trainer = _trainer(ex, deposit)
        if trainer is None:
            continue
        for region in _whole(ex, ex.filled.get(site, frozenset())):
            if region in told or not _runs_in(ex, region, deposit) or not _is_left_alone(ex, region):
                continue
            holders = _holders(ex, region)
            idle = _idle(ex, holders)
            if holders and idle is None:
                continue
            if not holders and not _is_nobodys(ex, region):
                continue
            told.add(region)
            name = ex.named.get(region, _class_name(region))
            where = idle.site if idle is not None and idle.site is not None else site
            optimizer = idle.name or "the optimizer" if idle is not None else ""
            yield Unowned(where, deposit.what, name, site, optimizer, trainer.site, not ex.tables.examined)


def made_each_time(ex: Execution) -> Iterator[tuple[Obj, bool]]:
    """Layers that a forward pass makes anew whenever it runs, and that losses go through."""
    told: set[Obj] = set()
    for site, deposit in ex.deposits.items():
        if _trainer(ex, deposit) is None:
            continue
        for layer in sorted(ex.filled.get(site, frozenset()) & ex.made_in_forward.keys()):
            others = {part for one in ex.made_in_forward[layer] for part in reach(one)} - ex.made_in_forward.keys()
            alone = not any(layer in one.children for one in ex.heap.all() if one is not layer)
            if layer in told or not layer.learns or not alone or not any(map(_learns, others)):
                continue
            if _is_left_alone(ex, layer) and not _holders(ex, layer) and not _is_shown(layer):
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
    loops = set().union(*(ex.tables.ran.get(part, ()) for part in reach(region)))
    return not deposit.loops or not loops.isdisjoint(deposit.loops)


def _whole(ex: Execution, regions: Iterable[Obj]) -> list[Obj]:
    """The largest of these networks: what lies in another one is a part of that."""
    known = sorted(regions)
    return [
        one
        for one in known
        if one.kind is ObjectKind.MODULE and not any(one is not other and one in reach(other) for other in known)
    ]


def _is_left_alone(ex: Execution, region: Obj) -> bool:
    """Whether nobody freezes it, writes its weights, or looks at its gradients, and it learns something."""
    tables, parts = ex.tables, reach(region)
    touched = tables.frozen_once | tables.written | tables.graded | tables.slopes_read
    touched |= {part for one in ex.heap.all() if one.kind is ObjectKind.GRADIENT for part in one.regions}
    if any(ex.overlap.of(region, {one}) is not Covers.NO for one in touched) or region.copied_from:
        return False
    if any(slot[0] is not None and slot[0].kind in _BY_HAND and _meets(ex, slot[1], region) for slot in tables.slots):
        return False
    uses = set().union(*(part.uses for part in parts))
    if "eval()" in uses and not uses & {"train()", "train(x)"}:
        return False
    return region.given or any(_learns(part) for part in parts)


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
    return all(one.complete for one in holding) and _is_private(ex, {region})


def _is_shown(region: Obj) -> bool:
    return any(part.shown for part in reach(region))


def _is_root(region: Obj) -> bool:
    """Whether it is the object whose methods are executed: whoever makes one knows it."""
    return region.key[:1] == ("instance",) and region.key[1] is region.key[2]  # not a name: of an object


def _idle(ex: Execution, holders: set[Obj]) -> Obj | None:
    """The one optimizer that holds it, where it was made in sight and nobody can step it."""
    if len(holders) != 1:
        return None
    (one,) = holders
    if one in ex.tables.active or one.given or one.hinted or one.shown or one.many or not one.wholly:
        return None
    return one if one.site is not None and _is_private(ex, {one, *one.wholly}) else None


def _is_private(ex: Execution, kept: set[Obj]) -> bool:
    """Whether nobody who was not executed here, and does something to gradients, names what keeps these."""
    fields: set[str] = set()
    names: set[str] = set()
    for obj in ex.heap.all():
        for (_, name), value in ex.store.fields(obj):
            if isinstance(name, str) and not value.objects.isdisjoint(kept):
                fields.add(name)
    for (_, name), value in ex.store.fields(ex.main):
        if isinstance(name, str) and not value.objects.isdisjoint(kept):
            names.add(name)
    acting = calls.acting_functions(ex.project, ex.main)
    for function in acting:
        if function not in ex.entered and (not fields.isdisjoint(function.attributes) or names & set(function.names)):
            return False
    outside = [one for one in ex.main.tree.body if not isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    named = {node.attr for one in outside for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    if not fields.isdisjoint(named):
        return False
    return not any(ex.project.is_named(name, ex.main) for name in fields | names)
