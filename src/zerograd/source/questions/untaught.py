"""What looks as if it learned, and does not: see `Why`.

A term that was cut from its graph is in the value of a loss, and moves nothing. Nobody can learn from a loss that ends
in copies which were told to take a gradient. Lightning learns from what training_step() returns. A tensor that takes no
gradient stays where it is.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.core.world import Untaught, Why
from zerograd.source.execute.execution import Context, Execution
from zerograd.source.execute.gradients import held_by, is_dead_end, is_starved
from zerograd.source.execute.tables import Deposit
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.regions import Covers
from zerograd.source.heap.values import Graph, Value, is_none


def untaught(ex: Execution) -> Iterator[Untaught]:
    for site, certain in _idle_terms(ex):
        yield Untaught(site, Why.CUT, certain)
    for why, sites in (
        (Why.NO_GRADIENT, _ungraded(ex)),
        (Why.NOT_RETURNED, _not_handed(ex)),
        (Why.NEW_LEAF, _barren(ex)),
    ):
        for site in sites:
            yield Untaught(site, why)


def _idle_terms(ex: Execution) -> Iterator[tuple[Site, bool]]:
    """(where the term was added, whether it is certain) of every loss that goes backward and is stepped on."""
    starving = {met.slot[0] for met in ex.met.values() if met.certain and is_starved(met.verdict)}
    for site, deposit in ex.deposits.items():
        owners = ex.tables.owners.get(site, set())
        for added_at, cut_from in deposit.value.idle:
            if not any(_reaches(ex, optimizer, cut_from) is Covers.YES for optimizer in owners & starving):
                yield from _added(ex, deposit, owners, added_at, cut_from)
        if owners - starving:
            yield from _copied(ex, deposit, owners)


def _added(
    ex: Execution, deposit: Deposit, owners: set[Obj], added_at: Site, cut_from: frozenset[Obj]
) -> Iterator[tuple[Site, bool]]:
    """A term that was added without its graph."""
    reached = [_reaches(ex, optimizer, cut_from) for optimizer in owners]
    if Covers.YES in reached:
        yield added_at, True
    elif Covers.MAYBE in reached:
        # Nobody knows whether the optimizer holds it; but it trains what the other terms of the loss go through.
        made_of, lost = deposit.value.made_of - {ex.heap.anything}, cut_from - {ex.heap.anything}
        alone = len(owners) == 1 and not any(one.hinted for one in owners)
        within = all(ex.overlap.of(one, made_of) is Covers.YES for one in lost)
        is_all = lost == made_of or (within and not any(one.held for one in owners))
        yield added_at, alone and is_all and bool(lost)


def _copied(ex: Execution, deposit: Deposit, owners: set[Obj]) -> Iterator[tuple[Site, bool]]:
    """A part of the loss that was copied into a leaf: its gradient ends there, and nobody reads it."""
    for leaf in deposit.value.sure:
        cut = any(_reaches(ex, optimizer, leaf.copied_from) is Covers.YES for optimizer in owners)
        if cut and leaf.site is not None and is_dead_end(ex, leaf):
            yield leaf.site, True


def _reaches(ex: Execution, optimizer: Obj, regions: frozenset[Obj]) -> Covers:
    found = [ex.overlap.of(region, regions) for region in held_by(optimizer)]
    return Covers.YES if Covers.YES in found else Covers.MAYBE if Covers.MAYBE in found else Covers.NO


def _barren(ex: Execution) -> Iterator[Site]:
    """Where a function hands back nothing but losses whose graph ends in copies of its own, which nobody else knows."""
    for returns in _by_function(ex).values():
        told = [(one, value) for node in returns for one, value in ex.handed_back[node].items() if _is_told(value)]
        if told and all(_is_barren(ex, value, context) for context, value in told):
            last = max(returns, key=lambda node: node.lineno)
            end_line, end_column = last.end_lineno or last.lineno, last.end_col_offset or last.col_offset
            yield Site(ex.main.path, last.lineno, last.col_offset + 1, end_line, end_column + 1)


def _by_function(ex: Execution) -> dict[ast.AST, list[ast.Return]]:
    """The returns of the functions of the file itself that were reached."""
    found: dict[ast.AST, list[ast.Return]] = {}
    for function in ex.main.functions:
        if function in ex.entered:
            for node in ast.walk(function.node):
                if isinstance(node, ast.Return) and node in ex.handed_back:
                    found.setdefault(function.node, []).append(node)
    return found


def _is_told(value: Value) -> bool:
    return bool(value.graph or value.objects)


def _is_barren(ex: Execution, value: Value, context: Context) -> bool:
    is_loss = value.graph is Graph.LIVE and bool(value.reduction) and not value.objects
    return is_loss and bool(value.made_of) and all(_is_lost(ex, one, context) for one in value.made_of)


def _is_lost(ex: Execution, leaf: Obj, context: Context) -> bool:
    copied = leaf.kind is ObjectKind.LEAF and leaf.site is not None and (leaf.many or bool(leaf.copied_from))
    return copied and leaf.key[-1] is context and is_dead_end(ex, leaf) and leaf not in ex.leaves_kept


def _not_handed(ex: Execution) -> Iterator[Site]:
    """Where the last loss is computed that a step neither returns nor hands to anybody."""
    if ex.returned is None or not is_none(ex.returned) or ex.deposits:
        return
    losses = [(site, value) for site, value in ex.computed.items() if value.graph is Graph.LIVE]
    if losses and not any(value.id in ex.tables.asked_for_gradient for _, value in losses):
        yield losses[-1][0]


def _ungraded(ex: Execution) -> Iterator[Site]:
    """Where an optimizer that learns from a loss was given a tensor that nobody tells to take a gradient."""
    learning = set().union(*ex.tables.owners.values())
    for identity, (site, optimizer) in ex.ungraded.items():
        if identity not in ex.tables.asked_for_gradient and optimizer in learning:
            yield site
