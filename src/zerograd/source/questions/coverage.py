"""Does what is cleared cover what is stepped? A stale slot that nothing clears, beside one that something does."""

from zerograd.core.events import Kind
from zerograd.core.facts import NO_DOUBT
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Slot
from zerograd.source.heap.objects import Obj, ObjectKind


def cleared_instead(ex: Execution, slot: Slot, *, certain: bool) -> tuple[str, str] | None:
    """(what is cleared, what never is) where something is cleared, and never this slot.

    `certain`: it is surely stale, so that nobody who may have cleared it has done so.
    """
    cleared: set[Slot] = set()
    for slots in ex.tables.emitted.values():
        cleared |= {one for one, kinds in slots.items() if Kind.CLEAR in kinds and _is_stepped(one)}
    doubted = not certain and any(Kind.CLEAR in slots.get(slot, NO_DOUBT) for slots in ex.tables.doubted.values())
    if slot in cleared or doubted or not cleared:
        return None
    others = sorted({one[0] for one in cleared if one[0] is not None})
    optimizer = slot[0]
    assert optimizer is not None
    names = [_name(one) for one in others if one is not optimizer] or [_name(optimizer)]
    return names[0], _name(optimizer)


def _is_stepped(slot: Slot) -> bool:
    """Whether an optimizer steps it: not a hand, and not what a scaler remembers."""
    by_hand = slot[0] is None or slot[0].kind is ObjectKind.HAND
    return not by_hand and slot[1] is not None and slot[1].kind is not ObjectKind.STAGE


def _name(obj: Obj) -> str:
    return obj.name or obj.made or "the optimizer"
