"""The same step over and over: then it is watched by a few guards alone.

[Note: routine] A round is what happens from one step to the next: an optimizer's own clear to None, backwards, clips,
the step. When many rounds in a row were the same, line for line, said nothing, and left nothing to be asked, another
one like them can only say nothing again; so its events are ticked off and not entered. What the guards hold is compared
after each backward and before the step. Whatever is not as usual ends the routine first: the books are told what was
ticked off, all slots are looked at, and then it is judged like anything else. A loop that keeps breaking its routine
gets longer to prove itself.
"""

from collections.abc import Sequence
from weakref import ref

from torch import Tensor

from zerograd.core.events import Event, Kind, Site
from zerograd.run.account import Account
from zerograd.run.slots import Glimpse

_ALIKE = 8  # rounds, after the last detector has seen what it looks for in the first ones
_LONG = 64  # events in a round that is worth remembering


class Routine:
    """One thread's."""

    def __init__(self) -> None:
        self.going = False
        self.clips = 0  # since the last backward
        self._events: list[Event] = []  # of the round that is running
        self._usual: Sequence[Event] = ()  # of the rounds before it
        self._spoilt = False
        self._alike = 0
        self._needed = _ALIKE
        self._position = 0
        self._account: ref[Account] | None = None
        self._held: Glimpse | None = None  # what the guards held after the last backward
        self._pattern: list[bool] = []  # which guards usually hold something then
        self.rounds = 0  # that were ticked off
        self._losses: list[Tensor | None] = []  # of the backwards that were ticked off since the last step; not read

    # Learning

    def note(self, event: Event) -> None:
        """An event of a round that is looked at as always."""
        if len(self._events) < _LONG:
            self._events.append(event)
        else:
            self._spoilt = True

    def spoil(self) -> None:
        """Something has happened in this round that no routine can hold."""
        self._spoilt = True

    def round_ended(self, account: Account, *, plain: bool) -> None:
        """A step has consumed. `plain`: there was nothing in this round that would have to be asked again."""
        plain = plain and not self._spoilt and self._events[0].kind is Kind.CLEAR
        events, self._events, self._spoilt = self._events, [], False
        known = self._account() if self._account is not None else None
        if plain and events == self._usual and known is account:
            self._alike += 1
        else:
            self._usual, self._alike = events, 0
            self._account = ref(account)
        self.going = self._alike >= self._needed
        self._position = self.rounds = self.clips = 0
        self._pattern = account.slots.glimpse().held() if self.going else []

    # Going

    def account(self) -> Account | None:
        return self._account() if self._account is not None else None

    def place(self) -> Site:
        """Where the event that is due would happen."""
        return self._usual[self._position].site or Site("<unknown>", 0)

    @property
    def site(self) -> Site:
        """Where the last event that was ticked off happened."""
        return self._usual[self._position - 1].site or Site("<unknown>", 0)

    @property
    def loss(self) -> Tensor | None:
        """Of the last backward that was ticked off; not read."""
        return self._losses[-1]

    def passes(self, kind: Kind, site: Site) -> Event | None:
        """The event that is due, if it is this one."""
        due = self._usual[self._position]
        if due.kind is not kind or due.site is not site:
            return None
        self._position += 1
        if kind is Kind.CONSUME:
            self._position = self.clips = 0
            self._losses = []
            self.rounds += 1
        return due

    def depositing(self, loss: Tensor | None) -> None:
        """A backward begins that was due."""
        self._losses.append(loss)

    def deposited(self) -> bool:
        """A backward is over: whether the guards hold what they should."""
        account = self.account()
        if account is None:
            return False
        before, self._held = self._held, account.slots.glimpse()
        first = self._usual[self._position - 2].kind is Kind.CLEAR
        self.clips = 0
        if first:
            return self._held.held() == self._pattern
        return before is not None and self._held.guards == before.guards

    def holds(self) -> bool:
        """The step begins: whether what the backwards left is still there."""
        account, held = self.account(), self._held
        return account is not None and held is not None and account.slots.glimpse().same(held, clips=self.clips)

    def leave(self) -> tuple[Sequence[Event], Sequence[Tensor | None]]:
        """Something else happens. Returns what was ticked off since the last step, and the losses of its backwards."""
        passed, account = self._usual[: self._position], self.account()
        losses, self._losses = self._losses, []
        if account is not None:
            account.steps += self.rounds
        self.going, self._alike, self._held, self._events = False, 0, None, list(passed)
        self._needed *= 2
        return passed, losses
