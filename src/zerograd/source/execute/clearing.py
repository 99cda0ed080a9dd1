"""What is known of each clear: what it may clear, and whether there ever is anything to clear."""

import ast
from collections.abc import Hashable

from zerograd.core.events import Kind
from zerograd.core.machine import HOLLOW, Content
from zerograd.source.execute import gradients
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Slot
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.regions import reach
from zerograd.source.heap.values import NO_OBJECTS, Regions


class Clear:
    """A clear, as it was met."""

    def __init__(self, what: str, where: Hashable) -> None:
        self.what = what
        self.where = where  # its function, and the loops around it
        self.regions: Regions = NO_OBJECTS  # what it may clear
        self.zeros = False  # it fills with zeros
        self.idle = True  # each time and on each path it finds nothing
        self.again = False  # where something was, and was cleared


def note(ex: Execution, regions: Regions, node: ast.AST, *, of: Obj | None, weak: bool, zeros: bool) -> None:
    """Before these regions are cleared."""
    where = (ex.function_at(node), tuple(ex.loops))
    met = ex.clears.setdefault(ex.site(node), Clear(gradients.wording(node), where))
    met.regions |= regions
    met.zeros = met.zeros or zeros
    slots = _slots(ex, regions, of)
    facts = [fact for slot in slots for fact in ex.here.facts[slot]]
    empty = bool(facts) and all(
        fact.state.content in HOLLOW and not fact.doubts & {Kind.DEPOSIT, Kind.CLEAR} for fact in facts
    )
    met.idle = met.idle and empty and not weak and not ex.accumulating
    met.again = met.again or any(fact.state.content in (Content.EMPTY, Content.LOST) for fact in facts)


def _slots(ex: Execution, regions: Regions, of: Obj | None) -> list[Slot]:
    """The slots that hold all that is cleared; none where some of it is in no slot, or nobody knows."""
    if of is not None:
        return [] if of.hinted or of.many else gradients.slots_of(ex, of)
    found: list[Slot] = []
    for region in regions:
        holders = [
            slot
            for optimizer in gradients.optimizers(ex)
            for slot in gradients.slots_of(ex, optimizer)
            if slot[1] is not None and region in reach(slot[1]) and not optimizer.hinted and not optimizer.many
        ]
        if not holders:
            return []
        found += holders
    return found
