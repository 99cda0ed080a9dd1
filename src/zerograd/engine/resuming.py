"""A Step in a checkpoint: its counters, and the deposits of a block that was open when it was taken."""

from typing import Any, NamedTuple

from torch import Tensor

from zerograd.engine import refusals
from zerograd.engine.block import Block
from zerograd.engine.fitted import Fitted
from zerograd.engine.record import Record
from zerograd.engine.terms import either
from zerograd.engine.weighing import Weighing

INFLIGHT = ("error", "include", "drop")


class InFlight(NamedTuple):
    """What had been deposited, and what it weighed. The gradients still have weights and loss scale in them."""

    weighing: str
    unit: float
    total: float
    counted: int
    empty: int
    scale: Tensor | None
    gradients: list[Tensor | None]

    def go_on(self, block: Block) -> None:
        if len(self.gradients) != len(block.slots.parameters):
            raise refusals.other_slots(len(self.gradients), len(block.slots.parameters))
        for slot, gradient in zip(block.slots.parameters, self.gradients, strict=True):
            slot.grad = None if gradient is None else gradient.to(slot.device, copy=True)
        tally = block.tally
        tally.weighing, tally.unit, tally.total = Weighing(self.weighing), self.unit, self.total
        tally.counted, tally.empty = self.counted, self.empty
        block.scale = None if self.scale is None else self.scale.to(block.slots.device, copy=True)
        if block.exchange is not None:
            block.dirty = not block.exchange.party.gathers or bool(block.exchange.party.beside)
        block.guard.mark()


def state_dict(record: Record, block: Block | None, inflight: str) -> dict[str, Any]:
    if inflight not in INFLIGHT:
        raise refusals.option("inflight", inflight, either(INFLIGHT))
    pending = block is not None and block.tally.counted + block.tally.empty > 0
    if pending and inflight == "error":
        raise refusals.in_flight()
    return {
        "committed": record.known.committed,
        "skipped": record.known.skipped,
        "skips_in_a_row": record.known.skips_in_a_row,
        "fitted": record.fitted.size,
        "inflight": _taken(block)._asdict() if block is not None and pending and inflight == "include" else None,
    }


def load_state_dict(record: Record, state: dict[str, Any]) -> InFlight | None:
    counted = {name: state[name] for name in ("committed", "skipped", "skips_in_a_row")}
    record.fitted = Fitted(state["fitted"])
    record.known = record.known._replace(**counted, torn=False)  # whoever loads a Step has loaded weights
    return None if state["inflight"] is None else InFlight(**state["inflight"])


def _taken(block: Block) -> InFlight:
    if block.broken:
        raise refusals.broken_backward()
    tally, slots = block.tally, block.slots.parameters
    return InFlight(
        tally.weighing.value,
        float(tally.unit),
        float(tally.total),
        tally.counted,
        tally.empty,
        None if block.scale is None else block.scale.clone(),
        [None if slot.grad is None else slot.grad.clone() for slot in slots],
    )
