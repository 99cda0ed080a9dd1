"""`Step`: the optimizer step as a transaction.

    with step:                                  # clean slate
        step.backward(loss_fn(model(x), y))     # deposit
                                                # leaving commits; an exception rolls back and is raised again

Commit order, the only one there is: one coefficient -> finite check -> clip -> step -> clear.
"""

import sys
import threading
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
from zerograd.engine.isolation import Isolation
from zerograd.engine.outcome import Ending, Outcome
from zerograd.engine.weighing import MicroBatch, Tally, Weighing, checked
from zerograd.errors import Diverged, TornStep

T = TypeVar("T")
_open: list["Step"] = []
_numbers = count(1)


class _Abort(BaseException):
    """step.abort() on its way to the end of the block."""


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
        self.optimizers = (optimizers,) if isinstance(optimizers, Optimizer) else tuple(optimizers)
        self.outcome: Outcome | None = None
        self.committed = 0
        self.skipped = 0
        self._clip, self._nonfinite, self._max_skips = clip, nonfinite, max_skips
        self._isolation = Isolation() if isolate else None
        self._trace = trace
        self._slot = f"{'+'.join(type(optimizer).__name__ for optimizer in self.optimizers)}#{next(_numbers)}"
        self._tally = Tally()
        self._parameters: list[Tensor] = []
        self._thread: int | None = None
        self._micro: MicroBatch | None = None
        self._iterating = False
        self._sites: set[object] = set()
        self._broken = self._torn = False
        self._skips_in_a_row = 0

    # The block

    def __enter__(self) -> "Step":
        if self._torn:
            raise refusals.torn()
        if self._thread is not None:
            raise refusals.nested_block()
        groups = (group for optimizer in self.optimizers for group in optimizer.param_groups)
        self._parameters = [parameter for group in groups for parameter in group["params"]]
        for other in _open:
            shared = set(map(id, self._parameters)) & set(map(id, other._parameters))
            if shared:
                raise refusals.shared_parameters(len(shared))
        self._tally.reset()
        self._sites.clear()
        self._micro, self._iterating, self._broken = None, False, False
        self._thread = threading.get_ident()
        _open.append(self)
        self._clear()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        try:
            if error is not None:
                self._roll_back(error)
                return isinstance(error, _Abort)
            try:
                self._commit()
            except BaseException as failure:
                self._roll_back(failure)
                raise
            return False
        finally:
            self._thread = None
            _open.remove(self)

    def abort(self) -> None:
        """Give this step up: the block ends here, nothing is committed, nothing is raised."""
        self._inside("abort()")
        raise _Abort

    # Deposits

    def backward(self, loss: Tensor, *, weight: float | None = None) -> None:
        """Deposit the gradient of `loss`. Inside `micro_batches` it belongs to the current micro-batch."""
        self._inside("backward()")
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        micro = self._micro or self._single(weight, site)
        if self._micro is not None and weight is not None:
            raise refusals.weight_inside()
        coefficient = self._tally.coefficient(micro)
        if not loss.requires_grad:
            raise refusals.detached_loss()
        if micro.weight == 0:
            self._tally.empty += 1
            return
        self._run(loss if coefficient == 1.0 else loss * coefficient, site)
        self._tally.count(micro)
        self._sites.add(site)
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
        self._inside("micro_batches()")
        if weight is not None and reduce == "sum":
            raise refusals.weighted_sum()
        weighing = Weighing.SUM if reduce == "sum" else Weighing.MEAN
        self._iterating = True
        for item in iterable:
            amount = 1.0 if weight is None else checked(weight(item))
            if amount == 0:
                self._tally.empty += 1
                continue
            self._micro = MicroBatch(weighing, amount)
            yield item
        self._micro, self._iterating = None, False

    def _single(self, weight: float | None, site: object) -> MicroBatch:
        """A deposit outside `micro_batches`: with a weight a micro-batch of its own, without one plain PyTorch."""
        if weight is not None:
            return MicroBatch(Weighing.MEAN, checked(weight))
        if site in self._sites:
            raise refusals.looped_backward()
        return MicroBatch(Weighing.BARE, 1.0)

    def _run(self, loss: Tensor, site: object) -> None:
        self._broken = True  # until it has come back
        if self._isolation is None:
            torch.autograd.backward(loss)
        else:
            self._isolation.backward(loss, self._parameters, site=site)
        self._broken = False

    # Ending

    @torch.no_grad()
    def _commit(self) -> None:
        if self._iterating:
            raise refusals.left_early()
        if self._broken:
            raise refusals.broken_backward()
        found = gradients.gradients_of(self._parameters)
        if not found:
            return self._end_empty()
        denominator = self._tally.denominator
        norm = None
        if self._clip is not None or self._nonfinite != "ignore":
            norm = gradients.total_norm(found) / denominator
        if norm is not None and self._nonfinite != "ignore" and not gradients.is_finite(found, norm):
            return self._skip(norm)
        coefficient: float | Tensor = 1.0 / denominator
        if norm is not None and self._clip is not None:
            coefficient = gradients.clip_coefficient(norm, self._clip) / denominator
            self._emit(Kind.CLIP, "clip")
        gradients.scale(found, coefficient)
        self._step()
        self.outcome = Outcome(Ending.COMMITTED, self._tally.total, self._tally.counted, total_norm=norm)
        self.committed += 1
        self._skips_in_a_row = 0
        self._tally.settle()
        return self._clear()

    def _step(self) -> None:
        self._emit(Kind.CONSUME, "commit")
        try:
            with torch.enable_grad():  # an optimizer finds the mode it has in a plain loop
                for optimizer in self.optimizers:
                    optimizer.step()
        except BaseException as error:
            self._torn = True
            raise TornStep(
                f"optimizer.step() raised {type(error).__name__}: {error}",
                cure="Some weights may have moved and some not: load a checkpoint before you go on.",
                slug="torn-step",
            ) from error

    def _skip(self, norm: Tensor) -> None:
        cause = f"the gradients are not finite (norm {float(norm)})"
        if self._nonfinite == "raise":
            raise refusals.not_finite(cause)
        self.outcome = Outcome(Ending.SKIPPED, self._tally.total, self._tally.counted, cause, norm)
        self.skipped += 1
        self._skips_in_a_row += 1
        self._clear()
        if self._skips_in_a_row >= self._max_skips:
            raise Diverged(
                f"{self._skips_in_a_row} steps in a row had gradients that are not finite",
                cure="The weights have not moved since. Lower the learning rate, or look at the loss of these batches.",
                slug="diverged",
            )
        if self.skipped == 1:
            warnings.warn(f"zerograd skipped a step: {cause}", RuntimeWarning, stacklevel=5)

    def _end_empty(self) -> None:
        if not self._tally.empty or self._tally.counted:
            raise refusals.empty_slots(len(self._parameters))
        self.outcome = Outcome(Ending.SKIPPED, cause="every micro-batch weighed 0")
        self.skipped += 1

    def _roll_back(self, error: BaseException) -> None:
        ending, cause = (Ending.ABORTED, "") if isinstance(error, _Abort) else (Ending.ROLLED_BACK, repr(error))
        self.outcome = Outcome(ending, self._tally.total, self._tally.counted, cause)
        self._clear()

    def _clear(self) -> None:
        gradients.clear(self._parameters)
        self._emit(Kind.CLEAR, "clear")

    def _inside(self, what: str) -> None:
        if self._thread is None:
            raise refusals.outside_block(what)
        if self._thread != threading.get_ident():
            raise refusals.other_thread(what)

    def _emit(self, kind: Kind, what: str, *, site: Site | None = None) -> None:
        if self._trace is not None:
            self._trace(Event(kind, self._slot, site, what=what))
