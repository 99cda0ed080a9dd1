"""`Step`: the optimizer step as a transaction.

with step:                                  # clean slate
    step.backward(loss_fn(model(x), y))     # deposit
                                            # leaving commits; an exception rolls back and is raised again
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from zerograd.core.events import Event
from zerograd.engine import commit, minimizing, refusals, resuming, splitting, terms
from zerograd.engine.block import Block, iterate
from zerograd.engine.capturing import Captured
from zerograd.engine.compiling import calling
from zerograd.engine.guarding import Guard
from zerograd.engine.outcome import Outcome
from zerograd.engine.ranks import party
from zerograd.engine.ranks import refusals as ranks_refuse
from zerograd.engine.ready import Inspect
from zerograd.engine.record import Record
from zerograd.engine.slots import Slots
from zerograd.engine.weighing import Weighing

S = TypeVar("S")
T = TypeVar("T")
_open_blocks: list[Block] = []
_numbers = count(1)


class Step:
    """One or several optimizers that consume one backward and commit together.

    model       whose buffers restore= brings back, and whose names inspect= and clip= see
    clip        a norm (math.inf only measures) | {"norm": 1.0} | {"norm": 1.0, "per": "group"} | {"value": 0.5} |
                a function of the named gradients
    scheduler   one or several; they move once per commit, and only then
    scaler      a torch.amp.GradScaler
    autocast    a dtype for the block; backward runs outside it
    nonfinite   what to do with NaN and infinity: "skip" the step, "raise", or "ignore" (no check)
    max_skips   so many skips in a row, with no loss scale left to lower, raise Diverged
    inspect     functions that see the named gradients, true and before the clip, and may change them in place
    grads       "flat": one buffer for all of them, in one process
    isolate     leave gradients in these optimizers' parameters only
    sync        how ranks exchange gradients: "overlap" with the last backward, at "commit", or in "each" backward;
                None: the first that the model's wrapper can do
    restore     what else a block that does not commit brings back: "rng", "buffers", "weights"
    trace       a path, or a function that is called with every event, as the auditor would write it
    """

    def __init__(
        self,
        optimizers: Optimizer | Sequence[Optimizer],
        *,
        model: nn.Module | None = None,
        clip: float | dict[str, float | str] | Inspect | None = None,
        scheduler: LRScheduler | Sequence[LRScheduler] | None = None,
        scaler: torch.amp.GradScaler | None = None,
        autocast: torch.dtype | None = None,
        nonfinite: Literal["skip", "raise", "ignore"] = "skip",
        max_skips: float = 20,
        inspect: Inspect | Sequence[Inspect] | None = None,
        grads: Literal["none", "flat"] = "none",
        isolate: bool = True,
        sync: Literal["overlap", "commit", "each"] | None = None,
        restore: str | Iterable[str] = (),
        trace: Callable[[Event], None] | str | os.PathLike[str] | None = None,
    ) -> None:
        terms.check_rest(nonfinite=nonfinite, max_skips=max_skips, autocast=autocast, grads=grads, sync=sync)
        self.optimizers = terms.checked_optimizers(optimizers)
        self._terms = terms.Terms(
            optimizers=self.optimizers,
            schedulers=terms.checked_schedulers(scheduler, self.optimizers),
            clip=terms.checked_clip(clip),
            scaling=terms.checked_scaling(scaler, self.optimizers, nonfinite),
            autocast=autocast,
            nonfinite=nonfinite,
            max_skips=max_skips,
            inspect=terms.checked_inspect(inspect),
            flat=grads == "flat",
            isolate=isolate,
            restore=terms.checked_restore(restore, model),
            model=model,
            trace=terms.checked_trace(trace, self),
        )
        self._name = f"{'+'.join(type(optimizer).__name__ for optimizer in self.optimizers)}#{next(_numbers)}"
        self._slots = Slots(self.optimizers, model)
        self._guard = Guard(self.optimizers)
        self._record = Record()
        self._sync = sync
        self._party: party.Party | None = None
        self._alone: bool | None = None  # not known before the first block
        self._resumed: resuming.InFlight | None = None
        self._block: Block | None = None

    @property
    def outcome(self) -> Outcome | None:
        """How the last block ended; None before the first. May have to wait for the device to tell."""
        return self._known().outcome

    @property
    def committed(self) -> int:
        return self._known().committed

    @property
    def skipped(self) -> int:
        return self._known().skipped

    def _known(self) -> Record:
        """The record, with everything in it that happened. See [Note: deferred verdicts]."""
        self._record.promises.keep(all_of_them=True)
        return self._record

    # The block

    def __enter__(self) -> "Step":
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> bool:
        block = self._block
        assert block is not None
        try:
            return commit.end((block,), error)
        finally:
            self._forget(block)

    def _open(self) -> Block:
        self._record.promises.keep(all_of_them=False)
        if self._record.torn:
            raise refusals.torn()
        if self._block is not None:
            raise refusals.nested_block()
        self._slots = slots = self._slots.current()
        return self._begin(Block(self._name, self._terms, slots, self._guard, self._record, self._find_party()))

    def _begin(self, block: Block) -> Block:
        for other in _open_blocks:
            shared = block.slots.ids & other.slots.ids
            if shared:
                raise refusals.shared_parameters(len(shared))
        self._block = block
        _open_blocks.append(block)
        try:
            block.open()
            if self._resumed is not None:
                self._resumed.go_on(block)
                self._resumed = None
        except BaseException:  # a trace that raises must not leave a block open that nobody can close
            block.close()
            self._forget(block)
            raise
        return block

    def _find_party(self) -> party.Party | None:
        """Not before the first block: a model may be wrapped when its Step is made already."""
        if self._alone is None:
            found = party.find(self._slots, self._sync)
            if found is not None and self._terms.flat:
                raise ranks_refuse.flat()
            self._party, self._alone = found, found is None
        return self._party

    def _forget(self, block: Block) -> None:
        self._block = None
        _open_blocks.remove(block)

    def abort(self) -> None:
        """Give this step up: the block ends here, nothing is committed, nothing is raised."""
        self._inside("abort()").abort()

    def _inside(self, what: str) -> Block:
        block = self._block
        if block is None:
            raise refusals.outside_block(what)
        block.admit(what)
        return block

    # Deposits

    def backward(self, loss: Tensor, *, weight: float | None = None, also: Sequence[Tensor] = ()) -> None:
        """Deposit the gradient of `loss`. Inside `micro_batches` it belongs to the current micro-batch.

        `also` names other leaves (inputs, embeddings) that shall get the loss's gradient in their `.grad`.
        """
        self._inside("backward()").deposit(loss, weight, also, calling(sys._getframe(1)))

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
        return iterate((block,), iterable, weight, weighing_of(weight, reduce))

    def split(self, batch: T, fn: Callable[[T], Tensor], *, weight: Callable[[T], float] | None = None) -> None:
        """Deposit the gradient of `fn(batch)`; when memory runs out, of its halves, and so on: the same gradient.

        `fn` returns a mean over `weight` items (the rows of the batch, unless given). What fitted is remembered.
        """
        splitting.split(self._inside("split()"), batch, fn, weight)

    def minimize(self, fn: Callable[["Step"], object]) -> float:
        """One whole step of an optimizer that asks for the loss again and again (LBFGS, SAM); the first loss.

        Not under `with step:`. `fn(step)` deposits as a block would. Weights and optimizer state are copied first, so
        that this step, too, can be taken back.
        """
        minimizing.check(self._terms)
        block = self._open()
        try:
            return minimizing.minimize(block, lambda: fn(self))
        finally:
            self._forget(block)

    def capture(self, fn: Callable[..., Any], *example: Any, compile: bool = False) -> Captured:
        """`update = step.capture(fn, x, y)`: each `update(x, y)` is a whole step, on a GPU as one CUDA graph.

        `fn` deposits as a block would, and what it returns `update` returns. Inputs of other shapes are recorded when
        they first come. On a CPU the same call runs `fn` under `with step:`. See docs/capture.md.
        """
        return Captured(self, fn, example, compiled=compile)

    def carry(self, state: S) -> S:
        """The hidden state of the block before, detached; after one that did not commit, what that one began with."""
        self._inside("carry()")
        return self._known().carried.carry(state)

    # State

    def state_dict(self, *, inflight: Literal["error", "include", "drop"] = "error") -> dict[str, Any]:
        """What the Step itself knows; model, optimizers, scheduler and scaler have their own.

        inflight    deposits of the open block: refuse to lose them, "include" them, or "drop" them
        """
        return resuming.state_dict(self._known(), self._block, self._resumed, inflight)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there. If deposits were in flight, the next block begins with them."""
        if self._block is not None:
            raise refusals.loaded_inside()
        self._resumed = resuming.load_state_dict(self._known(), state, self._slots.current())

    @property
    def in_flight(self) -> int:
        """Micro-batches that the next block begins with: `groups(rest, n, begun=step.in_flight)`."""
        return 0 if self._resumed is None else self._resumed.counted + self._resumed.empty


def weighing_of(weight: object, reduce: str) -> Weighing:
    terms.check_reduce(reduce)
    if weight is not None and reduce == "sum":
        raise refusals.weighted_sum()
    return Weighing.SUM if reduce == "sum" else Weighing.MEAN
