"""One `with step:`: who opened it, which slots are its own, what was deposited, and whether it may be committed."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from types import FrameType
from typing import TypeVar

import torch
from torch import Tensor

from zerograd.core.events import Event, Kind, Site
from zerograd.engine import gradients, refusals
from zerograd.engine.casting import Casting
from zerograd.engine.entrance import USUAL, Options, backward
from zerograd.engine.extra import Extra
from zerograd.engine.guarding import Guard
from zerograd.engine.isolation import isolated_backward
from zerograd.engine.outcome import Ending, Outcome
from zerograd.engine.ranges import ranged
from zerograd.engine.ranks.exchange import Exchange
from zerograd.engine.ranks.pacing import paced
from zerograd.engine.ranks.party import Party
from zerograd.engine.ready import Ready
from zerograd.engine.record import Record
from zerograd.engine.restoring import Undo, snapshot
from zerograd.engine.slots import Slots
from zerograd.engine.supply import UNKNOWN, supply
from zerograd.engine.terms import Terms
from zerograd.engine.weighing import BARE, MEAN, NONE, MicroBatch, Number, Tally, Weighing, checked, is_zero, on_device

T = TypeVar("T")
_numbers = count(1)
_RECORDABLE = ("backward()", "micro_batches()")
_FREED = "backward through the graph a second time"  # torch 2.13 csrc/autograd/saved_variable.cpp has no class for it


class Abort(BaseException):
    """step.abort() on its way to the end of its own block."""

    def __init__(self, block: "Block") -> None:
        super().__init__("the step of an outer block was aborted")
        self.block = block


class Block:
    """Made when the block is entered, and never used again: nothing of it has to be reset."""

    broken = False  # a backward did not come back: to the end of the block, whatever comes back after it
    aborted = False  # obeyed even if a bare `except:` swallowed the Abort
    defers = False  # its outcome need not be known when it ends: see [Note: deferred verdicts]
    captured = False  # what it does is not done now, but recorded
    over = False  # it has ended, and nothing is left to be done about it
    tries = 0  # at ending it
    promised = False  # its outcome will be told
    divides = False  # its optimizers have been told what to divide by
    scale: Tensor | None = None  # the loss scale of this block
    casting: Casting | None = None
    extra: Extra | None = None  # leaves that backward(also=) named
    undo: Undo | None = None  # brings back what restore= asked for
    ready: Ready | None = None  # on the way to the optimizers
    late: tuple[tuple[Tensor, Tensor | None], ...] = ()  # parameters that joined an optimizer inside the block
    cause = ""  # why it is to be skipped
    loss: Tensor | None = None  # the sum of the deposited losses, where an optimizer wants to know it
    micro: MicroBatch | None = None  # the one that micro_batches() is at
    iterating = False
    last = True  # no deposit is known to follow that of the micro-batch it is at
    began = 0  # items that loops over micro_batches() before this one have fetched,
    planned: int | None = None  # which will have fetched so many at its end, if it goes over a list;
    ahead = False  # one of them before its turn
    loose = 0  # deposits outside of micro_batches()
    resumed = 0  # micro-batches that were done before a checkpoint was loaded
    graphs = False  # its gradients may have graphs of their own
    dirty = False  # it holds deposits that other ranks have no part in yet,
    laid_aside = False  # and some of them not in the slots, for the time being
    _sites: tuple[object, ...] = ()  # of the bare deposits. No set: to hash a code object is to hash all that is in it

    def __init__(
        self, name: str, terms: Terms, slots: Slots, guard: Guard, record: Record, party: Party | None = None
    ) -> None:
        self.exchange = None if party is None else Exchange(party, self)
        self.name, self.terms, self.slots, self.guard, self.record = name, terms, slots, guard, record
        self.number = next(_numbers)
        self.tally = Tally()
        self.places: list[int] = []  # of the items that micro_batches() has fetched. See [Note: known items]
        self.thread = threading.get_ident()

    # Opening

    def open(self) -> None:
        terms = self.terms
        self._empty_slots()
        if terms.restore:
            self.undo = snapshot(terms.restore, self.slots, terms)
        if terms.scaling is not None:
            terms.scaling.forget()  # an iteration that was given up after unscale_(): its gradients are cleared, too
            self.scale = terms.scaling.read(self.slots.device)
        if terms.autocast is not None:
            self.casting = Casting(self.slots.device, terms.autocast)
            self.casting.enter()
        if self.exchange is not None:
            self.exchange.open()
        if terms.trace is not None:
            self.emit(Kind.CLEAR, "clear")

    def clear(self) -> None:
        """The slots hold nothing, and nothing is counted."""
        self.tally, self._sites = Tally(), ()
        self.places, self.began, self.loose = [], 0, 0
        self._empty_slots()

    def _empty_slots(self) -> None:
        gradients.clear(self.slots.parameters)
        self.guard.open(self.slots)
        hooks = self.record.hooks
        hooks.before = hooks.now
        if self.terms.flat:
            self.slots.flat.lay()
            self.guard.mark(trusted=True)

    def close(self) -> None:
        """Everything around the block is as it was. May be called again."""
        if self.casting is not None:
            self.casting.leave()
        if self.exchange is not None:
            self.exchange.close()
        self.guard.close()

    def let_go(self) -> None:
        """It is over: gradients, copies and graphs that it held are nobody's."""
        self.undo = self.extra = self.loss = None
        self.late = ()
        if not self.captured:  # else the recording asks for it
            self.ready = None

    def leave_autocast(self) -> None:
        if self.casting is not None:
            self.casting.leave()

    def admit(self, what: str) -> None:
        """Refuse what comes from another thread; go no further after an abort that was swallowed."""
        if self.thread != threading.get_ident():
            raise refusals.other_thread(what)
        if self.aborted:
            raise Abort(self)
        if self.captured and what not in _RECORDABLE:
            raise refusals.not_recorded(what)

    def abort(self) -> None:
        self.aborted = True
        raise Abort(self)

    # Deposits

    def deposit(
        self,
        loss: Tensor,
        weight: float | None,
        also: Sequence[Tensor],
        frame: FrameType,
        options: Options = USUAL,
    ) -> None:
        site = (frame.f_code, frame.f_lasti)
        micro = self._belongs_to(weight, site)
        if self.tally.weighing is not micro.weighing and self.tally.weighing is not NONE:
            self.tally.require_alike(micro)
        if not (isinstance(loss, Tensor) and loss.requires_grad):
            raise refusals.detached_loss(loss)
        if micro.weighing is not BARE and is_zero(micro.weight):
            self.tally.empty += not micro.filler
            if micro.filler:
                self.run(loss, micro)
            if also:  # it is left out: they get what the other deposits of the block give them
                self._expect(also).take(also, 1.0)
            self.loose += self.micro is None
            return
        self.run(loss, micro, also, options)
        self.tally.count(micro)
        self.loose += self.micro is None
        if micro.weighing is BARE:
            self._sites += (site,)
        if self.terms.trace is not None:
            self.emit(Kind.DEPOSIT, "step.backward()", site=Site(frame.f_code.co_filename, frame.f_lineno))

    def weigh(self, weight: object) -> Number:
        """A weight as a number; as a tensor where the step is recorded, for there the host must not ask."""
        if self.captured and isinstance(weight, Tensor):
            return on_device(weight, self.slots.device)
        return checked(weight)

    def _fit(self, micro: MicroBatch) -> None:
        """Bring what lies in the slots to a unit that fits `micro`, too. See [Note: the unit]."""
        factor = self.tally.fit(micro, sums_must_fit=self.slots.half)
        if isinstance(factor, Tensor) or factor != 1.0:
            self.rescale(factor)

    def rescale(self, factor: Number) -> None:
        """Everything that was deposited, by a power of two."""
        if not isinstance(factor, Tensor) and factor == 1.0:
            return
        held = self.guard.check()
        if self.terms.flat:
            self.slots.flat.rescale(factor)
        elif held:
            gradients.scale(held, factor)
        if self.exchange is not None:
            self.exchange.rescale(factor)
        if self.loss is not None:
            self.loss = self.loss * factor
        self.guard.mark()

    def run(
        self,
        loss: Tensor,
        micro: MicroBatch,
        also: Sequence[Tensor] = (),
        options: Options = USUAL,
        *,
        part: float = 1.0,
    ) -> None:
        """The backward of a loss of `micro`, or of that part of one, into the slots."""
        self.guard.check()
        if self.scale is not None and self.terms.scaling is not None:
            self.terms.scaling.refuse_scaled(loss, recorded=self.captured)
        if also:
            self._expect(also)
        self.broken = True  # until it has come back
        if micro.weighing is MEAN:
            self._fit(micro)
        if self.exchange is not None:
            self.exchange.arm(self, loss)  # before anything is multiplied: the ranks may agree on another unit
        coefficient = part if micro.weighing is BARE else self.tally.coefficient(micro) * part
        if options.create_graph:
            self._allow_graph(coefficient)
        if isinstance(coefficient, Tensor):
            coefficient = coefficient.to(torch.promote_types(loss.dtype, torch.float32))
            weighed = loss * coefficient
        else:
            weighed = loss if coefficient == 1.0 else loss * coefficient
        if self.scale is not None:
            weighed = weighed * self.scale
        if self.casting is None or not self.casting.is_on:
            self._backward(weighed, also, options)
        else:
            if not self.goes_on:  # as a loop by hand, which leaves autocast before: the graph alone holds the casts now
                torch.clear_autocast_cache()
            self.casting.suspend()
            try:
                self._backward(weighed, also, options)
            finally:
                self.casting.resume()
        if also and self.extra is not None:
            self.extra.take(also, coefficient if self.scale is None else coefficient * self.scale)
        if self.exchange is not None:
            self.exchange.disarm(self)
        self.broken = False
        self.guard.mark()
        if self.loss is not None:
            value = weighed.detach()
            self.loss = self.loss + (value if options.gradient is None else (value * options.gradient).sum())

    def _expect(self, also: Sequence[Tensor]) -> Extra:
        if self.captured:
            raise refusals.not_recorded("backward(also=)")
        self.extra = self.extra or Extra()
        self.extra.expect(also, self.slots)
        return self.extra

    def _allow_graph(self, coefficient: Number) -> None:
        """A gradient with a graph is there to be computed with: it has to be the true one."""
        if self.captured:
            raise refusals.not_recorded("backward(create_graph=True)")
        if self.scale is not None or isinstance(coefficient, Tensor) or coefficient != 1.0:
            raise refusals.graph_of_scaled()
        self.graphs = True

    def drop_graphs(self) -> None:
        """The optimizers read numbers. And a gradient whose graph leads to its parameter would keep both alive."""
        self.guard.check()
        for parameter in self.slots.parameters:
            if parameter.grad is not None:
                parameter.grad = parameter.grad.detach()
        self.guard.mark()

    def _backward(self, weighed: Tensor, also: Sequence[Tensor], options: Options) -> None:
        slots = self.slots
        # What fully_shard gathered are the leaves of its graphs: asked for the shards alone, it yields nothing.
        gathers = self.exchange is not None and self.exchange.party.gathers
        try:
            with ranged("backward", wanted=self.terms.ranges, on_cuda=slots.on_cuda):
                if self.terms.isolate and not gathers:
                    mine = [*slots.parameters, *also] if also else slots.parameters
                    isolated_backward(weighed, mine, self.record.hooks, plain=slots.plain, options=options)
                else:
                    backward(weighed, None, plain=slots.plain, options=options)
        except RuntimeError as error:
            if _FREED in str(error):
                raise refusals.freed_graph() from error
            raise

    def _belongs_to(self, weight: float | None, site: object) -> MicroBatch:
        """What a deposit belongs to: outside micro_batches() one of its own or, without a weight, plain PyTorch."""
        if self.broken:
            raise refusals.broken_backward()
        if self.micro is not None:
            if weight is not None:
                raise refusals.weight_inside()
            return self.micro
        if weight is not None:
            return MicroBatch(MEAN, self.weigh(weight))
        if site in self._sites:
            raise refusals.looped_backward()
        return MicroBatch(BARE, 1.0)

    def require_complete(self) -> None:
        """Refuse to commit part of what the block set out to deposit; then only numbers are left to commit."""
        if self.iterating:
            raise refusals.left_early()
        if self.broken:
            raise refusals.broken_backward()
        if self.graphs:
            self.drop_graphs()

    def refuse_if_over(self) -> None:
        if self.over:
            raise refusals.other_block()

    @property
    def goes_on(self) -> bool:
        """Whether another forward may follow in this block, which can use again what this one has cast."""
        return self.iterating and (self.planned is None or len(self.places) < self.planned or self.ahead)

    @property
    def done(self) -> int:
        """Items that it is done with: those behind the current one, and that if it has deposited."""
        if self.micro is None:
            return self.began if self.iterating else len(self.places)
        if self.micro.filler:  # then there is nothing left of this rank's own
            return len(self.places)
        return self.began + self.micro.number - (not self.micro.deposited)

    @property
    def in_flight(self) -> int:
        """Micro-batches that are in it, with a gradient or without."""
        return self.resumed + self.loose + self.done

    # Ending

    @property
    def restores_weights(self) -> bool:
        """Not among ranks: the others have moved, and one that goes back alone goes on apart from them."""
        return self.undo is not None and "weights" in self.undo.words and self.exchange is None

    def outcome(self, ending: Ending, cause: str) -> Outcome:
        norm = None if self.ready is None else self.ready.norm
        return Outcome(ending, float(self.tally.total), self.tally.counted, cause, norm)

    def set_late_parameters_aside(self) -> None:
        """What joined an optimizer inside the block is no slot of it: it moves with the next, from a clean slate."""
        now = self.slots.current()
        if now is not self.slots:
            joined = [parameter for parameter in now.parameters if id(parameter) not in self.slots.ids]
            self.late = tuple((parameter, parameter.grad) for parameter in joined)
            gradients.clear(joined)

    def emit(self, kind: Kind, what: str, *, site: Site | None = None) -> None:
        if self.terms.trace is not None:
            scaled = self.scale is not None and kind in (Kind.DEPOSIT, Kind.CONSUME)
            self.terms.trace(Event(kind, self.name, site, scaled, what))


def iterate(
    blocks: Sequence[Block], items: Iterable[T], weight: Callable[[T], float] | None, weighing: Weighing
) -> Iterator[T]:
    """The items, each as one micro-batch of all the blocks."""
    for block in blocks:
        block.refuse_if_over()
        block.admit("micro_batches()")
        if block.iterating:
            raise refusals.second_iteration()
    for block in blocks:
        block.began, block.iterating = len(block.places), True
        block.planned = block.began + len(items) if isinstance(items, list | tuple) else None
    exchange = blocks[0].exchange
    weighed = _weighed(blocks, items, weight, weighing)
    for item, micro in weighed if exchange is None else paced(exchange, weighed, weighing):
        for block in blocks:
            block.micro = MicroBatch(weighing, micro.weight, filler=micro.filler, number=micro.number)
        yield item
        for block in blocks:
            block.refuse_if_over()
    for block in blocks:
        block.micro, block.iterating, block.planned = None, False, None


def _weighed(
    blocks: Sequence[Block], items: Iterable[T], weight: Callable[[T], float] | None, weighing: Weighing
) -> Iterator[tuple[T, MicroBatch]]:
    """The items that weigh something; the others are only counted."""
    for number, item in enumerate(items, 1):
        place = supply.place_of(item, blocks[0].places) if supply.items else UNKNOWN
        for block in blocks:
            block.places.append(place)
        amount = 1.0 if weight is None else blocks[0].weigh(weight(item))
        if not is_zero(amount):
            yield item, MicroBatch(weighing, amount, number=number)
        else:
            for block in blocks:
                block.tally.empty += 1
