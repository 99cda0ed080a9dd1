"""`Step`: the optimizer step as a transaction.

with step:                                  # clean slate
    step.backward(loss_fn(model(x), y))     # deposit
                                            # leaving commits; an exception rolls back and is raised again
"""

import copy
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from zerograd.core.events import Event
from zerograd.engine import copying, minimizing, refusals, resuming, splitting, terms
from zerograd.engine.block import Block, iterate
from zerograd.engine.capturing import Captured
from zerograd.engine.compiling import calling
from zerograd.engine.entrance import USUAL, Options
from zerograd.engine.guarding import Guard
from zerograd.engine.hooks import count_retained
from zerograd.engine.opening import Entered, Opened, open_block
from zerograd.engine.outcome import Outcome
from zerograd.engine.ranks import refusals as ranks_refuse
from zerograd.engine.ranks.party import Party, Search
from zerograd.engine.ready import Inspect
from zerograd.engine.record import Record
from zerograd.engine.slots import Slots
from zerograd.engine.transaction import Transaction
from zerograd.engine.weighing import Weighing
from zerograd.engine.wrapping import inner_of

S = TypeVar("S")
T = TypeVar("T")
_numbers = count(1)


class Step(Entered):
    """One or several optimizers that consume one backward and commit together.

    model       whose buffers restore= brings back, and whose names inspect= and clip= see
    clip        a norm (math.inf only measures) | {"norm": 1.0} | {"norm": 1.0, "per": "group"} | {"value": 0.5} |
                a function of the named gradients
    scheduler   one or several that count steps; they move once per commit, and only then. One that counts epochs stays
                yours: call its step() after the epoch
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
    ranges      True: profilers show zerograd.backward, .clip, .step and .skip, by record_function, on a GPU by NVTX too
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
        ranges: bool = False,
    ) -> None:
        terms.check_model(model)
        terms.check_rest(
            nonfinite=nonfinite, max_skips=max_skips, autocast=autocast, grads=grads, sync=sync, ranges=ranges
        )
        self.optimizers = terms.checked_optimizers(optimizers)
        self._terms = terms.Terms(
            optimizers=self.optimizers,
            wrapped=any(map(inner_of, self.optimizers)),
            needs_closure=terms.whose_step_needs_a_closure(self.optimizers),
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
            ranges=ranges,
        )
        self._name = _name(self.optimizers)
        self._slots = Slots(self.optimizers, model)
        self._guard = Guard(self.optimizers)
        if isolate:
            count_retained()
        self._record = Record()
        self._sync = sync
        self._search = Search(sync)
        self._resumed: resuming.InFlight | None = None
        self._latest: Block | None = None
        self._transaction = Transaction()

    @property
    def outcome(self) -> Outcome | None:
        """How the last block ended; None before the first. May have to wait for the device to tell."""
        return self._known().known.outcome

    @property
    def committed(self) -> int:
        return self._known().known.committed

    @property
    def skipped(self) -> int:
        return self._known().known.skipped

    def _known(self) -> Record:
        """The record, with everything in it that happened. See [Note: deferred verdicts]."""
        self._record.promises.keep(all_of_them=True)
        return self._record

    # The block

    def __enter__(self) -> "Step":
        transaction = self._begins or self._begin()
        self._begins = None
        self._transaction, latest = transaction, self._transaction
        try:
            open_block(transaction, self, self._new_block())
        except BaseException as error:
            if not transaction.blocks:  # it never began: the one that is open, if there is one, goes on
                self._transaction = latest
                if self._record.known.torn:
                    self._tell_ranks(error)
            raise
        return self

    def _tell_ranks(self, error: BaseException) -> None:
        """This rank goes on no more. The others, whose blocks begin, would wait for its vote."""
        party = self._search.look(self._slots)
        block = Block(self._name, self._terms, self._slots, self._guard, self._record, party)
        if block.exchange is not None:
            block.exchange.fail(error)

    @property
    def _block(self) -> Block | None:
        """The open one."""
        latest = self._latest
        return None if latest is None or latest.over else latest

    def _new_block(self, *, closure: bool = False) -> Block:
        if self._terms.needs_closure and not closure:
            raise refusals.needs_closure(self._terms.needs_closure)
        if self._record.promises.waiting:
            self._record.promises.keep(all_of_them=False)
        if self._record.known.torn:
            raise refusals.torn()
        if self._latest is not None and not self._latest.over:
            raise refusals.nested_block()
        self._slots = slots = self._slots.current()
        party = self._search.look(slots)
        if party is not None and self._terms.flat:
            raise ranks_refuse.flat()
        return Block(self._name, self._terms, slots, self._guard, self._record, party)

    def _find_party(self) -> Party | None:
        """Who takes the next step together. Asked at every block: a model may be wrapped after its Step was made."""
        return self._search.look(self._slots)

    @property
    def _party(self) -> Party | None:
        """As it was when the last block was entered."""
        return self._search.found

    def abort(self) -> None:
        """Give this step up: the block ends here, nothing is committed, nothing is raised."""
        self._inside("abort()").abort()

    def _inside(self, what: str) -> Block:
        block = self._latest
        if block is None or block.over:
            raise refusals.outside_block(what)
        block.admit(what)
        return block

    # Deposits

    def backward(
        self,
        loss: Tensor,
        *,
        weight: float | None = None,
        also: Sequence[Tensor] = (),
        retain_graph: bool | None = None,
        create_graph: bool = False,
        gradient: Tensor | None = None,
    ) -> None:
        """Deposit the gradient of `loss`. Inside `micro_batches` it belongs to the current micro-batch.

        weight          the number of items that the loss is a mean over; outside `micro_batches`
        also            other tensors (inputs, embeddings) that shall get the loss's gradient in their `.grad`
        retain_graph    another backward goes through the same graph: two losses of one forward pass
        create_graph    the gradients in `.grad` can be differentiated, up to the end of the block; without a loss scale
                        or weights, which they would contain
        gradient        for a loss that is not one number: what each of its elements counts
        """
        usual = retain_graph is None and gradient is None and not create_graph
        options = USUAL if usual else Options(retain_graph, create_graph, gradient)
        self._inside("backward()").deposit(loss, weight, also, calling(sys._getframe(1)), options)

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
        with Opened(self, self._new_block(closure=True)) as transaction:
            return minimizing.minimize(transaction, lambda: fn(self))
        return math.nan  # it was aborted

    def capture(self, fn: Callable[..., Any], *example: Any, compile: bool = False) -> Captured:
        """`update = step.capture(fn, x, y)`: each `update(x, y)` is a whole step, on a GPU as one CUDA graph.

        `fn` deposits as a block would, and what it returns `update` returns. Inputs of other shapes are recorded when
        they first come. On a CPU the same call runs `fn` under `with step:`. See docs/capture.md.
        """
        return Captured(self, fn, example, compiled=compile)

    def carry(self, state: S) -> S:
        """The hidden state of the block before, detached; after one that did not commit, what that one began with.

        A tensor, or tuples, lists and dicts of them; call it for each state that the block goes on with. A state that
        no failed block has made begins a sequence of its own.
        """
        self._inside("carry()")
        frame = calling(sys._getframe(1))
        return self._known().carried.carry(state, (frame.f_code, frame.f_lasti))

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

    def __deepcopy__(self, memo: dict[int, Any]) -> "Step":
        """`copy.deepcopy((model, optimizer, step))`: a Step of its own, over the copied optimizers."""
        if self._block is not None:
            raise refusals.copied_inside()
        self._known()
        made = copy.copy(self)
        memo[id(self)] = made
        made._terms = copying.terms(self._terms, memo)
        made.optimizers = made._terms.optimizers
        made._name = _name(made.optimizers)
        made._slots = Slots(made.optimizers, made._terms.model)
        made._guard = Guard(made.optimizers)
        made._record = copying.record(self._record, memo)
        made._resumed = copy.deepcopy(self._resumed, memo)
        made._search = Search(self._sync)
        made._latest, made._transaction = None, Transaction()
        return made

    @property
    def in_flight(self) -> int:
        """Micro-batches that the next block begins with: `groups(rest, n, begun=step.in_flight)`."""
        return 0 if self._resumed is None else self._resumed.micro_batches


def _name(optimizers: Sequence[Optimizer]) -> str:
    return f"{'+'.join(type(optimizer).__name__ for optimizer in optimizers)}#{next(_numbers)}"


def weighing_of(weight: object, reduce: str) -> Weighing:
    terms.check_reduce(reduce)
    if weight is not None and reduce == "sum":
        raise refusals.weighted_sum()
    return Weighing.SUM if reduce == "sum" else Weighing.MEAN
