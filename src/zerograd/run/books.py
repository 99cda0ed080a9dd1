"""Where each slot of one optimizer stands.

Slots with one past stand in one cohort, so a model of a thousand tensors is moved by one `advance`. A run has one fact
for each slot, and hardly ever a doubt: only about what was written into a gradient by hand, since the same trace is
left by someone who clears it, fills it or scales it.

[Note: unseen] Books are opened in the middle of a run: an audit begins there, a sample wakes there, a parameter comes
to an optimizer late. Of what lies in a slot then nothing is known, so it is FRESH, which accuses nobody, with every
doubt there is; the clear or the step that ends its past ends the doubts. And a window (deposit.py) is told to nobody
unless it was watched from its beginning. So whoever judges what several steps have in common judges steps that were
seen whole; what he has begun to conclude from steps in a row he forgets where there is a gap in it (Detector.gap).
"""

from collections.abc import Callable, Collection, Iterable
from itertools import count

from zerograd.core.events import Event, Kind
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, Doubts, Fact, follow
from zerograd.core.judgement import Trail
from zerograd.core.machine import Content, State

# How an optimizer stands is how the worst of its slots that hold something stands; if none does, what became of it.
_ORDER = (Content.MIXED, Content.FRESH, Content.SPENT, Content.LOST, Content.EMPTY, Content.NEW)


# The slots that something happened to. ALL and not a set of every one of them, because a thousand are often all alike.
Members = set[int] | None
ALL: Members = None
_UNREAD = (Content.FRESH, Content.MIXED)


class Cohort:
    """Slots with one past."""

    __slots__ = ("fact", "members", "trail")

    def __init__(self, members: set[int], fact: Fact, trail: Trail) -> None:
        self.members, self.fact, self.trail = members, fact, trail

    @property
    def content(self) -> Content:
        return self.fact.state.content

    def advance(self, event: Event) -> None:
        before, self.fact = self.fact, follow(self.fact, event)
        self.trail.passed(before.state.content, self.fact.state.content, event)


class Clock:
    """What all accounts of a run agree on: what came before what, and how often parameters came or went."""

    def __init__(self) -> None:
        self._moments = count(1)
        self.turnovers = 0

        self._accounts = count()

    def account(self) -> int:
        """A number for a new account."""
        return next(self._accounts)

    def tick(self) -> int:
        return next(self._moments)  # in C: two threads never get the same moment


class Books:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._cohorts: list[Cohort] = []
        self.fed = 0  # the time of the last deposit
        self.stepped = 0  # the time of the last step
        self.lost = False  # something unread was cleared since the last step
        self.ever_cleared: set[int] = set()
        self._all_cleared = False  # all of them: nobody needs to ask which
        self._unseen = False  # something has happened that nobody saw, and may have been a clear
        self.log: Callable[[Members, Event], None] | None = None  # hears of every move, if somebody writes a trace
        self.tended = False  # something was cleared or deposited, ever: what never was is hardly being trained

    def within(self, contents: Collection[Content], *, without: Doubts = NO_DOUBT) -> set[int]:
        """The slots that stand in one of these, with no doubt of these kinds."""
        return set().union(
            *(one.members for one in self._cohorts if one.content in contents and not one.fact.doubts & without)
        )

    def everyone(self) -> set[int]:
        return set().union(*(cohort.members for cohort in self._cohorts))

    def standing(self) -> Cohort:
        """How the optimizer as a whole stands. Frozen and unused slots excuse nothing and accuse nobody."""
        if len(self._cohorts) == 1:
            return self._cohorts[0]
        nobody = Cohort(set(), Fact(), Trail(latest=True))
        # Of slots that stand alike, those nobody doubts speak for it.
        return min(self._cohorts, key=lambda one: (_ORDER.index(one.content), len(one.fact.doubts)), default=nobody)

    def take_in(self, members: set[int], *, full: bool) -> None:
        """Slots that nobody has looked at before, and whether something lies there. See [Note: unseen]."""
        fact = Fact(State(Content.FRESH), ALL_DOUBTS) if full else Fact()
        if members:
            self._cohorts = _joined([*self._cohorts, Cohort(members, fact, Trail(latest=True))])

    def unseen(self) -> None:
        """Whatever may have happened, nobody saw it."""
        self.lost, self._unseen = False, True

    def never_cleared(self, members: set[int]) -> bool:
        """Whether no clear has ever reached one of these."""
        return not self._unseen and members.isdisjoint(self.ever_cleared)

    def renumber(self, new: dict[int, int]) -> None:
        """Slot i is now slot new[i]; the ones that are not in `new` are gone."""
        self.ever_cleared, self._all_cleared = {new[i] for i in self.ever_cleared if i in new}, False
        for cohort in self._cohorts:
            cohort.members = {new[i] for i in cohort.members if i in new}
        self._cohorts = [cohort for cohort in self._cohorts if cohort.members]

    def clear(self, members: Members, event: Event) -> None:
        if members is ALL:
            self.tended = True
            self.lost = self.lost or any(one.content in _UNREAD for one in self._cohorts)
            if not self._all_cleared:
                self.ever_cleared, self._all_cleared = self.everyone(), True
        elif members:
            self.tended = True
            self.lost = self.lost or not members.isdisjoint(self.within(_UNREAD))
            self.ever_cleared |= members
        self.move(members, event)

    def deposit(self, members: Members, event: Event) -> None:
        if members is ALL or members:
            self.tended = True
            self.fed = self._clock.tick()
            self.move(members, event)

    def consume(self, event: Event) -> None:
        self.stepped = self._clock.tick()
        self.lost = False
        self.move(ALL, event)

    def move(self, members: Members, event: Event) -> None:
        """Advance these slots."""
        if self.log is not None:
            self.log(members, event)
        if members is ALL and len(self._cohorts) == 1:  # as in most loops, most of the time
            self._cohorts[0].advance(event)
        else:
            self._change(members, lambda cohort: cohort.advance(event))

    def tell(self, events: Iterable[Event]) -> None:
        """Of what moves no slot here: backwards before the first step, whose gradients were taken in; schedules."""
        if self.log is not None:
            held = self.within({Content.FRESH})
            for event in events:
                self.log(ALL if event.kind is not Kind.DEPOSIT or held == self.everyone() else held, event)

    def doubt(self, members: set[int], kinds: Doubts) -> None:
        """Events of these kinds may have happened to these slots unseen."""

        def doubted(cohort: Cohort) -> None:
            cohort.fact = cohort.fact._replace(doubts=cohort.fact.doubts | kinds)

        self._change(members, doubted)

    def _change(self, members: Members, change: Callable[[Cohort], None]) -> None:
        """A cohort of which only some are changed is split; cohorts that meet again are joined."""
        if members is ALL:  # most loops move all of them together: no sets of a thousand are made for that
            for cohort in self._cohorts:
                change(cohort)
            if len(self._cohorts) > 1:
                self._cohorts = _joined(self._cohorts)
            return
        if not members:
            return
        after: list[Cohort] = []
        for cohort in self._cohorts:
            mine = cohort.members & members
            if mine:
                rest = cohort.members - mine
                if rest:
                    after.append(Cohort(rest, cohort.fact, cohort.trail.copy()))
                cohort.members = mine
                change(cohort)
            after.append(cohort)
        self._cohorts = _joined(after)


def _joined(cohorts: Iterable[Cohort]) -> list[Cohort]:
    """Cohorts of one fact become one again; the larger keeps its trail."""
    by_fact: dict[Fact, Cohort] = {}
    for cohort in sorted(cohorts, key=lambda cohort: -len(cohort.members)):
        kept = by_fact.setdefault(cohort.fact, cohort)
        if kept is not cohort:
            kept.members |= cohort.members
    return list(by_fact.values())
