"""How blocks end: all of them are committed, or none.

The only order there is: one coefficient -> finite check -> inspect -> clip -> step -> scheduler -> clear. Everything
up to the clip is done for all blocks before the first optimizer steps: until then, whatever raises takes all of them
back. `with step:` ends one block, `with join(...)` several. See [Note: one decision].
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

import torch
from torch import Tensor

from zerograd.core.events import Kind
from zerograd.engine import gradients, refusals, wrapping
from zerograd.engine.block import Abort, Block
from zerograd.engine.clipping import ByFunction
from zerograd.engine.deferring import may_defer, promise
from zerograd.engine.holding import step_unless
from zerograd.engine.interrupts import hold_signals, release_signals
from zerograd.engine.outcome import COMMITTED, Ending
from zerograd.engine.ranges import ranged
from zerograd.engine.ranks.exchange import Exchange
from zerograd.engine.ready import Ready
from zerograd.engine.scaling import raised_by_update, updates
from zerograd.engine.skips import say_skipped
from zerograd.engine.supply import supply
from zerograd.engine.transaction import Move, Transaction, open_blocks
from zerograd.engine.weighing import MEAN, Number
from zerograd.errors import TornStep

_step = attrgetter("step")
_TRIES = 2  # at ending a block: something may have struck the first one, but not what strikes twice


def end(transaction: Transaction, error: BaseException | None) -> bool:
    """The `with` is left, by `error` or not. Whether that was an abort of one of its blocks, and ends with them."""
    try:
        hold_signals(transaction)
        for block in reversed(transaction.blocks):  # contexts are left in the order in which they nest
            if block.casting is not None:
                block.leave_autocast()
        if error is None:
            if transaction.move is None:
                _commit(transaction)
        else:
            _leave_by(transaction, error)
        finish(transaction)
    except BaseException as failure:
        told = _failed(transaction, failure)
        try:
            if _aborts(transaction, told):
                return True
            if told is failure:
                raise
            raise told from failure
        finally:
            del told  # else it and its traceback would keep each other alive, and with them the graphs of the block
    return error is not None and _aborts(transaction, error)


def _aborts(transaction: Transaction, error: BaseException | None) -> bool:
    return isinstance(error, Abort) and error.block in transaction.blocks


def _commit(transaction: Transaction) -> None:
    """Everything that may be refused or found wrong, and then the move."""
    blocks = transaction.blocks
    for block in blocks:
        if block.aborted:
            raise Abort(block)
    exchange = blocks[0].exchange if blocks else None
    if exchange is not None:
        _agree(exchange)
    elif len(blocks) == 1:
        (block,) = blocks
        block.defers = block.captured or (block.slots.on_cuda and may_defer(block))
    good = True
    for block in blocks:
        good &= prepare(block)
    if exchange is not None and exchange.confirm(good) != good:
        good, blocks[0].cause = False, "what a function left on another rank is not finite"
    if good:
        move(transaction)
    else:
        skip(transaction)


def move(transaction: Transaction) -> None:
    """The weights move; then schedules, then the scalers."""
    acts: list[Callable[[], object]] = []
    scaled = False
    for block in transaction.blocks:
        scaled |= block.scale is not None
        if block.terms.trace is not None:
            block.emit(Kind.CONSUME, "commit")
        acts += _acts(block)
        block.guard.let_step()
    if scaled:
        acts += _tell_scalers(transaction.blocks)
    transaction.move = Move(COMMITTED, acts)
    _make(transaction, "step")


def skip(transaction: Transaction) -> None:
    """The weights stay, and so do schedulers; the scale is lowered."""
    blocks = transaction.blocks
    for block in blocks:
        if _is_not_finite(block) and block.terms.nonfinite == "raise":
            raise refusals.not_finite(block.cause)
    transaction.move = Move(Ending.SKIPPED, _tell_scalers(blocks))
    _make(transaction, "skip")
    found = [block for block in blocks if _is_not_finite(block)]
    finish(transaction)
    for block in found:
        say_skipped(block.record, block.terms, block.cause)


def _make(transaction: Transaction, name: str) -> None:
    assert transaction.move is not None
    asked = [block for block in transaction.blocks if block.terms.ranges]
    with ranged(name, wanted=bool(asked), on_cuda=any(block.slots.on_cuda for block in asked)):
        transaction.move.make()


def _is_not_finite(block: Block) -> bool:
    return block.ready is not None and bool(block.cause)


def _leave_by(transaction: Transaction, error: BaseException) -> None:
    told = _told(transaction, _in_words(transaction, error))
    if told is not error:
        raise told from error
    _give_up(transaction, error)


def _in_words(transaction: Transaction, error: BaseException) -> BaseException:
    """What torch cannot know that it should say: its scaler was updated inside a block."""
    scaled = any(block.terms.scaling is not None for block in transaction.blocks)
    return refusals.updated_inside() if scaled and raised_by_update(error) else error


def _told(transaction: Transaction, error: BaseException) -> BaseException:
    """What is to be raised, once the other ranks know of it: the error, or what they have to tell."""
    exchange = transaction.blocks[0].exchange if transaction.blocks else None
    return error if exchange is None else exchange.fail(error)


def _give_up(transaction: Transaction, error: BaseException) -> None:
    """Say why nothing moves. What has moved already, has: a trace or a warning raised afterwards."""
    transaction.aborted = _aborts(transaction, error)
    transaction.cause = repr(error)


def _failed(transaction: Transaction, failure: BaseException) -> BaseException:
    """Something was raised on the way out: bring the blocks to their end. What is to be raised."""
    if isinstance(failure, wrapping.Idle):
        if transaction.move is not None and transaction.move.untouched:
            transaction.move = None
        failure = refusals.idle_optimizer(str(failure))
    if transaction.over:  # when all was done
        told = failure
    elif transaction.ending is Ending.TORN and isinstance(failure, Exception):
        told = refusals.torn_step(
            failure, _schedule_stopped(transaction)
        )  # Ctrl-C is no StepError: `except StepError: continue` would swallow it
    else:
        told = _told(transaction, failure)
    _give_up(transaction, failure if isinstance(told, TornStep) else told)
    finish(transaction)
    return told


def _schedule_stopped(transaction: Transaction) -> str | None:
    """The class of the schedule that raised; None if it was an optimizer, or a scaler."""
    act = None if transaction.move is None else transaction.move.stopped_at
    schedules = [schedule for block in transaction.blocks for schedule in block.terms.schedulers]
    return next((type(schedule).__name__ for schedule in schedules if act == schedule.step), None)


def finish(transaction: Transaction) -> None:
    """Bring it to its end, from wherever it stands. What is done already is not done again.

    The end of every `with`, and all that is left of one that was struck on its way out. See [Note: the way out].
    """
    ending = transaction.ending
    try:
        for block in transaction.blocks:
            if not block.over:
                _end(block, ending, "" if ending is COMMITTED else _cause(transaction, block, ending))
        transaction.watch = None
        if not transaction.told:
            transaction.told = True
            for block in transaction.blocks:
                if block.terms.trace is not None:
                    _tell_trace(block, ending)
    except BaseException:
        if transaction.over:
            release_signals(transaction)
        raise
    release_signals(transaction)


def left_behind(transaction: Transaction, way: object) -> None:
    """The `with` is over, and something has struck it on the way out: nobody else will finish it, or tell the ranks."""
    if not transaction.over and (transaction.move is None or not transaction.move.begun):
        _give_up(transaction, _told(transaction, RuntimeError(transaction.cause)))
    if transaction.blocks:  # else somebody has asked for an exit, and never entered
        finish(transaction)


def _cause(transaction: Transaction, block: Block, ending: Ending) -> str:
    if ending is Ending.SKIPPED:
        first = next(block.cause for block in transaction.blocks if block.cause)
        return block.cause or f"another step of the join was skipped: {first}"
    return "" if ending is Ending.ABORTED else transaction.cause


def _end(block: Block, ending: Ending, cause: str) -> None:
    try:
        if ending is COMMITTED:
            committed(block)
        else:
            _take_back(block, ending, cause)
    except BaseException as failure:
        block.tries += 1
        if block.tries < _TRIES:
            raise  # struck by something that passes: whoever catches it finishes the block
        block.close()
        block.record.tear(repr(failure))
        block.over = True  # it cannot be undone, and says so: that does not keep it open for ever
        raise
    block.close()
    if supply.owners and all(other is block or other.over for other in open_blocks):
        supply.clear()
    block.over = True
    block.let_go()
    if block in open_blocks:
        open_blocks.remove(block)


def committed(block: Block) -> None:
    """Its weights have moved: that is counted, and the slots are empty again."""
    if block.ready is not None and block.ready.found is not None:
        promise(block, block.ready.found)
    elif not block.captured:  # else it was only recorded: each replay tells
        block.record.ended(block.outcome(COMMITTED, ""), block.number)
        block.record.stepped = block.slots
    gradients.clear(block.slots.parameters)
    if block.divides:
        _stop_dividing(block)


def _take_back(block: Block, ending: Ending, cause: str) -> None:
    """Nothing of it remains but how it has ended."""
    block.record.ended(block.outcome(ending, cause), block.number, finite=not _is_not_finite(block))
    gradients.clear(block.slots.parameters)
    if block.divides:
        _stop_dividing(block)
    if block.exchange is not None:
        block.exchange.forget()
    if block.terms.scaling is not None:
        block.terms.scaling.forget()
    if block.extra is not None:
        block.extra.put_back()
    for parameter, gradient in block.late:
        parameter.grad = gradient
    if block.undo is not None:
        block.undo()


_CLEARED = {
    COMMITTED: "clear",
    Ending.SKIPPED: "skip",
    Ending.TORN: "torn",
    Ending.ABORTED: "abort",
    Ending.ROLLED_BACK: "rollback",
}


def _tell_trace(block: Block, ending: Ending) -> None:
    if ending is COMMITTED and block.terms.schedulers:
        block.emit(Kind.SCHEDULE, "scheduler")
    block.emit(Kind.CLEAR, _CLEARED[ending])


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
    if block.iterating or block.broken or block.graphs:
        block.require_complete()
    terms = block.terms
    if not block.slots.are_all():
        block.set_late_parameters_aside()
    found = block.guard.check()
    if terms.flat:
        found = block.slots.flat.gather()
    if not found:
        block.cause = _why_empty(block)
        block.extra = None  # nothing went wrong: what also= named was given nothing, and keeps that
        return False
    scaled = block.scale is not None
    divisor = _divisor(block) if scaled or block.tally.weighing is MEAN else None
    block.ready = ready = Ready(block.slots, found, divisor, scaled=scaled, flat=terms.flat)
    divide = False  # whether the optimizers do, while they read the gradients
    if ready.divisor is not None or block.captured:
        fused = terms.fused and ready.is_single()
        divide, ready.folds = fused and ready.divisor is not None, fused and block.captured
    if ready.scaled and not (divide and (ready.folds or terms.clip is None)):
        ready.unscale()
    if not _finite(block, ready):
        return False
    if terms.inspect:
        ready.show(terms.inspect)
        if not _finite(block, ready):
            return False
    if terms.clip is not None:
        with ranged("clip", wanted=terms.ranges, on_cuda=block.slots.on_cuda):
            terms.clip(ready)
    elif ready.divisor is not None and not divide:
        ready.multiply(1.0)
    if (ready.grew or isinstance(terms.clip, ByFunction)) and not _finite(block, ready, anew=True):
        return False
    if terms.trace is not None:
        if block.scale is not None:
            block.emit(Kind.UNSCALE, "commit")
        if terms.clip is not None:
            block.emit(Kind.CLIP, "clip")
    return True


def _divisor(block: Block) -> Number | None:
    """What is still multiplied into the gradients: weights and loss scale. None if nothing is."""
    denominator = block.tally.denominator
    if block.scale is None:
        return None if not isinstance(denominator, Tensor) and denominator == 1.0 else denominator
    if block.terms.scaling is not None:
        block.terms.scaling.refuse_by_hand()
    if not isinstance(denominator, Tensor) and denominator == 1.0:
        return block.scale
    exact = block.scale if block.scale.is_mps else block.scale.double()  # mps has no float64
    return exact * denominator


def _finite(block: Block, ready: Ready, *, anew: bool = False) -> bool:
    """`anew`: they have been clipped since, and their norm is that from before."""
    if block.terms.clip is not None and block.terms.clip.measures and not anew:
        ready.measure()
    if block.terms.nonfinite == "ignore":
        return True
    if block.defers:
        ready.look(anew=anew)
        return True
    if ready.is_finite(anew=anew):
        return True
    block.cause = f"the gradients are not finite (norm {float(ready.measure())})"
    return False


def _acts(block: Block) -> list[Callable[[], object]]:
    """What moves if this block is committed, in its order."""
    ready, terms = block.ready, block.terms
    acts: list[Callable[[], object]] = list(map(_step, terms.optimizers))
    if terms.wrapped:
        acts = wrapping.acts(terms.optimizers)
    elif ready is not None and ready.found is not None and not terms.fused:
        acts = [partial(step_unless, ready.found, terms.optimizers, block.slots.parameters)]
    elif ready is not None and (ready.divisor is not None or ready.found is not None):
        _let_them_divide(block, ready)
    acts += map(_step, terms.schedulers)
    return acts


def _let_them_divide(block: Block, ready: Ready) -> None:
    """Fused optimizers divide on their own while they read the gradients: one pass over memory less.

    And they leave everything as it is if they are told that something was found. They are told to divide only if there
    is something to divide by: they would write the quotients back.
    """
    new = partial(torch.full, (), dtype=torch.float32, device=block.slots.device)  # whatever the default is
    told = {"found_inf": new(0.0) if ready.found is None else ready.found}
    if ready.divisor is not None:
        told["grad_scale"] = ready.divisor.float() if isinstance(ready.divisor, Tensor) else new(ready.divisor)
    block.divides = True
    for optimizer in block.terms.optimizers:
        vars(optimizer).update(told)


def _stop_dividing(block: Block) -> None:
    for optimizer in block.terms.optimizers:
        for name in ("found_inf", "grad_scale"):
            vars(optimizer).pop(name, None)


def _tell_scalers(blocks: Sequence[Block]) -> list[Callable[[], object]]:
    """What lets each scaler move, once per commit. A block that deposited nothing has nothing to tell."""
    told = []
    for block in blocks:
        if block.terms.scaling is not None and block.ready is not None:
            found = block.ready.found
            if found is None:
                number = 1.0 if block.cause else 0.0
                found = torch.full((), number, dtype=torch.float32, device=block.slots.device)
            block.terms.scaling.tell(found)
            told.append(block.terms.scaling)
    return updates(told, recorded=blocks[0].captured) if told else []


def _why_empty(block: Block) -> str:
    if not block.tally.empty or block.tally.counted:
        raise refusals.empty_slots(len(block.slots.parameters))
    return "every micro-batch weighed 0"
