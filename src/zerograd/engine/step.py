"""`Step`: the optimizer step as a transaction.

    with step:                                  # clean slate
        step.backward(loss_fn(model(x), y))     # deposit
                                                # leaving commits; an exception rolls back and is raised again

Commit order, the only one there is: one coefficient -> finite check -> clip -> step -> clear.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from types import TracebackType
from typing import Literal, TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind, Site
from zerograd.engine import gradients, refusals
from zerograd.engine.arguments import check_options, check_reduce, checked_optimizers
from zerograd.engine.block import Abort, Block
from zerograd.engine.guarding import Guard
from zerograd.engine.isolation import isolated_backward
from zerograd.engine.outcome import Ending, Outcome
from zerograd.engine.weighing import Tally, Weighing

T = TypeVar("T")
_open: list[Block] = []
_numbers = count(1)


class Step:
    """One or several optimizers that consume one backward and commit together.

    clip        the largest norm the update's gradient may have
    nonfinite   what to do with NaN and infinity: "skip" the step, "raise", or "ignore" (no check)
    max_skips   so many skips in a row raise Diverged
    isolate     leave gradients in these optimizers' parameters only
    trace       called with every event, as the auditor would write it
    """

    def __init__(
        self,
        optimizers: Optimizer | Sequence[Optimizer],
        *,
        clip: float | None = None,
        nonfinite: Literal["skip", "raise", "ignore"] = "skip",
        max_skips: int = 20,
        isolate: bool = True,
        trace: Callable[[Event], None] | None = None,
    ) -> None:
        check_options(clip=clip, nonfinite=nonfinite, max_skips=max_skips)
        self.optimizers = checked_optimizers(optimizers)
        self.outcome: Outcome | None = None
        self.committed = self.skipped = 0
        self._clip, self._nonfinite, self._max_skips = clip, nonfinite, max_skips
        self._isolate, self._trace = isolate, trace
        self._slot = f"{'+'.join(type(optimizer).__name__ for optimizer in self.optimizers)}#{next(_numbers)}"
        self._tally = Tally()
        self._guard = Guard(self.optimizers)
        self._block: Block | None = None
        self._torn, self._skips_in_a_row = False, 0

    # The block

    def __enter__(self) -> "Step":
        if self._torn:
            raise refusals.torn()
        if self._block is not None:
            raise refusals.nested_block()
        groups = (group for optimizer in self.optimizers for group in optimizer.param_groups)
        # By id: a parameter that two of the optimizers hold is one slot, divided and counted once.
        slots = {id(parameter): parameter for group in groups for parameter in group["params"]}
        for other in _open:
            shared = slots.keys() & map(id, other.slots)
            if shared:
                raise refusals.shared_parameters(len(shared))
        self._block = block = Block(list(slots.values()), self._tally)
        _open.append(block)
        try:
            self._clear(block)
            self._guard.open(block.slots)
        except BaseException:  # a trace that raises must not leave a block open that nobody can close
            self._close(block)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        block = self._block
        assert block is not None
        try:
            if error is not None:
                self._roll_back(block, error)
                return isinstance(error, Abort) and error.block is block
            try:
                self._commit(block)
            except BaseException as failure:
                self._roll_back(block, failure)
                raise
            return False
        finally:
            self._close(block)

    def abort(self) -> None:
        """Give this step up: the block ends here, nothing is committed, nothing is raised."""
        self._inside("abort()").abort()

    def _close(self, block: Block) -> None:
        block.over = True
        self._block = None
        self._guard.close()
        _open.remove(block)

    # Deposits

    def backward(self, loss: Tensor, *, weight: float | None = None) -> None:
        """Deposit the gradient of `loss`. Inside `micro_batches` it belongs to the current micro-batch."""
        block = self._inside("backward()")
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        micro = block.micro_batch(weight, site)
        coefficient = self._tally.coefficient(micro)
        if not loss.requires_grad:
            raise refusals.detached_loss()
        if micro.weight == 0:
            self._tally.empty += 1
            return
        self._guard.check()
        block.broken = True  # until it has come back
        weighed = loss if coefficient == 1.0 else loss * coefficient
        if self._isolate:
            isolated_backward(weighed, block.slots)
        else:
            torch.autograd.backward(weighed)
        block.broken = False
        self._guard.mark()
        block.deposited(micro, site)
        self._emit(Kind.DEPOSIT, "step.backward()", site=Site(frame.f_code.co_filename, frame.f_lineno))

    def micro_batches(
        self,
        iterable: Iterable[T],
        *,
        weight: Callable[[T], float] | None = None,
        reduce: Literal["mean", "sum"] = "mean",
    ) -> Iterator[T]:
        """Each item is one micro-batch: averaged by `weight` (1 each unless given), or summed.

        `weight` is the number of items that the micro-batch's loss is a mean over. One that weighs 0 is left out.
        """
        block = self._inside("micro_batches()")
        check_reduce(reduce)
        if weight is not None and reduce == "sum":
            raise refusals.weighted_sum()
        return block.iterate(iterable, weight, Weighing.SUM if reduce == "sum" else Weighing.MEAN)

    # Ending

    @torch.no_grad()
    def _commit(self, block: Block) -> None:
        if block.aborted:
            return self._roll_back(block, Abort(block))
        block.require_complete()
        found = self._guard.check()
        if not found:
            return self._end_empty(block)
        denominator = self._tally.denominator
        norm = None
        if self._clip is not None or self._nonfinite != "ignore":
            norm = gradients.total_norm(found) / denominator
        if norm is not None and self._nonfinite != "ignore" and not gradients.is_finite(found, norm):
            return self._skip(block, norm)
        coefficient: float | Tensor = 1.0 / denominator
        if norm is not None and self._clip is not None:
            coefficient = gradients.clip_coefficient(norm, self._clip) / denominator
            self._emit(Kind.CLIP, "clip")
        gradients.scale(found, coefficient)
        self._step(block)
        self._end(block, Ending.COMMITTED, norm=norm)
        self.committed += 1
        self._skips_in_a_row = 0
        self._tally.settle()
        return self._clear(block)

    def _step(self, block: Block) -> None:
        self._emit(Kind.CONSUME, "commit")
        self._guard.committing = True
        try:
            with torch.enable_grad():  # an optimizer finds the mode it has in a plain loop
                for optimizer in self.optimizers:
                    optimizer.step()
        except BaseException as error:
            self._torn = True
            self._end(block, Ending.TORN, repr(error))
            self._clear(block)
            if isinstance(error, Exception):
                raise refusals.torn_step(error) from error
            raise  # Ctrl-C is no StepError: `except StepError: continue` must not swallow it

    def _skip(self, block: Block, norm: Tensor) -> None:
        self._tally.settle()
        cause = f"the gradients are not finite (norm {float(norm)})"
        if self._nonfinite == "raise":
            raise refusals.not_finite(cause)
        self._end(block, Ending.SKIPPED, cause, norm)
        self.skipped += 1
        self._skips_in_a_row += 1
        self._clear(block)
        if self._skips_in_a_row >= self._max_skips:
            raise refusals.diverged(self._skips_in_a_row)
        if self.skipped == 1:
            warnings.warn(f"zerograd skipped a step: {cause}", RuntimeWarning, stacklevel=5)

    def _end_empty(self, block: Block) -> None:
        if not self._tally.empty or self._tally.counted:
            raise refusals.empty_slots(len(block.slots))
        self._end(block, Ending.SKIPPED, "every micro-batch weighed 0")
        self.skipped += 1

    def _roll_back(self, block: Block, error: BaseException) -> None:
        if block.ended:
            return  # a trace or a warning raised after the end: what has happened has happened
        if isinstance(error, Abort) and error.block is block:
            self._end(block, Ending.ABORTED)
        else:
            self._end(block, Ending.ROLLED_BACK, repr(error))
        self._clear(block)

    def _end(self, block: Block, ending: Ending, cause: str = "", norm: Tensor | None = None) -> None:
        """How the block ended: said before anything else can raise, and never taken back."""
        self.outcome = Outcome(ending, self._tally.total, self._tally.counted, cause, norm)
        block.ended = True

    def _clear(self, block: Block) -> None:
        gradients.clear(block.slots)
        self._emit(Kind.CLEAR, "clear")

    def _inside(self, what: str) -> Block:
        if self._block is None:
            raise refusals.outside_block(what)
        self._block.admit(what)
        return self._block

    def _emit(self, kind: Kind, what: str, *, site: Site | None = None) -> None:
        if self._trace is not None:
            self._trace(Event(kind, self._slot, site, what=what))
