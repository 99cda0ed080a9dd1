"""One optimizer's account: its slots, where they stand, and what is told about them at the moments we look.

Between two looks the books are brought up to date. Inside a backward what changed was deposited into. Outside of it,
gone means cleared, and what else has changed is somebody's handwork. See [Note: looking] in slots.py.
"""

from itertools import islice

from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Site
from zerograd.core.findings import Finding
from zerograd.core.machine import HOLLOW, Content, Scale
from zerograd.run.aliases import Aliases
from zerograd.run.books import ALL, Books, Clock, Cohort
from zerograd.run.closures import Closure
from zerograd.run.deposit import Window
from zerograd.run.fed import Fed
from zerograd.run.habits import Habits
from zerograd.run.handwork import MAYBE_CLEARED, MAYBE_FILLED, UNSEEN, WRITTEN, Handwork
from zerograd.run.proof import Proof
from zerograd.run.rescaling import Rescaling, ScaleProof
from zerograd.run.slots import Look, Slots, guards
from zerograd.run.values import largest
from zerograd.run.work import Work


class Account:
    def __init__(
        self, optimizer: Optimizer, *, clock: Clock, thread: int, counted: int = 0, called: str = "",
        made: Work | None = None,
    ) -> None:  # fmt: skip
        self.name = type(optimizer).__name__
        self.called = called or self.name  # by the line that stepped it first; until then by the one that cleared it
        self.thread = thread  # the only one that may look at its gradients
        self.stepped = False  # a step has begun
        self.work = made  # of its thread, up to when it was made, last cleared or last stepped; None: nobody knows
        self.counted = counted  # slots that some step has had to do with
        self.kin: list[Account] = []  # accounts that share parameters with this one, as they were found at `kin_at`
        self.kin_at = -1
        self.books = Books(clock)
        self._clock = clock
        self.slots = Slots(optimizer)
        self._proof = Proof()
        self._handwork = Handwork(self.slots, self.books, self._proof)
        self._seen = self.slots.nothing(0)
        self._vacant = False  # nothing lies there, and nobody needs to look: the optimizer's own clear has returned
        self._clips = 0  # since the last look: each writes into what it shortens, and moves its version by one
        self.number = clock.account()
        self.window = Window()
        self.habits = Habits()
        self.rescaling = Rescaling()
        self.aliases = Aliases()
        self.steps = 0
        self.last_step: Event | None = None
        self.clipped_by: Event | None = None  # since the last deposit, step or clear
        self.fed_by = ""  # why nobody can say what lies there for its next step
        self.withheld: list[Finding] = []  # what is wrong with gradients that its first step has yet to consume
        self.closure = Closure(self.slots)
        self.scale = ScaleProof()
        self.fed = Fed(self.slots)
        self.parameters()

    @property
    def plain(self) -> bool:
        """Whether no distributed tensor is among its parameters."""
        return self.slots.plain

    @property
    def idle(self) -> bool:
        """Whether its optimizer has never stepped, and nothing is there that it could step on."""
        return not self.stepped and not self.window.deposits

    # Looking

    def parameters(self) -> list[Tensor]:
        """The parameters as the optimizer holds them now. Those that were replaced are forgotten."""
        parameters = self.slots.parameters()
        before = self.slots.renumbered(parameters)
        if before is not None:
            self._clock.turnovers += 1
            self.books.renumber({old: new for new, old in enumerate(before) if old is not None})
            self._proof.renumber()
            self._handwork.renumber()
            self.aliases.forget()
            self.fed.renumber(before)
            now, seen = self.slots.look(parameters), self._seen
            new = {i for i, old in enumerate(before) if old is None}
            full = {i for i in new if now.versions[i] >= 0}
            self.books.take_in(full, full=True)
            self.books.take_in(new - full, full=False)
            kept = [now.versions[i] if old is None else seen.versions[old] for i, old in enumerate(before)]
            self._seen = now._replace(
                addresses=[now.addresses[i] if old is None else seen.addresses[old] for i, old in enumerate(before)],
                versions=kept,
                held=sum(map((0).__le__, kept)),
            )
        return parameters

    def _look(self) -> Look:
        self._vacant = False
        return self.slots.look(self.parameters())

    def settle(self, clear: Event | None = None) -> Look:
        """Bring the books up to date. `clear`: a zero_grad() that has just returned."""
        self.books.tended = self.books.tended or clear is not None
        now = self._look()
        before, self._seen = self._seen, now
        clips, self._clips = self._clips, 0
        if now.same(before):
            return now
        if clips and now.same(before.clipped(clips)) and self.standing().content is Content.FRESH:
            return now  # what a clip read it has written back, shorter
        change = now.since(before)
        self.books.clear(change.vanished, clear or UNSEEN)
        if change.vanished and clear is None and not self.books.within({Content.FRESH, Content.MIXED}):
            self.window.erase()  # by hand: p.grad = None
        if change.replaced:
            self.aliases.replaced(change.replaced, now)
        self._handwork.replaced(change.replaced, clear or UNSEEN)
        self._edited(change.replaced | change.written, clips)
        # What a clip read it has written back, shorter.
        live = self.books.within({Content.FRESH, Content.MIXED, Content.SPENT}) if clips and change.written else set()
        self._handwork.written(change.written - now.moved_by(clips, before, live), clear)
        return now

    def _edited(self, slots: set[int], clips: int) -> None:
        """Somebody replaced gradients, or wrote into them."""
        if not self.window.deposits or not slots or slots.isdisjoint(self.books.within({Content.FRESH})):
            return
        self.window.edited = True
        if not clips:
            self.rescaling.written()

    def few_gradients(self) -> dict[int, Tensor]:
        """What a few slots hold, to compare it later."""
        some = self.slots.some(guards(len(self.slots.ids))).items()
        return dict(islice(((slot, one.grad) for slot, one in some if one.grad is not None), 4))

    @property
    def quiet(self) -> bool:
        """Whether nothing has to be asked of its values: no samples are taken, and no hand was seen."""
        return not (self.rescaling.watching or self._proof.watching or self._handwork.watching or self.window.edited)

    def glance(self) -> None:
        """A step begins. Whoever laid a hand on gradients since the backward laid it on a guard: else trust the books.

        What a hand did to others alone is seen at the next look; and no step is accused on the strength of a glance.
        """
        same = self.slots.unchanged(self._seen, clips=self._clips)
        if not same or self.standing().content is not Content.FRESH:
            self.settle()

    # Moving

    def cleared(self, clear: Event, *, to_none: bool) -> None:
        """The optimizer's own zero_grad() has just returned: whatever lay there is gone, and nobody needs to ask."""
        if not self.slots.ids:
            self.parameters()  # forgotten: see reopen()
        self._seen = self.slots.nothing(len(self.slots.ids)) if to_none else self._look()
        self._vacant, self._clips = to_none, 0
        self.books.clear(ALL, clear)
        self.window.erase()
        self.rescaling.forget()
        self.closure.cleared(clear)
        self.clipped_by = None
        self.withheld.clear()

    def clipped(self, event: Event) -> None:
        """A clip of its parameters has returned, and was judged."""
        self.clipped_by = event
        self.books.move(ALL, event)

    def clipping(self, writes: int) -> None:
        """A clip of its parameters has returned, which has written so many times into what it read."""
        self._clips += writes

    def holds(self, *parameters: Tensor) -> bool:
        """Whether any of these is among its parameters."""
        return any(id(parameter) in self.slots.known for parameter in parameters)

    def before_deposit(self, site: Site) -> Look:
        """A backward begins, on this line."""
        if self.window.deposits and self.clipped_by is None:
            self.rescaling.look(self.few_gradients() if self.rescaling.watching else {})
        if self._vacant:  # what someone may have put there since will be fresh, together with what is deposited
            return self._seen
        now = self.settle()
        if not self.window.found and self.window.begins_with(site) and self.habits.lone():
            self.window.found = largest(self.few_gradients().values())
        spent, mixed = (self.books.within({content}) for content in (Content.SPENT, Content.MIXED))
        if spent or mixed:
            self._proof.before_deposit(spent, mixed, self.slots.parameters())
        return now

    def deposited(self, before: Look, event: Event) -> bool:
        """A backward is over: every slot that changed was deposited into. Returns whether any did."""
        now = self._look()
        self._seen = now
        self._clips = 0
        self.clipped_by = None
        if now.turnover != before.turnover:
            return False  # the parameters were replaced meanwhile: nothing can be compared
        change = now.since(before)
        if change.vanished:
            self.books.clear(change.vanished, UNSEEN)
        hit = change.replaced | change.written if change.written else change.replaced
        self.books.deposit(ALL if len(hit) == len(now.addresses) else hit, event)
        self.fed.add(hit)
        self.window.hit = hit
        if mixed := self.books.within({Content.MIXED}):
            self._proof.after_deposit(mixed, self.slots.parameters())
        self._handwork.deposited(event)
        if self.rescaling.watching:
            self.rescaling.deposited(self.few_gradients())
        if event.scaled and self.scale.wanted:
            self.scale.deposited(self.few_gradients())
        self.closure.evaluated()
        return bool(hit)

    def consumed(self, event: Event) -> None:
        """A step begins to read."""
        self._handwork.consumed()
        self._proof.forget()
        self.books.consume(event)
        self.aliases.consumed(self._seen)
        self.rescaling.forget()
        self.window.empty()
        self.steps += 1
        self.last_step = event
        self.clipped_by = None
        self.scale.consumed(scaled=event.scaled)

    def after_step(self) -> None:
        """A step that was judged has ended."""
        self._proof.after_step(self.slots)
        if not self.slots.unchanged(self._seen, clips=self._clips):
            # The step itself cleared, or wrote into what it read. That is its business, and no edit of the user's.
            now = self._look()
            self.books.clear(now.since(self._seen).vanished, UNSEEN)
            self._seen, self._clips = now, 0

    def take_as_told(self) -> set[int]:
        """Something has happened unseen, and the books are told: what lies there now is as they say. Where it lies."""
        self._seen, self._clips = self._look(), 0
        self._proof.after_step(self.slots)
        self.rescaling.forget()
        self.aliases.forget()
        self.closure.evaluated()
        self.clipped_by = None
        return {slot for slot, one in enumerate(self._seen.versions) if one >= 0}

    def reopen(self) -> None:
        """Something happens that cannot be followed: begin anew with what lies there at the next look.

        See [Note: unseen] in books.py.
        """
        self.slots.forget()
        self._seen = self.slots.nothing(0)
        self._vacant, self._clips, self.clipped_by = False, 0, None
        self.books.unseen()
        self.fed.unseen()
        self.aliases.forget()
        self.rescaling.forget()
        self.closure.forget()
        self.habits.starved.clear()
        self.window.unseen()

    # Judging

    def standing(self) -> Cohort:
        return self.books.standing()

    def mixes_points(self) -> bool:
        """A backward inside its step begins: whether it adds to the gradient of other weights."""
        self.settle()
        spent = self.books.within({Content.SPENT})
        return bool(spent) and self.closure.moved() and bool(spent - self.slots.zeros(spent))

    def still_scaled(self) -> bool:
        """Whether what a scaled loss left is as it left it."""
        if self.standing().fact.state.scale is not Scale.SCALED:
            return True
        return self.scale.untouched(self.few_gradients())

    def is_trained(self) -> bool:
        """Whether it was ever cleared or fed. What never was draws the curve of a schedule."""
        return self.books.tended or bool(self.habits.nourished)

    def concerned(self) -> list[Tensor]:
        """The parameters that stand as the whole stands."""
        members = self.standing().members
        return [parameter for i, parameter in enumerate(self.slots.parameters()) if i in members]

    def stale_share(self) -> float | None:
        """How much of the norm of what lies there was consumed before, by the sample."""
        return self._proof.stale_share(self.slots.parameters())

    def ask(self) -> None:
        """The books accuse someone: make sure by the values before it is said."""
        self._proof.wake()
        parameters = self.parameters()
        mixed = self.books.within({Content.MIXED})
        if mixed:
            zeros = self.slots.zeros(mixed)  # there is nothing stale in them
            undoubted = self.books.within({Content.MIXED}, without=MAYBE_CLEARED)
            told = self._proof.of_mixed(mixed - zeros, undoubted, parameters)
            self.books.doubt(told.doubted, MAYBE_CLEARED)
            self._handwork.nothing_old(told.cleared | zeros)
        if self.standing().content in (Content.MIXED, Content.FRESH):
            return
        zeros = self.slots.zeros(self.books.within({Content.SPENT}))
        if self._proof.emptied(zeros, parameters):
            self.books.clear(zeros, UNSEEN)
        else:  # a gradient that is truly zero is consumed again: nothing comes of it
            self.books.doubt(zeros, MAYBE_FILLED)
        hollow = {i for i in self.books.within(HOLLOW) if parameters[i].grad is not None}
        self.books.deposit(hollow - self.slots.zeros(hollow), WRITTEN)

    def untouched(self) -> bool:
        """Whether a second step would be the first one again."""
        return self._proof.untouched(self.parameters())

    def newly_stepped(self) -> int:
        """A step begins: how many slots have never been part of one."""
        held = self.slots.size()
        new, self.counted = max(0, held - self.counted), max(held, self.counted)
        return new
