"""`step.capture(fn, ...)`: the whole transaction as one launch.

[Note: capture] Before anything is recorded, the step is rehearsed: the kernels and their memory have to be there, and
whatever cannot be recorded shall be told before anything was touched. What the rehearsal changed is put back. An
optimizer that has no state yet makes it in its first step, each in its own way; so the first call runs uncaptured, and
the recording follows with the second.
"""

import gc
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from zerograd.core.events import Event, Kind
from zerograd.engine import capturable, inputs, refusals
from zerograd.engine.baked import Baked, Rates
from zerograd.engine.block import Block
from zerograd.engine.board import board
from zerograd.engine.compiling import compiled_around
from zerograd.engine.deferring import verdict
from zerograd.engine.journal import Rehearsal
from zerograd.engine.opening import Opened
from zerograd.engine.outcome import Ending
from zerograd.engine.record import Record
from zerograd.engine.recording import Recording, told
from zerograd.trace.announcing import announced

if TYPE_CHECKING:
    from zerograd.engine.step import Step

_MOST = 8  # recordings that are kept: each holds the memory of one step's inputs and results
_OFTEN = 3  # recordings made anew because an option changed, before somebody is told why it is slow


class Captured:
    """Call it with inputs: one whole step. It returns what `fn` returned, detached.

    On a CPU it runs `fn` under `with step:`.
    """

    def __init__(self, step: "Step", fn: Callable[..., Any], example: tuple[Any, ...], *, compiled: bool) -> None:
        self._step, self._plain_fn = step, fn
        self._fn = compiled_around(step, fn) if compiled else fn
        self._device = step._slots.device
        self.captures = self._device.type == "cuda"  # else every call runs uncaptured
        self._recordings: OrderedDict[inputs.Signature, Recording] = OrderedDict()
        self._anew = 0
        self._born = False
        if self.captures:
            self._prepare(example)

    def __call__(self, *given: Any) -> Any:
        step = self._step
        if not self.captures or step._resumed is not None or not (self._born or self._is_born()):
            return self._uncaptured(given)
        step._record.promises.keep(all_of_them=False)
        if step._record.known.torn:
            raise refusals.torn()
        if step._block is not None:
            raise refusals.nested_block()
        leaves, signature = inputs.read(given)
        recording = self._recording(given, signature)
        if recording is None:
            return self._uncaptured(given)
        self._rates.refresh()
        with announced(step.optimizers, recording.events):
            out = recording.replay(leaves)
        self._ended(recording)
        return out

    # Recording

    def _prepare(self, example: tuple[Any, ...]) -> None:
        step = self._step
        if step._block is not None:
            raise refusals.nested_block()
        step._slots = step._slots.current()
        capturable.check(step._terms, step._slots)
        # Events are collected while recording, and told at each replay; schedulers move on the host.
        self._events: list[Event] = []
        self._terms = replace(step._terms, schedulers=(), trace=self._collect, restore=frozenset())
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        undo = capturable.make_capturable(step.optimizers, self._device)
        try:
            self._rates = Rates(step.optimizers, self._device)
            self._record(example, inputs.read(example)[1])
        except BaseException:
            undo()
            raise

    def _recording(self, given: tuple[Any, ...], signature: inputs.Signature) -> Recording | None:
        """What can be replayed; None if the optimizers have yet to make the state that it would write to."""
        recording = self._recordings.get(signature)
        if recording is not None and recording.baked is not None and recording.baked.holds():
            self._recordings.move_to_end(signature)
            return recording
        if recording is not None:
            self._renew()
        return self._record(given, signature)

    def _renew(self) -> None:
        """Something that is baked in has changed: into all of them, most likely."""
        self._recordings.clear()
        self._step._slots = self._step._slots.current()
        capturable.check(self._terms, self._step._slots)
        self._rates = Rates(self._step.optimizers, self._device)
        self._anew += 1
        if self._anew == _OFTEN:
            warnings.warn(
                f"zerograd has recorded a captured step {_OFTEN} times anew: something that a recording bakes in keeps "
                "changing (an option of the optimizer, frozen parameters, loaded state). See docs/capture.md",
                RuntimeWarning,
                stacklevel=5,
            )

    def _record(self, example: tuple[Any, ...], signature: inputs.Signature) -> Recording | None:
        step = self._step
        step._record.promises.keep(all_of_them=True)
        gc.collect()  # a graph of an earlier try that is garbage already would be told as kept alive, on another stream
        given = inputs.copied(example, self._device)
        if step._terms.scaling is not None:
            step._terms.scaling.read(self._device)  # makes the scale, if nobody has used it yet
        rehearsal = Rehearsal(step.optimizers, step._slots.parameters)
        with announced(step.optimizers, ()), rehearsal, self._rates.lent():
            self._stream.wait_stream(torch.cuda.current_stream(self._device))
            with torch.cuda.stream(self._stream):
                with rehearsal.noted:
                    self._transact(self._plain_fn, given)
                before = capturable.numbers(step.optimizers)
                with capturable.told_why():
                    self._transact(self._fn, given)
                capturable.check_state(step.optimizers, before)
                with capturable.told_why():
                    block, _ = self._transact(self._fn, given, strict=True)
                like = told(block)
            self._expected = capturable.state_keys(step.optimizers)
            self._events = []
            with capturable.told_why():
                place = None if like is None else board(like)
                recording = Recording(given, self._body, self._pool, self._stream, place)
            recording.events = self._events
        if not self._is_born():  # the state it was recorded with was the rehearsal's, and is gone
            return None
        recording.baked = Baked(step.optimizers, step._slots, self._rates)
        self._recordings[signature] = recording
        while len(self._recordings) > _MOST:
            self._recordings.popitem(last=False)
        return recording

    def _is_born(self) -> bool:
        """Whether the optimizers have the state that a step leaves behind. See [Note: capture]."""
        self._born = capturable.state_keys(self._step.optimizers) == self._expected
        return self._born

    def _body(self, given: tuple[Any, ...]) -> tuple[Block, Any]:
        return self._transact(self._fn, given)

    def _transact(self, fn: Callable[..., Any], given: tuple[Any, ...], *, strict: bool = False) -> tuple[Block, Any]:
        """One step as it will be recorded. `strict`: waiting for the device is an error."""
        step = self._step
        record = Record()
        record.hooks = step._record.hooks  # what has been looked at once is not looked at again while it is recorded
        block = Block(step._name, self._terms, step._slots, step._guard, record)
        block.captured = True
        with capturable.no_waiting(strict), Opened(step, block):
            out = fn(*given)
        return block, out

    def _collect(self, event: Event) -> None:
        self._events.append(event)

    # Ending

    def _ended(self, recording: Recording) -> None:
        step = self._step
        record, terms = step._record, step._terms
        if recording.tells:
            recording.promise(
                record.promises,
                lambda numbers: verdict(record, terms, recording.outcome(numbers), found=recording.found(numbers)),
            )
        else:
            record.ended(recording.outcome([]), object())
        if terms.schedulers or terms.trace is not None:
            moved = terms.nonfinite == "ignore" or self._has_moved()
            if moved:
                for scheduler in terms.schedulers:
                    scheduler.step()
            self._tell(recording, moved=moved)

    def _has_moved(self) -> bool:
        """A schedule moves with the weights, so somebody has to know whether they have: the one wait of such a step."""
        outcome = self._step.outcome
        return outcome is not None and outcome.kind is Ending.COMMITTED

    def _tell(self, recording: Recording, *, moved: bool) -> None:
        terms = self._step._terms
        if terms.trace is None:
            return
        *events, cleared = recording.events
        for event in events:
            if moved or event.kind in (Kind.CLEAR, Kind.DEPOSIT):
                terms.trace(event)
        if moved and terms.schedulers:
            terms.trace(cleared._replace(kind=Kind.SCHEDULE, what="scheduler"))
        terms.trace(cleared)

    def _uncaptured(self, given: tuple[Any, ...]) -> Any:
        with self._step:
            out = self._fn(*inputs.moved(given, self._device))
        return pytree.tree_map_only(Tensor, Tensor.detach, out)
