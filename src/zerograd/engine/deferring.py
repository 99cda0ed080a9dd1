"""Committing without a look at the device, where the optimizers can be trusted with the finite check.

See [Note: deferred verdicts].
"""

from torch import Tensor

from zerograd.engine.block import Block
from zerograd.engine.clipping import ByFunction
from zerograd.engine.outcome import Ending, Outcome
from zerograd.engine.promise import Tell
from zerograd.engine.record import Record
from zerograd.engine.skips import say_skipped
from zerograd.engine.terms import Terms


def may_defer(block: Block) -> bool:
    """Whether nobody on the host has to know how the step ends before the next one begins."""
    terms, slots = block.terms, block.slots
    return (
        slots.on_cuda
        and slots.uniform
        and terms.nonfinite == "skip"
        and not (terms.schedulers or terms.inspect or terms.restore or isinstance(terms.clip, ByFunction))
        and terms.trace is None
        and block.extra is None
        and not block.record.carried.used
        # The first step makes the optimizers' state: torch 2.13 _fused_sgd leaves it uninitialised if it is skipped.
        and block.record.stepped is slots
        and terms.fused
    )


def promise(block: Block, found: Tensor) -> None:
    """The block has ended; how, is told later. What is only recorded tells nothing now."""
    if not (block.promised or block.captured):
        good = block.outcome(Ending.COMMITTED, "")
        block.record.promises.add(found.unsqueeze(0), _teller(block.record, block.terms, good))
        block.promised = True


def _teller(record: Record, terms: Terms, good: Outcome) -> Tell:
    def tell(numbers: list[float]) -> None:
        verdict(record, terms, good, found=bool(numbers[0]))

    return tell


def verdict(record: Record, terms: Terms, good: Outcome, *, found: bool) -> None:
    """What the device has told about a step that else was `good`."""
    told = object()
    if not found:
        record.ended(good, told)
        return
    cause = "the gradients are not finite" + ("" if good.total_norm is None else f" (norm {good.norm})")
    record.ended(good._replace(kind=Ending.SKIPPED, cause=cause), told, finite=False)
    say_skipped(record, terms, cause)
