"""Optimizers that run the loss again and again inside their step: LBFGS, SAM and their kin.

Each evaluation is a clean slate, deposits, and everything up to the clip; the optimizer gets true gradients and the
true loss. The weights move between evaluations, so a copy is taken first: whatever raises, and any evaluation that is
not finite, brings them back.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from zerograd.core.events import Kind
from zerograd.engine import commit, refusals
from zerograd.engine.block import Abort, Block
from zerograd.engine.interrupts import Held
from zerograd.engine.ranks.refusals import closure_across_ranks
from zerograd.engine.restoring import snapshot
from zerograd.engine.terms import Terms


class _Skip(BaseException):
    """An evaluation that is not finite, on its way out of the optimizer."""


def check(terms: Terms) -> None:
    if len(terms.optimizers) != 1:
        raise refusals.closure("minimize() with several optimizers", "One closure belongs to one optimizer.")
    if terms.scaling is not None:
        raise refusals.closure("minimize() with a GradScaler", "torch has no such thing: use autocast=torch.bfloat16.")


def minimize(block: Block, deposit: Callable[[], object]) -> float:
    terms = block.terms
    if block.exchange is not None:
        raise closure_across_ranks()
    block.leave_autocast()  # the optimizer's own arithmetic is none of its business
    block.undo = snapshot(terms.restore | {"weights"}, block.slots, terms)
    losses: list[Tensor] = []

    def closure() -> Tensor:
        loss = _evaluate(block, deposit)
        losses.append(loss)
        return loss

    with Held():
        try:
            block.guard.committing = True
            terms.optimizers[0].step(closure)  # type: ignore[arg-type]
            if not losses:
                raise refusals.idle_optimizer(type(terms.optimizers[0]).__name__)
            block.emit(Kind.CONSUME, "minimize")
            for scheduler in terms.schedulers:
                scheduler.step()
            commit.committed((block,))
        except _Skip:
            commit.skip((block,))
        except BaseException as failure:
            commit.roll_back((block,), failure)
            if not (isinstance(failure, Abort) and failure.block is block):
                raise
        finally:
            block.close()
    return float(losses[0]) if losses else float("nan")


def _evaluate(block: Block, deposit: Callable[[], object]) -> Tensor:
    block.clear()
    block.emit(Kind.CLEAR, "clear")
    block.loss = torch.zeros((), device=block.slots.device)
    block.ready, block.cause = None, ""
    block.guard.committing = False
    with torch.enable_grad():
        if block.terms.autocast is not None:
            torch.clear_autocast_cache()  # it holds copies of weights that have moved since
            block.enter_autocast()
        try:
            deposit()
        finally:
            block.leave_autocast()
    block.guard.committing = True
    if block.aborted:  # and somebody swallowed it
        raise Abort(block)
    if not commit.prepare(block) or block.ready is None:
        raise _Skip
    block.ready.multiply(1.0)
    return block.loss / block.tally.denominator
