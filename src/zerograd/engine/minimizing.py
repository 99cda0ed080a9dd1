"""Optimizers that run the loss again and again inside their step: LBFGS, SAM and their kin.

Each evaluation is a clean slate, deposits, and everything up to the clip; the optimizer gets true gradients and the
true loss. The weights move between evaluations, so a copy is taken first: whatever raises, and any evaluation that is
not finite, brings them back.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from zerograd.core.events import Kind
from zerograd.engine import commit, refusals
from zerograd.engine.block import Abort, Block
from zerograd.engine.outcome import Ending
from zerograd.engine.ranks.refusals import closure_across_ranks
from zerograd.engine.restoring import snapshot
from zerograd.engine.terms import Terms
from zerograd.engine.transaction import Move, Transaction


class _Skip(BaseException):
    """An evaluation that is not finite, on its way out of the optimizer."""


def check(terms: Terms) -> None:
    if len(terms.optimizers) != 1:
        raise refusals.closure("minimize() with several optimizers", "One closure belongs to one optimizer.")
    if terms.scaling is not None:
        raise refusals.closure("minimize() with a GradScaler", "torch has no such thing: use autocast=torch.bfloat16.")


def minimize(transaction: Transaction, deposit: Callable[[], object]) -> float:
    (block,) = transaction.blocks
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

    def evaluated() -> None:
        if not losses:
            raise refusals.idle_optimizer(type(terms.optimizers[0]).__name__)
        block.emit(Kind.CONSUME, "minimize")

    # Not as in a commit: signals need not be held, for whatever is raised here is taken back.
    block.guard.let_step()
    schedules = [scheduler.step for scheduler in terms.schedulers]
    step = partial(terms.optimizers[0].step, closure)
    transaction.move = Move(Ending.COMMITTED, [step, evaluated, *schedules])
    try:
        transaction.move.make()
    except _Skip:
        commit.skip(transaction)
    return float(losses[0]) if losses else float("nan")


def _evaluate(block: Block, deposit: Callable[[], object]) -> Tensor:
    block.clear()
    block.emit(Kind.CLEAR, "clear")
    block.loss = torch.zeros((), device=block.slots.device)
    block.ready, block.cause = None, ""
    block.guard.refuse_steps()
    _deposit(block, deposit)
    block.guard.let_step()
    if block.aborted:  # and somebody swallowed it
        raise Abort(block)
    if not commit.prepare(block) or block.ready is None:
        raise _Skip
    block.ready.multiply(1.0)
    return block.loss / block.tally.denominator


@torch.enable_grad()
def _deposit(block: Block, deposit: Callable[[], object]) -> None:
    if block.casting is not None:
        torch.clear_autocast_cache()  # it holds copies of weights that have moved since
        block.casting.enter()
    try:
        deposit()
    finally:
        block.leave_autocast()
