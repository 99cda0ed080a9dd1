"""How blocks end: all of them are committed, or none.

The only order there is: one coefficient -> finite check -> inspect -> clip -> step -> scheduler -> clear. Everything
up to the clip is done for all blocks before the first optimizer steps: until then, whatever raises takes all of them
back. `with step:` ends one block, `with join(...)` several.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from zerograd.core.events import Kind
from zerograd.engine import gradients, refusals
from zerograd.engine.block import Abort, Block
from zerograd.engine.clipping import ByFunction
from zerograd.engine.deferring import may_defer, promise
from zerograd.engine.holding import step_unless
from zerograd.engine.interrupts import Held
from zerograd.engine.outcome import Ending
from zerograd.engine.ranks.exchange import Exchange
from zerograd.engine.ready import Ready
from zerograd.engine.scaling import update
from zerograd.engine.skips import say_skipped
from zerograd.engine.weighing import Number, Weighing


def end(blocks: Sequence[Block], error: BaseException | None) -> bool:
    """Whether `error` was an abort of one of these blocks, and ends with them."""
    with Held():
        try:
            for block in reversed(blocks):  # contexts are left in the order in which they nest
                if block.casting is not None:
                    block.leave_autocast()
            if error is None:
                _commit(blocks)
            else:
                told = _told(blocks, error)
                roll_back(blocks, told)
                if told is not error:
                    raise told from error
        finally:
            for block in blocks:
                block.close()
    return isinstance(error, Abort) and error.block in blocks


def _told(blocks: Sequence[Block], error: BaseException) -> BaseException:
    """What is to be raised, once the other ranks know of it: the error, or what they have to tell."""
    exchange = blocks[0].exchange if blocks else None
    return error if exchange is None else exchange.fail(error)


def _commit(blocks: Sequence[Block]) -> None:
    try:
        good = True
        for block in blocks:
            if block.aborted:
                raise Abort(block)
        exchange = blocks[0].exchange
        if exchange is not None:
            _agree(exchange)
        elif len(blocks) == 1:
            blocks[0].defers = blocks[0].captured or may_defer(blocks[0])
        for block in blocks:
            good &= prepare(block)
        if exchange is not None:
            exchange.confirm()
        if good:
            _apply(blocks)
        else:
            skip(blocks)
    except BaseException as failure:
        told = _told(blocks, failure)
        roll_back(blocks, told)
        if told is failure and isinstance(failure, Abort):
            return
        if told is failure:
            raise
        if not isinstance(told, Abort):
            raise told from failure


def _agree(exchange: Exchange) -> None:
    """One reduction, if all ranks have come so far. What may be refused on one of them alone, is refused before."""
    for block in exchange.blocks:
        block.require_complete()
        block.guard.check()
    exchange.settle()
    if any(block.terms.inspect or isinstance(block.terms.clip, ByFunction) for block in exchange.blocks):
        exchange.reopen()


def prepare(block: Block) -> bool:
    """Bring the gradients into the shape that the optimizers get, or say in `block.cause` why they shall not."""
    block.require_complete()
    terms = block.terms
    found = block.guard.check()
    if terms.flat:
        found = block.slots.flat.gather()
    if not found:
        block.cause = _why_empty(block)
        return False
    block.ready = ready = Ready(block.slots, found, _divisor(block))
    ready.folds = block.captured and terms.fused and not block.slots.double
    if not _finite(block, ready):
        return False
    if terms.inspect and ready.show(terms.inspect) and not _finite(block, ready):
        return False
    if terms.clip is not None:
        terms.clip(ready)
    elif ready.divisor is not None and not (terms.fused and not block.slots.double):  # they divide by a float32
        ready.multiply(1.0)
    if terms.trace is not None:
        if block.scale is not None:
            block.emit(Kind.UNSCALE, "commit")
        if terms.clip is not None:
            block.emit(Kind.CLIP, "clip")
    return True


def _divisor(block: Block) -> Number | None:
    """What is still multiplied into the gradients: weights and loss scale. None if nothing is."""
    if block.scale is None and block.tally.weighing is not Weighing.MEAN:
        return None
    denominator = block.tally.denominator
    if block.scale is None:
        return None if not isinstance(denominator, Tensor) and denominator == 1.0 else denominator
    if block.terms.scaling is not None:
        block.terms.scaling.refuse_by_hand()
    exact = block.scale if block.scale.device.type == "mps" else block.scale.double()  # mps has no float64
    return exact * denominator


def _finite(block: Block, ready: Ready) -> bool:
    if block.terms.clip is not None and block.terms.clip.measures:
        ready.measure()
    if block.terms.nonfinite == "ignore":
        return True
    if block.defers:
        ready.look()
        return True
    if ready.is_finite():
        return True
    block.cause = f"the gradients are not finite (norm {float(ready.measure())})"
    return False


def _apply(blocks: Sequence[Block]) -> None:
    for block in blocks:
        if block.terms.trace is not None:
            block.emit(Kind.CONSUME, "commit")
    try:
        for block in blocks:
            _step(block)
        _tell_scalers(blocks)
    except BaseException as error:
        _tear(blocks, error)
    committed(blocks)


def _step(block: Block) -> None:
    block.guard.committing = True
    ready = block.ready
    if ready is None or (ready.divisor is None and ready.found is None):
        for optimizer in block.terms.optimizers:
            optimizer.step()
    elif ready.found is not None and not block.terms.fused:
        step_unless(ready.found, block.terms.optimizers, block.slots.parameters)
    else:
        _step_divided(block, ready)
    for scheduler in block.terms.schedulers:
        scheduler.step()


def _step_divided(block: Block, ready: Ready) -> None:
    """Fused optimizers divide on their own while they read the gradients: one pass over memory less.

    And they leave everything as it is if they are told that something was found. They are told to divide only if there
    is something to divide by: they would write the quotients back.
    """
    device, divisor = block.slots.device, ready.divisor
    told = {"found_inf": torch.zeros((), device=device) if ready.found is None else ready.found}
    if divisor is not None:
        told["grad_scale"] = divisor.float() if isinstance(divisor, Tensor) else torch.full((), divisor, device=device)
    for optimizer in block.terms.optimizers:
        vars(optimizer).update(told)
        try:
            optimizer.step()
        finally:
            for name in told:
                delattr(optimizer, name)


def committed(blocks: Sequence[Block]) -> None:
    for block in blocks:
        if block.captured:
            block.ended = True
        elif block.ready is None or block.ready.found is None:
            block.end(Ending.COMMITTED)
            block.record.stepped = block.slots
        else:
            promise(block, block.ready.found)
        gradients.clear(block.slots.parameters)
    for block in blocks:
        if block.terms.trace is not None:
            if block.terms.schedulers:
                block.emit(Kind.SCHEDULE, "scheduler")
            block.emit(Kind.CLEAR, "clear")


def skip(blocks: Sequence[Block]) -> None:
    """The weights stay, and so do schedulers; the scale is lowered."""
    cause = next(block.cause for block in blocks if block.cause)
    for block in blocks:
        if block.ready is not None and block.cause and block.terms.nonfinite == "raise":
            raise refusals.not_finite(block.cause)
    _tell_scalers(blocks)
    for block in blocks:
        block.end(Ending.SKIPPED, block.cause or f"another step of the join was skipped: {cause}")
        _undo(block)
    for block in blocks:
        block.emit(Kind.CLEAR, "skip")
    for block in blocks:
        if block.ready is not None and block.cause:
            say_skipped(block.record, block.terms, block.cause)


def _tear(blocks: Sequence[Block], error: BaseException) -> None:
    """An optimizer has raised, some weights may have moved: bring them back, or say that they are neither."""
    if all("weights" in block.terms.restore for block in blocks):
        raise error
    for block in blocks:
        block.end(Ending.TORN, repr(error))
        _undo(block)
        block.emit(Kind.CLEAR, "torn")
    if isinstance(error, Exception):
        raise refusals.torn_step(error) from error
    raise error  # Ctrl-C is no StepError: `except StepError: continue` must not swallow it


def roll_back(blocks: Sequence[Block], error: BaseException) -> None:
    """Nothing of the blocks remains. What has ended already, has: a trace or a warning raised after the end."""
    open_blocks = [block for block in blocks if not block.ended]
    aborted = isinstance(error, Abort) and error.block in blocks
    for block in open_blocks:
        block.end(*((Ending.ABORTED,) if aborted else (Ending.ROLLED_BACK, repr(error))))
        _undo(block)
    for block in open_blocks:
        block.emit(Kind.CLEAR, "abort" if aborted else "rollback")


def _undo(block: Block) -> None:
    gradients.clear(block.slots.parameters)
    if block.exchange is not None:
        block.exchange.forget()
    if block.terms.scaling is not None:
        block.terms.scaling.forget()
    if block.extra is not None:
        block.extra.put_back()
    if block.undo is not None:
        block.undo()


def _tell_scalers(blocks: Sequence[Block]) -> None:
    """Once per commit. A block that deposited nothing has nothing to tell."""
    told = []
    for block in blocks:
        if block.terms.scaling is not None and block.ready is not None:
            found = block.ready.found
            if found is None:
                found = torch.full((), 1.0 if block.cause else 0.0, device=block.slots.device)
            block.terms.scaling.tell(found)
            told.append(block.terms.scaling)
    if told:
        update(told)


def _why_empty(block: Block) -> str:
    if not block.tally.empty or block.tally.counted:
        raise refusals.empty_slots(len(block.slots.parameters))
    return "every micro-batch weighed 0"
