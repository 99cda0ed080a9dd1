"""A Step in a checkpoint: its counters, and the deposits of a block that was open when it was taken."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from zerograd.engine import refusals
from zerograd.engine.block import Block
from zerograd.engine.fitted import Fitted
from zerograd.engine.record import Record
from zerograd.engine.slots import Slots
from zerograd.engine.terms import either
from zerograd.engine.weighing import Weighing

INFLIGHT = ("error", "include", "drop")
KEYS = ("committed", "skipped", "skips_in_a_row", "fitted", "inflight")


class InFlight(NamedTuple):
    """What had been deposited, and what it weighed. The gradients still have weights and loss scale in them."""

    weighing: str
    unit: float
    total: float
    counted: int
    empty: int
    scale: Tensor | None
    gradients: list[Tensor | None]
    done: int | None = None  # micro-batches, also those without a deposit

    @property
    def micro_batches(self) -> int:
        return self.counted + self.empty if self.done is None else self.done

    def go_on(self, block: Block) -> None:
        require_slots(self.gradients, block.slots)  # once more: a group may have been added since
        for slot, gradient in zip(block.slots.parameters, self.gradients, strict=True):
            slot.grad = None if gradient is None else gradient.to(slot.device, copy=True)
        tally = block.tally
        tally.weighing, tally.unit, tally.total = Weighing(self.weighing), self.unit, self.total
        tally.counted, tally.empty = self.counted, self.empty
        block.resumed = self.micro_batches
        block.scale = None if self.scale is None else self.scale.to(block.slots.device, copy=True)
        if block.exchange is not None:
            block.dirty = not block.exchange.party.gathers or bool(block.exchange.party.beside)
        block.guard.mark()


_GIVEN = [field for field in InFlight._fields if field not in InFlight._field_defaults]


def state_dict(record: Record, block: Block | None, resumed: InFlight | None, inflight: str) -> dict[str, Any]:
    """`resumed`: deposits that were loaded, and that no block has begun with yet."""
    if inflight not in INFLIGHT:
        raise refusals.option("inflight", inflight, either(INFLIGHT))
    pending = resumed is not None or (block is not None and block.tally.counted + block.tally.empty > 0)
    if pending and inflight == "error":
        raise refusals.in_flight()
    taken = None
    if inflight == "include" and (pending or (block is not None and block.in_flight)):
        taken = _taken(block) if block is not None else resumed
    return {
        "committed": record.known.committed,
        "skipped": record.known.skipped,
        "skips_in_a_row": record.known.skips_in_a_row,
        "fitted": record.fitted.size,
        "inflight": None if taken is None else taken._asdict(),
    }


def load_state_dict(record: Record, state: dict[str, Any], slots: Slots) -> InFlight | None:
    require(state, slots)
    counted = {name: state[name] for name in ("committed", "skipped", "skips_in_a_row")}
    record.fitted = Fitted(state["fitted"])
    record.known = record.known._replace(**counted, torn=False)  # whoever loads a Step has loaded weights
    inflight = state["inflight"]
    return None if inflight is None else InFlight(**inflight)


def require(state: dict[str, Any], slots: Slots) -> None:
    """Refuse what is not the state of a Step with these slots, before any of it is taken over."""
    _require_keys("the state of a Step", state, KEYS)
    inflight = state["inflight"]
    if inflight is not None:
        _require_keys("what is in flight", inflight, _GIVEN)
        require_slots(inflight["gradients"], slots)


def require_slots(gradients: Sequence[Tensor | None], slots: Slots) -> None:
    parameters = slots.parameters
    if len(gradients) != len(parameters):
        raise refusals.other_slots(len(gradients), len(parameters))
    for place, (slot, gradient) in enumerate(zip(parameters, gradients, strict=True)):
        if gradient is not None and gradient.shape != slot.shape:
            raise refusals.other_shape(slots.names[place], list(gradient.shape), list(slot.shape))


def _require_keys(what: str, state: object, keys: Sequence[str]) -> None:
    if not isinstance(state, dict):
        raise refusals.no_state(what, f"is a {type(state).__name__}")
    if missing := [key for key in keys if key not in state]:
        raise refusals.no_state(what, f"has no {', '.join(missing)}")


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
        block.in_flight,
    )
